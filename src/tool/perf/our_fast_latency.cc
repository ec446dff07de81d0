#include "tool/perf/our_short.h"
#include "tool/perf/ours.h"
#include "tool/perf/to_and_fro.h"

namespace hamlyn::tool::perf {
namespace {

// So many words, all its number.
template <std::size_t kWords>
class Block {
 public:
  explicit Block(std::uint64_t number) { words_.fill(number); }
  std::span<const std::byte> bytes() const { return std::as_bytes(std::span{words_}); }
  static void check(Party& party, const Notification& arrival) {
    const Block wanted{arrival.word};
    const auto found = party.bytes(arrival);
    expect(
        found.size() == sizeof words_ && std::memcmp(found.data(), wanted.bytes().data(), sizeof words_) == 0,
        "a message was read that is not the one sent");
  }

 private:
  std::array<std::uint64_t, kWords> words_;
};

// `kRoom`: of how many messages the receiver asks for at a time, of which one is there.
template <class Message, std::size_t kRoom>
class Ends {
 public:
  Ends(Party& party, Room&) : party_(party) {}
  void send(std::uint64_t number) { party_.send_fast(Message{number}.bytes(), number); }
  void receive(std::uint64_t number) {
    const Notification& arrival = next();
    expect(arrival.word == number, "a message is missing");
    if (ShortMessage::looked_at(number)) Message::check(party_, arrival);
  }
  void finish() {}

 private:
  const Notification& next() {
    if constexpr (kRoom == 1) return party_.next();
    expect(party_.next(arrivals_) == 1, "two messages have come of which one was sent");
    return arrivals_[0];
  }

  Party& party_;
  std::array<Notification, kRoom> arrivals_;
};

template <class Message, std::size_t kRoom = 1>
Meter latency(Place place, const std::string& what, std::size_t bytes = 64) {
  const auto round = [place, bytes](Cores cores, int) {
    const PartyOptions options{.bytes = bytes, .places = 256, .place = place};  // the default of a slot
    return to_and_fro<Ends<Message, kRoom>>(cores, {}, options);
  };
  return {.name = prefix(place) + what + ".oneway", .round = round, .single_operations = true};
}

}  // namespace

Meter fast_latency(Place place) { return latency<ShortMessage>(place, "fast.16"); }

Meter fast_batch_latency(std::size_t room) {
  return room == 2 ? latency<ShortMessage, 2>(Place::shm, "fast.16.room2")
                   : latency<ShortMessage, 32>(Place::shm, "fast.16.room32");
}

Meter fast_cell_latency() { return latency<Block<5>>(Place::shm, "fast.40"); }
Meter fast_block_latency() { return latency<Block<8>>(Place::shm, "fast.64"); }
Meter fast_longer_latency() { return latency<Block<188>>(Place::shm, "fast.1504", 1504); }

}  // namespace hamlyn::tool::perf
