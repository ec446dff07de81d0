#pragma once
// What a player has: its seat, its node, the ledger, and chance, which the driver's seed decides.
#include <atomic>
#include <chrono>
#include <cstdint>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "hamlyn/hamlyn.h"
#include "test/chaos/ledger.h"

namespace hamlyn::chaos {

// For one step of a player's: so that it looks at what the driver wants now and then.
inline constexpr std::chrono::milliseconds kStep{200};
// Nobody waits longer than this for what must come. The driver itself may be stopped.
inline constexpr std::chrono::seconds kPatience{120};
inline constexpr std::chrono::seconds kStall{4};  // of every player's interface

class Stage {
 public:
  Stage(Ledger& ledger, std::uint32_t seat, std::string node, std::vector<std::uint32_t> partners,
        std::uint64_t seed)
      : ledger_(ledger), seat_(seat), node_(std::move(node)), partners_(std::move(partners)), chance_(seed) {}

  Ledger& ledger() noexcept { return ledger_; }
  std::uint32_t seat() const noexcept { return seat_; }
  const std::string& node() const noexcept { return node_; }
  // Who receives from this one; of a receiver, nobody.
  const std::vector<std::uint32_t>& partners() const noexcept { return partners_; }
  std::string name() const { return name_of(seat_); }
  static std::string name_of(std::uint32_t seat) { return "chaos." + std::to_string(seat); }

  Interface::Options interface_options() const;
  Manager::Options manager_options() const { return {.interface = interface_options()}; }
  // This life's interface, from when on others may send to it.
  void enter(Interface& interface) noexcept { ledger_.seats[seat_].interface = interface.id(); }

  bool leaving() const noexcept { return ledger_.phase == Phase::leave; }
  bool resting() const noexcept { return ledger_.phase != Phase::run; }
  // While the driver wants rest. What is under way must be over before.
  void rest() noexcept;
  // Some time, short or long, in which somebody else may run.
  void breathe() noexcept;

  std::uint64_t chance(std::uint64_t below) { return chance_() % below; }
  std::uint64_t chance(std::uint64_t from, std::uint64_t to) { return from + chance(to - from + 1); }
  // Mostly short, now and then as long as may be.
  std::size_t some_length(std::size_t most);

  void fault(const std::string& text);

 private:
  Ledger& ledger_;
  const std::uint32_t seat_;
  const std::string node_;
  const std::vector<std::uint32_t> partners_;
  std::mt19937_64 chance_;
};

// Sleeps so long. For pace alone: nobody waits for anything by this.
void pause(std::chrono::microseconds time) noexcept;

}  // namespace hamlyn::chaos
