#include "tool/perf/our_posted.h"

#include <array>
#include <vector>

#include "tool/perf/to_and_fro.h"
#include "tool/perf/touch.h"
#include "tool/perf/volume.h"

namespace hamlyn::tool::perf {
namespace {

constexpr std::size_t kBuffers = 64;

void expect_ok(const char* doing, Status status) {
  if (status != Status::ok) throw std::runtime_error(std::string(doing) + ": " + name(status));
}

// Buffers of a party, in a queue of their own.
class Buffers {
 public:
  Buffers(Party& party, std::size_t count, std::size_t bytes)
      : queue_(party.interface()),
        slot_(queue_, {.buffers = static_cast<std::uint32_t>(count)}),
        bytes_(bytes),
        memory_(count * bytes) {
    for (std::size_t i = 0; i < count; ++i) post(i);
  }
  Ticket ticket() const { return slot_.ticket(); }
  void post(std::uint64_t buffer) { expect_ok("post", slot_.post(at(buffer), buffer)); }
  const Notification& next() {
    while (queue_.poll({&arrival_, 1}) == 0) {
    }
    expect(arrival_.kind == Notification::Kind::message, "no message but a notification of trouble");
    return arrival_;
  }
  std::span<std::byte> at(std::uint64_t buffer) {
    return std::span(memory_).subspan(buffer * bytes_, bytes_);
  }

 private:
  NotificationQueue queue_;
  PostedSlot slot_;
  std::size_t bytes_;
  std::vector<std::byte> memory_;
  Notification arrival_;
};

class Ends {
 public:
  Ends(Party& party, Room&) : party_(party), terminus_(party.interface()), buffers_(party, kBuffers, 64) {
    const Ticket own = buffers_.ticket();
    party.hand_over({&own, 1});
    other_ = party.take_tickets(1).front();
  }
  void send(std::uint64_t number) {
    const std::array<std::uint64_t, 2> words{number, ~number};
    for (;;) {
      const Status status = terminus_.send_posted(other_, std::as_bytes(std::span(words)), number);
      if (status == Status::ok) return;
      expect(status == Status::queue_full, "a message was not sent");
      party_.interface().run();
    }
  }
  void receive(std::uint64_t number) {
    const Notification& arrival = buffers_.next();
    expect(arrival.word == number && arrival.length == 16, "a message is missing");
    buffers_.post(arrival.offset);
  }
  void finish() {}

 private:
  Party& party_;
  Terminus terminus_;
  Buffers buffers_;
  Ticket other_;
};

void send_all(Party& party, std::size_t bytes) {
  const Ticket ticket = party.take_tickets(1).front();
  Terminus terminus(party.interface());
  std::vector<std::byte> memory(kWindow * bytes);
  std::array<SendHandle, kWindow> handles{};
  std::uint64_t returned = 0;
  for (std::uint64_t i = 0; i < all_messages(bytes); ++i) {
    for (; i - returned >= kWindow; ++returned) party.next();
    SendHandle& handle = handles[i % kWindow];
    if (i >= kWindow) expect_ok("wait", terminus.wait(handle, std::chrono::seconds{10}));
    const auto data = std::span(memory).subspan(i % kWindow * bytes, bytes);
    hamlyn_fill(data.data(), data.size(), i);
    const Status status = terminus.send_posted(ticket, data, i, {}, &handle);
    expect(status == Status::ok || status == Status::pending, "a message was not sent");
  }
  for (const SendHandle handle : handles) expect_ok("wait", terminus.wait(handle, std::chrono::seconds{10}));
}

void receive_all(Party& party, Room& room, std::size_t bytes) {
  Buffers buffers(party, kWindow, bytes);
  const Ticket own = buffers.ticket();
  party.hand_over({&own, 1});
  std::uint64_t start = 0;
  for (std::uint64_t i = 0; i < all_messages(bytes); ++i) {
    if (i == warm_up_messages(bytes)) start = hamlyn_ticks();
    const Notification arrival = buffers.next();
    expect(arrival.word == i && arrival.length == bytes, "a message came that was not sent");
    expect(hamlyn_read_all(buffers.at(arrival.offset).data(), bytes) == hamlyn_filled_sum(bytes, i),
           "a message was read that is not the one sent");
    buffers.post(arrival.offset);
    party.send_fast({}, i);
  }
  room.report(gigabytes_per_second(bytes, hamlyn_ticks() - start));
}

}  // namespace

Meter posted_latency(Place place) {
  const auto round = [place](Cores cores, int) {
    return to_and_fro<Ends>(cores, {}, {.bytes = 64, .place = place});
  };
  return {.name = prefix(place) + "posted.16.oneway", .round = round, .single_operations = true};
}

Meter posted_touched_bandwidth(std::size_t bytes) {
  const auto round = [bytes](Cores cores, int) {
    const PartyOptions options{.bytes = 64};
    return run_parties(
        cores, 1, options, [bytes](Party& party, Room&) { send_all(party, bytes); }, options,
        [bytes](Party& party, Room& room) { receive_all(party, room, bytes); });
  };
  return {.name = "shm.posted.touched." + std::to_string(bytes) + ".bandwidth", .round = round};
}

}  // namespace hamlyn::tool::perf
