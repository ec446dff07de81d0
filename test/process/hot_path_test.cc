// A polled fast-mode send and receive, and write inhibit, make no system call and allocate nothing. The
// kernel counts the first: a filter turns each system call of the thread into a signal, whose handler counts
// it and then makes it. malloc itself counts the second.
//
// Where the machine takes the processor away from the polling thread, the interface thread takes over, and
// handing back is a system call: so what is asked for is a long run of rounds without any.
#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdlib>

#include "hamlyn/hamlyn.h"
#include "test/support/actor.h"
#include "test/support/command.h"
#include "test/support/daemon.h"

namespace {
thread_local bool counting = false;
thread_local std::uint64_t allocations = 0;
}  // namespace

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
extern "C" void* __libc_malloc(std::size_t bytes);
extern "C" void* malloc(std::size_t bytes) {  // operator new comes here, too
  if (counting) ++allocations;
  return __libc_malloc(bytes);
}
#endif

namespace hamlyn::test {
namespace {

constexpr std::uint64_t kWarm = 2000;  // links grow, places are granted
constexpr std::uint64_t kRun = 500;    // rounds, several times as many as bring credit
constexpr std::uint64_t kClean = std::uint64_t{1} << 62;
constexpr std::uint64_t kStop = std::uint64_t{1} << 63;
constexpr std::uint64_t kCounted = 0x48414D4C594E;  // in the sixth argument: counted already

volatile std::uint64_t calls = 0;

void count_and_call(int, siginfo_t*, void* context) {
  calls = calls + 1;
  auto* const of = static_cast<ucontext_t*>(context);
  greg_t* const at = of->uc_mcontext.gregs;
  at[REG_RAX] =
      ::syscall(at[REG_RAX], at[REG_RDI], at[REG_RSI], at[REG_RDX], at[REG_R10], at[REG_R8], kCounted);
  if (at[REG_RAX] == -1) at[REG_RAX] = -errno;
}

void count_system_calls() {
  struct sigaction action {};
  action.sa_sigaction = count_and_call;
  action.sa_flags = SA_SIGINFO | SA_NODEFER;
  ::sigaction(SIGSYS, &action, nullptr);
  constexpr std::uint32_t kSixth = offsetof(seccomp_data, args) + 5 * sizeof(std::uint64_t);
  sock_filter filter[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit_group, 3, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_rt_sigreturn, 2, 0),
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, kSixth),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, static_cast<std::uint32_t>(kCounted), 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP),
  };
  const sock_fprog program{static_cast<unsigned short>(std::size(filter)), filter};
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
      ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0)
    ::_exit(80);
}

// Bounces messages to and fro by polling alone.
struct Player {
  explicit Player(const std::string& node) : interface({.node = node, .start_node = false}) {}

  void send(const Ticket& ticket, std::uint64_t word) {
    const std::byte data[16]{};
    while (terminus.send_fast(ticket, data, word) != Status::ok) interface.run();
  }
  std::uint64_t receive() {
    while (true) {
      if (const auto next = queue.poll())
        return next->kind == Notification::Kind::message ? next->word : ~0ull;
    }
  }

  Interface interface;
  MessageArea area{interface, 4096};
  NotificationQueue queue{interface};
  Slot slot{area, queue, {}};
  Terminus terminus{interface};
};

// This thread's own, where there are two. Where something else keeps one busy both players could be left on
// the other for long, and each would sleep until it is the other's turn.
void take_processor(int number) {
  cpu_set_t may;
  if (::sched_getaffinity(0, sizeof may, &may) != 0 || CPU_COUNT(&may) < 2) return;
  for (std::size_t each = 0; each != CPU_SETSIZE; ++each) {
    if (!CPU_ISSET(each, &may) || number-- != 0) continue;
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(each, &one);
    ::sched_setaffinity(0, sizeof one, &one);
  }
}

TEST(HotPath, APolledSendAndReceiveCallAndAllocateNothing) {
  Folder folder;
  const Daemon daemon{folder.file("node")};
  std::vector<Actor> players;
  for (int i = 0; i < 2; ++i) {
    players.emplace_back([&, first = i == 0](Line& line) {
      Player player(folder.file("node"));
      take_processor(first ? 0 : 1);
      line.put(player.slot.ticket());
      const auto other = line.take<Ticket>();
      if (!other || player.terminus.connect(*other, kPatience) != Status::ok) return 81;
      line.put('.');
      if (!line.take<char>()) return 82;
      const auto end = std::chrono::steady_clock::now() + kPatience;
      std::uint64_t clean = 0, calls_before = 0, from = 0;
      bool late = false, over = false, other_clean = false;
      for (std::uint64_t round = 0; !over; ++round) {
        if (round == kWarm) {
          count_system_calls();
          calls_before = calls;
          from = round;
          allocations = 0;
          counting = true;
        } else if (round > kWarm && round - from == kRun) {
          if (calls == calls_before) clean = kClean;
          counting = false;
          late = std::chrono::steady_clock::now() > end;
          counting = true;
          calls_before = calls;
          from = round;
        }
        const std::uint64_t stop = first && (late || (clean != 0 && other_clean)) ? kStop : 0;
        if (first) player.send(*other, round | clean | stop);
        const std::uint64_t word = player.receive();
        if ((word & ~(kClean | kStop)) != round) return 83;
        other_clean = (word & kClean) != 0;
        over = ((word | stop) & kStop) != 0;
        if (!first) player.send(*other, round | clean);
      }
      counting = false;
      // The second goes last, or the first would find its link ended.
      if (first) {
        line.take<char>();
      } else {
        line.put('.');
      }
      return clean == 0 ? 84 : allocations == 0 ? 0 : 85;
    });
  }
  const auto one = players[0].line().take<Ticket>();
  const auto two = players[1].line().take<Ticket>();
  ASSERT_TRUE(one && two);
  players[0].line().put(*two);
  players[1].line().put(*one);
  for (Actor& player : players) EXPECT_TRUE(player.line().take<char>());
  for (Actor& player : players) player.line().put('.');
  EXPECT_TRUE(players[1].line().take<char>(2 * kPatience));
  players[0].line().put('.');
  for (Actor& player : players) EXPECT_EQ(player.wait(), 0) << "84: always a system call, 85: an allocation";
}

// Write inhibit is light (paper 4, section 3.4.4): without it the exporter would copy before it works on
// data.
TEST(HotPath, InhibitingWritesAndReleasingThemCallsAndAllocatesNothing) {
  const Folder folder;
  const Daemon daemon{folder.file("node")};
  Actor exporter([&](Line&) -> int {
    Interface interface {
      { .node = folder.file("node"), .start_node = false }
    };
    MessageArea area{interface, 65536};
    NotificationQueue queue{interface};
    Slot slot{area, queue, {.fast = false, .puts = true}};
    count_system_calls();
    allocations = 0;
    for (int tries = 0; tries != 100; ++tries) {
      const std::uint64_t before = calls;
      counting = true;
      for (std::uint64_t round = 0; round != kRun; ++round) {
        if (slot.inhibit() != Status::ok || slot.release() != Status::ok) ::_exit(81);
      }
      counting = false;
      if (calls == before) ::_exit(allocations == 0 ? 0 : 85);
    }
    ::_exit(84);
  });
  EXPECT_EQ(exporter.wait(), 0) << "84: always a system call, 85: an allocation";
}

// That the filter and the counter see what they are there to see.
TEST(HotPath, WhatCountsCounts) {
  Actor caller([](Line&) -> int {
    count_system_calls();
    const pid_t parent = ::getppid();
    const std::uint64_t counted = calls;
    ::_exit(counted == 1 && parent > 1 ? 0 : 1);
  });
  EXPECT_EQ(caller.wait(), 0);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  allocations = 0;
  counting = true;
  delete new std::string(100, 'x');
  counting = false;
  EXPECT_EQ(allocations, 2u);
#endif
}

}  // namespace
}  // namespace hamlyn::test
