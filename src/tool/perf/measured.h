#pragma once
// The service that is called in figures of calls.
#include <cstdint>
#include <span>

#include "hamlyn/rpc.h"

namespace hamlyn::tool::perf {

// The thesis's procedures (paper 4, table 5.1), and one that does nothing.
class Measured {
 public:
  void null() noexcept {}
  std::int32_t minus(std::int32_t a, std::int32_t b) noexcept { return a - b; }
  std::int32_t longest(std::span<const std::byte> bytes) noexcept {
    return static_cast<std::int32_t>(bytes.size());
  }
};
HAMLYN_RPC(Measured, null, minus, longest)

}  // namespace hamlyn::tool::perf
