#pragma once
// How much of one thing the users of other processes may have of this one. A user has no more than `each`,
// nor more than it leaves to the others. Whatever somebody has beyond `each` counts for others as `each`.
#include <algorithm>
#include <cstdint>
#include <map>

#include "base/namespaces.h"

namespace hamlyn::internal_::library {

class FairShare {
 public:
  FairShare(std::uint64_t all, std::uint64_t each) noexcept : all_(all), each_(each) {}

  // Whether a user may have so many more.
  bool fits(std::uint32_t uid, std::uint64_t more) const noexcept {
    const std::uint64_t its = of(uid) + more;
    std::uint64_t others = 0;
    for (const auto& [user, has] : users_) others += user == uid ? 0 : std::min(has, each_);
    return its <= each_ && 2 * its + others <= all_;
  }
  // Counts so many more, whether they fit or not.
  void add(std::uint32_t uid, std::uint64_t more) {
    users_[uid] += more;
    sum_ += more;
  }
  void give_back(std::uint32_t uid, std::uint64_t count) noexcept {
    const auto its = users_.find(uid);
    sum_ -= count;
    if ((its->second -= count) == 0) users_.erase(its);
  }

  std::uint64_t of(std::uint32_t uid) const noexcept {
    const auto its = users_.find(uid);
    return its == users_.end() ? 0 : its->second;
  }
  std::uint64_t sum() const noexcept { return sum_; }

 private:
  std::uint64_t all_;
  std::uint64_t each_;
  std::uint64_t sum_ = 0;
  std::map<std::uint32_t, std::uint64_t> users_;  // those who have some
};

}  // namespace hamlyn::internal_::library
