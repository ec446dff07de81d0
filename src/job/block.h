#pragma once
// How the ranks of a job are dealt to its hosts.
#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "base/namespaces.h"

namespace hamlyn::internal_::job {

// A part of a job that one host has: ranks from `first` on.
struct Block {
  std::uint32_t first = 0;
  std::uint32_t ranks = 0;

  bool has(std::uint32_t rank) const noexcept { return rank >= first && rank - first < ranks; }
};

// Deals ranks to hosts in blocks, of which no two differ by more than one.
constexpr Block block_of(std::uint32_t ranks, std::size_t hosts, std::size_t host) noexcept {
  const auto of = static_cast<std::uint32_t>(hosts), at = static_cast<std::uint32_t>(host);
  const std::uint32_t each = ranks / of, more = ranks % of;
  return {at * each + std::min(at, more), each + (at < more ? 1 : 0)};
}

}  // namespace hamlyn::internal_::job
