#pragma once
// How many areas of peers one process maps, over all its links. Each is a mapping, of which the kernel gives
// a process 65530, and needs page tables of ours, however little memory is behind it: a peer that opened many
// links and showed the same memory on each would leave none for anybody else, the application among them.
#include <cstdint>
#include <map>

#include "base/namespaces.h"

namespace hamlyn::internal_::library {

class AreaBudget {
 public:
  static constexpr std::uint64_t kAreas = 16384;
  static constexpr std::uint64_t kBytes = std::uint64_t{64} << 30;  // 128 MiB of page tables

  AreaBudget() = default;
  AreaBudget(std::uint64_t areas, std::uint64_t bytes) noexcept : most_{areas, bytes} {}

  // For one more, of a peer of that user. False: there is no room, or the user would have more than it
  // leaves.
  bool take(std::uint32_t uid, std::uint64_t bytes) {
    Held& its = users_[uid];
    const bool fits = bytes <= most_.bytes && 2 * (its.bytes + bytes) + others(its).bytes <= most_.bytes &&
                      2 * (its.areas + 1) + others(its).areas <= most_.areas;
    if (fits) {
      its.areas += 1, its.bytes += bytes;
      all_.areas += 1, all_.bytes += bytes;
    } else if (its.areas == 0) {
      users_.erase(uid);
    }
    return fits;
  }
  void give_back(std::uint32_t uid, std::uint64_t bytes) noexcept {
    Held& its = users_.at(uid);
    its.areas -= 1, its.bytes -= bytes;
    all_.areas -= 1, all_.bytes -= bytes;
    if (its.areas == 0) users_.erase(uid);
  }

 private:
  struct Held {
    std::uint64_t areas = 0;
    std::uint64_t bytes = 0;
  };
  Held others(const Held& its) const noexcept { return {all_.areas - its.areas, all_.bytes - its.bytes}; }

  Held most_{kAreas, kBytes};
  Held all_;
  std::map<std::uint32_t, Held> users_;
};

}  // namespace hamlyn::internal_::library
