#pragma once
// What an interface of the other byte order would find in its memory. Here there is one order, so its bytes
// are turned over on the way: those of numbers that lie there as they came. What the interface itself takes
// as numbers, a signal or the shape of a get, are the same on every machine.
#include "interface/element.h"

namespace hamlyn::sim {

// Of what size the numbers in the data are that are to be turned over; 0: none are.
inline std::uint32_t turned_element(const interface::Packet& packet) noexcept {
  const bool signal = packet.lead.operation == interface::Operation::put_block && packet.word != 0;
  const bool shape = packet.lead.operation == interface::Operation::get_strided;
  return signal || shape ? 0 : interface::element_of(packet.lead);
}

}  // namespace hamlyn::sim
