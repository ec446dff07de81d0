// Slots: made, taken back, given another key, or opened to others than before.
#include <utility>

#include "base/assert.h"
#include "hamlyn/values/error.h"
#include "interface/core.h"

namespace hamlyn::internal_::interface {

std::uint32_t Core::make_slot(std::byte* base, std::size_t bytes, Queue* queue, const SlotOptions& options) {
  if (free_slots_.empty()) {
    const auto old = static_cast<std::uint32_t>(slots_.size());
    if (old == kSlotLimit)
      throw Error(ErrorCode::out_of_memory, "this interface has 65536 slots, the most there can be");
    free_slots_.reserve(std::size_t{2} * old);  // so that neither this nor giving one back allocates
    filled_slots_.resize(std::size_t{2} * old, link_words_);
    slots_.resize(std::size_t{2} * old);
    for (std::uint32_t i = old * 2; i-- > old;) free_slots_.push_back(i);
  }
  auto entries = std::make_unique<MetadataEntry[]>(options.entries);
  auto pointers = std::make_unique<void*[]>(options.entries);
  auto puts = options.puts && options.access != Access::read_only && options.mode == Mode::guarded
                  ? std::make_unique<Puts>(bytes, options.hold)
                  : nullptr;
  auto own_counters = free_slots_.back() < kCounterSlots ? nullptr : std::make_unique<SlotCounters>();
  LinkSets fillers;
  fillers.resize(blocks_of(options.entries), link_words_);
  queue->expect(options.entries + (puts != nullptr ? Puts::kKinds : 0));
  const std::uint32_t index = free_slots_.back();
  free_slots_.pop_back();

  SlotRecord& slot = slots_[index];
  HAMLYN_ASSERT(!slot.live && slot.first_record == 0 && slot.counters == nullptr,
                "a free slot has nothing of the one before");
  slot.base = base;
  slot.bound = bytes;
  slot.key = random_key();
  slot.generation = next_generation(slot.generation);
  slot.entry_count = options.entries;
  slot.queue = queue;
  slot.entry_memory = std::move(entries);
  slot.entries = slot.entry_memory.get();
  slot.pointers = std::move(pointers);
  slot.fillers = std::move(fillers);
  slot.access = options.access;
  slot.fast = options.fast && options.mode == Mode::guarded && options.access != Access::read_only;
  slot.mode = options.mode;
  slot.places = options.places;
  slot.mapping = nullptr;
  slot.call = nullptr;
  slot.watches = 0;
  slot.fetches =
      options.access == Access::read_write && options.fetches && options.mode != Mode::paranoid_one_shot;
  const bool gives = options.access != Access::write_only && options.mode != Mode::paranoid_one_shot;
  slot.gets = gives ? std::min(options.gets, kGetLimit) : 0;
  slot.store = nullptr;
  slot.puts = std::move(puts);
  slot.live = true;
  for (std::uint32_t e = 0; e < options.entries; ++e) {
    slot.entries[e].incarnation = 1;
    if (options.mode == Mode::guarded) slot.entries[e].state = slot.armed_state();
  }
  ++queue->users;
  ++counters_.slots;
  slot.own_counters = std::move(own_counters);
  slot.counters = slot.own_counters != nullptr ? slot.own_counters.get() : &counters_.slot[index];
  *slot.counters = {.generation = slot.generation,
                    .queue = row_of(*queue),
                    .entries = slot.entry_count,
                    .places = slot.fast || slot.puts != nullptr ? slot.places : 0,
                    .bound = slot.bound,
                    .messages = 0,
                    .bytes = 0,
                    .failed = 0,
                    .most_places = 0,
                    .most_entries = 0,
                    .reserved = 0};
  return index;
}

void Core::drop_slot(std::uint32_t index) noexcept {
  SlotRecord& slot = slots_[index];
  if (slot.watches != 0) drop_watches(slot);
  close_run();
  end_places_at(index);
  for (std::uint32_t e = 0; e < slot.entry_count && deadlines_.size() != 0; ++e)
    forget_deadline(slot.entries[e]);
  break_promises(index);
  HAMLYN_ASSERT(slot.live && slot.queue->users != 0, "a slot goes once");
  HAMLYN_ASSERT(slot.first_record == 0, "its places went before");
  --slot.queue->users;
  if (slot.posted != nullptr) --slot.queue->posted;
  slot.queue->expect_no_more(slot.entry_count + (slot.puts != nullptr ? Puts::kKinds : 0) +
                             (slot.posted != nullptr ? 1 : 0));
  slot.live = false;
  forget_slots();
  slot.entries = nullptr;
  slot.entry_count = 0;
  slot.entry_memory.reset();
  slot.pointers.reset();
  slot.puts.reset();
  slot.posted.reset();
  slot.guests.reset();
  slot.links = {};
  slot.fillers = {};
  slot.messages_to_go = 0;
  slot.unread = 0;
  slot.queue = nullptr;
  HAMLYN_ASSERT(free_slots_.size() < free_slots_.capacity(), "making the slot has made the room");
  free_slots_.push_back(index);
  *std::exchange(slot.counters, nullptr) = {};
  slot.own_counters.reset();
  if (index < kCounterSlots) counters_.slot_refused[index] = {};
  --counters_.slots;
}

void Core::change_key(std::uint32_t index) {
  slots_[index].key = random_key();
  if (slots_[index].puts != nullptr) slots_[index].puts->held.clear();
  forget_slots();
  end_places_at(index);  // nobody can use them any more
  slot_changed(index);   // nor watch it
  if (slots_[index].posted != nullptr) abandon_filling(index);
}

void Core::set_guests(std::uint32_t index, std::unique_ptr<Guests> guests) noexcept {
  SlotRecord& slot = slots_[index];
  slot.guests = std::move(guests);
  forget_slots();
  if (slot.puts != nullptr) slot.puts->held.clear();  // of those, too, who may not write any more
  while (slot.first_record != 0) {
    ReceiveCredit& places = records_[slot.first_record];
    ++looks_;
    end_places(slot.first_record);
    places.cause = Refusal::none;  // to be opened anew
  }
  slot_changed(index);  // for some may not watch it any more
}

}  // namespace hamlyn::internal_::interface
