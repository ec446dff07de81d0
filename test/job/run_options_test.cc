// Words of `hamlyn run`, and what they mean.
#include "tool/run/options.h"

#include <gtest/gtest.h>

#include "tool/failure.h"

namespace hamlyn::tool {
namespace {

TEST(RunOptions, deal_ranks_in_blocks) {
  for (std::uint32_t ranks = 1; ranks != 40; ++ranks)
    for (std::size_t hosts = 1; hosts <= ranks; ++hosts) {
      std::uint32_t next = 0;
      for (std::size_t host = 0; host != hosts; ++host) {
        const auto block = internal_::job::block_of(ranks, hosts, host);
        EXPECT_EQ(block.first, next);
        EXPECT_GE(block.ranks, ranks / hosts);
        EXPECT_LE(block.ranks, ranks / hosts + 1);
        next += block.ranks;
      }
      EXPECT_EQ(next, ranks);
    }
}

TEST(RunOptions, give_each_rank_its_share_of_the_processors) {
  const std::vector<int> processors{2, 3, 5, 7};
  EXPECT_EQ(share_of(processors, 0, 2), (std::vector{2, 3}));
  EXPECT_EQ(share_of(processors, 1, 2), (std::vector{5, 7}));
  EXPECT_EQ(share_of(processors, 2, 4), (std::vector{5}));
  for (std::uint32_t here = 0; here != 9; ++here) EXPECT_EQ(share_of(processors, here, 9).size(), 1u);
  EXPECT_EQ(share_of(processors, 8, 9), (std::vector{7}));
}

TEST(RunOptions, a_template_is_split_at_blanks_and_by_nothing_else) {
  EXPECT_EQ(words_of("  ssh -p 22  {host} ", "bee"), (std::vector<std::string>{"ssh", "-p", "22", "bee"}));
  EXPECT_EQ(words_of("a'b {host}.net;{host}", "x"), (std::vector<std::string>{"a'b", "x.net;x"}));
  EXPECT_TRUE(words_of("   ", "x").empty());
}

TEST(RunOptions, what_an_agent_is_told_comes_back_whole) {
  RunOptions options;
  options.ranks = 5;
  options.hosts = {"ant", "bee"};
  options.job = "night";
  options.label = options.trusted_network = true;
  options.token = "00ff";
  options.program = {"./a b", "$HOME", "'\"\n", "", "\xff\xfe"};
  const std::string word = agent_of(options, "bee", "/some where\xff");
  EXPECT_EQ(word.find_first_not_of("0123456789abcdef"), std::string::npos);
  std::string folder;
  const RunOptions back = options_of(word, folder);
  EXPECT_EQ(folder, "/some where\xff");
  EXPECT_EQ(back.token, "00ff");
  EXPECT_EQ(back.at, "bee");
  EXPECT_EQ(back.program, options.program);
  EXPECT_EQ(back.hosts, options.hosts);
  EXPECT_EQ(back.ranks, 5u);
  EXPECT_TRUE(back.label);
  EXPECT_FALSE(back.bind);
  EXPECT_TRUE(back.trusted_network);
  for (const char* const wrong : {"", "7", "zz", "7b7d", "5b5d"})
    EXPECT_THROW(options_of(wrong, folder), Failure);
}

RunOptions completed(RunOptions options) {
  if (options.program.empty()) options.program = {"true"};
  complete(options);
  return options;
}

TEST(RunOptions, have_a_checksum_of_their_hosts) {
  EXPECT_EQ(check_of({"ant", "bee"}), check_of({"ant", "bee"}));
  for (const std::vector<std::string>& each : std::vector<std::vector<std::string>>{
           {}, {"ant"}, {"bee", "ant"}, {"antbee"}, {"an", "tbee"}, {"ant", "bee", ""}})
    EXPECT_NE(check_of({"ant", "bee"}), check_of(each));
}

// Each rank, and each other host, is a client of the desk.
TEST(RunOptions, of_more_ranks_and_hosts_than_a_job_may_have_are_refused) {
  std::vector<std::string> hosts;
  for (int i = 0; i != 25; ++i) hosts.push_back("h" + std::to_string(i));
  EXPECT_EQ(completed({.ranks = 1000, .hosts = hosts, .at = "h0", .job = "j"}).ranks, 1000u);
  EXPECT_EQ(completed({.ranks = 999, .hosts = hosts, .via = "ssh {host}"}).ranks, 999u);
  try {
    completed({.ranks = 1000, .hosts = hosts, .via = "ssh {host}"});
    FAIL() << "this host is none of them";
  } catch (const Failure& failure) {
    EXPECT_EQ(failure.exit(), kUsage);
    EXPECT_STREQ(failure.what(), "1000 ranks and 25 other hosts are 1025, and a job may have 1024");
  }
}

TEST(RunOptions, are_completed) {
  const RunOptions one = completed({});
  EXPECT_EQ(one.hosts.size(), 1u);
  EXPECT_EQ(place_of(one), 0u);
  EXPECT_NE(one.job, completed({}).job);
  const RunOptions via = completed({.ranks = 2, .hosts = {"x-1", "y:2"}, .via = "ssh {host}"});
  EXPECT_TRUE(has_others(via));
  EXPECT_FALSE(has_others(one));
  EXPECT_TRUE(has_others(completed({.hosts = {"x"}, .via = "ssh x"}))) << "the one host is another";
  EXPECT_EQ(own_block(via).ranks, 0u);
  EXPECT_EQ(place_of(via), 2u) << "this host is none of them, and starts them all";
  EXPECT_EQ(place_of(completed({.ranks = 2, .hosts = {"x", own_host()}, .job = "j"})), 1u);
}

TEST(RunOptions, that_cannot_be_are_refused) {
  EXPECT_THROW(completed({.hosts = {"x"}}), Failure) << "neither a name nor a template";
  EXPECT_THROW(completed({.hosts = {"x"}, .via = "  "}), Failure) << "no word";
  EXPECT_THROW(completed({.ranks = 2, .hosts = {"x", "y"}, .via = "ssh x"}), Failure) << "which host?";
  EXPECT_THROW(completed({.ranks = 1, .hosts = {"x", "y"}, .via = "v"}), Failure) << "fewer ranks than hosts";
  EXPECT_THROW(completed({.ranks = 2, .hosts = {"x", "x"}, .via = "v"}), Failure);
  EXPECT_THROW(completed({.hosts = {"x"}, .at = "y", .via = "v"}), Failure);
  EXPECT_THROW(completed({.hosts = {"x"}, .job = "j"}), Failure) << "which host is this?";
  EXPECT_THROW(completed({.via = "v"}), Failure) << "of no hosts";
  for (const char* const host : {"", "-oProxyCommand=x", "a b", "a;b", "$(x)", "a/b", "a@b"})
    EXPECT_THROW(completed({.hosts = {host}, .via = "v"}), Failure) << host;
  for (const char* const job : {"a b", "a/b"}) EXPECT_THROW(completed({.job = job}), Failure) << job;
  EXPECT_THROW(completed({.job = std::string(61, 'a')}), Failure);
}

}  // namespace
}  // namespace hamlyn::tool
