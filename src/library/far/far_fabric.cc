#include "library/far/far_fabric.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>

#include <algorithm>

#include "hamlyn/values/error.h"
#include "library/setting.h"

namespace hamlyn::internal_::library {

namespace {

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

FarFabric::FarFabric(const std::string& address, const std::string& wanted, std::chrono::milliseconds dead)
    : endpoint_({.address = address.empty() ? first_address() : address, .engine = wanted}),
      exchange_(endpoint_, limits_with(dead)) {
  if (descriptor() < 0) throw Error(ErrorCode::system, "libfabric's completion queue has no descriptor");
}

bool FarFabric::prepare_sleep(Deadline& deadline) noexcept {
  exchange_.pump();
  exchange_.send_due(true);
  if (exchange_.something_to_do() || !endpoint_.may_sleep() || exchange_.pump()) return false;
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

}  // namespace hamlyn::internal_::library
