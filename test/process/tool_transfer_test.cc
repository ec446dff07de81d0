// `hamlyn send` and `hamlyn receive` as their users run them: what goes in comes out, and nothing stays
// behind.
#include <gtest/gtest.h>
#include <poll.h>
#include <pty.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <thread>

#include "test/process/tool_world.h"

namespace hamlyn::test {
namespace {

constexpr std::size_t kMiB = 1 << 20;

// Nothing of a transfer has a name in memory: not a file of ours is in the folder where such would be.
std::vector<std::string> names_in_shared_memory() {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator("/dev/shm")) {
    const std::string name = entry.path().filename();
    if (name.find("hamlyn") != std::string::npos) names.push_back(name);
  }
  return names;
}

class ToolTransfer : public testing::TestWithParam<std::tuple<std::size_t, bool>> {};

TEST_P(ToolTransfer, WhatGoesInComesOut) {
  const auto [bytes, receiver_first] = GetParam();
  World world;
  const std::string data = noise(bytes);
  write_file(world.file("in"), data);
  const std::vector<std::string> send{"send", "toy", world.file("in")};
  const std::vector<std::string> receive{"receive", "toy", world.file("out")};
  Command first = world.start(receiver_first ? receive : send);
  Command second = world.start(receiver_first ? send : receive);
  for (Command* command : {&second, &first}) {
    const Finished finished = command->wait();
    EXPECT_EQ(finished.status, 0) << finished.err;
    EXPECT_EQ(finished.out, "");
  }
  EXPECT_TRUE(read_file(world.file("out")) == data) << "of " << bytes << " bytes";
  EXPECT_EQ(world.data().names(), (std::vector<std::string>{"in", "out"}));
  EXPECT_EQ(names_in_shared_memory(), std::vector<std::string>{});
}

std::string case_name(const testing::TestParamInfo<std::tuple<std::size_t, bool>>& info) {
  const auto [bytes, receiver_first] = info.param;
  return std::to_string(bytes) + (receiver_first ? "_receiver_first" : "_sender_first");
}

INSTANTIATE_TEST_SUITE_P(
    Sizes, ToolTransfer,
    testing::Combine(testing::Values(0, 1, kMiB - 1, kMiB, kMiB + 1, 8 * kMiB, 40 * kMiB), testing::Bool()),
    case_name);

TEST(ToolPipes, FromPipeToPipe) {
  World world;
  Pipe in, out;
  Command receiver = world.start({"receive", "toy"}, {.output_fd = out.write.get()});
  Command sender = world.start({"send", "toy", "-"}, {.input_fd = in.read.get()});
  in.read.reset();
  out.write.reset();
  const std::string data = noise(5 * kMiB + 77);
  std::thread feeder([&] {
    EXPECT_TRUE(feed(in.write.get(), data));
    in.write.reset();
  });
  std::string got;
  char piece[65536];
  for (ssize_t length; (length = ::read(out.read.get(), piece, sizeof piece)) > 0;) {
    got.append(piece, static_cast<std::size_t>(length));
  }
  feeder.join();
  EXPECT_TRUE(got == data);
  EXPECT_EQ(sender.wait().status, 0) << sender.err();
  EXPECT_EQ(receiver.wait().status, 0) << receiver.err();
}

TEST(ToolPipes, WhatIsThereIsSentAtOnce) {
  World world;
  Pipe in;
  Command receiver = world.start({"receive", "log"});
  Command sender = world.start({"send", "log"}, {.input_fd = in.read.get()});
  in.read.reset();
  ASSERT_TRUE(feed(in.write.get(), "first line\n"));
  EXPECT_TRUE(eventually([&] { return receiver.out() == "first line\n"; })) << "while the pipe is still open";
  ASSERT_TRUE(feed(in.write.get(), "second line\n"));
  EXPECT_TRUE(eventually([&] { return receiver.out() == "first line\nsecond line\n"; }));
  in.write.reset();
  EXPECT_EQ(sender.wait().status, 0) << sender.err();
  EXPECT_EQ(receiver.wait().status, 0) << receiver.err();
}

TEST(ToolTransferReport, JsonSaysTheSameOnBothSides) {
  World world;
  const std::string data = noise(3 * kMiB + 5);
  Command receiver = world.start({"receive", "toy", world.file("out"), "--json"});
  Command sender = world.start({"send", "toy", "--json"}, {.input = data});
  const Finished sent = sender.wait(), received = receiver.wait();
  ASSERT_EQ(sent.status, 0) << sent.err;
  ASSERT_EQ(received.status, 0) << received.err;
  const auto at_sender = nlohmann::json::parse(sent.out), at_receiver = nlohmann::json::parse(received.out);
  EXPECT_EQ(at_sender.at("bytes"), data.size());
  EXPECT_EQ(at_receiver.at("bytes"), data.size());
  EXPECT_EQ(at_sender.at("checksum"), at_receiver.at("checksum"));
  EXPECT_GT(at_sender.at("rate"), 0);
  EXPECT_GT(at_receiver.at("seconds"), 0);
  EXPECT_EQ(at_sender.at("peer").at("pid"), receiver.pid());
  EXPECT_EQ(at_receiver.at("peer").at("pid"), sender.pid());
  EXPECT_EQ(at_receiver.at("peer").at("uid"), ::getuid());
  EXPECT_EQ(sent.err + received.err, "");
}

TEST(ToolTransferReport, JsonKeepsOutOfTheData) {
  World world;
  Command receiver = world.start({"receive", "toy", "--json"});
  Command sender = world.start({"send", "toy", "--quiet"}, {.input = "data"});
  const Finished sent = sender.wait(), received = receiver.wait();
  EXPECT_EQ(sent.status, 0);
  EXPECT_EQ(sent.out + sent.err, "") << "quiet is quiet";
  EXPECT_EQ(received.out, "data");
  EXPECT_EQ(nlohmann::json::parse(received.err).at("bytes"), 4);
}

// What a terminal shows of `hamlyn send` with these options while it is in the middle of a transfer, and
// after it.
struct Shown {
  std::string during, after;
};

Shown on_a_terminal(bool quiet) {
  World world;
  int master = -1, slave = -1;
  EXPECT_EQ(::openpty(&master, &slave, nullptr, nullptr, nullptr), 0);
  const base::FileDescriptor terminal(master), far(slave);
  const std::string data = noise(3 * kMiB);
  Pipe in;
  Command receiver = world.start({"receive", "toy"});
  Command sender =
      world.start({"send", "toy", quiet ? "--quiet" : "-"}, {.input_fd = in.read.get(), .error_fd = slave});
  EXPECT_TRUE(feed(in.write.get(), data));
  EXPECT_TRUE(eventually([&] { return receiver.out().size() == data.size(); }));
  Shown shown;
  const auto look = [&](std::string& text) {
    char piece[4096];
    pollfd ready{master, POLLIN, 0};
    for (ssize_t length = 1; length > 0 && ::poll(&ready, 1, 0) > 0;) {
      length = ::read(master, piece, sizeof piece);
      text.append(piece, static_cast<std::size_t>(std::max<ssize_t>(length, 0)));
    }
  };
  EXPECT_TRUE(eventually([&] {
    look(shown.during);
    return quiet || shown.during.find("B/s") != std::string::npos;
  }));
  in.write.reset();
  EXPECT_EQ(sender.wait().status, 0);
  look(shown.after);
  return shown;
}

TEST(ToolProgress, IsShownOnATerminalAndWipedAtTheEnd) {
  const Shown shown = on_a_terminal(false);
  EXPECT_EQ(shown.during.rfind("\r", 0), 0u) << shown.during;
  EXPECT_NE(shown.during.find("B/s"), std::string::npos) << shown.during;
  EXPECT_NE(shown.after.find("\r\033[Ksent 3.15 MB in "), std::string::npos) << shown.after;
}

TEST(ToolProgress, QuietIsQuietThereToo) {
  const Shown shown = on_a_terminal(true);
  EXPECT_EQ(shown.during + shown.after, "");
}

TEST(ToolOutput, ReplacesAFileAndKeepsItsMode) {
  World world;
  write_file(world.file("out"), "old");
  ::chmod(world.file("out").c_str(), 0640);
  Command receiver = world.start({"receive", "toy", world.file("out")});
  EXPECT_EQ(world.run({"send", "toy"}, {.input = "new"}).status, 0);
  EXPECT_EQ(receiver.wait().status, 0) << receiver.err();
  EXPECT_EQ(read_file(world.file("out")), "new");
  struct stat status {};
  ASSERT_EQ(::stat(world.file("out").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777u, 0640u);
}

TEST(ToolOrder, EachReceiverTakesOneSenderAndTheOthersWaitTheirTurn) {
  World world;
  constexpr int kSenders = 3;
  std::vector<Command> senders;
  for (int i = 0; i < kSenders; ++i)
    senders.push_back(world.start({"send", "toy"}, {.input = std::to_string(i)}));
  std::string got;
  for (int i = 0; i < kSenders; ++i) {
    const Finished received = world.run({"receive", "toy"});
    ASSERT_EQ(received.status, 0) << received.err;
    got += received.out;
  }
  std::sort(got.begin(), got.end());
  EXPECT_EQ(got, "012");
  for (Command& sender : senders) EXPECT_EQ(sender.wait().status, 0) << sender.err();
}

}  // namespace
}  // namespace hamlyn::test
