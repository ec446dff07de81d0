#pragma once
// Programs of a few processes with the whole library on a simulated host, and a death of one of them at any
// time.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <functional>
#include <optional>
#include <vector>

#include "hamlyn/protocols/manager.h"
#include "hamlyn/values/error.h"
#include "library/wait/descriptor_wait.h"
#include "simulation/host/host.h"

namespace hamlyn::test {

class Hosted {
 public:
  using Main = std::function<void(Hosted&)>;

  explicit Hosted(const sim::Weather& weather = {.least_delay = 1000, .most_delay = 1000},
                  std::uint64_t seed = 7)
      : Hosted(simulation::Host::Rules{.weather = weather}, seed) {}
  Hosted(const simulation::Host::Rules& rules, std::uint64_t seed) : host(seed, rules, {}) {}

  Hosted& add(Main main) {
    host.come([this, body = std::move(main)](simulation::Inhabitant&) { body(*this); });
    return *this;
  }
  // What process `number` does ends at that time.
  Hosted& kill(std::uint64_t number, std::uint64_t nanoseconds) {
    host.after(nanoseconds, [this, number] { host.kill(host.inhabitant(number)); });
    return *this;
  }
  void run() {
    host.run();
    EXPECT_EQ(host.problem(), "");
  }
  // Whether the process that runs is a live one: what the dead find out is nobody's concern.
  bool alive() { return host.here().alive; }
  bool alive(std::uint64_t number) { return host.inhabitant(number).alive; }
  void expect(bool as_it_should_be, const char* what) {
    if (alive()) host.demand(as_it_should_be, what);
  }

  simulation::Host host;
};

inline constexpr std::uint64_t kMillisecond = 1'000'000;  // of virtual time

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr std::uint64_t kRoughSeeds = 12;  // a fiber's switch costs these builds much
#else
inline constexpr std::uint64_t kRoughSeeds = 60;
#endif

// By turns one host that keeps the order, one where packets overtake each other, and two with a wire between
// them that loses, repeats and delays.
inline simulation::Host::Rules rough_rules(std::uint64_t seed) {
  simulation::Host::Rules rules;
  rules.weather = {.least_delay = 1000, .most_delay = seed % 3 == 0 ? 1000u : 200'000u};
  if (seed % 3 != 2) return rules;
  rules.hosts = 2;
  rules.wire = {.least_delay = 1000, .most_delay = 200'000, .lost_one_in = 10, .repeated_one_in = 8};
  rules.far.resend = kMillisecond;
  rules.far.acknowledge = 50'000;
  return rules;
}

// Runs it with that process dying at any time, from the first to the last that makes a difference.
template <class Program>
void with_a_death_at_any_time(std::uint64_t victim, Program program) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  constexpr std::uint64_t kStep = 15'000;  // a fiber's switch costs these builds much
#else
  constexpr std::uint64_t kStep = 6'000;
#endif
  constexpr std::uint64_t kLast = 1'200'000;
  const char* const often = std::getenv("HAMLYN_TEST_DEATHS");  // so many times as many
  const std::uint64_t times = often == nullptr ? 1 : std::strtoull(often, nullptr, 10);
  const std::uint64_t step = kStep / std::clamp<std::uint64_t>(times, 1, kStep);
  for (std::uint64_t time = 0; time < kLast && !testing::Test::HasFailure(); time += step) {
    SCOPED_TRACE(time);
    Hosted hosted;
    hosted.kill(victim, time);
    program(hosted);
    hosted.run();
  }
}

// A seed under that name; none if whoever would register it has died.
inline std::optional<Seed> seed_of(Manager& manager, std::string_view name) {
  try {
    return manager.lookup(name, std::chrono::milliseconds{2});
  } catch (const Error&) {
    return std::nullopt;
  }
}

// What poll(2) is to real processes. False: this process has died.
inline bool wait_until_readable(int descriptor) {
  pollfd one{descriptor, POLLIN, 0};
  return library::wait_for_descriptors({&one, 1}, std::nullopt);
}

template <class Open>
ErrorCode code_of(Open open) {
  try {
    open();
    return {};
  } catch (const Error& error) {
    return error.code();
  }
}

inline std::span<const std::byte> bytes_of(std::string_view text) { return std::as_bytes(std::span{text}); }
inline std::string_view text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace hamlyn::test
