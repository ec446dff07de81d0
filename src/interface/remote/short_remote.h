#pragma once
// The short ways of remote operations (docs/performance.md): what stands between the sight of a request and
// the publication of its answer, and between the sight of the answer and the return to whoever waits, stands
// in each round trip. Only for packets of one cell: gets of up to kPutInline bytes, and fetch-ops.
#include <atomic>

#include "base/namespaces.h"
#include "interface/deposit.h"
#include "interface/remote/requests.h"

namespace hamlyn::internal_::interface {

// Up to kPutInline bytes of a slot, whose owner may write there, into words 2 to 7 of `reply`. Whole words go
// from registers to registers: compilers copy by wide loads what was put together in memory, and these wait
// for the narrow stores before them.
inline void load_tight(Words& reply, const std::byte* from, std::size_t length) noexcept {
  constexpr std::size_t kWord = sizeof(std::uint64_t);
  if ((reinterpret_cast<std::uintptr_t>(from) | length) % kWord == 0) [[likely]] {
#pragma GCC unroll 8
    for (std::size_t i = 0; i < kPutInline / kWord; ++i)
      reply.word[kKeyWord + i] = i * kWord < length ? base::load_little_shared(from + i * kWord) : 0;
    return;
  }
  std::byte bytes[kPutInline] = {};
  base::copy_from_shared(bytes, from, length);
  for (std::size_t i = 0; i < kPutInline / kWord; ++i)
    reply.word[kKeyWord + i] = base::load_little<std::uint64_t>(bytes + i * kWord);
}

// Up to kPutInline bytes of words 2 to 7 of an answer. Word by word: a copy of what was just stored so waits
// for the stores.
inline void land_tight(std::byte* to, const Words& words, std::size_t length) noexcept {
  constexpr std::size_t kWord = sizeof(std::uint64_t);
#pragma GCC unroll 8
  for (std::size_t i = 0; i < kPutInline / kWord; ++i) {
    if (length < (i + 1) * kWord) {
      if (length % kWord == 0) [[likely]]
        return;
      std::byte last[kWord];
      base::store_little(last, words.word[kKeyWord + i]);
      std::memcpy(to + i * kWord, last, length % kWord);
      return;
    }
    base::store_little(to + i * kWord, words.word[kKeyWord + i]);
  }
}

// A request like one that passed at a guarded slot. Nothing else waits to be answered. It is done, and
// `reply` is what is to be answered at once. False: nothing was done.
__attribute__((always_inline)) inline bool Core::serve_cached(const Link& link, const Words& words,
                                                              Words& reply) noexcept {
  const CachedRequest& same = link.cached.request;
  if (!like(same, words) || link.remote.owes_replies() || link.replies_due) [[unlikely]]
    return false;
  std::byte* const place = same.base + words.word[kOffsetWord];
  const std::uint64_t asked = low_half(words.word[kUserWord]);
  if (same.op.bytes == 0) {
    reply.word[kLeadWord] = reply_lead(Operation::got, kInlineData);
    reply.word[kSlotWord] = asked;
    load_tight(reply, place, same.length);
    return true;
  }
  if (!aligned(place, same.op.bytes)) [[unlikely]]
    return false;
  const Fetch fetch{same.op.op, same.op.bytes, words.word[kDataWord], words.word[kDataWord + 1]};
  const std::uint64_t before = apply_fetch(fetch, place);
  reply = {{reply_lead(Operation::fetched, sizeof before), 0, 0, 0, 0, asked, before, 0}};
  return true;
}

// The whole answer of a fetch or of a short get.
__attribute__((always_inline)) inline Refusal Core::take_short_answer(Link& link,
                                                                      const Words& words) noexcept {
  const bool tight = kind_of(words) == reply_lead(Operation::got, kInlineData) >> 32;
  Asked* const found = find_asked(link, words.word[tight ? kSlotWord : kUserWord]);
  if (found == nullptr || found->fetch == tight) [[unlikely]]
    return Refusal::unasked_reply;
  Asked& asked = *found;
  if (!tight) {
    finish(link, asked, Status::ok, words.word[kDataWord]);
    return Refusal::none;
  }
  if (check_got(asked) != Refusal::none) [[unlikely]]
    return Refusal::unasked_reply;
  std::byte* const to = landing_of(asked, 0);
  if (to != nullptr) [[likely]]
    land_tight(to, words, asked.length);
  if (to != nullptr && asked.slot != kNoEntry) [[unlikely]]
    slot_changed(asked.slot);
  finish(link, asked, to != nullptr ? Status::ok : Status::cancelled, 0);
  return Refusal::none;
}

// Where a get's byte `from` lands, under the requester's own key: its slot must still be the one, and its key
// the one, that it named; or in the memory of whoever still waits for it. Null: it does not.
inline std::byte* Core::landing_of(const Asked& asked, std::uint32_t from) noexcept {
  if (asked.slot == kNoEntry)
    return asked.owner != nullptr && asked.to != nullptr ? asked.to + from : nullptr;
  const SlotRecord& slot = slots_[asked.slot];
  if (asked.owner == nullptr || !slot.live || slot.generation != asked.generation || slot.key != asked.key)
    return nullptr;
  return slot.base + asked.offset + from;
}

// Tells no thread: whoever runs the interface wakes those who wait when something has come, and whoever ends
// a link wakes all.
inline void Core::finish(Link& link, Asked& asked, Status status, std::uint64_t value) noexcept {
  if (asked.fenced_by != 0) [[unlikely]]
    status = Requests::settle_fence(asked, status, value);
  if (asked.owner != nullptr) asked.owner->over(asked, link.peer, status, value);
  link.remote.answered(asked);
}

}  // namespace hamlyn::internal_::interface
