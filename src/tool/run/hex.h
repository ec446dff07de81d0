#pragma once
// Bytes as hexadecimal digits, two each.
#include <cstddef>
#include <span>
#include <string>

namespace hamlyn::tool {

std::string hex_of(std::span<const std::byte> bytes);
// The way back; what is no hexadecimal digit ends it.
std::string text_of_hex(const std::string& hex);

}  // namespace hamlyn::tool
