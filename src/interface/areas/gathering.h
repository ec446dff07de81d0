#pragma once
// Messages of a terminus out of send buffer areas: which area each tag names, and the pieces of each message
// under way.
#include <array>
#include <cstdint>
#include <vector>

#include "base/namespaces.h"
#include "interface/areas/send_area.h"
#include "interface/packets/packet.h"

namespace hamlyn::internal_::interface {

struct Gathering {
  static constexpr std::uint32_t kNoArea = 0xFFFFFFFFu;

  // A piece, looked up when its message was posted.
  struct GatheredPiece {
    const std::byte* data;
    std::uint64_t offset;  // from the area's start
    std::uint64_t length;
    std::uint32_t area;
    std::uint16_t generation;
  };

  explicit Gathering(std::size_t entries) : parts(entries) { tags.fill(kNoArea); }

  std::array<std::uint32_t, kTagLimit> tags;
  std::vector<std::array<GatheredPiece, kPieceLimit>> parts;  // by work-queue entry
  alignas(64) std::byte staging[kPacketLimit];                // short pieces on their way into one packet
};

}  // namespace hamlyn::internal_::interface
