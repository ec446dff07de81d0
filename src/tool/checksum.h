#pragma once
// XXH3 of 64 bits, fed piece by piece. Against accidents, not against forgers (who may write what they like
// into their own stream anyway): `xxhsum -H3` of the same bytes prints the same sixteen digits.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

struct XXH3_state_s;

namespace hamlyn::tool {

class Checksum {
 public:
  Checksum();
  void add(std::span<const std::byte> bytes) noexcept;
  std::uint64_t value() const noexcept;
  std::uint64_t bytes() const noexcept { return bytes_; }

 private:
  struct Free {
    void operator()(XXH3_state_s* state) const noexcept;
  };

  std::unique_ptr<XXH3_state_s, Free> state_;
  std::uint64_t bytes_ = 0;
};

}  // namespace hamlyn::tool
