// `hamlyn send` on one node and `hamlyn receive` on another: two daemons on loopback, as docs/cluster.md says
// for whoever wants to try it on one host.
#include <gtest/gtest.h>
#include <unistd.h>

#include <nlohmann/json.hpp>

#include "test/process/tool_world.h"

namespace hamlyn::test {
namespace {

class ToolFar : public testing::Test {
 protected:
  ToolFar() {
    start(1, {});
    start(2, {"--join", "127.0.0.1:" + port()});
  }
  // Of no other test that runs at the same time, and below those that the kernel gives away.
  static std::string port() { return std::to_string(10000 + ::getpid() % 20000); }
  std::string socket(int node) const { return folder_.file(std::to_string(node) + ".sock"); }

  void start(int node, const std::vector<std::string>& more) {
    const std::string config = folder_.file(std::to_string(node) + ".toml");
    write_file(config, "[cluster]\nid = " + std::to_string(node) + "\nlisten = \"127.0.0." +
                           std::to_string(node) + ":" + port() + "\"\ndead_after = 30000\n");
    std::vector<std::string> words{program("hamlynd"), "--socket", socket(node), "--config", config};
    words.insert(words.end(), more.begin(), more.end());
    daemons_.push_back(std::make_unique<Command>(words, Command::Options{}));
    EXPECT_TRUE(eventually([&] { return ::access(socket(node).c_str(), F_OK) == 0; }));
  }
  // The command, at one of the nodes.
  Command hamlyn(int node, std::vector<std::string> words) const {
    words.insert(words.begin(), program("hamlyn"));
    words.insert(words.end(), {"--node", socket(node)});
    return Command(words, {});
  }
  std::string file(const std::string& name) const { return folder_.file(name); }

 private:
  Folder folder_;
  std::vector<std::unique_ptr<Command>> daemons_;
};

TEST_F(ToolFar, AFileGoesFromOneToTheOther) {
  const std::string data = noise(5 * 1024 * 1024 + 3);
  write_file(file("in"), data);
  // Either side may be first: here the sender, before the nodes know each other.
  Command sender = hamlyn(1, {"send", "far", file("in"), "--json"});
  Command receiver = hamlyn(2, {"receive", "far", file("out"), "--json"});
  const Finished sent = sender.wait(), received = receiver.wait();
  ASSERT_EQ(sent.status, 0) << sent.err;
  ASSERT_EQ(received.status, 0) << received.err;
  EXPECT_TRUE(read_file(file("out")) == data);
  const auto at_sender = nlohmann::json::parse(sent.out), at_receiver = nlohmann::json::parse(received.out);
  EXPECT_EQ(at_sender.at("checksum"), at_receiver.at("checksum"));
  EXPECT_EQ(at_sender.at("peer").at("pid"), receiver.pid());
  EXPECT_EQ(at_receiver.at("peer").at("pid"), sender.pid());
  EXPECT_EQ(at_receiver.at("peer").at("uid"), ::getuid());
}

}  // namespace
}  // namespace hamlyn::test
