#include <gtest/gtest.h>

#include "hamlyn/error.h"
#include "node/config.h"

namespace hamlyn::node {
namespace {

std::string refusal(const std::string& text) {
  try {
    parse_config(text, "f.toml");
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
    return error.what();
  }
  return {};
}

TEST(NodeConfig, AnEmptyFileGivesTheDefaults) {
  const Config config = parse_config("", "f.toml");
  EXPECT_EQ(config.quotas.interfaces, Quotas{}.interfaces);
  EXPECT_TRUE(config.rights.everyone);
  EXPECT_EQ(config.log_level, "info");
}

TEST(NodeConfig, ReadsEveryKey) {
  const Config config = parse_config(
      "[quotas]\ninterfaces = 1\nlinks = 2\nbytes = 3\nnames = 4\n"
      "[rights]\nusers = [\"root\", 7]\ngroups = [8, \"root\"]\n[errors]\ncut_after = 9\n[log]\nlevel = "
      "\"debug\"\n",
      "f.toml");
  EXPECT_EQ(config.quotas.interfaces, 1u);
  EXPECT_EQ(config.quotas.links, 2u);
  EXPECT_EQ(config.quotas.bytes, 3u);
  EXPECT_EQ(config.quotas.names, 4u);
  EXPECT_FALSE(config.rights.everyone);
  EXPECT_EQ(config.rights.users, (std::vector<std::uint32_t>{0, 7}));
  EXPECT_EQ(config.rights.groups, (std::vector<std::uint32_t>{8, 0}));
  EXPECT_EQ(config.cut_after, 9u);
  EXPECT_EQ(config.log_level, "debug");
}

TEST(NodeConfig, NamesFileLineAndKeyOfWhatIsWrong) {
  EXPECT_EQ(refusal("\n[quotas]\nlinks = -1\n"), "f.toml:3: quotas.links: must be a number of at least 0");
  EXPECT_EQ(refusal("[quotas]\nbytes = \"4G\"\n"), "f.toml:2: quotas.bytes: must be a number of at least 0");
  EXPECT_EQ(refusal("[quotas]\n\nlink = 1\n"), "f.toml:3: quotas.link: unknown key");
  EXPECT_EQ(refusal("[quota]\nlinks = 1\n"),
            "f.toml:1: quota: unknown; there are [quotas], [rights], [errors], [cluster] and [log]");
  EXPECT_EQ(refusal("[errors]\ncut_after = -1\n"),
            "f.toml:2: errors.cut_after: must be a number of at least 0");
  EXPECT_EQ(refusal("log = 1\n"), "f.toml:1: log: must be a table: write [log]");
  EXPECT_EQ(refusal("[rights]\nusers = 5\n"), "f.toml:2: rights.users: must be a list of names or numbers");
  EXPECT_EQ(refusal("[rights]\ngroups = [1,\n  true]\n"),
            "f.toml:3: rights.groups: must be a list of names or numbers");
  EXPECT_EQ(refusal("[rights]\nusers = [\"no such user\"]\n"),
            "f.toml:2: rights.users: this system does not know \"no such user\"");
  EXPECT_EQ(refusal("[rights]\nusers = [-4]\n"), "f.toml:2: rights.users: no such number: -4");
  EXPECT_EQ(refusal("[log]\nlevel = \"loud\"\n").substr(0, 24), "f.toml:2: log.level: mus");
  EXPECT_EQ(refusal("[quotas\n").substr(0, 10), "f.toml:1: ");
}

TEST(NodeConfig, AFileThatIsNotThereIsNamed) { EXPECT_THROW(read_config("/nowhere/f.toml"), Error); }

}  // namespace
}  // namespace hamlyn::node
