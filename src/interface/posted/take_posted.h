#pragma once
// A message of one packet to a posted buffer, on its short ways in: for the owner of an empty queue, it is
// told of without standing there. Every check is asked of each packet, so that nothing that was remembered
// can be wrong.
#include <bit>

#include "base/copy.h"
#include "base/namespaces.h"
#include "interface/core.h"
#include "interface/packets/checks.h"

namespace hamlyn::internal_::interface {

inline void land_posted(const PostedBuffer& buffer, const PostedPart& part, const std::byte* inline_data,
                        const Payload& payload) noexcept {
  if (part.length <= kInlineData) {
    if (buffer.count != 0 && buffer.pieces[0].size() >= part.length && part.at == 0) [[likely]]
      return base::copy_up_to_16(buffer.pieces[0].data(), inline_data, part.length);
    return buffer.land(part.at, inline_data, part.length);
  }
  buffer.land(part.at, payload.first, payload.first_length);
  if (payload.first_length < part.length)
    buffer.land(std::uint64_t{part.at} + payload.first_length, payload.second,
                part.length - payload.first_length);
}

// The slot's number and generation were checked.
__attribute__((always_inline)) inline Core::Arrived Core::take_posted_here(Link& link, const Words& words,
                                                                           SlotRecord& slot,
                                                                           const Payload& payload,
                                                                           Queue& queue,
                                                                           Notification& out) noexcept {
  if (slot.posted == nullptr || slot.queue != &queue ||
      check_key(slot, words.word[kKeyWord]) != Refusal::none ||
      std::bit_cast<Lead>(words.word[kLeadWord]).metadata_length != 0)
    return Arrived::other;
  const std::uint32_t named = low_half(words.word[kEntryWord]);
  if (named != kPostedEntry) [[unlikely]]
    return named == kTellingEntry ? take_telling(link, words, slot, payload, queue, out) : Arrived::other;
  const PostedPart part = posted_part_of(words);
  if (!part.whole() || check_buffer(*slot.posted, part) != Refusal::none) return Arrived::other;
  land_posted(slot.posted->buffer(slot.posted->oldest()), part,
              reinterpret_cast<const std::byte*>(&words.word[kDataWord]), payload);
  tell_of_posted(link, words, slot, part, part.total, queue, out);
  return Arrived::whole;
}

// The oldest buffer is the message's, of which so many bytes have landed there.
__attribute__((always_inline)) inline void Core::tell_of_posted(Link& link, const Words& words,
                                                                SlotRecord& slot, const PostedPart& part,
                                                                std::uint32_t landed, Queue& queue,
                                                                Notification& out) noexcept {
  const std::uint32_t index = slot.posted->take_oldest();
  MetadataEntry& entry = slot.entries[index];
  entry.state = EntryState::read;
  entry_notification(out, queue.next_wraps(), number_of(words.word[kSlotWord]), index, part.message,
                     entry.offset, landed, link.peer);
  out.word = part.word;
  ++slot.counters->messages;
  slot.counters->bytes += landed;
  link.cached.counted_last = true;
  link.cached.posted = &queue;
  queue.pass();
  queue.count();
}

// In an open run.
__attribute__((always_inline)) inline bool Core::take_posted_in_run(Link& link, const Words& words,
                                                                    const Payload& payload, Queue& queue,
                                                                    Notification& out) noexcept {
  const std::uint32_t named = low_half(words.word[kSlotWord]);
  return check_slot(slots_, named, high_half(words.word[kSlotWord])) == Refusal::none &&
         take_posted_here(link, words, slot_of(slots_, named), payload, queue, out) == Arrived::whole;
}

}  // namespace hamlyn::internal_::interface
