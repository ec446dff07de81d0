#include "tool/perf/pair.h"

#include <poll.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <exception>
#include <stdexcept>
#include <string>

#include "tool/perf/clock.h"
#include "tool/perf/worker.h"

namespace hamlyn::tool::perf {
namespace {

using Clock = std::chrono::steady_clock;

int run_side(Room& room, int number, int processor, const Side& side) {
  try {
    pin(processor);
    side(room);
    return 0;
  } catch (const std::exception& error) {
    room.fail(number, error.what());
    return 1;
  }
}

int milliseconds_left(Clock::time_point deadline) {
  const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now()).count();
  return left > 0 ? static_cast<int>(left) : 0;
}

[[noreturn]] void throw_failure(const Room& room, int side) {
  const std::string why = room.failure(side);
  throw std::runtime_error(why.empty() ? "a measuring process ended without saying why" : why);
}

}  // namespace

std::vector<double> run_pair(Cores cores, const PairOptions& options, const Side& first, const Side& second) {
  ns_per_tick();
  Room room{options.bytes, options.results};
  Worker a{[&] { return run_side(room, 0, cores.first, first); }};
  Worker b{[&] { return run_side(room, 1, cores.second, second); }};
  const std::array<Worker*, 2> workers{&a, &b};
  std::array<pollfd, 2> waits{{{a.descriptor(), POLLIN, 0}, {b.descriptor(), POLLIN, 0}}};
  const Clock::time_point deadline = Clock::now() + std::chrono::seconds{options.seconds};
  for (int left = 2; left > 0;) {
    const int ready = poll(waits.data(), waits.size(), milliseconds_left(deadline));
    if (ready < 0 && errno == EINTR) continue;
    if (ready <= 0)
      throw std::runtime_error("not done after " + std::to_string(options.seconds) + " seconds");
    for (std::size_t i = 0; i < 2; ++i) {
      if (waits[i].fd < 0 || waits[i].revents == 0) continue;
      if (!workers[i]->wait()) throw_failure(room, static_cast<int>(i));
      waits[i].fd = -1;  // poll passes over it
      --left;
    }
  }
  return room.results();
}

std::vector<double> half_round_trips(std::span<const std::uint64_t> moments) {
  std::vector<double> halves;
  if (moments.empty()) return halves;
  halves.reserve(moments.size() - 1);
  for (std::size_t i = 1; i < moments.size(); ++i) {
    halves.push_back(static_cast<double>(moments[i] - moments[i - 1]) * ns_per_tick() / 2);
  }
  return halves;
}

}  // namespace hamlyn::tool::perf
