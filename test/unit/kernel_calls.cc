#include "test/unit/kernel_calls.h"

#include <linux/close_range.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <new>

namespace hamlyn::test {
namespace {

constexpr std::uint64_t kListener = 1;         // the server's tag of it
constexpr std::uint64_t kNobody = 1ull << 40;  // a connection that there never was
constexpr std::uint64_t kEndless = 20'000;     // looks after which there are as many events as there are
bool counted = false;
bool news = false;  // the listener's, not yet followed by an accept
std::uint64_t row = 0;
std::uint64_t row_sent = 0;
timespec stands{};
long last_look = 0;  // in ms

void count_time(bool looks) {
  timespec now{};
  ::syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &now);
  const long ms = now.tv_sec * 1000 + now.tv_nsec / 1'000'000;
  if (looks && ms == last_look) ++kernel_calls().again;
  last_look = ms;
}

void count_look(const epoll_event* events, int got) {
  for (int i = 0; i < got; ++i) news |= events[i].data.u64 == kListener;
  if (!news) return;
  ++row;
  if (row > kernel_calls().unserved) kernel_calls().unserved = row;
}

}  // namespace

KernelCalls& kernel_calls() {
  static KernelCalls* const shared =
      new (::mmap(nullptr, sizeof(KernelCalls), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0))
          KernelCalls;
  return *shared;
}

void count_calls() {
  counted = true;
  ::syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &stands);
}

}  // namespace hamlyn::test

namespace test = hamlyn::test;

extern "C" {

int accept4(int socket, sockaddr* address, socklen_t* size, int flags) {
  if (test::counted) {
    ++test::kernel_calls().accepts;
    test::news = false;
    test::row = 0;
    test::row_sent = 0;
  }
  return static_cast<int>(::syscall(SYS_accept4, socket, address, size, flags));
}

int epoll_wait(int epoll, epoll_event* events, int most, int milliseconds) {
  auto& calls = test::kernel_calls();
  const bool full = test::counted && calls.full && test::row < test::kEndless;
  if (test::counted) ++(milliseconds != 0 ? calls.waits : calls.looks);
  int got = static_cast<int>(
      ::syscall(SYS_epoll_pwait, epoll, events, most, full ? 0 : milliseconds, nullptr, sizeof(sigset_t)));
  if (test::counted) test::count_time(milliseconds == 0);
  if (test::counted) test::count_look(events, got);
  for (; full && got >= 0 && got < most; ++got) {
    events[got] = {};
    events[got].data.u64 = test::kNobody;
  }
  return got;
}

ssize_t sendmsg(int socket, const msghdr* message, int flags) {
  const ssize_t sent = ::syscall(SYS_sendmsg, socket, message, flags);
  if (!test::counted) return sent;
  if (sent < 0 && errno == EAGAIN) ++test::kernel_calls().in_vain;
  if (sent >= 0 && test::news && ++test::row_sent > test::kernel_calls().overtaken)
    test::kernel_calls().overtaken = test::row_sent;
  if (const cmsghdr* const part = CMSG_FIRSTHDR(message); sent >= 0 && part != nullptr)
    test::kernel_calls().descriptors += (part->cmsg_len - CMSG_LEN(0)) / sizeof(int);
  return sent;
}

int close_range(unsigned first, unsigned last, int flags) noexcept {
  if (test::counted && flags == CLOSE_RANGE_UNSHARE && last == ~0u) ++test::kernel_calls().burials;
  if (test::counted && flags == CLOSE_RANGE_UNSHARE && test::kernel_calls().no_burials) {
    errno = ENOMEM;
    return -1;
  }
  return static_cast<int>(::syscall(SYS_close_range, first, last, flags));
}

int clock_gettime(clockid_t clock, timespec* out) noexcept {
  if (test::counted && clock == CLOCK_MONOTONIC && test::kernel_calls().clock_stands) {
    *out = test::stands;
    return 0;
  }
  return static_cast<int>(::syscall(SYS_clock_gettime, clock, out));
}
}
