#include "fabric/ofi/frame.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "fabric/ofi/limits.h"

namespace hamlyn::ofi {

namespace {

// Between this machine's order and little-endian.
template <class T>
T little(T value) noexcept {
  if constexpr (std::endian::native == std::endian::little || sizeof value == 1) return value;
  std::byte bytes[sizeof value];
  std::memcpy(bytes, &value, sizeof value);
  std::reverse(bytes, bytes + sizeof value);
  std::memcpy(&value, bytes, sizeof value);
  return value;
}

template <class T>
void store(std::byte* at, T value) noexcept {
  value = little(value);
  std::memcpy(at, &value, sizeof value);
}

template <class T>
T load(const std::byte* at) noexcept {
  T value;
  std::memcpy(&value, at, sizeof value);
  return little(value);
}

}  // namespace

void encode(const FrameHeader& header, std::byte* out) noexcept {
  store(out, kFrameMagic);
  store(out + 4, kFrameVersion);
  store(out + 5, static_cast<std::uint8_t>(header.lane));
  store(out + 6, std::uint16_t{header.flags});
  store(out + 8, header.length);
  store(out + 12, header.patience);
  store(out + 16, header.link);
  store(out + 24, header.from);
  store(out + 32, header.to);
  store(out + 40, header.sequence);
  store(out + 48, header.acknowledged);
  store(out + 56, header.window);
  for (std::size_t lane = 0; lane < kLanes; ++lane) store(out + 58 + 2 * lane, header.handed[lane]);
}

const char* decode(std::span<const std::byte> frame, FrameHeader& header) noexcept {
  if (frame.size() < kFrameHeader) return "shorter than a header";
  if (frame.size() > kFrameLimit) return "longer than a frame may be";
  const std::byte* const at = frame.data();
  if (load<std::uint32_t>(at) != kFrameMagic) return "no frame";
  if (load<std::uint8_t>(at + 4) != kFrameVersion) return "a frame of another version";
  header.lane = static_cast<Lane>(load<std::uint8_t>(at + 5));
  header.flags = load<std::uint8_t>(at + 6);
  header.length = load<std::uint32_t>(at + 8);
  header.patience = load<std::uint32_t>(at + 12);
  header.link = load<std::uint64_t>(at + 16);
  header.from = load<std::uint64_t>(at + 24);
  header.to = load<std::uint64_t>(at + 32);
  header.sequence = load<std::uint64_t>(at + 40);
  header.acknowledged = load<std::uint64_t>(at + 48);
  header.window = load<std::uint16_t>(at + 56);
  for (std::size_t lane = 0; lane < kLanes; ++lane)
    header.handed[lane] = load<std::uint16_t>(at + 58 + 2 * lane);
  if (header.lane > Lane::none) return "an unknown lane";
  if (header.flags > FrameHeader::kEnd || load<std::uint8_t>(at + 7) != 0) return "a field that must be zero";
  if (header.length != frame.size()) return "another length than it says";
  const bool empty = frame.size() == kFrameHeader;
  if (empty != (header.lane == Lane::none)) return "packets in no lane, or a lane without packets";
  if (header.lane != Lane::none && (header.sequence == 0 || header.flags != 0))
    return "packets without a number, or after the end";
  if (header.lane == Lane::none && header.flags == 0 && header.sequence != 0)
    return "a number without packets";
  return nullptr;
}

}  // namespace hamlyn::ofi
