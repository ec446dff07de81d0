// Command lines of `hamlyn`: its own words, nearly its own, and anything.
//
// Besides not crashing: whatever is said is either taken, with every number inside of its range, or asks for
// help, or is refused as a command line, in one line of text without control characters.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "test/fuzz/input.h"
#include "test/fuzz/target.h"
#include "tool/command_line.h"
#include "tool/failure.h"

namespace hamlyn::fuzz {
namespace {

Goal goals[] = {{"command lines that were taken", 10}, {"that asked for help", 5}, {"that were refused", 50}};
Goal &taken = goals[0], &helped = goals[1], &refused = goals[2];

constexpr const char* kCommands[] = {"send", "receive", "node", "top", "calls", "doctor", "perf"};
constexpr const char* kWords[] = {"--node",
                                  "--timeout",
                                  "--quiet",
                                  "-q",
                                  "--to",
                                  "--json",
                                  "--group",
                                  "--everyone",
                                  "--keep-partial",
                                  "--pid",
                                  "-i",
                                  "-n",
                                  "--count",
                                  "--nodes",
                                  "--only",
                                  "--cores",
                                  "--list",
                                  "--help",
                                  "-h",
                                  "--version",
                                  "--",
                                  "-",
                                  "0",
                                  "1",
                                  "-1",
                                  "1.5",
                                  "1e9",
                                  "nan",
                                  "inf",
                                  "-inf",
                                  "1e-300",
                                  "1e10",
                                  "0,1",
                                  "1-9",
                                  "0x10",
                                  "a",
                                  "name",
                                  "anyone",
                                  "3600",
                                  "1000",
                                  "18446744073709551615",
                                  "18446744073709551616",
                                  "--timeout=",
                                  "--interval",
                                  "--count=",
                                  "--interval="};

std::string word(Input& input) {
  std::string out;
  const std::uint64_t form = input.pick(8);
  if (form != 0) out = kWords[input.pick(std::size(kWords))];
  if (form < 3) {
    const auto bytes = input.bytes(input.pick(24));
    out.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  }
  return out.c_str();  // none has a zero inside
}

void expect_in_range(const tool::CommandLine& line) {
  for (const tool::TransferOptions* each : {static_cast<const tool::TransferOptions*>(&line.send),
                                            static_cast<const tool::TransferOptions*>(&line.receive)}) {
    if (!each->timeout) continue;
    EXPECT_GE(each->timeout->count(), 0);
    EXPECT_LE(each->timeout->count(), 1'000'000'000'000);
  }
  EXPECT_TRUE(line.top.seconds >= 0.01 && line.top.seconds <= 3600) << line.top.seconds;
}

}  // namespace

const RandomRuns random_runs{.runs = 200, .bytes = 6, .goals = goals};

void fuzz(std::span<const std::byte> bytes) {
  Input input{bytes};
  std::vector<std::string> words{"hamlyn"};
  if (input.pick(8) != 0) words.emplace_back(kCommands[input.pick(std::size(kCommands))]);
  while (!input.empty() && words.size() < 16) words.push_back(word(input));
  std::vector<const char*> argv;
  for (const std::string& each : words) argv.push_back(each.c_str());

  tool::CommandLine line;
  try {
    tool::read_command_line(static_cast<int>(argv.size()), argv.data(), line);
  } catch (const tool::Failure& failure) {
    ++refused.times;
    EXPECT_EQ(failure.exit(), tool::kUsage);
    for (const char c : tool::line(line.speaker.name(), failure))
      EXPECT_TRUE(static_cast<unsigned char>(c) >= ' ') << int{c};
    return;
  }
  if (!line.help.empty()) {
    ++helped.times;
    return;
  }
  ++taken.times;
  EXPECT_NE(std::find(std::begin(kCommands), std::end(kCommands), line.speaker.command), std::end(kCommands))
      << line.speaker.command;
  expect_in_range(line);
}

}  // namespace hamlyn::fuzz
