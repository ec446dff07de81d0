// What the command line of `hamlyn` takes and refuses, as its fuzz target has found it wanting.
#include <gtest/gtest.h>

#include <regex>
#include <string>
#include <vector>

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

TEST(CommandLine, TakesWholeNumbersWithoutASign) {
  EXPECT_EQ(read({"top", "--count", "3"}).top.count, 3u);
  for (const char* const number : {"-1", "0", "", "1.5", "1000000001"}) {
    SCOPED_TRACE(number);
    EXPECT_THROW(read({"top", "--count", number}), Failure);
  }
}

// As of a variable that is not set: to one's own user, whoever was meant, is not what was said.
TEST(CommandLine, RefusesToSendToNobody) {
  EXPECT_EQ(read({"send", "name", "--to", "anyone"}).send.to, "anyone");
  EXPECT_THROW(read({"send", "name", "--to", ""}), Failure);
  EXPECT_THROW(read({"send", "name", "--to="}), Failure);
}

TEST(CommandLine, SaysOnceWhatAnOptionTakes) {
  const std::regex twice(R"(\b(\w+):\1\b)");
  for (const char* const command : {"send", "receive", "node", "top", "calls", "doctor", "perf", "logp"}) {
    const std::string help = read({command, "--help"}).help;
    ASSERT_FALSE(help.empty()) << command;
    EXPECT_FALSE(std::regex_search(help, twice)) << help;
  }
}

TEST(CommandLine, SaysInALineWhatANumberMayBe) {
  try {
    read({"top", "--count", "0"});
    FAIL();
  } catch (const Failure& failure) {
    EXPECT_STREQ(failure.what(), "--count: Value 0 not in range 1 to 1000000000");
  }
}

}  // namespace
}  // namespace hamlyn::tool
