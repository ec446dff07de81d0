#pragma once
// What an interface of the other byte order would find in its memory. Here there is one order, so its bytes
// are turned over on the way: those of numbers that lie there as they came. What the interface itself
// takes as a number, a signal for one, is the same number on every machine.
#include "interface/element.h"

namespace hamlyn::sim {

// Of what size the numbers in the data are that are to be turned over; 0: none are.
inline std::uint32_t turned_element(const interface::Packet& packet) noexcept {
  const bool signal = packet.lead.operation == interface::Operation::put_block && packet.word != 0;
  return signal ? 0 : interface::element_of(packet.lead);
}

}  // namespace hamlyn::sim
