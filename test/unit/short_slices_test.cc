#include "base/short_slices.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <thread>

namespace hamlyn::test {
namespace {

base::SchedulingAttributes own() {
  base::SchedulingAttributes attributes{};
  EXPECT_EQ(syscall(SYS_sched_getattr, 0, &attributes, sizeof attributes, 0), 0);
  return attributes;
}

TEST(ShortSlices, are_the_calling_threads_alone_and_change_nothing_else) {
  const base::SchedulingAttributes before = own();
  base::SchedulingAttributes after{};
  std::thread([&] {
    setpriority(PRIO_PROCESS, static_cast<id_t>(gettid()), 3);
    base::ask_for_short_slices();
    after = own();
  }).join();
  EXPECT_EQ(own().runtime, before.runtime);
  EXPECT_EQ(after.policy, before.policy);
  EXPECT_EQ(after.nice, 3) << "a nice process stays nice";
  // Kernels before 6.12 say nothing of slices.
  if (before.runtime != 0) {
    EXPECT_EQ(after.runtime, 100'000u);
  }
}

}  // namespace
}  // namespace hamlyn::test
