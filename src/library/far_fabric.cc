#include "library/far_fabric.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>

#include "base/throw_system.h"
#include "hamlyn/error.h"

namespace hamlyn::library {

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kTryAgain{1};  // what the wire did not take is offered to it again

std::string first_address() {
  ifaddrs* all = nullptr;
  if (getifaddrs(&all) != 0) return {};
  std::string found = "127.0.0.1";
  for (const ifaddrs* one = all; one != nullptr; one = one->ifa_next) {
    const bool usable = (one->ifa_flags & IFF_UP) != 0 && (one->ifa_flags & IFF_LOOPBACK) == 0;
    if (!usable || one->ifa_addr == nullptr || one->ifa_addr->sa_family != AF_INET) continue;
    char text[INET_ADDRSTRLEN];
    const auto* const address = reinterpret_cast<const sockaddr_in*>(one->ifa_addr);
    if (inet_ntop(AF_INET, &address->sin_addr, text, sizeof text) == nullptr) continue;
    found = text;
    break;
  }
  freeifaddrs(all);
  return found;
}

ofi::Limits limits_with(std::chrono::milliseconds dead) {
  ofi::Limits limits;
  limits.dead = static_cast<std::uint64_t>(std::max<std::int64_t>(dead.count(), 10)) * ofi::kMillisecond;
  limits.resend = std::min(limits.resend, limits.dead / 8);
  return limits;
}

}  // namespace

FarFabric::FarFabric(const std::string& address, std::chrono::milliseconds dead)
    : endpoint_({.address = address.empty() ? first_address() : address}),
      exchange_(endpoint_, limits_with(dead)),
      event_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      arrived_(epoll_create1(EPOLL_CLOEXEC)) {
  if (!event_) base::throw_system("eventfd");
  if (!arrived_) base::throw_system("epoll_create1");
  watch_in(arrived_.get());
}

void FarFabric::watch_in(int epoll) const {
  const int descriptor = endpoint_.descriptor();
  if (descriptor < 0) throw Error(ErrorCode::system, "libfabric's completion queue has no descriptor");
  epoll_event event{};
  event.events = EPOLLIN | EPOLLET;
  if (epoll_ctl(epoll, EPOLL_CTL_ADD, descriptor, &event) != 0) base::throw_system("epoll_ctl");
}

bool FarFabric::prepare_sleep(std::optional<Clock::time_point>& deadline) noexcept {
  epoll_event event;
  epoll_wait(arrived_.get(), &event, 1, 0);  // what came until now is seen by the look that follows
  exchange_.pump();
  exchange_.send_due(true);
  if (exchange_.something_to_do() || !endpoint_.may_sleep()) return false;
  const std::uint64_t next = exchange_.next_time();
  if (next != ofi::kNever) {
    const Clock::time_point at{Clock::duration(static_cast<Clock::rep>(next))};
    if (!deadline || at < *deadline) deadline = at;
  }
  if (exchange_.sending_waits()) {
    const Clock::time_point at = Clock::now() + kTryAgain;
    if (!deadline || at < *deadline) deadline = at;
  }
  return true;
}

void FarFabric::sleep(std::optional<Clock::time_point> deadline) noexcept {
  timespec left{};
  if (deadline) {
    const auto time = std::max(Clock::duration::zero(), *deadline - Clock::now());
    left.tv_sec = static_cast<time_t>(time / std::chrono::seconds(1));
    left.tv_nsec = static_cast<long>((time % std::chrono::seconds(1)).count());
  }
  // By poll and not by epoll_wait, which would wake only one of two that sleep: one may be about to leave.
  pollfd both[] = {{arrived_.get(), POLLIN, 0}, {event_.get(), POLLIN, 0}};
  if (ppoll(both, 2, deadline ? &left : nullptr, nullptr) <= 0 || both[1].revents == 0) return;
  std::uint64_t count;
  [[maybe_unused]] const ssize_t got = read(event_.get(), &count, sizeof count);
}

void FarFabric::wake() noexcept {
  const std::uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = write(event_.get(), &one, sizeof one);
}

}  // namespace hamlyn::library
