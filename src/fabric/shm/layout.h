#pragma once
// The one page that each side of a link owns and shows to the other, read-only (design, section 6): cells for
// packets, cells for replies, and the words that this side publishes for the opposite direction. A busy link
// continues in a longer ring that has nothing but cells. docs/wire.md has every byte.
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "base/memory.h"
#include "interface/packets/packet.h"

namespace hamlyn::shm {

inline constexpr std::uint64_t kPageMagic = 0x31304B4E4C4D4148u;  // "HAMLNK01", little-endian
inline constexpr std::uint16_t kPageVersion = 8;  // of the page, and of what its rings may hold
inline constexpr std::size_t kPage = 4096;
inline constexpr std::uint32_t kReplyCells = 12;
inline constexpr std::uint32_t kUrgentCells = 8;  // the urgent ring never grows: it is for short messages
inline constexpr std::uint32_t kHomeCells = 40;
inline constexpr std::uint32_t kGrownCells[] = {256, 2048, 16384};  // 16 KiB, 128 KiB, 1 MiB

// Never changes after the page was shown.
struct alignas(64) PageHeader {
  std::uint64_t magic;
  std::uint16_t structures;  // kPageVersion
  std::uint16_t cell_bytes;
  std::uint32_t mtu;
  std::uint64_t interface;  // the owner's number
  std::uint8_t reserved[40];
};

// Credits that the owner of the page, as a receiver, tells the sender at the other side.
struct alignas(64) Credits {
  std::uint64_t taken;          // cells of the opposite main ring taken since the link was made
  std::uint64_t replies_taken;  // likewise of the opposite reply ring
  std::uint64_t urgent_taken;   // likewise of the opposite urgent ring
  std::uint8_t reserved[40];
};

struct alignas(64) Watch {
  std::uint32_t
      watch;  // owner as a sleeper: 0 awake, otherwise the epoch of its sleep; odd: wakes for room too
  std::uint32_t doorbell;  // owner as a sender: moves with each ring; the other side sleeps on it (futex)
  // Owner as a sender: its send buffer areas that are good, a bit for each number
  // (interface/areas/good_areas.h).
  std::uint64_t areas;
  std::uint8_t reserved[48];
};

// In a line of its own: what is written here disturbs no sender who looks at the watch word.
struct alignas(64) Announcement {
  std::uint32_t announced;  // replies and urgent packets published by the owner, modulo 2^32
  std::uint8_t reserved[60];
};

struct alignas(kPage) Page {
  PageHeader header;
  Credits credits;
  Watch watch;
  Announcement announcement;
  interface::Packet replies[kReplyCells];
  interface::Packet urgent[kUrgentCells];
  interface::Packet cells[kHomeCells];
};

static_assert(sizeof(Page) == kPage && std::is_trivially_copyable_v<Page>);
static_assert(offsetof(Page, credits) == 64 && offsetof(Page, watch) == 128 &&
              offsetof(Page, announcement) == 192 && offsetof(Page, replies) == 256 &&
              offsetof(Page, urgent) == 1024 && offsetof(Page, cells) == 1536);

// The cell at which the first lap of a main ring begins, by its owner's number. Whoever has many links looks
// at one cell of each, most of which are at their beginning: were that the same in all pages, the lines would
// share a few sets of the caches, which hold no thousand (docs/performance.md).
constexpr std::uint32_t first_cell(std::uint64_t owner) noexcept {
  return static_cast<std::uint32_t>(owner % kHomeCells);
}

// Null if the header is one we can talk to, otherwise what is wrong with it. `header` is a private copy.
inline const char* invalid(const PageHeader& header, std::uint64_t peer) noexcept {
  if (header.magic != kPageMagic) return "not a link page";
  if (header.structures != kPageVersion) return "structures of another version";
  if (header.cell_bytes != interface::kCell) return "cells of another size";
  if (header.mtu < 64 || header.mtu > interface::kPacketLimit || header.mtu % 64 != 0)
    return "an MTU that cannot be";
  if (header.interface != peer) return "the page of another interface";
  return nullptr;
}

}  // namespace hamlyn::shm
