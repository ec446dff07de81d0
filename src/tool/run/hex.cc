#include "tool/run/hex.h"

#include <fmt/core.h>

#include <charconv>
#include <cstdint>

namespace hamlyn::tool {

std::string hex_of(std::span<const std::byte> bytes) {
  std::string out;
  out.reserve(2 * bytes.size());
  for (const std::byte each : bytes) out += fmt::format("{:02x}", std::to_integer<unsigned>(each));
  return out;
}

std::string text_of_hex(const std::string& hex) {
  std::string out;
  for (std::size_t at = 0; at + 1 < hex.size(); at += 2) {
    std::uint8_t byte = 0;
    if (std::from_chars(&hex[at], &hex[at] + 2, byte, 16).ptr != &hex[at] + 2) break;
    out += static_cast<char>(byte);
  }
  return out;
}

}  // namespace hamlyn::tool
