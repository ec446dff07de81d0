#include <gtest/gtest.h>

#include "hamlyn/values/error.h"
#include "node/server/config.h"

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

TEST(NodeConfig, LinksAreForEveryoneUnlessTheySaySo) {
  EXPECT_TRUE(parse_config("", "f.toml").links.everyone);
  const Config config = parse_config("[links]\nusers = [7, \"root\"]\ngroups = [8]\n", "f.toml");
  EXPECT_FALSE(config.links.everyone);
  EXPECT_EQ(config.links.users, (std::vector<std::uint32_t>{7, 0}));
  EXPECT_EQ(config.links.groups, std::vector<std::uint32_t>{8});
  EXPECT_TRUE(config.rights.everyone);
  EXPECT_FALSE(parse_config("[links]\nusers = []\n", "f.toml").links.everyone) << "nobody is somebody";
  EXPECT_EQ(refusal("[links]\nuser = [7]\n"), "f.toml:2: links.user: unknown key");
}

TEST(NodeConfig, WhatAllMayHaveIsSixteenTimesWhatOneMayUnlessItIsSaid) {
  const Config config = parse_config("[total]\nlinks = 5\n[quotas]\nlinks = 2\nbytes = 3\n", "f.toml");
  EXPECT_EQ(config.total.links, 5u);
  EXPECT_EQ(config.total.bytes, 48u);
  EXPECT_EQ(config.total.names, 16u * Quotas{}.names);
  const Config most = parse_config("[quotas]\nbytes = 9223372036854775807\n", "f.toml");
  EXPECT_EQ(most.total.bytes, ~std::uint64_t{0}) << "and no more than there is";
  EXPECT_EQ(refusal("[total]\nlink = 1\n"), "f.toml:2: total.link: unknown key");
  EXPECT_EQ(refusal("[total]\nnames = -1\n"), "f.toml:2: total.names: must be a number of at least 0");
}

TEST(NodeConfig, NamesFileLineAndKeyOfWhatIsWrong) {
  EXPECT_EQ(refusal("\n[quotas]\nlinks = -1\n"), "f.toml:3: quotas.links: must be a number of at least 0");
  EXPECT_EQ(refusal("[quotas]\nbytes = \"4G\"\n"), "f.toml:2: quotas.bytes: must be a number of at least 0");
  EXPECT_EQ(refusal("[quotas]\n\nlink = 1\n"), "f.toml:3: quotas.link: unknown key");
  EXPECT_EQ(refusal("[quota]\nlinks = 1\n"),
            "f.toml:1: quota: unknown; there are [quotas], [total], [rights], [links], [errors], "
            "[cluster] and [log]");
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

TEST(NodeConfig, ReadsACluster) {
  EXPECT_EQ(parse_config("", "f.toml").cluster.id, 0) << "none";
  const ClusterConfig least = parse_config("[cluster]\nid = 65535\njoin = \"anna\"\n", "f.toml").cluster;
  EXPECT_EQ(least.id, 65535);
  EXPECT_EQ(least.join, std::vector<std::string>{"anna"});
  EXPECT_FALSE(least.boot);
  EXPECT_EQ(least.dead_after, Time{1000});
  EXPECT_EQ(least.clerk_after, 64u);
  const ClusterConfig all = parse_config(
                                "[cluster]\nid = 1\njoin = [\"a\", \"b:1\"]\nlisten = \"[::]:9\"\n"
                                "secret = \"/s\"\nboot = true\ndead_after = 250\nclerk_after = 0\n",
                                "f.toml")
                                .cluster;
  EXPECT_EQ(all.join, (std::vector<std::string>{"a", "b:1"}));
  EXPECT_EQ(all.listen, "[::]:9");
  EXPECT_EQ(all.secret, "/s");
  EXPECT_EQ(all.boot, true);
  EXPECT_EQ(all.dead_after, Time{250});
  EXPECT_EQ(all.clerk_after, 0u);
  EXPECT_EQ(refusal("[cluster]\nid = 0\n"), "f.toml:2: cluster.id: must be a number of 1 to 65535");
  EXPECT_EQ(refusal("[cluster]\nid = 65536\n"), "f.toml:2: cluster.id: must be a number of 1 to 65535");
  EXPECT_EQ(refusal("\n[cluster]\nsecret = \"/s\"\n"),
            "f.toml:2: cluster.id: is missing: a number of 1 to 65535 that no other node has");
  EXPECT_EQ(refusal("[cluster]\nid = 1\nboot = 1\n"), "f.toml:3: cluster.boot: must be true or false");
  EXPECT_EQ(refusal("[cluster]\nid = 1\njoin = [4]\n"), "f.toml:3: cluster.join: must be a text");
  EXPECT_EQ(parse_config("[cluster]\nid = 1\nengine = \"tcp;ofi_rxm\"\n", "f.toml").cluster.engine,
            "tcp;ofi_rxm");
  EXPECT_EQ(least.engine, "");
  EXPECT_EQ(
      refusal("[cluster]\nid = 1\nengine = \"ofi_rxm\"\n"),
      "f.toml:3: cluster.engine: must be \"efa\", \"net\", \"tcp\", \"verbs;ofi_rxm\" or \"tcp;ofi_rxm\", as "
      "libfabric has it");
  EXPECT_EQ(refusal("[cluster]\nid = 1\nport = 4\n"), "f.toml:3: cluster.port: unknown key");
}

TEST(NodeConfig, AFileThatIsNotThereIsNamed) { EXPECT_THROW(read_config("/nowhere/f.toml"), Error); }

}  // namespace
}  // namespace hamlyn::node
