#include "fabric/ofi/packets.h"

#include <cstring>

namespace hamlyn::ofi {

using interface::Packet;

void write_packet(const Packet& packet, const std::byte* data, const std::byte* metadata,
                  std::byte* out) noexcept {
  const std::size_t length = packet.lead.length, metadata_length = packet.lead.metadata_length;
  std::memcpy(out, &packet, kPacketHeader);
  std::memset(out + offsetof(interface::Lead, turn), 0, sizeof packet.lead.turn);
  std::byte* at = out + kPacketHeader;
  if (metadata_length != 0) std::memcpy(at, metadata, metadata_length);
  if (length != 0) std::memcpy(at + metadata_length, data, length);
  at += metadata_length + length;
  std::memset(at, 0, static_cast<std::size_t>(out + bytes_of(packet.lead) - at));
}

std::size_t read_packet(const std::byte* at, std::size_t left, Packet& packet,
                        interface::Payload& payload) noexcept {
  if (left < kPacketHeader) return 0;
  std::memcpy(&packet, at, kPacketHeader);
  const std::size_t bytes = bytes_of(packet.lead);
  if (bytes > left) return 0;
  payload = {};
  payload.metadata = at + kPacketHeader;
  const std::byte* const data = payload.metadata + packet.lead.metadata_length;
  std::memset(packet.data, 0, sizeof packet.data);
  if (packet.lead.length <= interface::kInlineData) {
    std::memcpy(packet.data, data, packet.lead.length);
  } else {
    payload.first = data;
    payload.first_length = packet.lead.length;
    payload.second = data + packet.lead.length;
  }
  return bytes;
}

}  // namespace hamlyn::ofi
