#include <array>
#include <atomic>
#include <cstring>
#include <new>

#include "tool/perf/clock.h"
#include "tool/perf/our_party.h"
#include "tool/perf/our_short.h"
#include "tool/perf/ours.h"
#include "tool/perf/turns.h"

namespace hamlyn::tool::perf {
namespace {

constexpr std::uint64_t kWarmUp = 2000;
constexpr std::uint64_t kTimed = 20000;
constexpr std::uint32_t kMost = 32;  // messages of a turn: they wait in the link's first ring together

// Words that sender and receiver tell each other between turns (turns.h).
struct Turns {
  alignas(64) std::atomic<std::uint64_t> begun{0};  // by the receiver: its entries are armed
  alignas(64) std::atomic<std::uint64_t> sent{0};   // by the sender: all messages of the turn
  alignas(64) std::array<Share, kMost> shares;      // the receiver's, for the turn that it begins
};
static_assert(sizeof(Turns) <= 4096);

Turns& turns_of(Room& room) { return *std::launder(reinterpret_cast<Turns*>(room.memory().data())); }

void send(Party& party, Room& room, std::uint32_t messages, bool group) {
  const std::vector<Ticket> tickets = party.take_tickets(group ? 1 : messages);
  Turns& turns = turns_of(room);
  for (std::uint64_t turn = 1; turn <= kWarmUp + kTimed; ++turn) {
    await(turns.begun, turn);
    for (std::uint32_t i = 0; i < messages; ++i) {
      const ShortMessage message{turn * messages + i};
      const SendHandle handle = group ? party.send(turns.shares[i], message.bytes())
                                      : party.send(tickets[i], message.bytes(), std::size_t{i} * 16);
      party.wait_until_sent(handle);
    }
    reach(turns.sent, turn);
  }
}

class Receiver {
 public:
  Receiver(Party& party, std::uint32_t messages, bool group)
      : party_(party), messages_(messages), group_(group) {
    party.hand_over_entries();
    if (!group_) return;
    party.disarm(0);
    arm();
  }

  // Takes all messages of a turn and arms for the next.
  void take() {
    if (group_) {
      const Notification& arrival = party_.next();
      expect(arrival.length == std::uint64_t{messages_} * 16, "a group is not whole");
      arm();
    } else {
      for (std::uint32_t i = 0; i < messages_; ++i) party_.arm(party_.next().entry);
    }
  }
  const std::array<Share, kMost>& shares() const { return shares_; }

  void check(std::uint64_t turn) {
    for (std::uint32_t i = 0; i < messages_; ++i) {
      const ShortMessage wanted{turn * messages_ + i};
      expect(std::memcmp(party_.landing(std::size_t{i} * 16, 16).data(), wanted.bytes().data(), 16) == 0,
             "a message was read that is not the one sent");
    }
  }

 private:
  void arm() {
    GroupShares shares = party_.arm_group(0, messages_);
    for (std::uint32_t i = 0; i < messages_; ++i) {
      expect(shares.next(shares_[i], {kControlBytes + std::uint64_t{i} * 16, 16}) == Status::ok,
             "there is no share");
    }
  }

  Party& party_;
  std::uint32_t messages_;
  bool group_;
  std::array<Share, kMost> shares_;
};

void receive(Party& party, Room& room, std::uint32_t messages, bool group) {
  Receiver receiver{party, messages, group};
  Turns& turns = turns_of(room);
  std::uint64_t ticks = 0;
  for (std::uint64_t turn = 1; turn <= kWarmUp + kTimed; ++turn) {
    turns.shares = receiver.shares();
    reach(turns.begun, turn);
    await(turns.sent, turn);
    const std::uint64_t start = hamlyn_ticks();
    receiver.take();
    if (turn > kWarmUp) ticks += hamlyn_ticks() - start;
    receiver.check(turn);
  }
  room.report(static_cast<double>(ticks) * ns_per_tick() / (double{kTimed} * messages));
}

Meter cost(const std::string& what, std::uint32_t messages, bool group) {
  const auto round = [=](Cores cores, int) {
    const PartyOptions options{.bytes = kMost * 16, .entries = group ? 1 : messages};
    return run_parties(
        cores, 1, options, [=](Party& party, Room& room) { send(party, room, messages, group); }, options,
        [=](Party& party, Room& room) { receive(party, room, messages, group); });
  };
  return {.name = "shm." + what + std::to_string(messages) + ".16.cost", .round = round};
}

}  // namespace

Meter group_cost(std::uint32_t messages) { return cost("group", messages, true); }

Meter single_cost(std::uint32_t messages) { return cost("single", messages, false); }

}  // namespace hamlyn::tool::perf
