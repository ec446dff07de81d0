#pragma once
// Record of a slot in the interface (paper 0, section 2.2): private memory, found by index.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/namespaces.h"
#include "hamlyn/values/mode.h"
#include "interface/counters.h"
#include "interface/durable/store.h"
#include "interface/link_sets.h"
#include "interface/packets/metadata.h"
#include "interface/packets/packet.h"
#include "interface/places/guests.h"
#include "interface/posted/posted.h"
#include "interface/puts/puts.h"
#include "interface/queue.h"
#include "interface/remote/call_word.h"

namespace hamlyn::internal_::interface {

inline constexpr std::size_t kFillBlock = 64;  // entries
inline constexpr std::size_t blocks_of(std::size_t entries) noexcept {
  return (entries + kFillBlock - 1) / kFillBlock;
}

struct SlotRecord {
  std::byte* base = nullptr;
  std::uint64_t bound = 0;
  std::uint64_t key = 0;
  std::uint32_t generation = 0;  // 0: never used; moves when the slot goes
  std::uint32_t entry_count = 0;
  Queue* queue = nullptr;
  MetadataEntry* entries = nullptr;
  bool live = false;
  bool fast = false;
  bool fetches = false;
  Mode mode = Mode::guarded;
  Access access = Access::read_write;
  const std::uint64_t* mapping = nullptr;  // mapped read-write: the area's generation word; else null
  CallWord<>* call = nullptr;              // of the same kind: the area's; else null
  std::uint32_t watches = 0;               // threads and peers that wait for words of it
  std::uint64_t changed_at = 0;            // the last change since somebody waits (Core::slot_changed)
  Store* store = nullptr;                  // of a durable area; else null
  std::uint32_t places = 0;                // for each link
  std::uint32_t gets = 0;                  // bytes that one get may ask for
  std::unique_ptr<MetadataEntry[]> entry_memory;
  std::unique_ptr<void*[]> pointers;  // the user's own, one per entry
  std::unique_ptr<Guests> guests;     // null: its tickets suffice
  std::unique_ptr<Puts> puts;         // null: it takes none
  std::unique_ptr<Posted> posted;     // its entries are buffers that were posted; else null
  std::uint32_t messages_to_go = 0;   // before the next notification; 0: each has one
  std::uint32_t unread = 0;           // notifications of its entries that stand in the queue
  // By which notifications name it.
  std::uint32_t number(std::uint32_t index) const noexcept {
    return number_of(std::uint64_t{generation} << 32 | index);
  }
  std::uint32_t rights(const User& user) const noexcept {
    return guests == nullptr ? Guests::kRead | Guests::kWrite : guests->rights(user);
  }
  // State of an entry that is armed. Entries of a read-only slot take no message.
  EntryState armed_state() const noexcept {
    return access == Access::read_only ? EntryState::readable : EntryState::armed;
  }
  SlotCounters* counters = nullptr;  // its row of the counter page, or one of its own; while it lives
  std::unique_ptr<SlotCounters> own_counters;  // if it has no row there
  std::vector<std::uint64_t> links;            // groups: per entry a set of links, a bit per link's index
  LinkSets fillers;                // links that may fill an entry, by blocks of kFillBlock entries
  std::uint32_t first_record = 0;  // of the places at it; 0: none
};

// Bytes of a message that is told of. A sender may write the same ones again and again: they never reach
// beyond what it may write.
inline std::uint64_t entry_bytes(const SlotRecord& slot, const MetadataEntry& entry) noexcept {
  const std::uint64_t end = slot.mode == Mode::guarded ? slot.bound : entry.base + entry.bound;
  return std::min<std::uint64_t>(entry.length, end - entry.offset);
}

}  // namespace hamlyn::internal_::interface
