#pragma once
// One interface in a simulation or a test: its core, and what the core needs from outside, which here only
// counts.
#include <cstdint>
#include <memory>
#include <set>

#include "fabric/sim/generator.h"
#include "interface/core.h"

namespace hamlyn::simulation {

class Party final : public interface::Surroundings {
 public:
  explicit Party(std::uint64_t number) : id(number), keys_(number) {}

  std::uint64_t random_key() override { return keys_.next(); }
  void want_link(std::uint64_t peer) noexcept override { wanted.insert(peer); }
  void attention() noexcept override { ++attentions; }
  void signal(interface::Queue&) noexcept override { ++signals; }
  void must_sync(interface::Store& store) noexcept override { to_sync.insert(&store); }
  void departure_waits() noexcept override { ++departures; }
  void settled() noexcept override { ++settles; }

  interface::CounterPage& counters() noexcept {
    return *counters_;
  }
  std::uint64_t refused(Refusal cause) const noexcept {
    return counters_->refused[static_cast<std::size_t>(cause)];
  }
  std::uint64_t refused_in_all() const noexcept {
    std::uint64_t sum = 0;
    for (const std::uint64_t count : counters_->refused) sum += count;
    return sum;
  }

  const std::uint64_t id;
  std::set<std::uint64_t> wanted;  // peers that there was no link to
  std::set<interface::Store*> to_sync;
  int attentions = 0;
  int signals = 0;
  int departures = 0;  // that wait for the next run
  int settles = 0;     // calls to look again for those who wait

 private:
  sim::Generator keys_;
  std::unique_ptr<interface::CounterPage> counters_ = std::make_unique<interface::CounterPage>();

 public:
  interface::Core core {
    *this, *counters_
  };
};

}  // namespace hamlyn::simulation
