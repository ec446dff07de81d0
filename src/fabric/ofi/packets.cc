#include "fabric/ofi/packets.h"

#include <cstring>

#include "base/byte_order.h"
#include "base/copy.h"
#include "interface/packets/element.h"

namespace hamlyn::ofi {

using interface::Packet;

namespace {

constexpr std::size_t kWords = kPacketHeader / sizeof(std::uint64_t);

// Between this machine's order and the wire's.
void turn_numbers(const interface::Lead& lead, std::byte* data) noexcept {
  if constexpr (!base::kLittleEndian) base::swap_elements(data, lead.length, interface::numbers_in(lead));
}

}  // namespace

void write_packet(const Packet& packet, const std::byte* data, const std::byte* metadata,
                  std::byte* out) noexcept {
  const std::size_t length = packet.lead.length, metadata_length = packet.lead.metadata_length;
  for (std::size_t i = 0; i < kWords; ++i)
    base::store_little(out + i * sizeof(std::uint64_t), word_at(packet, i));
  std::byte* at = out + kPacketHeader;
  if (metadata_length != 0) std::memcpy(at, metadata, metadata_length);
  at += metadata_length;
  if (interface::is_get_data(word_at(packet, interface::kLeadWord))) {
    base::copy_from_shared(at, data, length);  // the owner may write there meanwhile
  } else if (length != 0) {
    std::memcpy(at, data, length);
  }
  turn_numbers(packet.lead, at);
  at += length;
  std::memset(at, 0, static_cast<std::size_t>(out + bytes_of(packet.lead) - at));
}

std::size_t read_packet(std::byte* at, std::size_t left, Packet& packet,
                        interface::Payload& payload) noexcept {
  if (left < kPacketHeader) return 0;
  for (std::size_t i = 0; i < kWords; ++i)
    set_word(packet, i, base::load_little<std::uint64_t>(at + i * sizeof(std::uint64_t)));
  const std::size_t bytes = bytes_of(packet.lead);
  if (bytes > left) return 0;
  payload = {};
  payload.metadata = at + kPacketHeader;
  std::byte* const data = at + kPacketHeader + packet.lead.metadata_length;
  turn_numbers(packet.lead, data);
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
