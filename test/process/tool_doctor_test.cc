// `hamlyn doctor` on the machine that the tests run on.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "test/process/tool_world.h"

namespace hamlyn::test {
namespace {

using nlohmann::json;

TEST(ToolDoctor, TellsOfThisMachineInWordsAndInJson) {
  World world;
  const Finished text = world.run({"doctor"});
  EXPECT_EQ(text.status, 0) << text.out << "nothing of what is tested here would work otherwise";
  EXPECT_TRUE(text.out.starts_with("kernel ")) << text.out;
  const Finished finished = world.run({"doctor", "--json"});
  ASSERT_EQ(finished.status, 0) << finished.err;
  const json said = json::parse(finished.out);
  for (const json& finding : said.at("findings")) {
    EXPECT_NE(text.out.find(finding.at("found").get<std::string>()), std::string::npos);
  }
  EXPECT_EQ(world.run({"doctor", "now"}).status, 2);
}

}  // namespace
}  // namespace hamlyn::test
