// The program `hamlyn-sim`: a run is its seed.
#include <fcntl.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "test/support/command.h"

namespace hamlyn::test {
namespace {

using nlohmann::json;
using Words = std::vector<std::string>;

Finished run(Words words, const Command::Options& options = {}) {
  words.insert(words.begin(), program("hamlyn-sim"));
  return Command(words, options).wait();
}

TEST(SimProgram, ReplaysARunFromItsSeed) {
  const Finished once = run({"--seed", "7", "--verbose"});
  EXPECT_EQ(once.status, 0) << once.err;
  EXPECT_NE(once.out.find("process 1 comes to host 0\n"), std::string::npos);
  EXPECT_NE(once.out.find("\nseed 7: "), std::string::npos) << "what it comes to stands last";
  EXPECT_EQ(run({"--seed", "7", "--verbose"}).out, once.out);
  EXPECT_NE(run({"--seed", "8", "--verbose"}).out, once.out);
}

TEST(SimProgram, SumsUpARange) {
  const Finished finished = run({"--seeds", "1-20", "--json"});
  ASSERT_EQ(finished.status, 0) << finished.err;
  const json sum = json::parse(finished.out);
  EXPECT_EQ(sum.at("runs"), 20);
  EXPECT_EQ(sum.at("failures"), 0);
  EXPECT_TRUE(sum.at("seeds").empty());
  EXPECT_GT(sum.at("operations"), 20 * 20);
  EXPECT_GT(sum.at("faults").at("cuts"), 0);
  const json& coverage = sum.at("coverage");
  EXPECT_GT(coverage.at("seen"), 100);
  EXPECT_EQ(coverage.at("seen").get<int>() + static_cast<int>(coverage.at("never").size()),
            coverage.at("possible").get<int>());
  EXPECT_GT(coverage.at("operations").at("get").at("begun"), 0);
  EXPECT_EQ(coverage.at("operations").at("get").at("lost").size(), 3u) << "one for each topology";
  const Finished text = run({"--seeds", "1-20"});
  EXPECT_EQ(text.status, 0);
  EXPECT_NE(text.out.find("\ncovered "), std::string::npos) << text.out;
  EXPECT_NE(text.out.find("\n20 runs in "), std::string::npos) << text.out;
  EXPECT_TRUE(text.out.ends_with(", no failures\n")) << text.out;
}

TEST(SimProgram, RefusesWhatIsNoSeed) {
  const std::vector<Words> wrong{
      {},
      {"--seed", "x"},
      {"--seed", "1", "--seeds", "1-2"},
      {"--seeds", "1"},
      {"--seeds", "2-1"},
      {"--seeds", "1-2x"},
      {"--seeds", "1-99999999999999999999"},
      {"--seeds", "1-2", "--verbose"},
      {"--seeds", "1-2", "--steps", "1"},
      {"--seed", "1", "--steps", "4-3"},
      {"--seed", "1", "--steps", ""},
      {"--seed", ""},
      {"--seed", "-1"},
      {"--seed", "+1"},
      {"--seed", "1.5"},
      {"--seed", "18446744073709551616"},
      {"sim", "--seed", "1"},
  };
  for (const auto& words : wrong) {
    const Finished finished = run(words);
    EXPECT_EQ(finished.status, 2) << testing::PrintToString(words);
    EXPECT_TRUE(finished.err.starts_with("hamlyn-sim: ")) << finished.err;
  }
}

TEST(SimProgram, TakesEachSeedThatThereIs) { EXPECT_EQ(run({"--seed", "18446744073709551615"}).status, 0); }

TEST(SimProgram, PrintsItsHelp) {
  const Finished finished = run({"--help"});
  EXPECT_EQ(finished.status, 0);
  for (const char* const option : {"--seed", "--seeds", "--steps", "--verbose", "--json", "Exit status"})
    EXPECT_NE(finished.out.find(option), std::string::npos) << option;
}

TEST(SimProgram, AFailureIsAnObjectWhereOneWasAskedFor) {
  for (const Words& words : {Words{"--json", "--seeds", "2-1"}, Words{"--json", "--nonsense"}}) {
    const Finished finished = run(words);
    const json object = json::parse(finished.out, nullptr, false);
    ASSERT_TRUE(object.is_object()) << finished.out;
    EXPECT_EQ(object.at("error").at("command"), "hamlyn-sim");
    EXPECT_EQ(object.at("error").at("status"), 2);
  }
}

TEST(SimProgram, AFullDeviceIsAnError) {
  const base::FileDescriptor full(::open("/dev/full", O_WRONLY | O_CLOEXEC));
  for (const Words& words : {Words{"--seed", "7"}, Words{"--seed", "7", "--verbose"},
                             Words{"--seeds", "1-2", "--json"}, Words{"--help"}}) {
    const Finished finished = run(words, {.output_fd = full.get()});
    EXPECT_EQ(finished.status, 1) << finished.err;
    EXPECT_NE(finished.err.find("cannot write standard output: No space left on device"), std::string::npos);
  }
}

}  // namespace
}  // namespace hamlyn::test
