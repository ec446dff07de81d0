#pragma once
// For threads that mostly sleep, and have little to do when they are woken.
#include <cstdint>

#include "base/namespaces.h"

namespace hamlyn::internal_::base {

// The kernel's sched_attr, as it was at first; its header cannot stand beside the C library's <sched.h>.
struct SchedulingAttributes {
  std::uint32_t size, policy;
  std::uint64_t flags;
  std::int32_t nice;
  std::uint32_t priority;
  std::uint64_t runtime, deadline, period;
};
static_assert(sizeof(SchedulingAttributes) == 48);

inline constexpr std::uint64_t kShortSlice = 100'000;  // nanoseconds: the shortest that there is

// Asks the kernel to run the calling thread soon when it wakes, and not for long: it would otherwise wait
// until a thread that computes or polls has used its slice of milliseconds up (docs/performance.md). Its
// share of the processor stays what it was. Nothing comes of it on kernels before 6.12.
void ask_for_short_slices() noexcept;

// Asks the kernel for the attributes of the calling thread; false: it tells nothing.
bool scheduling_of_thread(SchedulingAttributes& attributes) noexcept;

}  // namespace hamlyn::internal_::base
