// Programs of Active Messages II whose ranks are on two nodes.
#include "test/job/far_ranks.h"

namespace hamlyn::test {
namespace {

#ifdef HAMLYN_AM_PROGRAM
using FarAmJobs = FarRanks;

// A rank that waits for a message of one that is dead has asked it for nothing: the job ends it by SIGTERM.
TEST_F(FarAmJobs, end_with_a_rank_that_is_killed_at_any_moment) {
  kill_at_any_moment({HAMLYN_AM_PROGRAM, "100"}, [](const JobEnd& end, int victim) {
    for (int rank = 0; rank != kRanks; ++rank) {
      const int status = end.statuses[static_cast<std::size_t>(rank)];
      const bool ended_as_told = status == 0 || status == 1 || status == 128 + SIGTERM;
      EXPECT_TRUE(rank == victim || ended_as_told) << rank << " ended with " << status;
    }
  });
}
#endif

}  // namespace
}  // namespace hamlyn::test
