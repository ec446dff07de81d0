#pragma once
// Which templates live on though their hosts have gone, without a clock.
#include <chrono>
#include <cstddef>
#include <map>

namespace hamlyn::tool {

class LeftOver {
 public:
  using Time = std::chrono::steady_clock::time_point;

  // `most`: for how long without a break a host has to be gone.
  explicit LeftOver(std::chrono::steady_clock::duration most) : most_(most) {}

  // Takes note of whether a host is gone, and returns whether its template is left over by now.
  bool is(std::size_t host, bool gone, Time now) {
    if (!gone) {
      since_.erase(host);
      return false;
    }
    return now - since_.try_emplace(host, now).first->second >= most_;
  }

 private:
  const std::chrono::steady_clock::duration most_;
  std::map<std::size_t, Time> since_;
};

}  // namespace hamlyn::tool
