// `hamlyn sim`: a run is its seed.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "test/process/tool_world.h"

namespace hamlyn::test {
namespace {

using nlohmann::json;

TEST(ToolSim, ReplaysARunFromItsSeed) {
  World world;
  const Finished once = world.run({"sim", "--seed", "7", "--verbose"});
  EXPECT_EQ(once.status, 0) << once.err;
  EXPECT_NE(once.out.find("process 1 comes to host 0\n"), std::string::npos);
  EXPECT_NE(once.out.find("\nseed 7: "), std::string::npos) << "what it comes to stands last";
  EXPECT_EQ(world.run({"sim", "--seed", "7", "--verbose"}).out, once.out);
  EXPECT_NE(world.run({"sim", "--seed", "8", "--verbose"}).out, once.out);
}

TEST(ToolSim, SumsUpARange) {
  World world;
  const Finished finished = world.run({"sim", "--seeds", "1-20", "--json"});
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
  const Finished text = world.run({"sim", "--seeds", "1-20"});
  EXPECT_EQ(text.status, 0);
  EXPECT_NE(text.out.find("\ncovered "), std::string::npos) << text.out;
  EXPECT_NE(text.out.find("\n20 runs in "), std::string::npos) << text.out;
  EXPECT_TRUE(text.out.ends_with(", no failures\n")) << text.out;
}

TEST(ToolSim, RefusesWhatIsNoSeed) {
  World world;
  const std::vector<std::vector<std::string>> wrong{
      {"sim"},
      {"sim", "--seed", "x"},
      {"sim", "--seed", "1", "--seeds", "1-2"},
      {"sim", "--seeds", "1"},
      {"sim", "--seeds", "2-1"},
      {"sim", "--seeds", "1-2x"},
      {"sim", "--seeds", "1-99999999999999999999"},
      {"sim", "--seeds", "1-2", "--verbose"},
      {"sim", "--seeds", "1-2", "--steps", "1"},
      {"sim", "--seed", "1", "--steps", "4-3"},
  };
  for (const auto& words : wrong) {
    const Finished finished = world.run(words);
    EXPECT_EQ(finished.status, 2) << words.back();
    EXPECT_TRUE(finished.err.starts_with("hamlyn sim: ")) << finished.err;
  }
}

}  // namespace
}  // namespace hamlyn::test
