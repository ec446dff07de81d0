#include "tool/perf/our_short.h"
#include "tool/perf/ours.h"
#include "tool/perf/to_and_fro.h"

namespace hamlyn::tool::perf {
namespace {

// Eight words, all its number.
class Block {
 public:
  explicit Block(std::uint64_t number) { words_.fill(number); }
  std::span<const std::byte> bytes() const { return std::as_bytes(std::span{words_}); }
  static void check(Party& party, const Notification& arrival) {
    const Block wanted{arrival.word};
    const auto found = party.bytes(arrival);
    expect(found.size() == 64 && std::memcmp(found.data(), wanted.bytes().data(), 64) == 0,
           "a message was read that is not the one sent");
  }

 private:
  std::array<std::uint64_t, 8> words_;
};

template <class Message>
class Ends {
 public:
  Ends(Party& party, Room&) : party_(party) {}
  void send(std::uint64_t number) { party_.send_fast(Message{number}.bytes(), number); }
  void receive(std::uint64_t number) {
    const Notification& arrival = party_.next();
    expect(arrival.word == number, "a message is missing");
    if (ShortMessage::looked_at(number)) Message::check(party_, arrival);
  }
  void finish() {}

 private:
  Party& party_;
};

template <class Message>
Meter latency(Place place, const std::string& what) {
  const auto round = [place](Cores cores, int) {
    const PartyOptions options{.bytes = 64, .places = 256, .place = place};  // the default of a slot
    return to_and_fro<Ends<Message>>(cores, {}, options);
  };
  return {.name = prefix(place) + what + ".oneway", .round = round, .single_operations = true};
}

}  // namespace

Meter fast_latency(Place place) { return latency<ShortMessage>(place, "fast.16"); }

Meter fast_block_latency() { return latency<Block>(Place::shm, "fast.64"); }

}  // namespace hamlyn::tool::perf
