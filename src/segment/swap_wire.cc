#include "segment/swap_wire.h"

#include "base/byte_order.h"

namespace hamlyn::internal_::segment {

namespace {

using base::load_little;
using base::store_little;

constexpr std::uint32_t kMagic = 0x50575348;  // HSWP
constexpr std::size_t kKind = 4, kResult = 5, kReserved = 6, kWords = 8;

// The words, in their order.
template <class Packet>
auto words_of(Packet& packet) noexcept {
  return std::array{&packet.session, &packet.incarnation, &packet.number, &packet.floor,
                    &packet.offset,  &packet.expected,    &packet.desired};
}

// Whether it has what its kind needs. Packets of one kind have all that others of it have.
bool complete(const SwapPacket& packet) noexcept {
  const auto has = [&](bool session, bool incarnation, bool number) {
    return (packet.session != 0) == session && (packet.incarnation != 0) == incarnation &&
           (packet.number != 0) == number;
  };
  const bool plain = packet.result == SwapResult::done;
  const bool wordless =
      packet.floor == 0 && packet.offset == 0 && packet.expected == 0 && packet.desired == 0;
  switch (packet.kind) {
    case SwapKind::hello:
      return plain && wordless && has(false, true, false);
    case SwapKind::welcome:
      return plain && wordless && has(true, true, false);
    case SwapKind::confirm:
    case SwapKind::confirmed:
      return plain && wordless && has(true, false, false);
    case SwapKind::swap:
      return plain && has(true, false, true) && packet.floor != 0 && packet.floor <= packet.number;
    case SwapKind::swapped:
      return packet.result <= SwapResult::ahead && has(true, false, true) && packet.floor == 0 &&
             packet.offset == 0 && packet.desired == 0;
    case SwapKind::refused:
      if (packet.result == SwapResult::full) return wordless && has(false, true, false);
      return packet.result == SwapResult::no_session && wordless && has(true, false, false);
  }
  return false;
}

}  // namespace

SwapBytes bytes_of(const SwapPacket& packet) noexcept {
  SwapBytes bytes{};
  store_little(bytes.data(), kMagic);
  bytes[kKind] = static_cast<std::byte>(packet.kind);
  bytes[kResult] = static_cast<std::byte>(packet.result);
  std::byte* at = bytes.data() + kWords;
  for (const std::uint64_t* const word : words_of(packet)) {
    store_little(at, *word);
    at += sizeof *word;
  }
  return bytes;
}

std::optional<SwapPacket> swap_packet(std::span<const std::byte> bytes) noexcept {
  if (bytes.size() != kSwapPacket || load_little<std::uint32_t>(bytes.data()) != kMagic) return std::nullopt;
  if (load_little<std::uint16_t>(bytes.data() + kReserved) != 0) return std::nullopt;
  SwapPacket packet;
  packet.kind = static_cast<SwapKind>(bytes[kKind]);
  packet.result = static_cast<SwapResult>(bytes[kResult]);
  const std::byte* at = bytes.data() + kWords;
  for (std::uint64_t* const word : words_of(packet)) {
    *word = load_little<std::uint64_t>(at);
    at += sizeof *word;
  }
  if (!complete(packet)) return std::nullopt;
  return packet;
}

}  // namespace hamlyn::internal_::segment
