#pragma once
// Memory that messages may land in, with guards: runs of bytes that nothing may land in. One stands on each
// side; more may be put between the ranges that are granted.
#include <array>
#include <cstddef>
#include <cstring>
#include <span>
#include <vector>

namespace hamlyn::simulation {

class Area {
 public:
  static constexpr std::size_t kGuard = 64;

  explicit Area(std::size_t bytes) : bytes_(bytes + 2 * kGuard) {
    put_guard(0);
    put_guard(bytes + kGuard);
  }
  std::byte* data() noexcept { return bytes_.data() + kGuard; }
  std::size_t size() const noexcept { return bytes_.size() - 2 * kGuard; }
  std::span<std::byte> bytes() noexcept { return {data(), size()}; }

  // From here on, kGuard bytes from `offset` must stay as they are.
  void guard(std::size_t offset) { put_guard(offset + kGuard); }
  // Whether all of them have.
  bool intact() const noexcept {
    for (const std::size_t at : guards_) {
      if (std::memcmp(bytes_.data() + at, kPattern.data(), kGuard) != 0) return false;
    }
    return true;
  }

 private:
  static constexpr std::array<std::byte, kGuard> kPattern = [] {
    std::array<std::byte, kGuard> made{};
    for (std::size_t i = 0; i < kGuard; ++i) made[i] = static_cast<std::byte>(0xA5 ^ i);
    return made;
  }();

  void put_guard(std::size_t at) {
    std::memcpy(bytes_.data() + at, kPattern.data(), kGuard);
    guards_.push_back(at);
  }

  std::vector<std::byte> bytes_;
  std::vector<std::size_t> guards_;
};

}  // namespace hamlyn::simulation
