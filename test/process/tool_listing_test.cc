// `hamlyn node`, and transfers between users.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "test/process/tool_world.h"
#include "test/support/users.h"

namespace hamlyn::test {
namespace {

using nlohmann::json;

json listing(World& world, const std::vector<std::string>& more = {}) {
  std::vector<std::string> words{"node", "--json"};
  words.insert(words.end(), more.begin(), more.end());
  const Finished finished = world.run(words);
  return finished.status == 0 ? json::parse(finished.out) : json();
}

// The row of `pid`, or null.
json row(const json& node, pid_t pid) {
  if (!node.is_object()) return {};
  for (const json& process : node.at("attached")) {
    if (process.at("pid") == pid) return process;
  }
  return {};
}

// The row of `pid` once it has a link over which something has come.
json row_with_link(World& world, pid_t pid) {
  json found;
  eventually([&] {
    found = row(listing(world), pid);
    return found.is_object() && found.at("details").is_object() && found["details"]["links"].size() == 1 &&
           found["details"]["links"][0]["packets_in"] > 0;
  });
  return found;
}

TEST(ToolListing, ShowsAnIdleLinkOfAtMostSixteenKiB) {
  World world;
  Pipe in;
  Command receiver = world.start({"receive", "idle"});
  Command sender = world.start({"send", "idle"}, {.input_fd = in.read.get()});
  for (const Command* command : {&receiver, &sender}) {
    const json process = row_with_link(world, command->pid());
    ASSERT_TRUE(process.is_object()) << listing(world).dump();
    EXPECT_EQ(process.at("uid"), ::getuid());
    EXPECT_EQ(process.at("program"), "hamlyn");
    const json link = process.at("details").at("links").at(0);
    const auto memory =
        link.at("memory_out").get<std::uint64_t>() + link.at("memory_in").get<std::uint64_t>();
    EXPECT_GT(memory, 0u);
    EXPECT_LE(memory, 16384u) << "of both directions together";
    EXPECT_EQ(link.at("peer_pid"), command == &receiver ? sender.pid() : receiver.pid());
    EXPECT_EQ(link.at("refused"), json::object());
    EXPECT_GT(process.at("details").at("slots"), 0);
  }
  const Finished text = world.run({"node"});
  EXPECT_EQ(text.status, 0) << text.err;
  EXPECT_NE(text.out.find("link to "), std::string::npos) << text.out;
  in.write.reset();
  EXPECT_EQ(sender.wait().status, 0) << sender.err();
  EXPECT_EQ(receiver.wait().status, 0) << receiver.err();
}

TEST(ToolListing, TopShowsWhatMoves) {
  World world;
  Pipe in;
  Command receiver = world.start({"receive", "moves", "/dev/null"});
  Command sender = world.start({"send", "moves"}, {.input_fd = in.read.get()});
  ASSERT_TRUE(row_with_link(world, sender.pid()).is_object());
  const std::vector<std::string> words{"top", "--json", "--count", "1", "--interval", "0.05"};
  const Finished idle = world.run(words);
  ASSERT_EQ(idle.status, 0) << idle.err;
  json rows = json::parse(idle.out).at("processes");
  ASSERT_EQ(rows.size(), 2u) << idle.out;
  for (const json& each : rows) EXPECT_EQ(each.at("packets_in_per_second"), 0) << idle.out;
  // Something moves all the time that it looks.
  const std::string data(1000, 'x');
  EXPECT_TRUE(eventually([&] {
    Command top = world.start(words);
    while (top.running()) EXPECT_EQ(::write(in.write.get(), data.data(), data.size()), 1000);
    rows = json::parse(top.wait().out).at("processes");
    double bytes = 0;
    for (const json& each : rows) bytes += each.at("bytes_in_per_second").get<double>();
    return bytes > 0;
  }));
  const Finished one = world.run({"top", "-n", "1", "-i", "0.01", "--pid", std::to_string(receiver.pid())});
  EXPECT_EQ(one.status, 0) << one.err;
  for (const char* wanted : {"LINK TO", "SLOT  QUEUE", "MOST STANDING", "WAITED FOR"})
    EXPECT_NE(one.out.find(wanted), std::string::npos) << one.out;
  EXPECT_EQ(world.run({"top", "--interval", "0"}).status, 2);
  in.write.reset();
  EXPECT_EQ(sender.wait().status, 0) << sender.err();
  EXPECT_EQ(receiver.wait().status, 0) << receiver.err();
}

TEST(ToolListing, AProcessThatHasEndedIsGone) {
  World world;
  Command receiver = world.start({"receive", "toy"});
  ASSERT_TRUE(eventually([&] { return row(listing(world), receiver.pid()).is_object(); }));
  receiver.signal(SIGKILL);
  receiver.wait();
  EXPECT_TRUE(eventually([&] { return world.attached() == 0; }));
}

TEST(ToolListing, AFolderThatIsGoneIsAnErrorInALine) {
  World world;
  const std::string there = std::filesystem::current_path();
  const std::string gone = world.file("gone");
  std::filesystem::create_directory(gone);
  std::filesystem::current_path(gone);
  std::filesystem::remove(gone);
  const Finished finished = world.run({"node", "--node", "socket"});
  std::filesystem::current_path(there);
  EXPECT_EQ(finished.status, 1);
  EXPECT_NE(finished.err.find("(invalid_argument)"), std::string::npos) << finished.err;
}

TEST(ToolListing, WithoutADaemonItSaysSo) {
  World world;
  const Finished finished = world.run({"node"});
  EXPECT_EQ(finished.status, 1);
  EXPECT_NE(finished.err.find("(node_unreachable): start hamlynd"), std::string::npos) << finished.err;
}

// A daemon that serves all users, and two of them.
class ToolUsers : public testing::Test {
 protected:
  static constexpr uid_t kAlice = 61001, kBob = 61002;

  void SetUp() override {
    if (::getuid() != 0) GTEST_SKIP() << "SKIPPED: needs root, to be two users";
    if (!can_start(kAlice, program("hamlyn")))
      GTEST_SKIP() << "SKIPPED: other users cannot reach " << program("hamlyn");
    daemon_.emplace(std::vector<std::string>{program("hamlynd"), "--service", "--socket", socket()},
                    Command::Options{});
    ASSERT_TRUE(eventually([&] { return as(0, {"node"}).wait().status == 0; })) << daemon_->err();
  }

  std::string socket() const { return folder_.file("node.sock"); }

  Command as(uid_t user, std::vector<std::string> words, const std::string& input = "", gid_t group = 0) {
    words.insert(words.end(), {"--node", socket()});
    return world_.start(
        words, {.input = input, .user = user, .group = group == 0 ? std::nullopt : std::optional(group)});
  }

  json list_as(uid_t user) {
    const Finished finished = as(user, {"node", "--json"}).wait();
    EXPECT_EQ(finished.status, 0) << finished.err;
    return json::parse(finished.out);
  }

  bool attached(const Command& command) {
    return eventually([&] { return row(list_as(0), command.pid()).is_object(); });
  }

  World world_;
  Folder folder_{0755};
  std::optional<Command> daemon_;
};

TEST_F(ToolUsers, EveryoneMeansEveryone) {
  Command receiver = as(kAlice, {"receive", "toy", "--everyone", "--json"});
  const std::string alice = std::to_string(kAlice);
  const Finished sent = as(kBob, {"send", "toy", "--json", "--to", alice}, "hello").wait();
  EXPECT_EQ(sent.status, 0) << sent.err;
  const Finished received = receiver.wait();
  EXPECT_EQ(received.status, 0) << received.err;
  EXPECT_EQ(received.out, "hello");
  EXPECT_EQ(json::parse(received.err).at("peer").at("uid"), kBob);
  EXPECT_EQ(json::parse(sent.out).at("peer").at("uid"), kAlice);
}

TEST_F(ToolUsers, NobodyElseMeansNobodyElse) {
  Command receiver = as(kAlice, {"receive", "toy"});
  ASSERT_TRUE(attached(receiver));
  const Finished sent = as(kBob, {"send", "toy", "--timeout", "0.3"}, "hello").wait();
  EXPECT_TRUE(sent.status == 1 || sent.status == 3) << sent.status;
  EXPECT_NE(sent.err.find("hamlyn send: "), std::string::npos) << sent.err;
  EXPECT_TRUE(receiver.running());
  EXPECT_EQ(as(kAlice, {"send", "toy"}, "mine").wait().status, 0);
  EXPECT_EQ(receiver.wait().out, "mine");
}

// Whoever registers a name first has it, and may let everyone send: what is sent to a name of one's own must
// not reach somebody else who was quicker.
TEST_F(ToolUsers, NothingIsSentToAnotherUserThanTheOneMeant) {
  Command squatter = as(kAlice, {"receive", "backup", "--everyone"});
  ASSERT_TRUE(attached(squatter));
  for (const std::vector<std::string>& to :
       {std::vector<std::string>{}, {"--to", std::to_string(kBob)}, {"--to", "root"}}) {
    std::vector<std::string> words{"send", "backup"};
    words.insert(words.end(), to.begin(), to.end());
    const Finished sent = as(kBob, words, "secret").wait();
    EXPECT_EQ(sent.status, 1) << sent.err;
    EXPECT_NE(sent.err.find("not_permitted"), std::string::npos) << sent.err;
  }
  EXPECT_EQ(as(kBob, {"send", "backup", "--to", "nobody by that name"}, "secret").wait().status, 2);
  EXPECT_TRUE(squatter.running());
  EXPECT_EQ(as(kBob, {"send", "backup", "--to", "anyone"}, "public").wait().status, 0);
  EXPECT_EQ(squatter.wait().out, "public");
}

TEST_F(ToolUsers, GroupMeansThePrimaryGroup) {
  constexpr gid_t kGroup = 61100;
  Command receiver = as(kAlice, {"receive", "toy", "--group"}, "", kGroup);
  ASSERT_TRUE(attached(receiver));
  EXPECT_NE(as(kBob, {"send", "toy", "--to", "anyone", "--timeout", "0.3"}, "no").wait().status, 0)
      << "Bob in a group of his own";
  const Finished sent = as(kBob, {"send", "toy", "--to", "anyone"}, "yes", kGroup).wait();
  EXPECT_EQ(sent.status, 0) << sent.err;
  EXPECT_EQ(receiver.wait().out, "yes");
}

TEST_F(ToolUsers, DetailsAreForTheOwnerAndRoot) {
  Command receiver = as(kAlice, {"receive", "toy", "--everyone"});
  ASSERT_TRUE(attached(receiver));
  for (const uid_t user : {kAlice, kBob, uid_t{0}}) {
    const json process = row(list_as(user), receiver.pid());
    ASSERT_TRUE(process.is_object()) << "everybody sees who is attached";
    EXPECT_EQ(process.at("details").is_object(), user != kBob) << user;
  }
}

}  // namespace
}  // namespace hamlyn::test
