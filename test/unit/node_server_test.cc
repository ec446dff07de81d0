// The daemon's server between a kernel that has run out of something and processes that do not read: what it
// does is counted, in calls of the kernel.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/sockios.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <vector>

#include "base/socket.h"
#include "node/client/address.h"
#include "node/mind/backlog.h"
#include "node/server/server.h"
#include "test/process/counter_pages.h"
#include "test/support/daemon.h"
#include "test/unit/kernel_calls.h"

namespace hamlyn::test {
namespace {

using base::FileDescriptor;
using base::SocketState;
using node::Backlog;
using node::Event;
using node::Request;
using node::RequestKind;

// Uses up what the process may have open, but for `left`.
void leave_descriptors(int left) {
  std::vector<int> taken;
  for (int fd = 0; fd >= 0;) {
    fd = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (fd >= 0) taken.push_back(fd);
  }
  for (; left > 0; --left, taken.pop_back()) ::close(taken.back());
}

template <class Message>
bool say(const FileDescriptor& socket, const Message& message, const std::vector<int>& fds = {}) {
  return base::send_message(socket.get(), std::as_bytes(std::span{&message, 1}), fds) == SocketState::ok;
}

SocketState hear(const FileDescriptor& socket, node::Welcome* message = nullptr, int flags = 0) {
  std::array<std::byte, 1024> got;
  const SocketState state = base::receive_message(socket.get(), got, flags).state;
  if (message != nullptr) std::memcpy(message, got.data(), sizeof *message);
  return state;
}

// Connects as a process of the library does; what it is told.
node::Welcome greeted(const FileDescriptor& socket) {
  const FileDescriptor page = sealed_page("counters");
  node::Welcome out;
  out.error = 999;
  say(socket, node::Hello{}, {page.get()});
  if (hear(socket, &out) != SocketState::ok) out.error = 998;
  return out;
}

bool names_descriptors(const node::Welcome& told) {
  return told.error == static_cast<std::uint32_t>(ErrorCode::node_full) &&
         std::string(told.text).find("no descriptors left, of 64") != std::string::npos;
}

Request look_up(std::uint64_t number) {
  Request out;
  out.kind = RequestKind::lookup;
  out.request = number;
  out.name_length = 1;
  out.name[0] = 'x';
  return out;
}

// The daemon has read all that was said.
bool heard(const FileDescriptor& socket) {
  return eventually([&] {
    int left = 0;
    return ::ioctl(socket.get(), SIOCOUTQ, &left) == 0 && left == 0;
  });
}

#ifdef __SANITIZE_THREAD__
constexpr std::size_t kOthers = 3;
#else
constexpr std::size_t kOthers = 1;
#endif

// A daemon of its own for each test, whose calls are counted.
class NodeServer : public testing::Test {
 protected:
  // `left`: descriptors that it has left when it begins to serve; -1: as many as it is let.
  void serve(rlim_t limit, int left = -1) {
    daemon_.reset();
    kernel_calls().~KernelCalls();
    new (&kernel_calls()) KernelCalls;
    daemon_ = std::make_unique<Child>(-1, [this, limit, left] {
      const rlimit few{limit, limit};
      if (::setrlimit(RLIMIT_NOFILE, &few) != 0) return 1;
      sigset_t signals;
      ::sigemptyset(&signals);
      ::sigaddset(&signals, SIGTERM);
      ::sigprocmask(SIG_BLOCK, &signals, nullptr);
      node::ServerOptions options;
      options.socket = socket_;
      node::Server server(options);
      if (left >= 0) leave_descriptors(left + 1);  // one is for its signals
      count_calls();
      server.run(signals);
      return 0;
    });
    ASSERT_TRUE(eventually([&] { return calls().waits != 0; }));
  }
  static KernelCalls& calls() { return kernel_calls(); }
  FileDescriptor connect() const { return node::connect_to(socket_); }

  // Has the daemon answer that many requests.
  void ask(const FileDescriptor& one, int messages) const {
    for (int i = 1; i <= messages; ++i) EXPECT_TRUE(say(one, look_up(static_cast<std::uint64_t>(i))));
    EXPECT_TRUE(heard(one));
  }
  // Does so with more of them than there is room for, and takes the answers that lie in its socket. How many.
  int fill(const FileDescriptor& one, int messages) const {
    ask_too_much(one, messages);
    stop();
    const int out = drain(one);
    go_on();
    return out;
  }
  static int drain(const FileDescriptor& one) {
    int out = 0;
    while (hear(one, nullptr, MSG_DONTWAIT) == SocketState::ok) ++out;
    return out;
  }
  void ask_too_much(const FileDescriptor& one, int messages) const {
    const std::uint64_t before = calls().in_vain;
    ask(one, messages);
    EXPECT_TRUE(eventually([&] { return calls().in_vain != before; }));
  }
  void stop() const {
    int status = 0;
    EXPECT_EQ(::kill(daemon_->pid(), SIGSTOP), 0);
    EXPECT_EQ(::waitpid(daemon_->pid(), &status, WUNTRACED), daemon_->pid());
  }
  void go_on() const { ::kill(daemon_->pid(), SIGCONT); }
  // Threads that it has beside the one that serves. ThreadSanitizer has two of its own, by fork and by the
  // first thread.
  std::size_t threads() const {
    const auto tasks =
        std::filesystem::directory_iterator("/proc/" + std::to_string(daemon_->pid()) + "/task");
    return static_cast<std::size_t>(std::distance(begin(tasks), end(tasks))) - kOthers;
  }

  const Folder folder_;
  const std::string socket_ = folder_.file("s");

 private:
  std::unique_ptr<Child> daemon_;
};

// Whichever of its own is the first that the daemon lacks: the connection, its process or its counter page.
TEST_F(NodeServer, WithoutDescriptorsEachWhoComesIsToldSo) {
  for (int left = 0; left < 4; ++left) {
    serve(64, left);
    std::vector<FileDescriptor> attached;
    for (int i = 0; i < 75; ++i) {
      FileDescriptor one = connect();
      const node::Welcome told = greeted(one);
      if (told.error == 0)
        attached.push_back(std::move(one));
      else
        ASSERT_TRUE(names_descriptors(told)) << left << " left, " << i << ": " << told.error << told.text;
    }
    EXPECT_EQ(attached.size(), left == 3 ? 1u : 0u);
    EXPECT_LE(calls().accepts, 4u * 75) << "two for each who comes, and two that find nobody";
    for (const FileDescriptor& one : attached) {
      ASSERT_TRUE(say(one, look_up(1)));
      EXPECT_EQ(hear(one), SocketState::ok) << "and who is there is served";
    }
  }
}

// Each one's words lie in its socket, which is closed at once by a thread that ends: its place is the
// spare descriptor's. The clock would never have it closed.
TEST_F(NodeServer, WithoutDescriptorsASocketIsClosedAtOnceForTheNextWhoComes) {
  serve(64, 0);
  calls().clock_stands = true;
  for (std::uint64_t i = 1; i <= 10; ++i) {
    stop();
    const FileDescriptor one = connect();
    ASSERT_TRUE(say(one, node::Hello{}));
    go_on();
    node::Welcome told;
    ASSERT_TRUE(eventually([&] { return hear(one, &told, MSG_DONTWAIT) == SocketState::ok; })) << i;
    EXPECT_TRUE(names_descriptors(told));
    // At most four such threads are under way: the last one has ended before the next is wanted.
    ASSERT_TRUE(eventually([&] { return calls().burials >= i && threads() == 0; })) << i;
    EXPECT_EQ(calls().burials, i);
  }
}

// The socket of the one who is told cannot be closed here, and is the spare descriptor's place.
TEST_F(NodeServer, WithoutTheSpareDescriptorItWaitsByTheClock) {
  serve(64, 0);
  calls().no_burials = true;
  stop();
  const FileDescriptor one = connect();
  ASSERT_TRUE(say(one, node::Hello{}));
  go_on();  // and finds what it has said
  node::Welcome told;
  ASSERT_EQ(hear(one, &told), SocketState::ok);
  EXPECT_TRUE(names_descriptors(told));
  const FileDescriptor two = connect();
  ASSERT_TRUE(say(two, node::Hello{}));
  const std::uint64_t waits = calls().waits, again = calls().again, looks = calls().looks;
  ASSERT_TRUE(eventually([&] { return calls().waits > waits + 20; }));
  EXPECT_EQ(hear(two, nullptr, MSG_DONTWAIT), SocketState::again);
  EXPECT_LE(calls().accepts, 3u) << "for the first one";
  const std::uint64_t repeated = calls().again - again;
  EXPECT_LE(2 * repeated, calls().looks - looks + calls().waits - waits + 3)
      << "no turn before time has passed";
  calls().no_burials = false;
  ASSERT_EQ(hear(two, &told), SocketState::ok);
  EXPECT_TRUE(names_descriptors(told));
}

TEST_F(NodeServer, HoweverManyEventsThereAreATurnComes) {
  serve(64);
  calls().full = true;
  for (int i = 0; i < 5; ++i) EXPECT_EQ(greeted(connect()).error, 0u);
  EXPECT_LE(calls().unserved, 2u * 64) << "the rest of a round of 64 looks, and one";
}

TEST_F(NodeServer, WhoReadsNothingHasAFewMessagesInTheKernelAndIsSentNoOthersInVain) {
  serve(64);
  const FileDescriptor one = connect();
  ASSERT_EQ(greeted(one).error, 0u);
  constexpr int kAll = 600;
  ask_too_much(one, kAll);
  stop();
  const int in_kernel = drain(one);
  EXPECT_EQ(calls().in_vain, 1u) << "what follows waits until there is room";
  go_on();
  EXPECT_GE(in_kernel, 16);
  EXPECT_LE(in_kernel, 128) << "of some 32 KiB";
  for (int i = in_kernel; i < kAll; ++i) ASSERT_EQ(hear(one), SocketState::ok) << i;
  EXPECT_LE(calls().in_vain, 1u + kAll / 8) << "once for each time that there was room";
}

// Many of one user read at once what had filled their sockets, when somebody comes.
TEST_F(NodeServer, WhatWaitedForRoomIsSentInTurnsOfItsUser) {
  serve(256);
  constexpr int kReaders = 20;
  std::vector<FileDescriptor> readers;
  std::uint64_t room = 0;  // messages in all their sockets
  for (int i = 0; i < kReaders; ++i) {
    readers.push_back(connect());
    ASSERT_EQ(greeted(readers.back()).error, 0u);
    ask_too_much(readers.back(), 300);
  }
  stop();
  for (const FileDescriptor& one : readers) room += static_cast<std::uint64_t>(drain(one));
  const FileDescriptor newcomer = connect();
  calls().overtaken = 0;
  go_on();
  EXPECT_EQ(greeted(newcomer).error, 0u);
  EXPECT_LE(calls().overtaken, 3 * room / kReaders) << "as many as two or three sockets take";
}

TEST_F(NodeServer, ManySocketsAreBuriedTogether) {
  serve(1024);
  constexpr std::uint64_t kSockets = 200, kTogether = 64;
  std::vector<FileDescriptor> crowd;
  for (std::uint64_t i = 0; i < kSockets; ++i) {
    crowd.push_back(connect());
    ASSERT_EQ(greeted(crowd.back()).error, 0u);
  }
  EXPECT_EQ(calls().burials, 0u) << "of honest ones there are none";
  calls().clock_stands = true;
  for (const FileDescriptor& one : crowd) {  // what they say is refused, and lies in their sockets for good
    ASSERT_TRUE(say(one, look_up(1), {STDERR_FILENO}));
    EXPECT_EQ(hear(one), SocketState::closed);
  }
  ASSERT_TRUE(eventually([&] { return calls().burials >= kSockets / kTogether; }));
  EXPECT_LE(calls().burials, 1 + kSockets / kTogether);
}

// Each has an introduction that meets no room in its socket. All read at once what lies before it.
TEST_F(NodeServer, IntroductionsThatWaitedAreCountedWhenTheyLeave) {
  serve(256);
  const FileDescriptor probe = connect();
  ASSERT_EQ(greeted(probe).error, 0u);
  const int room = fill(probe, 600);
  constexpr std::uint64_t kReaders = 50, kMost = 128 / 2;  // a user's half of what the daemon has under way
  node::Client asker = node::Client::attach(at(socket_));
  std::vector<FileDescriptor> readers;
  for (std::uint64_t i = 1; i <= kReaders; ++i) {
    readers.push_back(connect());
    const node::Welcome welcome = greeted(readers.back());
    ask(readers.back(), room);
    ASSERT_TRUE(asker.introduce(i, welcome.interface));
    ASSERT_EQ(next_event(asker).kind, Event::Kind::introduced);
  }
  const std::uint64_t before = calls().descriptors;
  for (const FileDescriptor& one : readers) {
    for (int i = 0; i < room; ++i) ASSERT_EQ(hear(one), SocketState::ok);
  }
  asker.lookup(1000, "nobody", false);  // it is told of the readers before
  EXPECT_EQ(next_event(asker).kind, Event::Kind::refused);
  EXPECT_GT(calls().descriptors, before);
  EXPECT_LE(calls().descriptors, before + kMost);
  for (const FileDescriptor& one : readers) EXPECT_EQ(hear(one), SocketState::ok) << "and none is lost";
}

TEST(Backlog, WhoHasMostGoesWhenAProcessHasTooMuch) {
  Backlog backlog;
  backlog.set(1, 7, Backlog::kMostOfProcess);
  EXPECT_EQ(backlog.must_go(1, 7), std::nullopt);
  backlog.set(1, 7, Backlog::kMostOfProcess + 1);
  EXPECT_EQ(backlog.must_go(1, 7), 1u);
}

// The first has one more than each other.
TEST(Backlog, WhoHasMostGoesWhenAUserHasTooMuch) {
  Backlog backlog;
  constexpr std::uint64_t kEach = 512, kThem = Backlog::kMostOfUser / kEach;
  for (std::uint64_t id = 1; id < kThem; ++id) backlog.set(id, 7, kEach);
  backlog.set(kThem, 7, kEach - 1);
  backlog.set(99, 8, kEach + 1);
  EXPECT_EQ(backlog.must_go(kThem, 7), std::nullopt);
  backlog.set(1, 7, kEach + 2);
  EXPECT_EQ(backlog.must_go(kThem, 7), 1u);
  EXPECT_EQ(backlog.must_go(99, 8), std::nullopt) << "no other user's";
}

TEST(Backlog, WhoHasMostGoesWhenAllHaveTooMuch) {
  Backlog backlog;
  constexpr std::uint64_t kEach = 1000, kUsers = Backlog::kMostOfAll / kEach;
  for (std::uint64_t id = 1; id <= kUsers; ++id) backlog.set(id, static_cast<std::uint32_t>(id), kEach);
  EXPECT_EQ(backlog.must_go(1, 1), std::nullopt);
  backlog.set(5, 5, kEach + 1);
  backlog.set(kUsers + 1, kUsers + 1, Backlog::kMostOfAll % kEach);
  EXPECT_EQ(backlog.must_go(1, 1), 5u);
}

}  // namespace
}  // namespace hamlyn::test
