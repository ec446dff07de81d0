#include "tool/perf/sleeping.h"

#include <sys/resource.h>

#include <stdexcept>
#include <string>

namespace hamlyn::tool::perf {
namespace {

std::uint64_t sleeps_so_far() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<std::uint64_t>(usage.ru_nvcsw);
}

}  // namespace

SleepCount::SleepCount() : start_(sleeps_so_far()) {}

void SleepCount::check(std::uint64_t messages) const {
  const std::uint64_t sleeps = sleeps_so_far() - start_;
  if (sleeps * 2 >= messages) return;
  throw std::runtime_error("no wake-up was measured: the receiver slept " + std::to_string(sleeps) +
                           " times for " + std::to_string(messages) + " messages");
}

}  // namespace hamlyn::tool::perf
