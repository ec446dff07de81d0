#pragma once
// Send buffer areas (paper 0, section 2.3). The sender shows an area, whole and read-only, to the interface
// at the other side of a link; a packet then carries no data but says where in the area it stands, and the
// receiving interface, when it has checked everything, copies it once, straight from there.
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <type_traits>

#include "base/namespaces.h"
#include "interface/packets/packet.h"

namespace hamlyn::internal_::interface {

inline constexpr std::uint32_t kAreaLimit = 64;   // areas that one interface may have at a time
inline constexpr std::uint32_t kTagLimit = 8;     // send buffer areas of one terminus
inline constexpr std::uint32_t kPieceLimit = 16;  // pieces of one message
// The most that one packet may have copied: so long may a link keep the others waiting.
inline constexpr std::uint32_t kAreaPacketLimit = 64 * 1024;
// In packets of a turn's budget.
inline constexpr unsigned kAreaPacketCost = 8;

// The sixteen bytes of data of an area_write.
struct AreaPart {
  std::uint16_t number;
  std::uint16_t generation;  // of the number: what was shown under it before is another area
  std::uint32_t length;
  std::uint64_t offset;  // from the area's start
};
static_assert(sizeof(AreaPart) == 16 && std::is_trivially_copyable_v<AreaPart>);
static_assert(offsetof(AreaPart, generation) == 2 && offsetof(AreaPart, length) == 4 &&
              offsetof(AreaPart, offset) == 8);

// In the place of a number: the data stands where it is to be already, written by a trusted peer through its
// mapping of the slot; `generation` is the mapping's. What remains is the notification.
inline constexpr std::uint16_t kInPlace = 0xFFFF;
inline bool is_in_place(const Packet& packet) noexcept {
  std::uint16_t number;
  std::memcpy(&number, packet.data, sizeof number);
  return number == kInPlace;
}

// One's own area, found by its number.
struct SendArea {
  const std::byte* data = nullptr;  // null: the number is free
  std::uint64_t size = 0;
  std::uint16_t generation = 0;
};

// Area that the other side of a link has shown, found by its number there.
struct ShownArea {
  const std::byte* data = nullptr;  // null: nothing
  std::uint64_t size = 0;
  std::uint16_t generation = 0;
};
// A slot of the other side that this process has mapped for writing (hamlyn/core/mapped_slot.h).
struct MappedTarget {
  const void* owner = nullptr;  // who has mapped it
  std::uint32_t slot = 0;
  std::uint32_t slot_generation = 0;
  std::uint64_t key = 0;
  std::byte* base = nullptr;
  std::uint64_t bound = 0;
  const std::uint64_t* generation_word = nullptr;  // the owner's
  std::uint64_t generation = 0;                    // what it said when the memory was mapped
};

using ShownAreas = std::array<ShownArea, kAreaLimit>;

}  // namespace hamlyn::internal_::interface
