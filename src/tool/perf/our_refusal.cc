#include <array>
#include <atomic>
#include <chrono>
#include <cstring>
#include <new>
#include <random>

#include "library/engine.h"
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
// Good messages behind the forged ones keep the link from being demoted: it would be looked at rarely then.
constexpr std::uint32_t kGood = 16;
constexpr std::size_t kBytes = 16;

// Words that sender and receiver tell each other between turns (turns.h).
struct Turns {
  alignas(64) std::atomic<std::uint64_t> begun{0};    // by the receiver
  alignas(64) std::atomic<std::uint64_t> forged{0};   // by the sender: all of the turn have left
  alignas(64) std::atomic<std::uint64_t> refused{0};  // by the receiver: and were refused
  alignas(64) Ticket over;                            // of the receiver's entry as it was before
};

Turns& turns_of(Room& room) { return *std::launder(reinterpret_cast<Turns*>(room.memory().data())); }

const char* name(Forgery forgery) {
  switch (forgery) {
    case Forgery::key:
      return "key";
    case Forgery::generation:
      return "generation";
    case Forgery::replay:
      return "replay";
    case Forgery::bounds:
      return "bounds";
    case Forgery::guessed:
      return "guessed";
    case Forgery::truncated:
      return "truncated";
  }
  return "";
}

bool expected(Forgery forgery, Refusal cause) {
  switch (forgery) {
    case Forgery::key:
      return cause == Refusal::bad_key;
    case Forgery::generation:
      return cause == Refusal::stale_generation;
    case Forgery::replay:
      return cause == Refusal::stale_message;
    case Forgery::bounds:
      return cause == Refusal::out_of_bounds;
    case Forgery::guessed:  // by what is wrong first
      return cause == Refusal::bad_slot || cause == Refusal::stale_generation || cause == Refusal::bad_key;
    case Forgery::truncated:
      return cause == Refusal::malformed;
  }
  return false;
}

// Makes what somebody sends who has no right to it.
class Forger {
 public:
  Forger(Interface& interface, const Ticket& good, Forgery forgery)
      : interface_(interface), good_(good), forgery_(forgery) {
    expect(terminus_.connect(good, seconds{10}) == Status::ok, "no link for forged packets");
  }

  Terminus& terminus() { return terminus_; }

  void send(const Ticket& over, std::span<const std::byte> data) {
    if (forgery_ == Forgery::truncated) return send_truncated();
    const Ticket ticket = forge(over);
    SendHandle handle;
    Status status = terminus_.send(ticket, data, {}, &handle);
    for (; status == Status::pending; status = terminus_.status(handle)) interface_.run();
    expect(status == Status::ok, hamlyn::name(status));
  }

 private:
  Ticket forge(const Ticket& over) {
    Ticket ticket = good_;
    ticket.entry = 0;
    switch (forgery_) {
      case Forgery::key:
        ticket.key ^= 1;
        break;
      case Forgery::generation:
        ticket.generation += 2;
        break;
      case Forgery::bounds:
        ticket.base = ticket.bound - kBytes + 1;
        ticket.bound = kBytes;
        break;
      case Forgery::guessed:  // numbers are small, and may be right; a key is not
        ticket.slot += static_cast<std::uint32_t>(guess_() % 2);
        ticket.generation += 2 * static_cast<std::uint32_t>(guess_() % 2);
        ticket.key = guess_();
        break;
      case Forgery::replay:  // what was sent once is sent again
      case Forgery::truncated:
        return over;
    }
    return ticket;
  }

  // Says that it has more data than have come with it. No terminus makes that: it goes into the link as it
  // is.
  void send_truncated() {
    Status status;
    do {
      {
        const base::RunLockGuard guard(interface_.engine().lock());
        interface::Link* const link = interface_.engine().core().find_link(good_.interface);
        expect(link != nullptr && !link->credits.empty(), "no link for truncated packets");
        interface::Packet packet {};
        set_lead(packet, interface::Operation::put, interface::kInlineData, 0);
        set_word(packet, interface::kSlotWord,
                 interface::put_word(link->credits.front()->opening, interface::kPutInline + 1, false, 0));
        status = link->put(packet, packet.data, nullptr);
      }
      if (status == Status::queue_full) interface_.run();
    } while (status == Status::queue_full);
    expect(status == Status::ok, hamlyn::name(status));
  }

  Interface& interface_;
  Terminus terminus_{interface_};
  const Ticket good_;
  const Forgery forgery_;
  std::mt19937_64 guess_{1};
};

void send(Room& room, const std::string& meeting, Forgery forgery) {
  Interface interface;
  const Ticket good = interface.lookup(meeting, seconds{10});
  Forger forger{interface, good, forgery};
  Turns& turns = turns_of(room);
  for (std::uint64_t turn = 1; turn <= kWarmUp + kTimed; ++turn) {
    await(turns.begun, turn);
    const Ticket over = turns.over;
    const ShortMessage message{turn};
    for (std::uint32_t i = 0; i < kForged; ++i) forger.send(over, message.bytes());
    reach(turns.forged, turn);
    await(turns.refused, turn);
    for (std::uint32_t i = 0; i < kGood;) {
      const Status status = forger.terminus().send_fast(good, message.bytes(), turn);
      if (status == Status::ok) ++i;
      interface.run();
    }
  }
}

class Refuser {
 public:
  Refuser(const std::string& meeting, Forgery forgery) : forgery_(forgery) {
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
      expect(arrival->kind == Notification::Kind::protocol_error && expected(forgery_, arrival->cause),
             "a forged packet was not refused as it should be");
      told += arrival->word;
    }
  }
  void take_good() {
    for (std::uint32_t taken = 0; taken < kGood;) {
      const auto arrival = queue_.poll();
      if (!arrival) continue;
      expect(arrival->kind == Notification::Kind::message, hamlyn::name(arrival->cause));
      ++taken;
    }
  }

 private:
  const Forgery forgery_;
  Interface interface_;
  MessageArea area_{interface_, 4096};
  NotificationQueue queue_{interface_};
  Slot slot_{area_, queue_, {.entries = 1, .places = 64, .puts = forgery_ == Forgery::truncated}};
};

void receive(Room& room, const std::string& meeting, Forgery forgery) {
  Refuser refuser{meeting, forgery};
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

Meter refusal_cost(Forgery forgery) {
  const auto round = [forgery](Cores cores, int) {
    const std::string meeting = new_meeting();
    return run_pair(
        cores, {}, [&](Room& room) { send(room, meeting, forgery); },
        [&](Room& room) { receive(room, meeting, forgery); });
  };
  return {.name = std::string("shm.refusal.") + name(forgery) + ".16.cost", .round = round};
}

}  // namespace hamlyn::tool::perf
