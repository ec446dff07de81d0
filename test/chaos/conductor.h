#pragma once
// Who starts, kills, stops and continues the players, and looks at them when all rest. What it does next, and
// to whom, its seed decides; when that happens to hit somebody is a matter of real time.
#include <array>
#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "test/chaos/cast.h"
#include "test/chaos/census.h"
#include "test/chaos/host.h"
#include "test/chaos/judge.h"
#include "test/chaos/player.h"

namespace hamlyn::chaos {

struct Plan {
  std::uint32_t seconds = 20;  // of chaos
  std::uint32_t processes = 28;
  std::uint64_t seed = 1;
  std::uint32_t every = 60;  // seconds of chaos between two looks
  bool users = false;
  bool daemon_faults = false;  // it is killed and upgraded, too
  std::string daemon;          // the program
};

// At rest, after so much chaos.
struct Look {
  std::uint32_t seconds = 0;
  Belongings daemon;
  Belongings steady;  // of all those who live from the beginning to the end
  std::uint64_t machine_shared_kib = 0;
  double median = 0, p99 = 0;  // microseconds, of the bystanders' round trips since the look before
};

struct Done {
  std::uint64_t kills = 0, stops = 0, starts = 0, daemon_kills = 0, upgrades = 0;
};

class Conductor {
 public:
  explicit Conductor(const Plan& plan);

  // All of it. `tell` hears of each look.
  void run(const std::function<void(const Look&)>& tell);

  const Ledger& ledger() const noexcept { return ledger_; }
  const Done& done() const noexcept { return done_; }
  std::size_t players() const noexcept { return cast_.size(); }

 private:
  using Clock = std::chrono::steady_clock;
  struct Held {
    std::unique_ptr<Player> player;
    std::int64_t stopped_for = 0;  // ms left
    bool for_long = false;         // it was stopped for longer than a link may survive
    bool killed = false;
  };

  // One that has ended.
  struct Grave {
    std::unique_ptr<Player> player;
    std::int64_t kept_for;  // ms left
  };

  void start(std::uint32_t seat);
  void reap();
  void bury(std::uint32_t passed);
  void carry_on(std::uint32_t passed);
  std::uint32_t tick();
  void run_for(std::chrono::seconds time, bool chaos);
  void calm();
  std::string silent_role() const;  // of which no letter has come; empty: there is none
  void strike();
  void strike_daemon();
  void stop(std::uint32_t seat);
  void kill(std::uint32_t seat);
  bool all_rest() const noexcept;
  void continue_all();
  void rest();
  Look look(std::uint32_t seconds, bool chaos);
  Look settled_look(std::uint32_t seconds);
  void compare(const char* whose, const Belongings& before, const Belongings& now, std::size_t processes);
  void judge_latency();
  void leave();

  std::uint64_t chance(std::uint64_t below) { return chance_() % below; }

  const Plan plan_;
  Ledger& ledger_;
  Judge judge_{ledger_};
  std::mt19937_64 chance_;
  Host host_;
  std::vector<Part> cast_;
  std::vector<Held> held_;
  std::deque<Grave> graves_;
  Clock::time_point ticked_ = Clock::now();
  std::int64_t until_strike_ = 0;
  std::int64_t until_daemon_strike_ = 0;
  Look first_;
  std::vector<double> medians_;  // of the looks after it
  Done done_;
  bool leaving_ = false;
};

}  // namespace hamlyn::chaos
