#pragma once
// The packets of a frame, one behind the other: 48 bytes as in a cell (interface/packets/packet.h), metadata,
// data, and zeros up to a multiple of 8. Little-endian, and so is the data as far as the packet says that it
// is numbers (interface/packets/element.h).
#include <cstddef>
#include <cstdint>

#include "fabric/ofi/limits.h"
#include "interface/packets/packet.h"

namespace hamlyn::ofi {

inline constexpr std::size_t kPacketHeader = offsetof(interface::Packet, data);

inline std::size_t bytes_of(const interface::Lead& lead) noexcept {
  return (kPacketHeader + lead.metadata_length + lead.length + 7u) & ~std::size_t{7};
}

// Writes bytes_of(packet.lead) bytes.
void write_packet(const interface::Packet& packet, const std::byte* data, const std::byte* metadata,
                  std::byte* out) noexcept;

// Reads the packet that begins at `at`, of `left` bytes. Returns how many bytes it takes; 0: it does not end
// there. Total over any bytes; what it says is still to be checked. `payload` points into what was read,
// where numbers are in this machine's order then: so each packet is read once.
std::size_t read_packet(std::byte* at, std::size_t left, interface::Packet& packet,
                        interface::Payload& payload) noexcept;

}  // namespace hamlyn::ofi
