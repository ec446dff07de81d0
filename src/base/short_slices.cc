#include "base/short_slices.h"

#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace hamlyn::internal_::base {

bool scheduling_of_thread(SchedulingAttributes& attributes) noexcept {
  return syscall(SYS_sched_getattr, 0, &attributes, sizeof attributes, 0) == 0;
}

void ask_for_short_slices() noexcept {
  SchedulingAttributes attributes{};
  if (!scheduling_of_thread(attributes)) return;
  if (attributes.policy != SCHED_OTHER) return;  // somebody has chosen
  attributes.runtime = kShortSlice;
  syscall(SYS_sched_setattr, 0, &attributes, 0);
}

}  // namespace hamlyn::internal_::base
