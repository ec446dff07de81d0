#pragma once
// The number by which notifications name a slot: its index in the slot table, and the generation of that
// place.
#include <cstdint>

#include "base/namespaces.h"
#include "interface/packets/packet.h"

namespace hamlyn::internal_::library {

inline std::uint32_t slot_index(std::uint32_t number) noexcept { return interface::index_of(number); }

}  // namespace hamlyn::internal_::library
