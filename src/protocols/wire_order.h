#pragma once
// Words between the ends of a protocol are little-endian where they travel: structures of numbers, turned
// over one by one on a machine of the other order, before they leave and when they have come. On others this
// costs nothing.
#include "base/byte_order.h"
#include "base/namespaces.h"
#include "hamlyn/values/ticket.h"

namespace hamlyn::internal_::protocols {

// Calls what(number) for each number of a structure, which has nothing else. Beside each structure is its
// own.
template <class What>
void each_number(Ticket& ticket, What what) noexcept {
  what(ticket.host), what(ticket.interface), what(ticket.slot), what(ticket.generation), what(ticket.key);
  what(ticket.entry), what(ticket.incarnation), what(ticket.base), what(ticket.bound);
  what(ticket.version), what(ticket.purpose);
}

// As it travels, or, of what has come, as this machine has it.
template <class Structure>
Structure in_wire_order(Structure structure) noexcept {
  if constexpr (!base::kLittleEndian)
    each_number(structure, [](auto& number) { number = base::turned(number); });
  return structure;
}

}  // namespace hamlyn::internal_::protocols
