#pragma once
// Packets of a link that passed every check, so that the next one like it need not be looked up: which it
// was, and where it went. The fields of the next packet are compared as whole words
// (interface/packets/checks.h). A change of anything that a check has asked forgets all of them
// (Core::forget_slots).
#include <cstddef>
#include <cstdint>

#include "base/namespaces.h"
#include "hamlyn/values/remote.h"
#include "interface/counters.h"

namespace hamlyn::internal_::interface {

class Queue;
struct ReceiveCredit;

// A packet in fast mode.
struct CachedWrite {
  Queue* queue = nullptr;  // null: nothing is remembered
  std::uint64_t kind =
      ~std::uint64_t{0};        // operation and length: the lead without its turn; at first nobody's
  std::uint64_t slot_word = 0;  // slot and generation
  std::uint64_t key = 0;
  std::uint64_t entry_word = 0;   // fast mode, and the place record's name
  std::uint64_t last_offset = 0;  // at which that many bytes are still in bounds
  std::uint64_t bound = 0;        // of the slot
  std::byte* base = nullptr;
  std::uint64_t length = 0;
  ReceiveCredit* places = nullptr;
  SlotCounters* counters = nullptr;
  std::uint32_t number = 0;
  std::uint32_t record = 0;

  // Whether these words of a packet are those that were checked.
  bool opened_by(std::uint64_t slot_of, std::uint64_t entry_of, std::uint64_t key_of) const noexcept {
    return slot_of == slot_word && entry_of == entry_word && key_of == key;
  }
};

// A put that landed at once and was told to nobody: others by its opening do, too.
struct CachedPut {
  std::uint64_t opening = ~std::uint64_t{0};  // of its second word; at first nobody's
  std::byte* base = nullptr;
  std::uint64_t bound = 0;
  SlotCounters* counters = nullptr;
};

// A short message by an opening.
struct CachedOpened {
  Queue* queue = nullptr;                     // null: nothing is remembered
  std::uint64_t opening = ~std::uint64_t{0};  // of its second word; at first nobody's
  std::byte* base = nullptr;
  std::uint64_t bound = 0;
  ReceiveCredit* places = nullptr;
  SlotCounters* counters = nullptr;
  std::uint32_t number = 0;
  std::uint32_t record = 0;
};

// A get of one cell, or an answered fetch-op, at a guarded slot (short_remote.h).
struct CachedRequest {
  std::uint64_t kind = ~std::uint64_t{0};  // as of CachedWrite
  std::uint64_t slot_word = 0;
  std::uint64_t key = 0;
  std::uint64_t entry_word = 0;   // of a get its length, of a fetch its operation
  std::uint64_t last_offset = 0;  // at which it is still in bounds
  std::byte* base = nullptr;
  std::uint32_t length = 0;
  struct {
    FetchOp op{};
    std::uint32_t bytes = 0;  // 0: a get
  } op;
};

// The last of each kind that came by a link.
struct Cached {
  CachedWrite write;          // up to 16 bytes, of one length
  CachedWrite block;          // more than 16 bytes, of any length
  bool counted_last = false;  // a counted message came by itself since a fast one: the next may be, too
  CachedOpened opened;
  CachedPut put;
  CachedRequest request;
  Queue* posted = nullptr;  // that the last message to a posted buffer was for, if it came by itself

  // Puts and requests there.
  void forget_memory(const std::byte* base) noexcept {
    if (put.base == base) put = {};
    if (request.base == base) request = {};
  }
  void forget() noexcept {
    write = {};
    block = {};
    opened = {};
    put = {};
    request = {};
    posted = nullptr;
  }
};

}  // namespace hamlyn::internal_::interface
