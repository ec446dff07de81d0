// Who speaks to a daemon whose kernel gives no pidfd of a socket (Linux before 6.5): the process that has
// connected, and nobody who keeps its socket.
#include <gtest/gtest.h>
#include <linux/sched.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

#include "base/socket.h"
#include "node/client/address.h"
#include "node/client/list.h"
#include "node/server/server.h"
#include "test/support/daemon.h"

namespace hamlyn::test {
namespace {

using base::FileDescriptor;
using base::SocketState;
using node::Event;
using node::Request;
using node::RequestKind;

// A daemon that asks the kernel who has sent each message.
struct NodeAttest : testing::Test {
  NodeAttest() {
    EXPECT_TRUE(eventually([&] {
      try {
        return static_cast<bool>(node::connect_to(socket));
      } catch (const Error&) {
        return false;
      }
    }));
  }
  static int serve(const std::string& socket) {
    sigset_t signals;
    ::sigemptyset(&signals);
    ::sigaddset(&signals, SIGTERM);
    ::sigprocmask(SIG_BLOCK, &signals, nullptr);
    node::ServerOptions options;
    options.socket = socket;
    options.attested = node::Attesting::by_messages;
    node::Server server(options);
    server.run(signals);
    return 0;
  }
  void stop() const {
    int status = 0;
    ASSERT_EQ(::kill(daemon.pid(), SIGSTOP), 0);
    ASSERT_EQ(::waitpid(daemon.pid(), &status, WUNTRACED), daemon.pid());
  }
  void go_on() const { ::kill(daemon.pid(), SIGCONT); }

  const Folder folder;
  const std::string socket = folder.file("s");
  const Child daemon{-1, [this] { return serve(socket); }};
};

template <class Message>
bool say(const FileDescriptor& socket, const Message& message) {
  return base::send_message(socket.get(), std::as_bytes(std::span{&message, 1})) == SocketState::ok;
}

template <class Message = node::Reply>
SocketState hear(const FileDescriptor& socket, Message* message = nullptr) {
  Message got;
  return base::receive_message(socket.get(), std::as_writable_bytes(std::span{message ? message : &got, 1}))
      .state;
}

Request look_up() {
  Request out;
  out.kind = RequestKind::lookup;
  out.request = 1;
  out.name_length = 1;
  out.name[0] = 'x';
  return out;
}

// What a forked child of the caller hears at that socket when it has said that: 0, it was served; 1, hung up
// on.
template <class Message>
int said_by_a_child(const FileDescriptor& socket, const Message& message) {
  Child child{-1, [&] { return say(socket, message) && hear(socket) == SocketState::ok ? 0 : 1; }};
  return child.wait();
}

TEST_F(NodeAttest, ProcessesAttachAndAreIntroducedAlsoSilentOnes) {
  for (int i = 0; i < 20; ++i) {
    node::Client silent = node::Client::attach(at(socket));
    node::Client asker = node::Client::attach(at(socket));
    ASSERT_TRUE(asker.introduce(1, silent.interface_id()));
    ASSERT_EQ(next_event(asker).kind, Event::Kind::introduced);
    ASSERT_EQ(next_event(silent).kind, Event::Kind::introduced);
  }
  EXPECT_EQ(node::list(at(socket)).malformed, 0u);
}

TEST_F(NodeAttest, WhoWaitsForOneThatHasNotProvenItselfHasItsLinkWhenItHas) {
  const FileDescriptor quiet = node::connect_to(socket);
  node::Welcome welcome;
  ASSERT_TRUE(say(quiet, node::Hello{}) && hear(quiet, &welcome) == SocketState::ok);
  node::Client asker = node::Client::attach(at(socket));
  ASSERT_TRUE(asker.introduce(1, welcome.interface));
  EXPECT_EQ(node::list(at(socket)).links, 0u);
  EXPECT_TRUE(say(quiet, look_up()));
  EXPECT_EQ(next_event(asker).kind, Event::Kind::introduced);
}

TEST_F(NodeAttest, AForkedChildWithTheSocketIsRefusedAtItsFirstWord) {
  Child parent{-1, [&] {
                 const FileDescriptor hello = node::connect_to(socket), later = node::connect_to(socket);
                 if (said_by_a_child(hello, node::Hello{}) != 1) return 1;
                 if (!say(later, node::Hello{}) || hear<node::Welcome>(later) != SocketState::ok) return 2;
                 if (said_by_a_child(later, look_up()) != 1) return 3;
                 return 0;
               }};
  EXPECT_EQ(parent.wait(), 0);
  EXPECT_EQ(node::list(at(socket)).malformed, 2u);
}

TEST_F(NodeAttest, WhatWasSaidBeforeTheDaemonHasLookedProvesNothing) {
  stop();
  const FileDescriptor early = node::connect_to(socket);
  EXPECT_TRUE(say(early, node::Hello{}) && say(early, look_up()));
  go_on();
  EXPECT_EQ(hear<node::Welcome>(early), SocketState::closed);
}

// A process with that number, or -1.
pid_t process_of_number(pid_t number) {
  clone_args arguments{};
  arguments.exit_signal = SIGCHLD;
  arguments.set_tid = reinterpret_cast<std::uint64_t>(&number);
  arguments.set_tid_size = 1;
  const auto pid = static_cast<pid_t>(::syscall(SYS_clone3, &arguments, sizeof arguments));
  if (pid != 0) return pid;
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  for (;;) ::pause();
}

// A process connects, says hello, hands its socket on and ends. Another one has its number when the daemon
// looks.
TEST_F(NodeAttest, WhoKeepsASocketIsNotTakenForWhoHasTheNumberByNow) {
  auto [ours, theirs] = base::socket_pair();
  stop();
  Child first{-1, [&, &its = theirs] {
                const FileDescriptor connection = node::connect_to(socket);
                const int fd = connection.get();
                const std::byte byte{};
                return say(connection, node::Hello{}) &&
                               base::send_message(its.get(), std::span{&byte, 1}, std::span{&fd, 1}) ==
                                   SocketState::ok
                           ? 0
                           : 1;
              }};
  const pid_t number = first.pid();
  ASSERT_EQ(first.wait(), 0);
  std::byte byte{};
  base::Received kept = base::receive_message(ours.get(), std::span{&byte, 1});
  ASSERT_EQ(kept.fd_count, 1u);
  const pid_t victim = process_of_number(number);
  if (victim < 0) {
    go_on();
    GTEST_SKIP() << "SKIPPED: no process can be given a number here";
  }
  go_on();
  node::Welcome welcome;
  ASSERT_EQ(hear(kept.fds[0], &welcome), SocketState::ok);
  ASSERT_EQ(welcome.error, 0u);
  node::Client honest = node::Client::attach(at(socket));
  ASSERT_TRUE(honest.introduce(1, welcome.interface));
  EXPECT_EQ(node::list(at(socket)).links, 0u) << "nobody is introduced to who has not proven itself";
  EXPECT_TRUE(say(kept.fds[0], look_up()));
  EXPECT_EQ(hear(kept.fds[0]), SocketState::closed);
  const Event refused = next_event(honest);
  EXPECT_EQ(refused.kind, Event::Kind::refused);
  EXPECT_EQ(refused.error, ErrorCode::name_unknown);
  EXPECT_TRUE(::kill(victim, SIGKILL) == 0 && ::waitpid(victim, nullptr, 0) == victim);
}

}  // namespace
}  // namespace hamlyn::test
