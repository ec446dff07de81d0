#pragma once
// Frames, which travel between two hosts: a header of 64 bytes, then packets (packets.h). Little-endian,
// whatever the machine: docs/wire.md has every byte.
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace hamlyn::ofi {

inline constexpr std::uint32_t kFrameMagic = 0x49464F48;  // "HOFI"
inline constexpr std::uint8_t kFrameVersion = 7;
inline constexpr std::size_t kFrameHeader = 64;

// The kind of a frame's packets. Urgent ones and replies do not stand behind bulk.
enum class Lane : std::uint8_t { normal = 0, urgent = 1, replies = 2, none = 3 };
inline constexpr std::size_t kLanes = 3;  // with packets
constexpr std::size_t index_of(Lane lane) noexcept { return static_cast<std::size_t>(lane); }

struct FrameHeader {
  static constexpr std::uint8_t kEnd = 1;  // the sender has ended the link; its last frame was `sequence`
  static constexpr std::uint8_t kAsk = 2;  // the sender has heard nothing for long, and wants an answer

  Lane lane = Lane::none;
  std::uint8_t flags = 0;
  std::uint8_t reason = 0;  // with kEnd: a LinkReason, as its sender says; 0: it does not
  // With packets: the frame before it in its lane has a number so much lower; 0: all of those have come.
  std::uint8_t behind = 0;
  std::uint32_t length = kFrameHeader;         // of the whole frame
  std::uint64_t link = 0;                      // random, the same at both ends
  std::uint64_t from = 0;                      // incarnation of the sender's node
  std::uint64_t to = 0;                        // and of the receiver's
  std::uint64_t sequence = 0;                  // of frames with packets, from 1 on; 0: it has none
  std::uint64_t acknowledged = 0;              // all frames up to this one have come
  std::uint16_t window = 0;                    // frames that may stand at the sender of this, of all lanes
  std::uint32_t patience = 0;                  // ms of silence after which the sender gives the other up
  std::array<std::uint16_t, kLanes> handed{};  // of each lane handed over there so far, modulo 2^16
};

void encode(const FrameHeader& header, std::byte* out) noexcept;
// Null if `frame`, all that has come, is well formed; otherwise what is wrong with it. Total over any bytes.
const char* decode(std::span<const std::byte> frame, FrameHeader& header) noexcept;

}  // namespace hamlyn::ofi
