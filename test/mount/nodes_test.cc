// Numbers that the kernel has of files.
#include "mount/nodes.h"

#include <gtest/gtest.h>

namespace hamlyn::internal_::mount {
namespace {

files::Handle handle_of(std::uint64_t seal) { return {.kind = 1, .length = 8, .seal = seal}; }

TEST(Nodes, stand_for_one_file_until_they_are_forgotten_as_often_as_they_were_told) {
  Nodes nodes(handle_of(1));
  EXPECT_EQ(nodes.of(Nodes::kRoot), handle_of(1));
  const auto file = nodes.tell(handle_of(2)), other = nodes.tell(handle_of(3));
  EXPECT_NE(file, other);
  EXPECT_EQ(nodes.tell(handle_of(2)), file);
  nodes.forget(file, 1);
  EXPECT_EQ(nodes.of(file), handle_of(2));
  nodes.forget(file, 1);
  EXPECT_FALSE(nodes.of(file));
  EXPECT_EQ(nodes.of(other), handle_of(3));
  const auto again = nodes.tell(handle_of(2));
  EXPECT_NE(again, file) << "a number is not given twice";
  EXPECT_NE(again, other);
}

TEST(Nodes, take_whatever_is_forgotten) {
  Nodes nodes(handle_of(1));
  nodes.forget(Nodes::kRoot, 100);
  EXPECT_TRUE(nodes.of(Nodes::kRoot)) << "the root stays";
  nodes.forget(17, 1);
  const auto file = nodes.tell(handle_of(2));
  nodes.forget(file, 100);
  EXPECT_FALSE(nodes.of(file));
  EXPECT_FALSE(nodes.of(0));
}

}  // namespace
}  // namespace hamlyn::internal_::mount
