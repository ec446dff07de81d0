#pragma once
// The service that is called in figures of calls.
#include <chrono>
#include <cstdint>
#include <span>

#include "hamlyn/rpc.h"
#include "hamlyn/rpc/reference.h"
#include "tool/perf/touch.h"

namespace hamlyn::tool::perf {

// The thesis's procedures (paper 4, table 5.1), and one that does nothing.
class Measured {
 public:
  void null() noexcept {}
  std::int32_t minus(std::int32_t a, std::int32_t b) noexcept { return a - b; }
  // Reads all of it where it stands.
  std::uint64_t look(rpc::Call& call, rpc::Readable data) {
    const std::span<const std::byte> bytes = data.view(call, std::chrono::seconds{10});
    return bytes.empty() ? 0 : hamlyn_read_all(bytes.data(), bytes.size());
  }
  std::int32_t longest(std::span<const std::byte> bytes) noexcept {
    return static_cast<std::int32_t>(bytes.size());
  }
};
HAMLYN_RPC(Measured, null, minus, longest, look)

}  // namespace hamlyn::tool::perf
