#pragma once
// A metadata entry (paper 0, section 2.4): 128 bytes of the receiver's private memory. It counts a message's
// packets, keeps its out-of-band bytes and, in the paranoid modes, has a key and bounds of its own.
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "base/namespaces.h"
#include "interface/packets/packet.h"

namespace hamlyn::internal_::interface {

enum class EntryState : std::uint8_t {
  idle,       // takes nothing
  armed,      // takes a message
  filling,    // some packets of a message have come
  gathering,  // takes the messages of a group
  complete,   // all has come; its notification is in the queue or waits for a place there
  failed,     // it will not come; likewise
  read,       // the notification was taken, or there was to be none
  readable,   // of a read-only slot: takes nothing, but remote gets may name it
  posted,     // of a slot with posted buffers: takes a message that names no entry; no packet names this one
  taking,     // likewise: some packets of a message have come
};

struct alignas(64) MetadataEntry {
  std::byte user[kMetadataLimit];
  std::uint8_t user_length;
  EntryState state;
  std::uint16_t deadline;  // its name in Deadlines; 0: none

  std::uint64_t key;   // paranoid: takes the place of the slot's key
  std::uint64_t base;  // paranoid: bounds inside the slot's
  std::uint64_t bound;
  std::uint32_t accumulator;  // sum of the deltas; zero again when the message is whole
  std::uint32_t message;      // the message that is filling it
  std::uint32_t incarnation;  // moves whenever late packets must be refused
  std::uint32_t length;       // bytes that landed, up to 4 GiB - 1
  std::uint64_t offset;       // of the lowest byte
  std::uint64_t link;         // serial of the link that is filling it; armed: that it is said to wait for
};
static_assert(sizeof(MetadataEntry) == 128 && std::is_trivially_copyable_v<MetadataEntry>);
static_assert(offsetof(MetadataEntry, key) == 64 && offsetof(MetadataEntry, accumulator) == 88);

// Whether it is nobody's: neither waits for anything nor is to be told of.
inline bool is_unused(const MetadataEntry& entry) noexcept {
  return entry.state == EntryState::idle || entry.state == EntryState::read;
}

}  // namespace hamlyn::internal_::interface
