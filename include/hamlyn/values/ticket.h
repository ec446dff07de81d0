#pragma once
// A ticket says where a message may land: which interface, slot and metadata entry, with which key, inside
// which bounds. Whoever holds its 64 bytes may send there; copy it, store it, send it in a message (paper 0,
// section 3.2). It holds no address and no name of this process.
#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace hamlyn {

// A value. For users its members are only to look at.
struct Ticket {
  // An entry of all ones: fast mode, no metadata entry (paper 0, section 2.7).
  static constexpr std::uint32_t kFast = 0xFFFFFFFFu;
  // No metadata entry and no fast mode: for remote operations alone.
  static constexpr std::uint32_t kRemote = 0xFFFFFFFEu;
  // The receiving interface chooses the buffer: of a slot with posted ones (hamlyn/core/posted_slot.h).
  static constexpr std::uint32_t kPosted = 0xFFFFFFFDu;
  // How many kinds of seed there are, with `none`.
  static constexpr std::uint32_t kPurposes = 8;

  std::uint64_t host = 0;         // 0: this host
  std::uint64_t interface = 0;    // the node's number of the receiving interface; never reused
  std::uint32_t slot = 0;         // the slot's place at the receiving interface
  std::uint32_t generation = 0;   // of the slot: a slot made later in the same place has another
  std::uint64_t key = 0;          // of the slot, or, in the paranoid modes, of the entry
  std::uint32_t entry = kFast;    // metadata entry, kFast, kRemote or kPosted
  std::uint32_t incarnation = 0;  // of the entry; 0 for fast mode
  std::uint64_t base = 0;         // bounds, in bytes from the slot's base: [base, base + bound)
  std::uint64_t bound = 0;        // length, see `base`
  std::uint32_t version = 1;      // of this structure
  std::uint32_t purpose = 0;  // 0: any; otherwise the protocol that it opens (SeedKind, hamlyn/values/seed.h)

  // Whether it is for fast mode.
  bool fast() const noexcept { return entry == kFast; }
  // Whether it is for a slot with posted buffers.
  bool posted() const noexcept { return entry == kPosted; }
  friend bool operator==(const Ticket&, const Ticket&) = default;
};
static_assert(offsetof(Ticket, slot) == 16 && offsetof(Ticket, generation) == 20);
static_assert(sizeof(Ticket) == 64 && std::is_trivially_copyable_v<Ticket>);

// Null if `ticket` is well formed, otherwise what is wrong with it. Says nothing about whether it is worth
// anything: only the receiving interface knows that.
const char* invalid(const Ticket& ticket) noexcept;

}  // namespace hamlyn
