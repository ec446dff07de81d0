#pragma once
// Where the interfaces of this program are: on a machine, with its clock, its sleep, its threads and a
// daemon, or in a simulation of one, which decides all of that (design, section 6). Everything above runs in
// either, the same code.
#include <poll.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>

#include "base/namespaces.h"
#include "hamlyn/core/interface.h"

namespace hamlyn::internal_::library {

class Engine;
class HostServices;

// Something that runs beside the application. Destroyed when it has been told to end; waits until it has.
class Task {
 public:
  virtual ~Task() = default;
};

// A simulation, of which a program has one at a time, and then no interface outside of it.
class Setting {
 public:
  using Time = std::chrono::steady_clock::time_point;

  virtual Time now() noexcept = 0;
  virtual std::uint64_t random_key() noexcept = 0;
  // As futex_sleep; wakes also when something has come by the interface's gate.
  virtual void sleep(const std::atomic<std::uint32_t>& word, std::uint32_t value,
                     std::optional<Time> until) noexcept = 0;
  // As wait_for_descriptors.
  virtual bool wait(std::span<pollfd> descriptors, std::optional<Time> until) noexcept = 0;
  // As fdatasync: false, it has failed.
  virtual bool sync(int file) noexcept = 0;
  // Lets others run that can.
  virtual void step_aside() noexcept = 0;
  virtual std::unique_ptr<Task> start(std::function<void()> main) = 0;
  virtual std::unique_ptr<HostServices> make_host_services(Engine& engine,
                                                           const Interface::Options& options) = 0;
  // Holds the one thing that a program has of a kind, for its process that runs: null at first; goes when
  // that ends.
  virtual std::shared_ptr<void>& own() noexcept = 0;

 protected:
  ~Setting() = default;
};

// Null: this machine. Changed while there is no interface, by whoever makes a simulation, in its one thread.
inline Setting* simulation = nullptr;

// The clock that all of the library goes by.
struct Clock {
  using time_point = std::chrono::steady_clock::time_point;
  using duration = time_point::duration;
  using rep = time_point::rep;
  using period = time_point::period;
  static constexpr bool is_steady = true;

  static time_point now() noexcept {
    return simulation == nullptr ? std::chrono::steady_clock::now() : simulation->now();
  }
};

}  // namespace hamlyn::internal_::library
