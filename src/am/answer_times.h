#pragma once
// How long handlers may still wait for the answers of other processes' NICs (am/vi_port.h). An honest NIC has
// answered before it asks, so only one that lies, or news that are late, take of this.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <exception>
#include <map>

#include "base/namespaces.h"

namespace hamlyn::internal_::am {

inline constexpr std::chrono::milliseconds kAnswerTime{1000};  // of one process, at most
inline constexpr int kAnswerShare = 100;                       // of later time, one part in so many is added

// Each process has its own time, whatever pairs it makes: one that makes others wait takes nothing of theirs.
class AnswerTimes {
 public:
  using Time = std::chrono::steady_clock::time_point;

  // So much is left for that process.
  std::chrono::nanoseconds left(std::uint64_t peer, Time now) const noexcept {
    const auto found = whole_at_.find(peer);
    if (found == whole_at_.end() || found->second <= now) return kAnswerTime;
    return std::max<std::chrono::nanoseconds>(kAnswerTime - (found->second - now) / kAnswerShare,
                                              std::chrono::nanoseconds{0});
  }
  // Notes that a handler has waited so long for it, until now.
  void spend(std::uint64_t peer, Time now, std::chrono::nanoseconds waited) noexcept {
    std::erase_if(whole_at_, [&](const auto& each) { return each.second <= now; });
    try {
      Time& at = whole_at_[peer];
      at = std::max(at, now) + kAnswerShare * waited;
    } catch (const std::exception&) {  // without memory nothing is noted
    }
  }
  std::size_t size() const noexcept { return whole_at_.size(); }

 private:
  std::map<std::uint64_t, Time> whole_at_;  // when all of its time is there again
};

}  // namespace hamlyn::internal_::am
