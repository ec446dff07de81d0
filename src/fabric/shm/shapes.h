#pragma once
// The shapes of packets that a sender writes from registers (RingWriter::publish): how many cells, what
// stands in them, and the lead that is stored last. `fill` stores all words but the lead, and those of a
// packet of several cells in the order of their addresses from the second cell on.
//
// Templates over the memory policy of the ring (base/memory.h).
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "base/assert.h"
#include "base/copy.h"
#include "interface/link.h"
#include "interface/packets/packet.h"
#include "interface/packets/put_packet.h"

namespace hamlyn::shm {

inline std::uint64_t load_word(const std::byte* from) noexcept {
  std::uint64_t word;
  std::memcpy(&word, from, sizeof word);
  return word;
}

// Up to 16 bytes into the last two words of a cell.
template <class Memory>
__attribute__((always_inline)) inline void fill_inline(std::uint64_t* cell, const std::byte* data,
                                                       std::size_t length) noexcept {
  const base::TwoWords words = base::load_up_to_16(data, length);
  Memory::store_relaxed(cell[interface::kDataWord], words.first);
  Memory::store_relaxed(cell[interface::kDataWord + 1], words.second);
}

// Data into the words from the third on.
template <class Memory>
__attribute__((always_inline)) inline void fill_tight(std::uint64_t* cell, const std::byte* data,
                                                      std::size_t length) noexcept {
  std::size_t at = interface::kKeyWord;
  for (; length >= sizeof(std::uint64_t); length -= sizeof(std::uint64_t), data += sizeof(std::uint64_t))
    Memory::store_relaxed(cell[at++], load_word(data));
  if (length != 0) Memory::store_relaxed(cell[at], base::load_up_to_16(data, length).first);
}

// The words of a packet's header behind the lead.
template <class Memory>
__attribute__((always_inline)) inline void fill_header(std::uint64_t* cell,
                                                       const interface::Packet& packet) noexcept {
#pragma GCC unroll 8
  for (std::size_t i = 1; i < interface::kDataWord; ++i)
    Memory::store_relaxed(cell[i], interface::word_at(packet, i));
}

// Where a packet in fast mode goes, and the user's word.
struct FastHeader {
  const interface::FastTarget& target;
  std::uint64_t offset;
  std::uint64_t word;

  template <class Memory>
  __attribute__((always_inline)) void fill(std::uint64_t* cell) const noexcept {
    Memory::store_relaxed(cell[interface::kSlotWord], target.slot_word);
    Memory::store_relaxed(cell[interface::kKeyWord], target.key);
    Memory::store_relaxed(cell[interface::kOffsetWord], offset);
    Memory::store_relaxed(cell[interface::kEntryWord], target.entry_word);
    Memory::store_relaxed(cell[interface::kUserWord], word);
  }
};

// A packet in fast mode of up to 16 bytes.
struct FastCell {
  static constexpr bool kOneCell = true;
  FastHeader header;
  const std::byte* data;
  std::size_t length;

  static constexpr std::uint32_t cells() noexcept { return 1; }
  std::size_t bytes() const noexcept { return length; }
  std::uint64_t lead() const noexcept { return interface::write_lead(length); }
  template <class Memory>
  __attribute__((always_inline)) void fill(std::uint64_t* cell) const noexcept {
    HAMLYN_ASSERT(length <= interface::kInlineData, "it fits the cell");
    if (length == interface::kInlineData) [[likely]] {
      Memory::store_relaxed(cell[interface::kDataWord], load_word(data));
      Memory::store_relaxed(cell[interface::kDataWord + 1], load_word(data + sizeof(std::uint64_t)));
    } else {
      fill_inline<Memory>(cell, data, length);
    }
    header.fill<Memory>(cell);
  }
};

// A packet in fast mode with its data in the cells behind it.
struct FastBlock {
  static constexpr bool kOneCell = false;
  FastHeader header;
  const std::byte* data;
  std::size_t length;

  std::uint32_t cells() const noexcept {
    return 1 + static_cast<std::uint32_t>((length + interface::kCell - 1) / interface::kCell);
  }
  std::size_t bytes() const noexcept { return length; }
  std::uint64_t lead() const noexcept { return interface::write_lead(length); }
  template <class Memory>
  __attribute__((always_inline)) void fill(std::uint64_t* cell) const noexcept {
    HAMLYN_ASSERT(length > interface::kInlineData, "shorter data goes into the cell itself");
    Memory::copy_to_peer(cell + interface::kCell / sizeof *cell, data, length);
    header.fill<Memory>(cell);
  }
};

// A put of up to 48 bytes. `word` is its second (interface/packets/put_packet.h).
struct PutCell {
  static constexpr bool kOneCell = true;
  std::uint64_t word;
  const std::byte* data;
  std::size_t length;

  static constexpr std::uint32_t cells() noexcept { return 1; }
  std::size_t bytes() const noexcept { return length; }
  static std::uint64_t lead() noexcept { return interface::put_lead(); }
  template <class Memory>
  __attribute__((always_inline)) void fill(std::uint64_t* cell) const noexcept {
    HAMLYN_ASSERT(length <= interface::kPutInline, "it fits the cell");
    fill_tight<Memory>(cell, data, length);
    Memory::store_relaxed(cell[interface::kSlotWord], word);
  }
};

// A message in fast mode of up to 40 bytes, by an opening. `where` is its second word.
struct OpenedCell {
  static constexpr bool kOneCell = true;
  std::uint64_t where;
  const std::byte* data;
  std::size_t length;
  std::uint64_t word;

  static constexpr std::uint32_t cells() noexcept { return 1; }
  std::size_t bytes() const noexcept { return length; }
  static std::uint64_t lead() noexcept { return interface::opened_lead(); }
  template <class Memory>
  __attribute__((always_inline)) void fill(std::uint64_t* cell) const noexcept {
    HAMLYN_ASSERT(length <= interface::kOpenedInline, "it fits the cell");
    fill_tight<Memory>(cell, data, length);
    Memory::store_relaxed(cell[interface::kOpenedUserWord], word);
    Memory::store_relaxed(cell[interface::kSlotWord], where);
  }
};

// A packet of one cell from its words.
struct WholeCell {
  static constexpr bool kOneCell = true;
  const interface::Words& words;

  static constexpr std::uint32_t cells() noexcept { return 1; }
  std::uint64_t lead() const noexcept {
    return words.word[interface::kLeadWord] & ~std::uint64_t{0xFFFFFFFF};
  }
  template <class Memory>
  __attribute__((always_inline)) void fill(std::uint64_t* cell) const noexcept {
#pragma GCC unroll 8
    for (std::size_t i = 1; i < interface::kCell / sizeof(std::uint64_t); ++i)
      Memory::store_relaxed(cell[i], words.word[i]);
  }
};

// A packet of any kind whose data fits its cell, and that has no metadata.
struct Inline {
  static constexpr bool kOneCell = true;
  const interface::Packet& packet;
  const std::byte* data;

  static constexpr std::uint32_t cells() noexcept { return 1; }
  std::uint64_t lead() const noexcept {
    return interface::word_at(packet, interface::kLeadWord) & ~std::uint64_t{0xFFFFFFFF};
  }
  template <class Memory>
  __attribute__((always_inline)) void fill(std::uint64_t* cell) const noexcept {
    fill_inline<Memory>(cell, data, packet.lead.length);
    fill_header<Memory>(cell, packet);
  }
};

}  // namespace hamlyn::shm
