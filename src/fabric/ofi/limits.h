#pragma once
// The numbers of a link between hosts, in one place. Times are in nanoseconds.
#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace hamlyn::ofi {

inline constexpr std::uint64_t kMillisecond = 1'000'000;
inline constexpr std::uint64_t kNever = ~std::uint64_t{0};

// A whole frame: 32 packets of the MTU. Of bulk, more in one is faster (docs/performance.md), and a buffer of
// which nothing was used costs nothing.
inline constexpr std::size_t kFrameLimit = 262144;
inline constexpr std::size_t kFarMtu = 8064;
// Bytes that one urgent packet can carry, as on every fabric.
inline constexpr std::size_t kUrgentPayload = 320;
// The most frames of one direction that may be unacknowledged; the receiver remembers so many numbers.
inline constexpr std::uint32_t kMostWindow = 32;

// Buffers that a wire should have for so many links, so that those whose peers take nothing leave the others
// room: the least window of each, and what the first few may have beyond it.
inline constexpr std::uint32_t kLeastWindow = 8;
constexpr std::uint32_t frames_for(std::uint32_t links) noexcept { return 128 + kLeastWindow * links; }

struct Limits {
  std::size_t frame = kFrameLimit;
  std::size_t mtu = kFarMtu;
  std::uint32_t window = 32;  // frames that the other side may have under way to us, 8 to kMostWindow
  std::uint32_t least_window = kLeastWindow;  // the same where there are many links
  std::uint32_t shared = 64;                  // frames that all links share until there are so many
  // Without a sign of life since one was due the other side is dead.
  std::uint64_t dead = 1000 * kMillisecond;
  // Silence that ends a link once the peer's node has gone, or has said that it leaves: what the peer had
  // sent may still be on its way. TCP sends again what was lost after 200 ms at the earliest.
  std::uint64_t farewell = 300 * kMillisecond;
  // And however much comes: a process lives on, and talks, when it is only its daemon that has died.
  std::uint64_t farewell_most = 1000 * kMillisecond;
  std::uint64_t resend = 100 * kMillisecond;     // after which what is unacknowledged is sent again
  std::uint64_t hello = 1 * kMillisecond;        // the same until the other side was heard, doubled each time
  std::uint64_t acknowledge = kMillisecond / 5;  // the longest that an acknowledgement waits for company
  // So soon after a frame has left, further small packets wait for each other.
  std::uint64_t gather = 5'000;

  // How often the other side is spoken to that is late: so a cut that ends just in time ends no link.
  std::uint64_t urging() const noexcept { return std::max(dead, 20 * kMillisecond) / 20; }
  // Bytes with which a frame leaves though the other side lags behind.
  std::size_t enough = 65536;

  // For which what was put on a link may still go its way when nobody here knows the link any more.
  std::uint64_t linger() const noexcept { return std::min(dead, 5000 * kMillisecond); }
  // How often one has to be heard by who gives up after `silence`. A liar may ask for more than is good.
  static std::uint64_t heartbeat(std::uint64_t silence) noexcept {
    return std::max(silence, 10 * kMillisecond) / 4;
  }
};

}  // namespace hamlyn::ofi
