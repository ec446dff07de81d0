#include "interface/places/opened.h"

namespace hamlyn::internal_::interface {

Refusal Core::find_opened(const Link& link, const PutWord& word, std::uint32_t& record) const noexcept {
  record = find_opening(slots_, records_, link, word);
  if (record == kDeadRecord) return Refusal::stale_generation;
  return check_opened_write(link, slots_[records_[record].slot], word);
}

Refusal Core::deposit_opened(Link& link, const Packet& packet) noexcept {
  const Words words = words_of(packet);
  const PutWord word = put_word_of(words.word[kSlotWord]);
  std::uint32_t record;
  const Refusal cause = find_opened(link, word, record);
  if (cause != Refusal::none) return cause;
  ReceiveCredit& places = records_[record];
  if (!below_mark(places) && !rise(places)) return Refusal::no_place;
  remember_opened(link, word, record);
  const bool taken = opened_cached(link, words);
  HAMLYN_ASSERT(taken, "every check has been asked, and there is a place");
  static_cast<void>(taken);
  return Refusal::none;
}

// For the owner of an empty queue, straight from the link.
bool Core::take_opened(Link& link, const Words& words, Queue& queue, Notification& out) noexcept {
  const PutWord word = put_word_of(words.word[kSlotWord]);
  std::uint32_t record;
  if (find_opened(link, word, record) != Refusal::none) return false;
  ReceiveCredit& places = records_[record];
  if (places.queue != &queue || !has_place(places)) return false;
  remember_opened(link, word, record);
  const bool wraps = queue.next_wraps();
  const bool taken = take_cached_opened(link, words, queue, out);
  HAMLYN_ASSERT(taken, "every check has been asked, and there is a place");
  static_cast<void>(taken);
  out.wrap = wraps;
  queue.count();
  ++link.cached.opened.counters->messages;
  link.cached.opened.counters->bytes += word.length;
  if (places.freed == places.tell_at) tell_freed(record);
  return true;
}

void Core::remember_opened(Link& link, const PutWord& word, std::uint32_t record) noexcept {
  ReceiveCredit& places = records_[record];
  const SlotRecord& slot = slots_[places.slot];
  link.cached.counted_last = false;
  link.cached.opened = {.queue = places.queue,
                        .opening = opening_word(word.name, word.serial),
                        .base = slot.base,
                        .bound = slot.bound,
                        .places = &places,
                        .counters = slot.counters,
                        .number = number_of(std::uint64_t{places.generation} << 32 | places.slot),
                        .record = record};
}

}  // namespace hamlyn::internal_::interface
