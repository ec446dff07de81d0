#pragma once
// Memory of a daemon's that others come to see later than it is written.
#include <sys/mman.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <span>
#include <vector>

#include "segment/registry.h"

namespace hamlyn::test {

// A registry's memory as the machine has it: what the daemon writes is its own at first, and comes to where
// the clerk has it read word by word, in any order, between which others run; but the number of changes comes
// behind the changes, as it is said to (registry_words.h).
class SlowMemory {
 public:
  SlowMemory(int memory, std::size_t bytes)
      : written_(bytes / kWord),
        seen_(static_cast<std::uint64_t*>(
                  ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, memory, 0)),
              bytes / kWord) {}
  ~SlowMemory() {
    settle([] {}, std::minstd_rand(1));
    ::munmap(seen_.data(), seen_.size_bytes());
  }
  SlowMemory(const SlowMemory&) = delete;
  SlowMemory& operator=(const SlowMemory&) = delete;

  std::span<std::byte> bytes() { return std::as_writable_bytes(std::span(written_)); }
  // Whoever looks finds it whole, at first.
  bool fresh() const { return !settled_; }
  // `between` two words.
  template <class Between, class Chance>
  void settle(Between between, Chance&& chance) {
    settled_ = true;
    constexpr std::size_t kHeader = segment::kRegistryHeader / kWord;
    const std::vector<std::uint64_t> now = written_;
    std::vector<std::size_t> changed;
    for (std::size_t i = kHeader; i != now.size(); ++i) {
      if (now[i] != seen_[i]) changed.push_back(i);
    }
    std::shuffle(changed.begin(), changed.end(), chance);
    for (const std::size_t i : changed) {
      seen_[i] = now[i];
      between();
    }
    std::copy_n(now.begin(), kHeader, seen_.begin());
  }

 private:
  static constexpr std::size_t kWord = sizeof(std::uint64_t);
  std::vector<std::uint64_t> written_;
  const std::span<std::uint64_t> seen_;
  bool settled_ = false;
};

}  // namespace hamlyn::test
