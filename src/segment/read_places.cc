#include "segment/read_places.h"

#include <algorithm>

namespace hamlyn::internal_::segment {

std::optional<std::size_t> ReadPlaces::take(std::uint32_t node, Time now) noexcept {
  std::size_t of_node = 0;
  std::optional<std::size_t> free;
  for (std::size_t i = 0; i < kPlaces; ++i) {
    const Place& each = places_[i];
    if (!each.taken) free = i;
    if (!each.taken || each.node != node) continue;
    if (each.late || ++of_node == kMostOfNode) return std::nullopt;
  }
  if (free) places_[*free] = {true, false, node, now + kLate};
  return free;
}

std::optional<ReadPlaces::Time> ReadPlaces::deadline() const noexcept {
  std::optional<Time> out;
  for (const Place& each : places_) {
    if (each.taken && !each.late) out = std::min(out.value_or(each.until), each.until);
  }
  return out;
}

std::optional<std::size_t> ReadPlaces::find_late(Time now) noexcept {
  for (std::size_t i = 0; i < kPlaces; ++i) {
    Place& each = places_[i];
    if (!each.taken || each.late || each.until > now) continue;
    each.late = true;
    return i;
  }
  return std::nullopt;
}

}  // namespace hamlyn::internal_::segment
