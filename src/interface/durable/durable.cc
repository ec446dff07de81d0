// Acknowledgements out of durable areas (paper 1, section 3.5.1): messages wait here, in the bounded list of
// promises of their link, from when they have landed until a sync that began later is over. All that wait
// when one begins are covered by it.
#include <algorithm>
#include <new>

#include "interface/core.h"

namespace hamlyn::internal_::interface {

// Waits for the sync of a message that has landed whole. False: there is nothing to wait for, and `landed`
// says what is so.
bool Core::await_sync(Acknowledgements::Promise& promise) noexcept {
  const SlotRecord& slot = slots_[promise.slot];
  if (slot.store == nullptr || slot.store->failed) return false;
  const MetadataEntry& entry = slot.entries[promise.entry];
  promise.store = slot.store;
  promise.range.offset = static_cast<std::uint64_t>(slot.base - slot.store->data) + entry.offset;
  promise.range.length = entry_bytes(slot, entry);
  if (!slot.store->due) {
    slot.store->due = true;
    surroundings_.must_sync(*slot.store);
  }
  return true;
}

Refusal Core::landed(std::uint32_t slot) const noexcept {
  return slots_[slot].store == nullptr ? Refusal::none : Refusal::not_durable;
}

void Core::begin_sync(Store& store, std::vector<StoredRange>& ranges) noexcept {
  store.due = false;
  for (Link* link : links()) {
    Acknowledgements& owed = link->acknowledgements;
    for (std::uint32_t i = 0; i < owed.promised_count; ++i) {
      Acknowledgements::Promise& promise = owed.promised[i];
      if (promise.store != &store) continue;
      try {
        ranges.push_back(promise.range);
      } catch (const std::bad_alloc&) {
        store.due = true;  // the next sync covers the others
        return;
      }
      promise.syncing = true;
    }
  }
}

bool Core::end_sync(Store& store, bool done) noexcept {
  store.failed |= !done;
  bool all_told = true;
  for (Link* link : links()) {
    Acknowledgements& owed = link->acknowledgements;
    for (std::uint32_t i = 0; i < owed.promised_count;) {
      Acknowledgements::Promise& promise = owed.promised[i];
      // After a failure nothing is worth waiting for.
      if (promise.store != &store || (!promise.syncing && !store.failed)) {
        ++i;
        continue;
      }
      const std::uint32_t message = promise.message;
      promise = owed.promised[--owed.promised_count];
      acknowledge(*link, message, store.failed ? Refusal::not_durable : Refusal::none);
    }
    if (link->replies_due) send_replies(*link);
    all_told &= !link->replies_due;
  }
  if (store.failed) store.due = false;
  return all_told;
}

}  // namespace hamlyn::internal_::interface
