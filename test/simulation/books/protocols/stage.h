#pragma once
// What the protocols of a run share: the host, chance, seeds that were given out, and what counts as wrong.
#include <cstdint>
#include <cstring>
#include <deque>
#include <list>
#include <map>
#include <string>
#include <vector>

#include "hamlyn/values/error.h"
#include "hamlyn/values/seed.h"
#include "hamlyn/values/status.h"
#include "simulation/host/host.h"
#include "test/simulation/books/owned_slot.h"
#include "test/simulation/books/program.h"
#include "test/simulation/books/world.h"

namespace hamlyn::simulation {

// A seed that somebody may grow a sender from; `about` is its giver's to know.
struct Offer {
  Seed seed;
  std::uint64_t owner = 0;
  void* about = nullptr;
};

class Offers {
 public:
  void add(const Offer& offer) {
    if (all_.size() == kMost) all_.pop_front();
    all_.push_back(offer);
  }
  // Another's, mostly a new one; null: there is none.
  const Offer* any(Stage& stage) const;

 private:
  static constexpr std::size_t kMost = 24;
  std::deque<Offer> all_;
};

class Stage {
 public:
  explicit Stage(Host& the_host) : host(the_host), steps_seed_(the_host.chance().next()) {}

  // That of the step that its process is at.
  sim::Generator& chance() { return chance_of(me()); }
  sim::Generator& chance_of(std::uint64_t process) { return chances_.at(process); }
  void begin_step(std::uint64_t process, std::uint32_t number) {
    chances_.insert_or_assign(process, chance_of_step(steps_seed_, number));
  }
  std::uint64_t me() { return host.here().number; }
  bool alive() { return host.here().alive; }
  // Of what a process sees that lives.
  void demand(bool as_it_should_be, const char* what) {
    if (!as_it_should_be && alive()) host.fail(what);
  }
  void demand(bool as_it_should_be, const char* what, Status status) {
    if (!as_it_should_be && alive()) host.fail(std::string(what).append(": ").append(name(status)));
  }
  void demand(bool as_it_should_be, const char* what, ErrorCode code) {
    if (!as_it_should_be && alive()) host.fail(std::string(what).append(": ").append(name(code)));
  }
  // Whether something between this process and that one may have ended, or never begun.
  bool may_have_gone(std::uint64_t other) {
    const Inhabitant& process = host.inhabitant(other);
    return host.parted(me(), other) || !process.alive || process.services == nullptr;
  }
  // Whether anything that had left may be lost.
  bool may_be_lost(std::uint64_t one, std::uint64_t other) const { return host.cut_between(one, other); }
  std::chrono::nanoseconds a_while() { return std::chrono::nanoseconds{chance().below(100'000)}; }

  // What has happened to an operation, if the answer to it says so.
  void met(OperationKind kind, Status status) noexcept { coverage.met(kind, status, host.topology()); }
  // To all that is under way between two who live.
  void struck(Fault fault, std::uint64_t one, std::uint64_t other) {
    Kinds kinds;
    for (const UnderWay& each : under_way) {
      const bool theirs = (each.from == one && each.to == other) || (each.from == other && each.to == one);
      if (!theirs || !host.inhabitant(each.from).alive) continue;
      if (fault == Fault::link_refused && !waits_for_link(each.kind)) continue;
      kinds.set(static_cast<std::size_t>(each.kind));
    }
    coverage.met(kinds, fault, host.topology());
  }

  struct UnderWay {
    OperationKind kind;
    std::uint64_t from, to;
  };
  std::list<UnderWay> under_way;

  Host& host;
  Counts counts;
  Coverage coverage;
  bool ending = false;
  std::uint64_t senders = 0;  // that there are anywhere

 private:
  const std::uint64_t steps_seed_;
  std::map<std::uint64_t, sim::Generator> chances_;  // by process; 0: of the fault that strikes
};

// An operation is under way from this process to another for as long as this is there.
class Doing {
 public:
  Doing(Stage& stage, OperationKind kind, std::uint64_t to)
      : all_(stage.under_way), me_(all_.insert(all_.end(), {kind, stage.me(), to})) {
    stage.coverage.begun(kind, stage.host.topology());
  }
  ~Doing() { all_.erase(me_); }
  Doing(const Doing&) = delete;
  Doing& operator=(const Doing&) = delete;

 private:
  std::list<Stage::UnderWay>& all_;
  const std::list<Stage::UnderWay>::iterator me_;
};

// Counts a sender for as long as it is there.
class Sends {
 public:
  explicit Sends(Stage& stage) : stage_(stage) { ++stage_.senders; }
  ~Sends() { --stage_.senders; }
  Sends(const Sends&) = delete;
  Sends& operator=(const Sends&) = delete;

 private:
  Stage& stage_;
};

// Content that begins with its number; `kind` tells it from that of others.
inline std::vector<std::byte> numbered(std::uint64_t number, std::size_t length, std::uint64_t kind) {
  std::vector<std::byte> bytes = pattern(length, number + kind);
  std::memcpy(bytes.data(), &number, sizeof number);
  return bytes;
}

// One of the last that were made, of another process; null: there is none.
template <class Place>
Place* any_of_others(std::deque<Place>& all, Stage& stage) {
  if (all.empty()) return nullptr;
  const std::size_t back = stage.chance().below(std::min<std::size_t>(all.size(), 4));
  Place& place = all[all.size() - 1 - back];
  return place.owner == stage.me() ? nullptr : &place;
}

inline const Offer* Offers::any(Stage& stage) const {
  if (all_.empty()) return nullptr;
  const std::size_t back =
      stage.chance().below(stage.chance().one_in(4) ? all_.size() : std::min<std::size_t>(all_.size(), 4));
  const Offer& found = all_[all_.size() - 1 - back];
  return found.owner == stage.me() ? nullptr : &found;
}

}  // namespace hamlyn::simulation
