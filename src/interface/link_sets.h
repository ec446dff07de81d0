#pragma once
// Many things, each with a set of links. The things that a link is in are found without a look at the others:
// a bit for each thing and link, and above each 64 things a bit for all of them, up to the top.
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/namespaces.h"

namespace hamlyn::internal_::interface {

class LinkSets {
 public:
  static constexpr std::size_t kNone = ~std::size_t{0};

  // Makes room for so many things, and for links of indices below 64 times `words`. Keeps what is there.
  // Throws std::bad_alloc.
  void resize(std::size_t things, std::size_t words);

  bool has(std::size_t thing, std::uint32_t link) const noexcept {
    return (bits_[thing * words_ + link / kBits] >> link % kBits & 1) != 0;
  }
  void add(std::size_t thing, std::uint32_t link) noexcept;
  // Takes the link out of the first thing that it is in: which one; kNone: it is in none. Costs at most 64
  // looks for each level.
  std::size_t take(std::uint32_t link) noexcept;

 private:
  static constexpr std::size_t kBits = 64;
  // The bits of one level are a row of words for each of its things. A slot has such a set: this is short.
  struct Level {
    std::size_t start = 0;  // rows before it
    std::size_t count = 0;
    bool top() const noexcept { return count <= kBits; }
    Level above() const noexcept { return {start + count, (count + kBits - 1) / kBits}; }
  };
  Level level(unsigned number) const noexcept;
  std::uint64_t& word(const Level& level, std::size_t thing, std::uint32_t link) noexcept {
    return bits_[(level.start + thing) * words_ + link / kBits];
  }

  std::vector<std::uint64_t> bits_;  // level by level, from the things up
  std::uint32_t things_ = 0;
  std::uint32_t words_ = 0;
};

}  // namespace hamlyn::internal_::interface
