// What a daemon finds beside its socket, and anybody may have written.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "node/server/state_files.h"
#include "test/support/cluster_world.h"
#include "test/support/command.h"
#include "test/support/daemon.h"

namespace hamlyn {
namespace {

using node::Member;
using node::Secret;
using test::ClusterWorld;

struct Known {
  std::string bytes() const { return test::read_file(socket + ".members"); }
  void write(const std::string& what) const { test::write_file(socket + ".members", what); }
  std::vector<Member> read() const { return node::known_at(socket, secret); }

  const test::Folder folder;
  const std::string socket = folder.file("s");
  const Secret secret{std::byte{1}};
};

TEST(StateFiles, KeepWhomABootServerKnew) {
  const Known known;
  EXPECT_TRUE(known.read().empty());
  std::vector<Member> members;
  for (node::NodeId id = 1; id <= 40; ++id)
    members.push_back({id, false, id + 1000u, ClusterWorld::address_of(id)});
  node::keep_known(known.socket, known.secret, members);
  EXPECT_EQ(known.read(), members);
  node::keep_known(known.socket, known.secret, {});
  EXPECT_TRUE(known.read().empty());
}

TEST(StateFiles, TellOfNobodyWhereTheFileIsNotThisClusters) {
  const Known known;
  const Member member{3, false, 7, ClusterWorld::address_of(3)};
  node::keep_known(known.socket, known.secret, std::span{&member, 1});
  const std::string good = known.bytes();
  ASSERT_EQ(known.read().size(), 1u);
  EXPECT_TRUE(node::known_at(known.socket, Secret{std::byte{2}}).empty());
  for (std::size_t i = 0; i < good.size(); ++i) {
    std::string changed = good;
    changed[i] = static_cast<char>(changed[i] ^ 1);
    known.write(changed);
    EXPECT_TRUE(known.read().empty()) << i;
    known.write(good.substr(0, i));
    EXPECT_TRUE(known.read().empty()) << i;
  }
  known.write(good + "x");
  EXPECT_TRUE(known.read().empty());
  known.write(good);
  EXPECT_EQ(known.read().size(), 1u);
}

TEST(StateFiles, WaitForNobodyWhereTheFileIsAPipe) {
  const Known known;
  ASSERT_EQ(::mkfifo((known.socket + ".members").c_str(), 0600), 0);
  EXPECT_TRUE(known.read().empty());
}

}  // namespace
}  // namespace hamlyn
