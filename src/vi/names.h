#pragma once
// Names that stand at the node for those who wait for connections (docs/vi.md, "Addresses"): of a host and a
// discriminator. A long discriminator stands there as a hash, and is compared whole by who waits.
#include <cstdint>
#include <span>
#include <string>

#include "base/namespaces.h"
#include "hamlyn/vi/values.h"

namespace hamlyn::internal_::vi {

inline constexpr std::size_t kShortDiscriminator = 16;

inline void add_hex(std::string& to, std::uint64_t number, int digits) {
  for (int at = (digits - 1) * 4; at >= 0; at -= 4) to += "0123456789abcdef"[number >> at & 15];
}
// FNV-1a, from a beginning of the caller's.
inline std::uint64_t hash_of(std::span<const std::byte> bytes, std::uint64_t hash) noexcept {
  for (const std::byte each : bytes) hash = (hash ^ static_cast<std::uint64_t>(each)) * 0x100000001B3u;
  return hash;
}

// Within the 64 characters that a name may have.
inline std::string name_of(std::uint64_t host, const hamlyn::vi::Address& address) {
  std::string out = "vi.";
  add_hex(out, host, 16);
  const std::span<const std::byte> bytes = address.discriminator();
  out += bytes.size() <= kShortDiscriminator ? ".d" : ".h";
  if (bytes.size() <= kShortDiscriminator) {
    for (const std::byte each : bytes) add_hex(out, static_cast<std::uint64_t>(each), 2);
    return out;
  }
  add_hex(out, hash_of(bytes, 0xCBF29CE484222325u), 16);
  add_hex(out, hash_of(bytes, 0x84222325CBF29CE4u), 16);
  return out;
}

}  // namespace hamlyn::internal_::vi
