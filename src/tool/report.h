#pragma once
// Report of a transfer about itself when it is over.
#include <cstdint>
#include <cstdio>
#include <optional>
#include <string>

namespace hamlyn::tool {

struct Peer {
  std::uint64_t interface = 0;
  std::optional<std::uint32_t> uid;  // none: the node does not tell us
  std::optional<std::uint32_t> pid;
};

struct Report {
  std::uint64_t bytes = 0;
  double seconds = 0;
  std::uint64_t checksum = 0;
  Peer peer;
};

// One line: "256 MB in 0.213 s (1.20 GB/s), xxh3 ef46db3751d8e999".
std::string to_text(const Report& report);
// One object in one line.
std::string to_json(const Report& report);

// Finds whom `interface` belongs to, as far as the node at `socket` tells.
Peer find_peer(std::uint64_t interface, const std::string& socket) noexcept;

}  // namespace hamlyn::tool
