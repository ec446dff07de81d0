#pragma once
// XXH64 with seed 0, fed piece by piece. Against accidents, not against forgers (who may write what they like
// into their own stream anyway): `xxh64sum` of the same bytes prints the same sixteen digits.
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace hamlyn::tool {

class Checksum {
 public:
  Checksum() noexcept;
  void add(std::span<const std::byte> bytes) noexcept;
  std::uint64_t value() const noexcept;
  std::uint64_t bytes() const noexcept { return bytes_; }

 private:
  static constexpr std::size_t kStripe = 32;

  const std::byte* add_stripes(const std::byte* at, std::size_t count) noexcept;

  std::array<std::uint64_t, 4> lanes_;
  std::array<std::byte, kStripe> rest_{};  // what does not fill a stripe yet
  std::size_t rest_bytes_ = 0;
  std::uint64_t bytes_ = 0;
};

}  // namespace hamlyn::tool
