// Threads that look at one port: none misses a change between its look and its sleep.
#include "rpc/blast/watch.h"

#include <gtest/gtest.h>

#include "test/rpc/blast_letters.h"

namespace hamlyn::test {
namespace {

TEST(BlastWatch, does_not_sleep_through_a_change_before_anybody_slept) {
  LetterPort port;
  base::RunLock lock;
  wire::Watch watch(lock, port);
  const std::uint32_t looked = watch.changes();
  {
    const base::RunLockGuard guard(lock);
    watch.changed();
  }
  EXPECT_NE(watch.changes(), looked);
  EXPECT_TRUE(watch.wait(looked, std::nullopt));
}

}  // namespace
}  // namespace hamlyn::test
