#pragma once
// Messages of requesters and targets of lossy_swap.h: datagrams of 64 bytes (docs/wire.md).
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "base/namespaces.h"

namespace hamlyn::internal_::segment {

enum class SwapKind : std::uint8_t {
  hello = 1,  // a requester begins
  welcome,    // the session that it may confirm
  confirm,    // from here on it is the requester's only one
  confirmed,
  swap,
  swapped,  // or what is wrong with the request
  refused,  // the target has no such session, or no room for one
};

enum class SwapResult : std::uint8_t {
  done,  // compared, and swapped if `found` is what was expected
  out_of_bounds,
  misaligned,
  ahead,       // of its window: no honest requester is
  no_session,  // of `refused`
  full,        // the same: as many requesters as may be
};

// Fields that a kind does not need are 0.
struct SwapPacket {
  SwapKind kind = SwapKind::hello;
  SwapResult result = SwapResult::done;
  std::uint64_t session = 0;
  std::uint64_t incarnation = 0;
  std::uint64_t number = 0;  // of the operation
  std::uint64_t floor = 0;   // all before it are over, and never asked for again
  std::uint64_t offset = 0;
  std::uint64_t expected = 0;  // of `swapped`: found
  std::uint64_t desired = 0;
};

constexpr std::size_t kSwapPacket = 64;
using SwapBytes = std::array<std::byte, kSwapPacket>;

SwapBytes bytes_of(const SwapPacket& packet) noexcept;
// Nothing: that is none.
std::optional<SwapPacket> swap_packet(std::span<const std::byte> bytes) noexcept;

}  // namespace hamlyn::internal_::segment
