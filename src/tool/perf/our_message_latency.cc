#include <cstring>

#include "tool/perf/our_party.h"
#include "tool/perf/ours.h"
#include "tool/perf/timing.h"

namespace hamlyn::tool::perf {
namespace {

std::uint64_t exchanges(std::size_t bytes) { return bytes > 16384 ? 5000 : 20000; }
// Rings grow meanwhile, which takes some milliseconds.
std::uint64_t warm_up(std::size_t bytes) { return exchanges(bytes); }

// A side's buffer and what it does once per exchange.
class Player {
 public:
  Player(Party& party, std::size_t bytes) : party_(party), buffer_(bytes) {
    party.hand_over_entries();
    ticket_ = party.take_tickets(1).front();
  }

  // The first and the last word carry the number; the rest does not change.
  void send(std::uint64_t number) {
    party_.wait_until_sent(handle_);
    std::memcpy(buffer_.data(), &number, sizeof number);
    std::memcpy(buffer_.data() + buffer_.size() - sizeof number, &number, sizeof number);
    handle_ = party_.send(ticket_, buffer_);
  }

  void receive(std::uint64_t number) {
    const Notification& arrival = party_.next();
    const auto found = party_.bytes(arrival);
    expect(found.size() == buffer_.size() && std::memcmp(found.data(), &number, sizeof number) == 0 &&
               std::memcmp(found.data() + found.size() - sizeof number, &number, sizeof number) == 0,
           "a message was read that is not the one sent");
    party_.arm(0);
  }

  void end() { party_.wait_until_sent(handle_); }

 private:
  Party& party_;
  std::vector<std::byte> buffer_;
  Ticket ticket_;
  SendHandle handle_;
};

void ask(Party& party, Room& room, std::size_t bytes) {
  Player player{party, bytes};
  const std::uint64_t count = exchanges(bytes);
  std::vector<std::uint64_t> moments(count + 1);
  const std::uint64_t untimed = warm_up(bytes);
  for (std::uint64_t i = 1; i <= untimed + count; ++i) {
    player.send(i);
    player.receive(i);
    if (i >= untimed) moments[i - untimed] = hamlyn_ticks();
  }
  player.end();
  room.report(half_round_trips(moments));
}

void answer(Party& party, std::size_t bytes) {
  Player player{party, bytes};
  for (std::uint64_t i = 1; i <= warm_up(bytes) + exchanges(bytes); ++i) {
    player.receive(i);
    player.send(i);
  }
  player.end();
}

}  // namespace

Meter message_latency(std::size_t bytes) {
  const auto round = [bytes](Cores cores, int) {
    const PartyOptions options{.bytes = bytes, .entries = 1};
    return run_parties(
        cores, exchanges(bytes), options, [=](Party& party, Room& room) { ask(party, room, bytes); }, options,
        [=](Party& party, Room&) { answer(party, bytes); });
  };
  return {
      .name = "shm.message." + std::to_string(bytes) + ".oneway", .round = round, .single_operations = true};
}

}  // namespace hamlyn::tool::perf
