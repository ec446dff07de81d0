#pragma once
// Agreements of two endpoints that send to each other over VIs (am/vi_port.h): how many messages of which
// length may be under way, and how a message stands in a receive.
//
// A short message is one cache line: its word goes as the 32 bits of immediate data, so that four arguments
// fit beside it. All others have their whole word in front of their bytes.
#include <algorithm>
#include <cstdint>

#include "am/am_wire.h"
#include "am/ring.h"
#include "base/namespaces.h"
#include "vi/lane.h"

namespace hamlyn::internal_::am {

inline constexpr std::uint32_t kMostViCredits = 32, kStandardViCredits = 8;  // as in the paper
inline constexpr std::size_t kMostLanes = 3;

// Words that give back credits and room alone take a receive, and no room. Each tells of a quarter of the
// room in a lane, or of the credits, which the other side cannot use again before it has heard it.
inline constexpr std::uint32_t kBareReceives = 4 * kMostLanes + 4;

// Messages by one VI.
struct LaneShape {
  std::uint32_t room = 0;   // of numbered messages under way
  std::uint32_t bytes = 0;  // of the longest, with its word
  bool bare = false;        // words alone go by it

  std::uint32_t receives() const noexcept { return room + vi::kLateReceives + (bare ? kBareReceives : 0); }
  std::uint32_t sends() const noexcept { return std::max(room - 1, 2u); }  // the longest put takes two
  // Weight of a message, as Come::weight.
  std::uint32_t weight() const noexcept { return (kWholeRing + room - 1) / room; }
};

constexpr std::size_t lanes_of(Way way) noexcept { return way == Way::vi3 ? kMostLanes : 1; }

// Makes room for as many requests as there are credits, as many replies, and one that is handled.
constexpr LaneShape lane_shape(Way way, std::size_t lane, std::uint32_t credits) noexcept {
  constexpr std::uint32_t kWord = sizeof(std::uint64_t), kAll = 4 * kMostArguments;
  if (way != Way::vi3) return {2 * credits + 1, kWord + kMostBytes, true};
  switch (lane) {
    case 0:
      return {2 * credits + 1, kAll, false};
    case 1:
      return {2 * std::max(credits / 4, 1u) + 1, kWord + kAll + kMostMedium, false};
    default:
      return {credits + 1, kWord + kMostHead + kAll, true};
  }
}
constexpr std::size_t lane_of(Way way, Kind kind) noexcept {
  if (way != Way::vi3) return 0;
  if (kind == Kind::request_short || kind == Kind::reply_short) return 0;
  return kind == Kind::request_medium || kind == Kind::reply_medium || kind == Kind::piece ? 1 : 2;
}

// --- a short message's word

constexpr bool is_packed(Kind kind) noexcept {
  return kind == Kind::request_short || kind == Kind::reply_short;
}
inline constexpr unsigned kPackedHandlerAt = 4, kPackedNumberAt = 12, kPackedDoneAt = 19,
                          kPackedCreditedAt = 26;
inline constexpr std::uint32_t kPackedCount = 0x7F, kPackedCredits = 0x3F;

// All that may be under way has another number in fewer bits.
constexpr std::uint32_t most_under_way(Way way, std::uint32_t credits) noexcept {
  std::uint32_t out = 0;
  for (std::size_t lane = 0; lane != lanes_of(way); ++lane) out += lane_shape(way, lane, credits).room;
  return out;
}
static_assert(most_under_way(Way::vi, kMostViCredits) <= kPackedCount);
static_assert(most_under_way(Way::vi3, kMostViCredits) <= kPackedCount);
static_assert(kMostViCredits <= kPackedCredits);

constexpr std::uint32_t packed(const Word& word) noexcept {
  return static_cast<std::uint32_t>(word.kind) | std::uint32_t{word.handler} << kPackedHandlerAt |
         (word.number & kPackedCount) << kPackedNumberAt | (word.done & kPackedCount) << kPackedDoneAt |
         (word.credited & kPackedCredits) << kPackedCreditedAt;
}
// Counts that the receiver has, from which on the bits count.
struct PackedFrom {
  std::uint64_t expected = 0, done = 0, credited = 0;
};
constexpr Word unpacked(std::uint32_t bits, std::size_t length, const PackedFrom& from) noexcept {
  const auto beyond = [](std::uint64_t base, std::uint32_t low, std::uint32_t mask) {
    return static_cast<std::uint16_t>(base + ((low - static_cast<std::uint32_t>(base)) & mask));
  };
  return {static_cast<Kind>(bits & 0xF),
          static_cast<std::uint8_t>(length / 4),
          static_cast<std::uint8_t>(bits >> kPackedHandlerAt),
          beyond(from.expected, bits >> kPackedNumberAt, kPackedCount),
          beyond(from.done, bits >> kPackedDoneAt, kPackedCount),
          static_cast<std::uint16_t>(beyond(from.credited, bits >> kPackedCreditedAt, kPackedCredits) &
                                     kCreditedMask)};
}

}  // namespace hamlyn::internal_::am
