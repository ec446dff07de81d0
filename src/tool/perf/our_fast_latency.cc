#include "tool/perf/our_short.h"
#include "tool/perf/ours.h"
#include "tool/perf/timing.h"

namespace hamlyn::tool::perf {
namespace {

constexpr std::uint64_t kWarmUp = 5000;
constexpr std::uint64_t kExchanges = 50000;

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
void receive(Party& party, std::uint64_t number) {
  const Notification& arrival = party.next();
  expect(arrival.word == number, "a message is missing");
  if (ShortMessage::looked_at(number)) Message::check(party, arrival);
}

template <class Message>
void ask(Party& party, Room& room) {
  std::vector<std::uint64_t> moments(kExchanges + 1);
  for (std::uint64_t i = 1; i <= kWarmUp + kExchanges; ++i) {
    party.send_fast(Message{i}.bytes(), i);
    receive<Message>(party, i);
    if (i >= kWarmUp) moments[i - kWarmUp] = hamlyn_ticks();
  }
  room.report(half_round_trips(moments));
}

template <class Message>
void answer(Party& party, Room&) {
  for (std::uint64_t i = 1; i <= kWarmUp + kExchanges; ++i) {
    receive<Message>(party, i);
    party.send_fast(Message{i}.bytes(), i);
  }
}

template <class Message>
Meter latency(Place place, const std::string& what) {
  const auto round = [place](Cores cores, int) {
    const PartyOptions options{.bytes = 64, .places = 256, .place = place};  // the default of a slot
    return run_parties(cores, kExchanges, options, ask<Message>, options, answer<Message>);
  };
  return {.name = prefix(place) + what + ".oneway", .round = round, .single_operations = true};
}

}  // namespace

Meter fast_latency(Place place) { return latency<ShortMessage>(place, "fast.16"); }

Meter fast_block_latency() { return latency<Block>(Place::shm, "fast.64"); }

}  // namespace hamlyn::tool::perf
