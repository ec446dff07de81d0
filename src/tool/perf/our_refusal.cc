#include <array>
#include <atomic>
#include <chrono>
#include <cstring>
#include <new>

#include "tool/perf/clock.h"
#include "tool/perf/our_party.h"
#include "tool/perf/our_short.h"
#include "tool/perf/ours.h"
#include "tool/perf/turns.h"

namespace hamlyn::tool::perf {
namespace {

using std::chrono::seconds;

constexpr std::uint64_t kWarmUp = 2000;
constexpr std::uint64_t kTimed = 20000;
constexpr std::uint32_t kForged = 24;  // of a turn: they wait in the link's first ring together
// What is good behind them keeps the link from being demoted: it would be looked at rarely then.
constexpr std::uint32_t kGood = 16;
constexpr std::size_t kBytes = 16;

// What the two tell each other between turns (turns.h).
struct Turns {
  alignas(64) std::atomic<std::uint64_t> begun{0};    // by the receiver
  alignas(64) std::atomic<std::uint64_t> forged{0};   // by the sender: all of the turn have left
  alignas(64) std::atomic<std::uint64_t> refused{0};  // by the receiver: and were refused
  alignas(64) Ticket over;                            // of the receiver's entry as it was before
};

Turns& turns_of(Room& room) { return *std::launder(reinterpret_cast<Turns*>(room.memory().data())); }

// A ticket as somebody would use it who has no such right.
Ticket forge(Refusal cause, const Ticket& good, const Ticket& over) {
  Ticket ticket = good;
  ticket.entry = 0;
  switch (cause) {
    case Refusal::bad_key:
      ticket.key ^= 1;
      break;
    case Refusal::stale_generation:
      ticket.generation += 2;
      break;
    case Refusal::out_of_bounds:
      ticket.base = ticket.bound - kBytes + 1;
      ticket.bound = kBytes;
      break;
    default:  // what was sent once is sent again
      return over;
  }
  return ticket;
}

void send(Room& room, const std::string& meeting, Refusal cause) {
  Interface interface;
  Terminus terminus{interface};
  const Ticket good = interface.lookup(meeting, seconds{10});
  expect(terminus.connect(good, seconds{10}) == Status::ok, "no link for forged packets");
  Turns& turns = turns_of(room);
  for (std::uint64_t turn = 1; turn <= kWarmUp + kTimed; ++turn) {
    await(turns.begun, turn);
    const Ticket forged = forge(cause, good, turns.over);
    const ShortMessage message{turn};
    for (std::uint32_t i = 0; i < kForged; ++i) {
      SendHandle handle;
      Status status = terminus.send(forged, message.bytes(), {}, &handle);
      for (; status == Status::pending; status = terminus.status(handle)) interface.run();
      expect(status == Status::ok, name(status));
    }
    reach(turns.forged, turn);
    await(turns.refused, turn);
    for (std::uint32_t i = 0; i < kGood;) {
      const Status status = terminus.send_fast(good, message.bytes(), turn);
      if (status == Status::ok) ++i;
      interface.run();
    }
  }
}

class Refuser {
 public:
  Refuser(const std::string& meeting, Refusal cause) : cause_(cause) {
    interface_.publish(meeting, slot_.ticket());
  }

  // A ticket that was good until now.
  Ticket spoil() {
    expect(slot_.disarm(0) == Status::ok && slot_.arm(0) == Status::ok, "the entry is in use");
    const Ticket ticket = slot_.ticket(0);
    expect(slot_.disarm(0) == Status::ok && slot_.arm(0) == Status::ok, "the entry is in use");
    return ticket;
  }
  // All that has come: in ticks.
  std::uint64_t refuse() {
    const std::uint64_t start = hamlyn_ticks();
    while (interface_.run()) {
    }
    return hamlyn_ticks() - start;
  }
  void count_refused() {
    for (std::uint64_t told = 0; told < kForged;) {
      const auto arrival = queue_.poll();
      if (!arrival) continue;
      expect(arrival->kind == Notification::Kind::protocol_error && arrival->cause == cause_,
             "a forged packet was not refused as it should be");
      told += arrival->word;
    }
  }
  void take_good() {
    for (std::uint32_t taken = 0; taken < kGood;) {
      const auto arrival = queue_.poll();
      if (!arrival) continue;
      expect(arrival->kind == Notification::Kind::message, name(arrival->cause));
      ++taken;
    }
  }

 private:
  const Refusal cause_;
  Interface interface_;
  MessageArea area_{interface_, 4096};
  NotificationQueue queue_{interface_};
  Slot slot_{area_, queue_, {.entries = 1, .places = 64}};
};

void receive(Room& room, const std::string& meeting, Refusal cause) {
  Refuser refuser{meeting, cause};
  Turns& turns = turns_of(room);
  std::uint64_t ticks = 0;
  for (std::uint64_t turn = 1; turn <= kWarmUp + kTimed; ++turn) {
    turns.over = refuser.spoil();
    reach(turns.begun, turn);
    await(turns.forged, turn);
    const std::uint64_t taken = refuser.refuse();
    if (turn > kWarmUp) ticks += taken;
    refuser.count_refused();
    reach(turns.refused, turn);
    refuser.take_good();
  }
  room.report(static_cast<double>(ticks) * ns_per_tick() / (double{kTimed} * kForged));
}

}  // namespace

Meter refusal_cost(const std::string& what, Refusal cause) {
  const auto round = [cause](Cores cores, int) {
    const std::string meeting = new_meeting();
    return run_pair(
        cores, {}, [&](Room& room) { send(room, meeting, cause); },
        [&](Room& room) { receive(room, meeting, cause); });
  };
  return {.name = "shm.refusal." + what + ".16.cost", .round = round};
}

}  // namespace hamlyn::tool::perf
