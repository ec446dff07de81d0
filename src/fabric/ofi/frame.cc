#include "fabric/ofi/frame.h"

#include "base/byte_order.h"
#include "fabric/ofi/limits.h"

namespace hamlyn::ofi {

using base::load_little;
using base::store_little;

void encode(const FrameHeader& header, std::byte* out) noexcept {
  store_little(out, kFrameMagic);
  store_little(out + 4, kFrameVersion);
  store_little(out + 5, static_cast<std::uint8_t>(header.lane));
  store_little(out + 6, header.flags);
  store_little(out + 7, header.lane == Lane::none ? header.reason : header.behind);
  store_little(out + 8, header.length);
  store_little(out + 12, header.patience);
  store_little(out + 16, header.link);
  store_little(out + 24, header.from);
  store_little(out + 32, header.to);
  store_little(out + 40, header.sequence);
  store_little(out + 48, header.acknowledged);
  store_little(out + 56, header.window);
  for (std::size_t lane = 0; lane < kLanes; ++lane) store_little(out + 58 + 2 * lane, header.handed[lane]);
}

const char* decode(std::span<const std::byte> frame, FrameHeader& header) noexcept {
  if (frame.size() < kFrameHeader) return "shorter than a header";
  if (frame.size() > kFrameLimit) return "longer than a frame may be";
  const std::byte* const at = frame.data();
  if (load_little<std::uint32_t>(at) != kFrameMagic) return "no frame";
  if (load_little<std::uint8_t>(at + 4) != kFrameVersion) return "a frame of another version";
  header.lane = static_cast<Lane>(load_little<std::uint8_t>(at + 5));
  header.flags = load_little<std::uint8_t>(at + 6);
  const auto seventh = load_little<std::uint8_t>(at + 7);
  header.reason = header.lane == Lane::none ? seventh : std::uint8_t{0};
  header.behind = header.lane == Lane::none ? std::uint8_t{0} : seventh;
  header.length = load_little<std::uint32_t>(at + 8);
  header.patience = load_little<std::uint32_t>(at + 12);
  header.link = load_little<std::uint64_t>(at + 16);
  header.from = load_little<std::uint64_t>(at + 24);
  header.to = load_little<std::uint64_t>(at + 32);
  header.sequence = load_little<std::uint64_t>(at + 40);
  header.acknowledged = load_little<std::uint64_t>(at + 48);
  header.window = load_little<std::uint16_t>(at + 56);
  for (std::size_t lane = 0; lane < kLanes; ++lane)
    header.handed[lane] = load_little<std::uint16_t>(at + 58 + 2 * lane);
  if (header.lane > Lane::none) return "an unknown lane";
  if (header.flags > FrameHeader::kAsk || (header.flags != FrameHeader::kEnd && header.reason != 0))
    return "a field that must be zero";
  if (header.length != frame.size()) return "another length than it says";
  const bool empty = frame.size() == kFrameHeader;
  if (empty != (header.lane == Lane::none)) return "packets in no lane, or a lane without packets";
  if (header.lane != Lane::none && (header.sequence == 0 || header.flags != 0))
    return "packets without a number, or after the end";
  if (header.behind >= kMostWindow || (header.behind != 0 && header.behind >= header.sequence))
    return "behind a frame that there cannot be";
  if (header.lane == Lane::none && header.flags != FrameHeader::kEnd && header.sequence != 0)
    return "a number without packets";
  return nullptr;
}

}  // namespace hamlyn::ofi
