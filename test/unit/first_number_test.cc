// Numbers of a run of the daemon: they say of which node it is, and nothing of which run.
#include "node/server/first_number.h"

#include <gtest/gtest.h>

#include <set>

#include "node/client/protocol.h"

namespace hamlyn::node {
namespace {

TEST(FirstNumber, names_its_node_and_has_room_behind_it) {
  for (const std::uint16_t node : {std::uint16_t{0}, std::uint16_t{1}, std::uint16_t{0xFFFF}}) {
    std::set<std::uint64_t> drawn;
    for (int i = 0; i != 1000; ++i) {
      const std::uint64_t number = draw_first_number(node);
      EXPECT_EQ(node_of(number), node);
      EXPECT_EQ(node_of(number + (std::uint64_t{1} << 47)), node) << "so many may follow";
      EXPECT_NE(number, std::uint64_t{node} << kNodeShift) << "0 is no number";
      drawn.insert(number);
    }
    EXPECT_GT(drawn.size(), 990u) << "each run has its own";
  }
}

}  // namespace
}  // namespace hamlyn::node
