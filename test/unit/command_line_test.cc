// What the command line of `hamlyn` takes and refuses, as its fuzz target has found it wanting.
#include <gtest/gtest.h>

#include "tool/command_line.h"
#include "tool/failure.h"

namespace hamlyn::tool {
namespace {

CommandLine read(std::vector<const char*> words) {
  words.insert(words.begin(), "hamlyn");
  CommandLine out;
  read_command_line(static_cast<int>(words.size()), words.data(), out);
  return out;
}

TEST(CommandLine, TakesSecondsWithinTheirRange) {
  EXPECT_EQ(read({"top", "--interval", "0.01"}).top.seconds, 0.01);
  EXPECT_EQ(read({"receive", "name", "--timeout", "1.5"}).receive.timeout, std::chrono::milliseconds{1500});
}

TEST(CommandLine, RefusesSecondsThatAreNoNumber) {
  for (const char* const seconds : {"nan", "-nan", "inf", "-1", "1e10", ""}) {
    SCOPED_TRACE(seconds);
    EXPECT_THROW(read({"top", "--interval", seconds}), Failure);
    EXPECT_THROW(read({"send", "name", "--timeout", seconds}), Failure);
  }
}

}  // namespace
}  // namespace hamlyn::tool
