#pragma once
// The procedure of local calls, and the room that its sides ask for.
#include <algorithm>
#include <cstddef>
#include <string>

#include "base/namespaces.h"
#include "hamlyn/rpc/listing.h"
#include "rpc/rpc_wire.h"

namespace hamlyn::internal_::rpc::local {

inline constexpr std::uint32_t kCalls = 16;  // of one client at a time

// Spelled as no C++ class spells one: its frame is the request, and its result the reply, without a length.
inline Procedure procedure() { return procedure_of("call", "call(local)->local"); }

constexpr std::size_t short_room(std::size_t bytes) noexcept {
  return std::clamp(bytes, kLeastFrame, kMostFrame);
}
// Beyond what a short one takes; 0: nothing.
constexpr std::size_t long_room(std::size_t bytes) noexcept { return bytes > kMostFrame ? bytes : 0; }

}  // namespace hamlyn::internal_::rpc::local
