#pragma once
// The library's clock as machines have it.
#include <algorithm>
#include <chrono>

#include "base/namespaces.h"
#include "library/wait/deadline.h"
#include "rpc/blast/round_trip.h"

namespace hamlyn::internal_::rpc::blast {

inline Time time_of_moment(library::Clock::time_point moment) noexcept {
  return static_cast<Time>(moment.time_since_epoch().count());
}
inline Time now() noexcept { return time_of_moment(library::Clock::now()); }
inline library::Clock::time_point moment_of(Time time) noexcept {
  return library::Clock::time_point{library::Clock::duration{static_cast<library::Clock::rep>(time)}};
}
// The earlier of the two.
inline library::Deadline earlier(library::Deadline until, Time due) noexcept {
  if (due == kNever) return until;
  return until ? std::min(*until, moment_of(due)) : moment_of(due);
}

}  // namespace hamlyn::internal_::rpc::blast
