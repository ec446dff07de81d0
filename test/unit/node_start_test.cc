// Which program is started as the daemon, and which socket is its.
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "node/client/greet.h"
#include "node/client/start.h"

namespace hamlyn::node {
namespace {

// As an attacker would leave them for a set-user-ID program, in its environment and at its side.
TEST(StartNode, WhoHasMoreRightsThanItsCallerTakesNoProgramFromIt) {
  ASSERT_EQ(::setenv("HAMLYN_DAEMON", "/somewhere/else", 1), 0);
  EXPECT_EQ(find_daemon({}, false), "/somewhere/else");
  const std::string installed = find_daemon({}, true);
  EXPECT_TRUE(installed.starts_with('/')) << installed;  // not sought in PATH
  EXPECT_NE(installed, "/somewhere/else");
  ASSERT_EQ(::unsetenv("HAMLYN_DAEMON"), 0);
  EXPECT_EQ(find_daemon({}, true), installed);
  EXPECT_EQ(find_daemon("/asked/for", true), "/asked/for");  // by the program itself
}

TEST(StartNode, WhoHasMoreRightsThanItsCallerTakesNoSocketFromIt) {
  ASSERT_EQ(::setenv("HAMLYN_NODE", "/somewhere/else", 1), 0);
  EXPECT_EQ(named_socket({}, false), "/somewhere/else");
  EXPECT_EQ(named_socket({}, true), "");
  EXPECT_EQ(named_socket("/asked/for", false), "/asked/for");
  EXPECT_EQ(named_socket("/asked/for", true), "/asked/for");
  ASSERT_EQ(::unsetenv("HAMLYN_NODE"), 0);
  EXPECT_EQ(named_socket({}, false), "");
}

}  // namespace
}  // namespace hamlyn::node
