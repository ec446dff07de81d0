#include <array>
#include <new>
#include <optional>

#include "tool/perf/our_party.h"
#include "tool/perf/ours.h"
#include "tool/perf/touch.h"
#include "tool/perf/volume.h"

namespace hamlyn::tool::perf {
namespace {

// The window is one metadata entry per message under way. Its receiver arms an entry again as soon as it is
// done with the message and hands it back by a fast-mode message that carries the entry's number.
struct Bulk {
  std::size_t bytes;
  bool area;     // from a send buffer area
  bool mapped;   // the receiver's slot is mapped: the sender stores them there itself
  bool touched;  // filled by the sender and read whole by the receiver; if not, one source that does not
                 // change
  Place place = Place::shm;

  // Untouched messages land in one place, as in the peers' own tools, so that the caches may keep it.
  std::size_t memory() const { return touched ? kWindow * bytes : bytes; }
  std::size_t offset(std::uint64_t entry) const { return touched ? entry * bytes : 0; }
};

class AlignedBuffer {
 public:
  explicit AlignedBuffer(std::size_t bytes)
      : memory_(new (std::align_val_t{kAlignment}) std::byte[bytes]{}), bytes_(bytes) {}
  ~AlignedBuffer() { operator delete[](memory_, std::align_val_t{kAlignment}); }
  AlignedBuffer(const AlignedBuffer&) = delete;
  AlignedBuffer& operator=(const AlignedBuffer&) = delete;
  std::span<std::byte> part(std::size_t offset, std::size_t bytes) const { return {memory_ + offset, bytes}; }

 private:
  static constexpr std::size_t kAlignment = 4096;
  std::byte* memory_;
  std::size_t bytes_;
};

// Where the messages stand that are to be sent.
class Source {
 public:
  Source(Party& party, const Bulk& bulk) : party_(party) {
    if (bulk.area) {
      area_.emplace(party.interface(), bulk.memory());
      party.bind(*area_);
    } else {
      buffer_.emplace(bulk.memory());
    }
    if (bulk.mapped) party.map();
    const auto all = part(0, bulk.memory());
    hamlyn_fill(all.data(), all.size(), 0);
  }
  std::span<std::byte> part(std::size_t offset, std::size_t bytes) {
    return area_ ? area_->bytes(offset, bytes) : buffer_->part(offset, bytes);
  }
  SendHandle send(const Ticket& ticket, std::size_t offset, std::size_t bytes) {
    return area_ ? party_.send_from_area(ticket, offset, bytes)
                 : party_.send(ticket, buffer_->part(offset, bytes), offset);
  }

 private:
  Party& party_;
  std::optional<SendBufferArea> area_;
  std::optional<AlignedBuffer> buffer_;
};

void send_all(Party& party, const Bulk& bulk) {
  const std::vector<Ticket> tickets = party.take_tickets(kWindow);
  Source source{party, bulk};
  std::array<SendHandle, kWindow> handles{};
  std::array<bool, kWindow> free{};
  free.fill(true);
  for (std::uint64_t i = 0; i < all_messages(bulk.bytes); ++i) {
    const std::uint64_t entry = i % kWindow;
    while (!free[entry]) {
      const Notification& returned = party.next();
      expect(returned.word < kWindow, "an entry was handed back that is none");
      free[returned.word] = true;
    }
    free[entry] = false;
    party.wait_until_sent(handles[entry]);
    if (bulk.touched) hamlyn_fill(source.part(bulk.offset(entry), bulk.bytes).data(), bulk.bytes, i);
    handles[entry] = source.send(tickets[entry], bulk.offset(entry), bulk.bytes);
  }
  for (const SendHandle handle : handles) party.wait_until_sent(handle);
}

void receive_all(Party& party, Room& room, const Bulk& bulk) {
  party.hand_over_entries();
  // Messages may overtake each other, but not those of one entry: its k-th message is number k x kWindow +
  // entry.
  std::array<std::uint64_t, kWindow> turns{};
  std::uint64_t start = 0;
  for (std::uint64_t i = 0; i < all_messages(bulk.bytes); ++i) {
    if (i == warm_up_messages(bulk.bytes)) start = hamlyn_ticks();
    const Notification& arrival = party.next();
    const auto found = party.bytes(arrival);
    expect(found.size() == bulk.bytes && arrival.entry < kWindow, "a message came that was not sent");
    const std::uint64_t number = turns[arrival.entry]++ * kWindow + arrival.entry;
    // Untouched ones are read only while nothing is timed.
    if (bulk.touched || i < warm_up_messages(bulk.bytes)) {
      expect(hamlyn_read_all(found.data(), found.size()) ==
                 hamlyn_filled_sum(found.size(), bulk.touched ? number : 0),
             "a message was read that is not the one sent");
    }
    party.arm(arrival.entry);
    party.send_fast({}, arrival.entry);
  }
  room.report(gigabytes_per_second(bulk.bytes, hamlyn_ticks() - start));
}

std::vector<double> run(Cores cores, const Bulk& bulk) {
  const PartyOptions sender{.bytes = 64, .place = bulk.place};
  const PartyOptions receiver{.bytes = bulk.memory(),
                              .entries = kWindow,
                              .sharing = bulk.mapped ? Sharing::mapped_read_write : Sharing::guarded,
                              .place = bulk.place};
  return run_parties(
      cores, 1, sender, [&](Party& party, Room&) { send_all(party, bulk); }, receiver,
      [&](Party& party, Room& room) { receive_all(party, room, bulk); });
}

Meter bandwidth(const std::string& what, const Bulk& bulk) {
  const std::string kind = bulk.area ? "area." : bulk.mapped ? "mapped.write." : "message.";
  return {.name = prefix(bulk.place) + kind + what + std::to_string(bulk.bytes) + ".bandwidth",
          .round = [bulk](Cores cores, int) { return run(cores, bulk); }};
}

}  // namespace

Meter message_bandwidth(std::size_t bytes, Place place) {
  return bandwidth("", {bytes, false, false, false, place});
}

Meter touched_bandwidth(std::size_t bytes) { return bandwidth("touched.", {bytes, false, false, true}); }

Meter area_bandwidth(std::size_t bytes) { return bandwidth("", {bytes, true, false, false}); }

Meter touched_area_bandwidth(std::size_t bytes) { return bandwidth("touched.", {bytes, true, false, true}); }

Meter mapped_bandwidth(std::size_t bytes) { return bandwidth("", {bytes, false, true, false}); }

}  // namespace hamlyn::tool::perf
