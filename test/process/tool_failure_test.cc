// How `hamlyn send` and `hamlyn receive` end when it does not go well: a status and one line that says what
// to do.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include <atomic>
#include <cstddef>
#include <cstring>
#include <filesystem>
#include <memory>
#include <optional>
#include <stdexcept>
#include <thread>

#include "node/client/list.h"
#include "test/process/tool_world.h"
#include "test/support/daemon.h"
#include "test/support/forbid.h"
#include "tool/failure.h"
#include "tool/output.h"

namespace hamlyn::test {
namespace {

constexpr std::size_t kMiB = 1 << 20;

// One line, from this command, with this in it, and with a name and advice.
void expect_line(const Finished& finished, const std::string& command, const std::string& part) {
  EXPECT_EQ(finished.err.rfind("hamlyn " + command + ": ", 0), 0u) << finished.err;
  EXPECT_NE(finished.err.find(part), std::string::npos) << finished.err;
  EXPECT_NE(finished.err.find("): "), std::string::npos) << "no advice: " << finished.err;
  EXPECT_EQ(finished.err.find('\n'), finished.err.size() - 1) << finished.err;
}

// A transfer in the middle: some of it has arrived, and the sender waits for more input.
struct Midway {
  explicit Midway(World& world, const std::vector<std::string>& receive = {"receive", "toy"})
      : receiver(world.start(receive)), sender(world.start({"send", "toy"}, {.input_fd = in.read.get()})) {
    in.read.reset();
    arrived = feed(in.write.get(), noise(3 * kMiB));
  }
  Pipe in;
  Command receiver, sender;
  bool arrived;
};

// Whether a pipe takes nothing more for now.
bool full(int fd) {
  pollfd pipe{fd, POLLOUT, 0};
  return ::poll(&pipe, 1, 0) == 0;
}

bool has_arrived(const Midway& midway) {
  return midway.arrived && eventually([&] { return midway.receiver.out().size() == 3 * kMiB; });
}

TEST(ToolFailure, NoDaemonCanBeStarted) {
  World world;
  for (const std::string command : {"send", "receive"}) {
    const Finished finished =
        world.run({command, "toy"}, {.input = "x", .environment = {{"HAMLYN_DAEMON", "false"}}});
    EXPECT_EQ(finished.status, 1);
    expect_line(finished, command, "(node_unreachable)");
  }
}

// A daemon that is named was meant to be there: another one in its place would meet nobody.
TEST(ToolFailure, NoDaemonIsStartedAtASocketThatIsNamed) {
  World world;
  for (const std::string command : {"send", "receive"}) {
    const Finished finished = world.run({command, "toy", "--node", world.file("node")}, {.input = "x"});
    EXPECT_EQ(finished.status, 1);
    expect_line(finished, command,
                "'hamlynd --socket " + world.file("node") + "' starts one (node_unreachable)");
    EXPECT_FALSE(std::filesystem::exists(world.file("node")));
  }
}

TEST(ToolFailure, WithoutStandardDescriptorsNothingElseIsReadOrWritten) {
  World world;
  const Daemon daemon{world.file("node")};
  const auto shell = [&](const std::string& words, const Command::Options& options = {}) {
    return Command(
        {"sh", "-c", "exec \"$0\" " + words + " --node \"$1\"", program("hamlyn"), world.file("node")},
        options);
  };
  Command receiver = shell("receive toy");
  const Finished sent = shell("send toy <&-").wait();
  EXPECT_EQ(sent.status, 1);
  expect_line(sent, "send", "cannot read standard input: Bad file descriptor (system)");
  EXPECT_EQ(receiver.wait().status, 1);

  Command sender = shell("send toy", {.input = "some bytes"});
  const Finished received = shell("receive toy >&-").wait();
  EXPECT_EQ(received.status, 1);
  expect_line(received, "receive", "cannot write standard output: Bad file descriptor (system)");
  EXPECT_EQ(sender.wait().status, 1);
}

TEST(ToolFailure, NoLinkIsToBeHad) {
  World world;
  write_file(world.file("config"), "[quotas]\nlinks = 1\n");  // one within a user takes two
  const Daemon daemon{world.file("node"), {"--config", world.file("config")}};
  const std::vector<std::string> node{"--node", world.file("node")};
  Command receiver = world.start({"receive", "toy", node[0], node[1]});
  const Finished sent = world.run({"send", "toy", node[0], node[1]}, {.input = "x"});
  EXPECT_EQ(sent.status, 1);
  expect_line(sent, "send", "this user has as many links, or bytes in links, as it may");
  EXPECT_NE(sent.err.find("(quota_links)"), std::string::npos) << sent.err;
  EXPECT_TRUE(receiver.running()) << "it goes on waiting";
}

TEST(ToolFailure, SenderKilledMidway) {
  World world;
  Midway midway(world);
  ASSERT_TRUE(has_arrived(midway)) << midway.receiver.err();
  midway.sender.signal(SIGKILL);
  EXPECT_EQ(midway.sender.wait().status, 128 + SIGKILL);
  const Finished received = midway.receiver.wait();
  EXPECT_EQ(received.status, 1);
  expect_line(received, "receive", "before the end of its data (link_ended)");
  EXPECT_EQ(received.out, noise(3 * kMiB)) << "what had arrived whole was written";
}

// Nothing rests when the end comes: the receiver may be reading what the sender has shown it.
TEST(ToolFailure, EitherSideKilledInFullFlight) {
  for (unsigned round = 0; round != 10; ++round) {
    const bool sender_dies = round % 2 == 0;
    World world;
    Pipe in;
    const base::FileDescriptor nowhere(::open("/dev/null", O_WRONLY | O_CLOEXEC));
    Command receiver = world.start({"receive", "--quiet", "toy"}, {.output_fd = nowhere.get()});
    Command sender = world.start({"send", "--quiet", "toy"}, {.input_fd = in.read.get()});
    in.read.reset();
    std::atomic<unsigned> fed{0};
    std::thread feeder([&] {
      sigset_t pipe;
      sigemptyset(&pipe);
      sigaddset(&pipe, SIGPIPE);
      pthread_sigmask(SIG_BLOCK, &pipe, nullptr);
      const std::string some = noise(kMiB);
      while (feed(in.write.get(), some)) ++fed;
    });
    EXPECT_TRUE(eventually([&] { return fed >= 40 + 7 * round; }));
    (sender_dies ? sender : receiver).signal(SIGKILL);
    const Finished left = (sender_dies ? receiver : sender).wait(std::chrono::seconds{10});
    feeder.join();
    EXPECT_EQ(left.status, 1) << round;
    if (sender_dies) {
      expect_line(left, "receive", "before the end of its data (link_ended)");
    } else {
      expect_line(left, "send", "(link_ended)");
    }
  }
}

// Bytes of the file without a name that a receiver writes in this world's folder; none: there is no such
// file.
std::optional<std::size_t> unnamed_bytes(const World& world, const Command& receiver) {
  const std::string folder = "/proc/" + std::to_string(receiver.pid()) + "/fd";
  std::error_code gone;  // descriptors come and go
  for (const auto& each : std::filesystem::directory_iterator(folder, gone)) {
    const std::string target = std::filesystem::read_symlink(each, gone);
    struct stat status {};
    if (target.rfind(world.file(""), 0) == 0 && ::stat(each.path().c_str(), &status) == 0 &&
        status.st_nlink == 0)
      return static_cast<std::size_t>(status.st_size);
  }
  return std::nullopt;
}

// Whatever ends a receiver, nothing of what it had not finished stays.
TEST(ToolFailure, ReceiverKilledMidwayLeavesNothing) {
  World world;
  write_file(world.file("old"), "as it was");
  for (const char* name : {"new", "old"}) {
    Midway midway(world, {"receive", "toy", world.file(name)});
    ASSERT_TRUE(eventually([&] { return unnamed_bytes(world, midway.receiver) == 3 * kMiB; }));
    midway.receiver.signal(SIGKILL);
    EXPECT_EQ(midway.receiver.wait().status, 128 + SIGKILL);
    EXPECT_EQ(midway.sender.wait().status, 1);
    EXPECT_EQ(world.data().names(), std::vector<std::string>{"old"});
    EXPECT_EQ(read_file(world.file("old")), "as it was");
  }
}

// The kernel's answer for a file system that has no files without names.
void refuse_files_without_names() {
  constexpr std::uint32_t kFlags = offsetof(seccomp_data, args) + 2 * sizeof(std::uint64_t);
  sock_filter program[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat, 0, 3),
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, kFlags),
      BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, O_TMPFILE & ~O_DIRECTORY, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EOPNOTSUPP),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const sock_fprog filter{std::size(program), program};
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
      ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) != 0)
    throw std::runtime_error("no filter");
}

// A filter of system calls that is older than the call answers so.
TEST(ToolFailure, NothingFailsWhereNobodySleepsOnManyWords) {
  World world;
  for (const int error : {ENOSYS, EPERM}) {
    Child child(-1, [&] {
      forbid(SYS_futex_waitv, static_cast<std::uint32_t>(error));
      if (world.run({"doctor"}).out.find("lacks futex_waitv") == std::string::npos) return 1;
      write_file(world.file("sent"), std::string(kMiB, 'x'));
      Command receiver = world.start({"receive", "toy", world.file("received"), "--timeout", "20"});
      if (world.run({"send", "toy", world.file("sent"), "--timeout", "20"}).status != 0) return 2;
      if (receiver.wait().status != 0) return 3;
      return read_file(world.file("received")) == read_file(world.file("sent")) ? 0 : 4;
    });
    EXPECT_EQ(child.wait(), 0) << std::strerror(error);
  }
}

TEST(ToolOutput, HasATemporaryNameWhereThereAreNoFilesWithoutNames) {
  for (const bool keep : {false, true}) {
    const Folder folder;
    write_file(folder.file("old"), "before");
    Child child(-1, [&] {
      refuse_files_without_names();
      tool::Output finished(folder.file("old"), false);
      if (folder.names().size() != 2) return 1;
      finished.write(std::as_bytes(std::span{"after", 5}));
      finished.finish();
      tool::Output unfinished(folder.file("new"), keep);
      unfinished.write(std::as_bytes(std::span{"some", 4}));
      return folder.names().size() == 2 ? 0 : 2;
    });
    EXPECT_EQ(child.wait(), 0);
    EXPECT_EQ(read_file(folder.file("old")), "after");
    EXPECT_EQ(folder.names(),
              keep ? (std::vector<std::string>{"new.partial", "old"}) : std::vector<std::string>{"old"});
  }
}

TEST(ToolOutput, GoesWhereALinkLeadsWhetherThereIsAFileOrNot) {
  const Folder folder;
  std::filesystem::create_directory(folder.file("there"));
  std::filesystem::create_symlink("there/second", folder.file("first"));
  std::filesystem::create_symlink("../target", folder.file("there/second"));
  for (const std::string text : {"made", "anew"}) {
    tool::Output output(folder.file("first"), false);
    output.write(std::as_bytes(std::span{text}));
    output.finish();
    EXPECT_EQ(read_file(folder.file("target")), text);
    EXPECT_TRUE(std::filesystem::is_symlink(folder.file("first")));
    EXPECT_TRUE(std::filesystem::is_symlink(folder.file("there/second")));
  }
  std::filesystem::create_symlink("circle", folder.file("circle"));
  EXPECT_THROW(tool::Output(folder.file("circle"), false), tool::Failure);
  EXPECT_TRUE(std::filesystem::is_symlink(folder.file("circle")));
}

TEST(ToolFailure, PartialFileIsRemovedUnlessItIsWanted) {
  for (const bool keep : {false, true}) {
    World world;
    std::vector<std::string> receive{"receive", "toy", world.file("out")};
    if (keep) receive.push_back("--keep-partial");
    Midway midway(world, receive);
    ASSERT_TRUE(eventually([&] { return unnamed_bytes(world, midway.receiver) == 3 * kMiB; }));
    EXPECT_EQ(world.data().names(), std::vector<std::string>{});
    if (keep) write_file(world.file("out.partial"), "of another time");
    midway.sender.signal(SIGKILL);
    EXPECT_EQ(midway.receiver.wait().status, 1);
    EXPECT_EQ(world.data().names(),
              keep ? std::vector<std::string>{"out.partial"} : std::vector<std::string>{});
    if (keep) {
      EXPECT_TRUE(read_file(world.file("out.partial")) == noise(3 * kMiB));
    }
  }
}

TEST(ToolFailure, ReceiverKilledMidwayIsToldAlthoughTheSenderWaitsForInput) {
  World world;
  Midway midway(world);
  ASSERT_TRUE(has_arrived(midway)) << midway.receiver.err();
  midway.receiver.signal(SIGKILL);
  const Finished sent = midway.sender.wait();
  EXPECT_EQ(sent.status, 1);
  expect_line(sent, "send", "(link_ended)");
}

// The sender has sent everything by then, and waits for the verdict alone.
TEST(ToolFailure, ReceiverKilledBeforeItsVerdict) {
  World world;
  Pipe out;
  Command receiver = world.start({"receive", "toy"}, {.output_fd = out.write.get()});
  Command sender = world.start({"send", "toy"}, {.input = noise(kMiB / 2)});
  ASSERT_TRUE(eventually([&] { return full(out.write.get()); }));
  receiver.signal(SIGKILL);
  const Finished sent = sender.wait();
  EXPECT_EQ(sent.status, 1);
  expect_line(sent, "send", "(link_ended)");
}

class ToolStopped : public testing::TestWithParam<bool> {};

TEST_P(ToolStopped, GoesOnWhenItIsContinued) {
  World world;
  Midway midway(world);
  ASSERT_TRUE(has_arrived(midway)) << midway.receiver.err();
  Command& one = GetParam() ? midway.receiver : midway.sender;
  one.signal(SIGSTOP);
  ASSERT_TRUE(stopped(one));
  // More than a receiver's ring holds, so that a stopped side holds up the other.
  const std::string rest = noise(12 * kMiB, 2);
  std::thread feeder([&] {
    EXPECT_TRUE(feed(midway.in.write.get(), rest));
    midway.in.write.reset();
  });
  EXPECT_TRUE(eventually([&] { return full(midway.in.write.get()); })) << "the sender is held up";
  one.signal(SIGCONT);
  feeder.join();
  EXPECT_EQ(midway.sender.wait().status, 0) << midway.sender.err();
  const Finished received = midway.receiver.wait();
  EXPECT_EQ(received.status, 0) << received.err;
  EXPECT_TRUE(received.out == noise(3 * kMiB) + rest);
}

INSTANTIATE_TEST_SUITE_P(Sides, ToolStopped, testing::Bool(),
                         [](const auto& side) { return side.param ? "receiver" : "sender"; });

TEST(ToolInterrupted, WhileItWaitsForItsPartner) {
  for (const char* command : {"send", "receive"}) {
    World world;
    Command waiting = world.start({command, "toy"});
    ASSERT_TRUE(eventually([&] { return world.attached() == 1; }));
    waiting.signal(SIGINT);
    const Finished finished = waiting.wait();
    EXPECT_EQ(finished.status, 130);
    expect_line(finished, command, "(interrupted)");
  }
}

TEST(ToolInterrupted, MidwayBothSidesSayWhy) {
  World world;
  Midway midway(world, {"receive", "toy", world.file("out")});
  ASSERT_TRUE(eventually([&] { return unnamed_bytes(world, midway.receiver) == 3 * kMiB; }));
  midway.receiver.signal(SIGINT);
  const Finished received = midway.receiver.wait();
  EXPECT_EQ(received.status, 130);
  expect_line(received, "receive", "(interrupted)");
  const Finished sent = midway.sender.wait();
  EXPECT_EQ(sent.status, 1);
  expect_line(sent, "send", "the receiver was interrupted");
  EXPECT_EQ(world.data().names(), std::vector<std::string>{});
}

TEST(ToolInterrupted, SenderThatWaitsForInput) {
  World world;
  Midway midway(world);
  ASSERT_TRUE(has_arrived(midway));
  midway.sender.signal(SIGINT);
  EXPECT_EQ(midway.sender.wait().status, 130) << midway.sender.err();
  EXPECT_EQ(midway.receiver.wait().status, 1);
}

TEST(ToolInterrupted, SenderWhoseReceiverIsStopped) {
  World world;
  Midway midway(world);
  ASSERT_TRUE(has_arrived(midway)) << midway.receiver.err();
  midway.receiver.signal(SIGSTOP);
  ASSERT_TRUE(stopped(midway.receiver));
  const std::string more = noise(kMiB);
  std::thread feeder([&] {
    sigset_t pipe;
    sigemptyset(&pipe);
    sigaddset(&pipe, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &pipe, nullptr);
    while (feed(midway.in.write.get(), more)) {
    }
  });
  EXPECT_TRUE(eventually([&] { return full(midway.in.write.get()); }));
  midway.sender.signal(SIGINT);
  EXPECT_EQ(midway.sender.wait().status, 130) << midway.sender.err();
  feeder.join();
  midway.receiver.signal(SIGCONT);
  EXPECT_EQ(midway.receiver.wait().status, 1);
}

TEST(ToolInterrupted, ReceiverThatWaitsForItsReader) {
  World world;
  Pipe out;
  Command receiver = world.start({"receive", "toy"}, {.output_fd = out.write.get()});
  out.write.reset();
  Command sender = world.start({"send", "toy"}, {.input = noise(20 * kMiB)});
  char first = 0;
  ASSERT_EQ(::read(out.read.get(), &first, 1), 1);
  receiver.signal(SIGINT);
  EXPECT_EQ(receiver.wait().status, 130) << receiver.err();
  EXPECT_EQ(sender.wait().status, 1);
}

TEST(ToolFailure, ReaderOfTheOutputGoesAway) {
  World world;
  Pipe out;
  Command receiver = world.start({"receive", "toy"}, {.output_fd = out.write.get()});
  out.write.reset();
  Command sender = world.start({"send", "toy"}, {.input = noise(20 * kMiB)});
  char first = 0;
  ASSERT_EQ(::read(out.read.get(), &first, 1), 1);
  out.read.reset();
  const Finished received = receiver.wait(), sent = sender.wait();
  EXPECT_EQ(received.status, 1) << "an error, and no signal";
  expect_line(received, "receive", "cannot write standard output");
  EXPECT_EQ(sent.status, 1);
  expect_line(sent, "send", "the receiver could not write");
}

TEST(ToolFailure, NoSpaceForTheOutput) {
  World world;
  Command receiver = world.start({"receive", "toy", "/dev/full"});
  Command sender = world.start({"send", "toy"}, {.input = noise(20 * kMiB)});
  const Finished received = receiver.wait(), sent = sender.wait();
  EXPECT_EQ(received.status, 1);
  expect_line(received, "receive", "cannot write '/dev/full'");
  EXPECT_EQ(sent.status, 1);
  expect_line(sent, "send", "the receiver could not write");
}

TEST(ToolFailure, NoPartnerInTime) {
  World world;
  const Finished received = world.run({"receive", "toy", world.file("out"), "--timeout", "0.05"});
  EXPECT_EQ(received.status, 3);
  expect_line(received, "receive", "no sender came to 'toy' in the time given (asked at /");
  EXPECT_NE(received.err.find("(timed_out)"), std::string::npos) << received.err;
  EXPECT_EQ(world.data().names(), std::vector<std::string>{});
  const Finished sent = world.run({"send", "toy", "--timeout", "0.05"});
  EXPECT_EQ(sent.status, 3);
  // Two with other daemons each say where they have asked.
  expect_line(sent, "send", "no receiver took 'toy' in the time given (asked at /");
  EXPECT_NE(sent.err.find("(timed_out)"), std::string::npos) << sent.err;
  EXPECT_EQ(world.run({"send", "toy", "--timeout", "0"}).status, 3);
}

TEST(ToolFailure, ASocketInAFolderThatIsNotThere) {
  World world;
  const std::string socket = world.file("none/sock");
  const Finished sent = world.run({"send", "toy", "--node", socket}, {.input = "x"});
  EXPECT_EQ(sent.status, 1);
  expect_line(sent, "send", "at " + socket + ": its folder is not there (node_unreachable)");
}

// The signal of a file that is too long would say nothing.
TEST(ToolFailure, OutputIntoAFileThatMayNotGrow) {
  World world;
  Command version(
      std::vector<std::string>{"sh", "-c", "ulimit -f 0; exec \"$0\" --version >\"$1\" 2>/dev/null",
                               program("hamlyn"), world.file("out")},
      {});
  EXPECT_EQ(version.wait().status, 1);
}

// One user with two folders for sockets has two daemons: each side says which one it has asked.
// The key by which a daemon knows its processes again was lost with its folder.
TEST(ToolFailure, AReceiverThatIsCutOffFromItsDaemonForGoodSaysSoAndWhy) {
  World world;
  const std::string node = world.file("node");
  auto daemon = std::make_unique<Daemon>(node);
  Command receiver = world.start({"receive", "toy", "--timeout", "30", "--node", node});
  ASSERT_TRUE(eventually([&] { return node::list(at(node)).names == 1; }));
  daemon->kill();
  for (const auto& file : std::filesystem::directory_iterator(world.data().path()))
    std::filesystem::remove(file.path());
  daemon = std::make_unique<Daemon>(node);
  const Finished finished = receiver.wait();
  EXPECT_EQ(finished.status, 1);
  expect_line(finished, "receive", "cut off from its node daemon: this node had not given");
  EXPECT_NE(finished.err.find("(not_permitted)"), std::string::npos) << finished.err;
}

TEST(ToolFailure, AReceiverWhoseDaemonHasEndedSaysSoWhenItsTimeIsOver) {
  World world;
  const std::string node = world.file("node");
  Daemon daemon{node};
  Command receiver = world.start({"receive", "toy", "--timeout", "3", "--node", node},
                                 {.environment = {{"HAMLYN_DAEMON", "false"}}});  // it can start no other
  ASSERT_TRUE(eventually([&] { return node::list(at(node)).names == 1; }));
  daemon.kill();
  const Finished finished = receiver.wait();
  EXPECT_EQ(finished.status, 3);
  expect_line(finished, "receive",
              "no sender can come to 'toy': this process is cut off from its node daemon: ");
}

TEST(ToolFailure, WithTwoDaemonsEachSideNamesItsOwn) {
  World here, there;
  Command receiver = there.start({"receive", "toy", "--timeout", "0.2"});
  Command sender = here.start({"send", "toy", "--timeout", "0.2"});
  const Finished sent = sender.wait(), received = receiver.wait();
  EXPECT_EQ(sent.status, 3);
  expect_line(sent, "send", "no receiver took 'toy' in the time given (asked at " + here.socket());
  EXPECT_EQ(received.status, 3);
  expect_line(received, "receive", "no sender came to 'toy' in the time given (asked at " + there.socket());
}

// It is not waited for longer than for a partner.
TEST(ToolFailure, ADaemonThatIsStopped) {
  World world;
  Daemon daemon{world.file("node")};
  daemon.command().signal(SIGSTOP);
  ASSERT_TRUE(stopped(daemon.command()));
  std::vector<Command> both;
  for (const std::string command : {"send", "receive"})
    both.push_back(world.start({command, "toy", "--node", world.file("node"), "--timeout", "0.05"}));
  for (Command& each : both) {
    const Finished finished = each.wait();
    EXPECT_EQ(finished.status, 3);
    EXPECT_NE(finished.err.find("does not answer (timed_out): see whether hamlynd is stopped"),
              std::string::npos)
        << finished.err;
  }
}

TEST(ToolFailure, NameIsTaken) {
  World world;
  Command receiver = world.start({"receive", "toy"});
  ASSERT_TRUE(eventually([&] { return world.names() == 1; }));
  const Finished second = world.run({"receive", "toy"});
  EXPECT_EQ(second.status, 1);
  expect_line(second, "receive", "(name_taken)");
  EXPECT_EQ(world.run({"send", "toy"}, {.input = "x"}).status, 0);
  EXPECT_EQ(receiver.wait().out, "x") << "the first has lost nothing";
}

TEST(ToolFailure, BadNames) {
  World world;
  for (const char* command : {"send", "receive"}) {
    for (const std::string& name :
         {std::string("a/b"), std::string(""), std::string(65, 'a'), std::string("a b")}) {
      const Finished finished = world.run({command, name});
      EXPECT_EQ(finished.status, 2) << command << " '" << name << "'";
      expect_line(finished, command, "(name_invalid)");
    }
  }
}

TEST(ToolFailure, FilesThatCannotBeOpened) {
  World world;
  Finished finished = world.run({"receive", "toy", world.file("no/such/folder")});
  EXPECT_EQ(finished.status, 1);
  expect_line(finished, "receive", "No such file or directory (system)");
  finished = world.run({"receive", "toy", world.data().path()});
  EXPECT_EQ(finished.status, 1);
  expect_line(finished, "receive", "Is a directory (system)");
  finished = world.run({"send", "toy", world.file("missing")});
  EXPECT_EQ(finished.status, 1);
  expect_line(finished, "send", "No such file or directory (system)");
  EXPECT_EQ(world.data().names(), std::vector<std::string>{});
}

TEST(ToolUsage, HelpAndVersion) {
  World world;
  const Finished version = world.run({"--version"});
  EXPECT_EQ(version.status, 0);
  EXPECT_EQ(version.out.rfind("hamlyn ", 0), 0u) << version.out;
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"--help"}, {"send", "--help"}, {"receive", "--help"}, {"node", "--help"}}) {
    const Finished help = world.run(words);
    EXPECT_EQ(help.status, 0);
    EXPECT_NE(help.out.find("Exit status"), std::string::npos) << help.out;
    EXPECT_EQ(help.err, "");
  }
}

TEST(ToolUsage, WrongWordsAreNamed) {
  World world;
  const std::vector<std::vector<std::string>> wrong{{},
                                                    {"fly"},
                                                    {"send"},
                                                    {"send", "toy", "--fast"},
                                                    {"receive", "toy", "--timeout", "soon"},
                                                    {"receive", "toy", "--timeout", "-1"},
                                                    {"node", "extra"}};
  for (const auto& words : wrong) {
    const Finished finished = world.run(words);
    EXPECT_EQ(finished.status, 2) << finished.err;
    EXPECT_NE(finished.err.find("--help"), std::string::npos) << finished.err;
    EXPECT_EQ(finished.out, "");
  }
}

}  // namespace
}  // namespace hamlyn::test
