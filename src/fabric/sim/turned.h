#pragma once
// Turns the bytes of packets over, so that they are what an interface of the other byte order would find in
// its memory. Only numbers that lie there as they came are turned. Numbers that the interface itself takes, a
// signal or the shape of a get, are the same on every machine.
#include "interface/packets/element.h"

namespace hamlyn::sim {

// Returns the size of the numbers in the data that are to be turned over; 0: none are.
inline std::uint32_t turned_element(const interface::Packet& packet) noexcept {
  const bool signal = packet.lead.operation == interface::Operation::put_block && packet.word != 0;
  const bool shape = packet.lead.operation == interface::Operation::get_strided;
  return signal || shape ? 0 : interface::element_of(packet.lead);
}

}  // namespace hamlyn::sim
