// Split-C programs whose ranks are on two nodes.
#include <cstdlib>
#include <random>

#include "test/job/far_ranks.h"

namespace hamlyn::test {
namespace {

class FarSplitC : public FarRanks {
 protected:
  // Ranks pass over SIGTERM once they have begun: each ends by what its own calls have told it. Before,
  // SIGTERM ends them; and while libfabric is loaded, whose handler of its own ends with 1.
  void end_with_a_rank(const std::string& way) {
    const std::string script = "trap '' TERM; exec " HAMLYN_SPLITC_RANK " all " + way;
    kill_at_any_moment({"sh", "-c", script}, [](const JobEnd& end, int victim) {
      for (int rank = 0; rank != kRanks; ++rank) {
        const int status = end.statuses[static_cast<std::size_t>(rank)];
        const bool ended_as_told = status == 0 || status == 5;
        const bool not_begun = status == 128 + SIGTERM || status == 1;
        EXPECT_TRUE(rank == victim || ended_as_told || not_begun) << rank << " ended with " << status;
      }
    });
  }
};

// Over segments, or over VIs.
TEST_F(FarSplitC, ends_with_a_rank_that_is_killed_at_any_moment) {
  const bool often = std::getenv("HAMLYN_TEST_KILLS") != nullptr;
  const bool over_vi = std::random_device{}() % 2 != 0;
  if (often || !over_vi) end_with_a_rank("");
  if (often || over_vi) end_with_a_rank("--over vi");
}

}  // namespace
}  // namespace hamlyn::test
