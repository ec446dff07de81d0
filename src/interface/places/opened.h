#pragma once
// Messages in fast mode by an opening: up to 40 bytes in one cell, where the name of the place record stands
// for slot, generation and key (put_packet.h). The record is compared with the slot for each packet; whatever
// changes the slot's key or its guests ends it. The shorter ways rest on Core::forget_slots, as those of
// other messages do (deposit.h).
#include "base/namespaces.h"
#include "interface/core.h"
#include "interface/packets/checks.h"

namespace hamlyn::internal_::interface {

// Words are named one by one, so that they may stand in registers.
__attribute__((always_inline)) inline void land_opened(std::byte* to, const Words& words,
                                                       std::size_t length) noexcept {
#pragma GCC unroll 5
  for (std::size_t at = 0; at != kOpenedInline; at += sizeof(std::uint64_t)) {
    const std::uint64_t word = words.word[kKeyWord + at / sizeof(std::uint64_t)];
    if (length < at + sizeof word) {
      std::memcpy(to + at, &word, length - at);
      return;
    }
    std::memcpy(to + at, &word, sizeof word);
  }
}

// One like the one before, into its queue.
inline bool Core::opened_cached(Link& link, const Words& words) noexcept {
  const CachedOpened& same = link.cached.opened;
  const PutWord word = put_word_of(words.word[kSlotWord]);
  if (same.queue == nullptr || !below_mark(*same.places) || !like(same, word)) return false;
  land_opened(same.base + word.offset, words, word.length);
  ++same.places->standing;
  same.queue->push_fast(same.record, same.number, word.offset, word.length, words.word[kOpenedUserWord],
                        link.peer);
  ++same.counters->messages;
  same.counters->bytes += word.length;
  if (same.queue->event_wanted) [[unlikely]]
    surroundings_.signal(*same.queue);
  return true;
}

// One like the one before, for the owner of an empty queue, who counts it: as take_cached.
__attribute__((always_inline)) inline bool Core::take_cached_opened(Link& link, const Words& words,
                                                                    Queue& queue,
                                                                    Notification& out) noexcept {
  const CachedOpened& same = link.cached.opened;
  const PutWord word = put_word_of(words.word[kSlotWord]);
  if (same.queue != &queue || !like(same, word)) return false;
  land_opened(same.base + word.offset, words, word.length);
  fast_notification(out, false, same.number, word.offset, word.length, words.word[kOpenedUserWord],
                    link.peer);
  queue.pass();
  ++same.places->freed;
  return true;
}

}  // namespace hamlyn::internal_::interface
