#pragma once
// The swap bit of a packet (paper 4, section 7.2.5): of what size the numbers are that its data consists of,
// so that hosts of different byte order can turn them over. The sender asks for it; a link between hosts does
// it; a link of one host has nothing to do, and its rings have their turns where it stands.
#include "base/namespaces.h"
#include "interface/packets/packet.h"

namespace hamlyn::internal_::interface {

constexpr bool is_element(std::uint64_t size) noexcept {
  return size == 0 || size == 2 || size == 4 || size == 8;
}

// So no element is cut in two, whatever packets a message is cut into: their limits are multiples of 8.
constexpr bool element_divides(std::uint64_t element, std::uint64_t length, std::uint64_t offset) noexcept {
  return element == 0 || (length % element == 0 && offset % element == 0);
}

inline std::uint32_t element_of(const Lead& lead) noexcept { return lead.turn; }

// Size of the numbers in the data. Operands and shapes are always numbers.
inline std::uint32_t numbers_in(const Lead& lead) noexcept {
  const bool words = lead.operation == Operation::fetch || lead.operation == Operation::fetched ||
                     lead.operation == Operation::watch || lead.operation == Operation::get_strided;
  return words ? sizeof(std::uint64_t) : element_of(lead);
}

// Null if a packet from another host may have that element, otherwise what is wrong. Total.
inline const char* invalid_element(const Lead& lead) noexcept {
  if (element_of(lead) == 0) return nullptr;
  if (!is_element(element_of(lead))) return "no size of an element";
  switch (lead.operation) {
    case Operation::write:
    case Operation::write_acknowledged:
    case Operation::get:
    case Operation::get_strided:
    case Operation::get_data:
    case Operation::put_block:
    case Operation::put_strided:
      return nullptr;
    default:
      return "an element of what has none";
  }
}

// Whether it divides the length, of a get that of its answer, and the offset.
inline bool element_fits(const Packet& packet) noexcept {
  const bool asks = is_get(packet.lead.operation);
  return element_divides(element_of(packet.lead), asks ? packet.delta : packet.lead.length, packet.offset);
}

}  // namespace hamlyn::internal_::interface
