#pragma once
// A structure that a peer has sent, copied once and only then looked at: its own memory may change meanwhile.
// In the order of this machine.
#include <cstddef>
#include <cstring>
#include <optional>
#include <span>

#include "base/namespaces.h"
#include "protocols/wire_order.h"

namespace hamlyn::internal_::protocols {

// Nothing if its length is another.
template <class T>
std::optional<T> copy_of(std::span<const std::byte> bytes) noexcept {
  T out;
  if (bytes.size() != sizeof out) return std::nullopt;
  std::memcpy(static_cast<void*>(&out), bytes.data(), sizeof out);
  return in_wire_order(out);
}

}  // namespace hamlyn::internal_::protocols
