// The core's part of remote operations: requests of others are checked like any packet (design, section 4),
// done, and answered; replies land where this side has asked for them.
#include "interface/remote/remote.h"

#include <algorithm>
#include <atomic>
#include <utility>

#include "base/assert.h"
#include "hamlyn/values/remote.h"
#include "interface/deposit.h"
#include "interface/packets/element.h"
#include "interface/packets/strides.h"
#include "interface/remote/answers.h"
#include "interface/remote/short_remote.h"
#include "interface/terminus.h"

namespace hamlyn::internal_::interface {

namespace {

constexpr unsigned kPiecesPerTurn = 64;  // then others have their turn
// Bytes of long answers that leave by one link, and by all links, before others have their turn.
constexpr std::size_t kLongPerLink = 65536;
constexpr std::size_t kLongPerRun = 8 * kLongPerLink;
// Bytes that are gathered before they leave, where the link cannot copy them as they stand.
constexpr std::uint32_t kGathered = 4096;
constexpr std::uint32_t kCopiedInPlace = 1024;  // from so many bytes on it can (base::copy_over_read_lines)

// Locked instructions only: the owner's threads, its partners, may work on the same word. A word that crosses
// a cache line would hold up every processor of the machine, ten thousand times as long as one that does not;
// those are refused before they come here.
template <class Word>
Word apply(FetchOp op, std::byte* place, Word operand, Word compare) noexcept {
  HAMLYN_ASSERT(reinterpret_cast<std::uintptr_t>(place) % sizeof(Word) == 0,
                "a word that crosses a cache line would stop every processor");
  std::atomic_ref<Word> word(*reinterpret_cast<Word*>(place));
  using Signed = std::make_signed_t<Word>;
  const auto replace_if = [&](auto better) {
    Word now = word.load();
    while (better(now) && !word.compare_exchange_weak(now, operand)) {
    }
    return now;
  };
  switch (op) {
    case FetchOp::add:
      return word.fetch_add(operand);
    case FetchOp::bit_and:
      return word.fetch_and(operand);
    case FetchOp::bit_or:
      return word.fetch_or(operand);
    case FetchOp::bit_xor:
      return word.fetch_xor(operand);
    case FetchOp::swap:
      return word.exchange(operand);
    case FetchOp::min_signed:
      return replace_if([&](Word now) { return static_cast<Signed>(operand) < static_cast<Signed>(now); });
    case FetchOp::max_signed:
      return replace_if([&](Word now) { return static_cast<Signed>(operand) > static_cast<Signed>(now); });
    case FetchOp::min_unsigned:
      return replace_if([&](Word now) { return operand < now; });
    case FetchOp::max_unsigned:
      return replace_if([&](Word now) { return operand > now; });
    case FetchOp::compare_and_swap:
      word.compare_exchange_strong(compare, operand);
      return compare;
  }
  return 0;
}

// Whether the answer leaves among the messages. Urgent ones never do: they wait for nothing of others.
bool is_long(Priority level, std::uint32_t length) noexcept {
  return level == Priority::normal && length > kReplyPayload;
}

// So much of a budget of bytes a byte of that answer takes: a chunk costs as much as a cache line.
std::size_t cost_of(const Packet& request) noexcept {
  if (request.lead.operation != Operation::get_strided) return 1;
  return std::max<std::size_t>(1, kCell / gather_of(request).chunk);
}

// `bytes` of what was asked for, from byte `at` of it on. `from`: where the first of all stands.
void copy_asked(std::byte* to, const std::byte* from, const Packet& request, std::uint32_t at,
                std::uint32_t bytes) noexcept {
  if (request.lead.operation == Operation::get) return base::copy_from_shared(to, from + at, bytes);
  const Strides strides = gather_of(request);
  for (std::uint32_t done = 0; done != bytes;) {
    const std::uint32_t run = std::min(strides.chunk - (at + done) % strides.chunk, bytes - done);
    base::copy_from_shared(to + done, from + place_of(strides, at + done), run);
    done += run;
  }
}

}  // namespace

std::uint64_t apply_fetch(const Fetch& fetch, std::byte* place) noexcept {
  if (fetch.bytes == 8) return apply<std::uint64_t>(fetch.op, place, fetch.operand, fetch.compare);
  return apply<std::uint32_t>(fetch.op, place, static_cast<std::uint32_t>(fetch.operand),
                              static_cast<std::uint32_t>(fetch.compare));
}

// --- the target's side

Refusal Core::serve_get(Link& link, const Packet& packet) noexcept {
  if (!link.remote.may_owe(link.arriving)) return Refusal::over_budget;
  Refusal cause = check_get(slots_, link, packet);
  if (cause == Refusal::none) cause = check_told(slots_, records_, link, packet);
  if (cause != Refusal::none) {
    forgo_place(link, packet);
    answer(link, refused(packet, cause, 0));
    return cause;
  }
  if (is_long(link.arriving, packet.delta) && link.payload_limit() >= kReplyPayload) {
    serve_long(link, packet);
    return Refusal::none;
  }
  if (packet.lead.operation == Operation::get && packet.delta <= kPutInline && element_of(packet.lead) == 0)
    remember_request(link, packet, slots_[packet.slot], packet.delta, {.bytes = 0});
  std::uint32_t sent = 0;
  AnswerPart piece = may_answer(link) ? AnswerPart::more : AnswerPart::none;
  while (piece == AnswerPart::more) {
    piece = put_data(link, packet, sent);
    if (piece != AnswerPart::none) link.remote.left(link.arriving);
    if (piece == AnswerPart::more && !may_answer(link)) break;
  }
  if (piece != AnswerPart::last) owe(link, packet, sent);
  return Refusal::none;
}

Refusal Core::serve_fetch(Link& link, const Packet& packet) noexcept {
  const bool answered = (packet.delta & kUnanswered) == 0;
  if (answered && !link.remote.may_owe(link.arriving)) return Refusal::over_budget;
  std::uint64_t before = 0;
  const Refusal cause = do_fetch(link, packet, before);
  if (cause == Refusal::none) {
    tell_of(link, packet, Puts::fetched, packet.delta >> 8 & 0xFF);
  } else {
    forgo_place(link, packet);
  }
  if (!answered) {
    if (cause != Refusal::none) note_lost_fetch(link, packet, cause);
    return cause;
  }
  if (cause != Refusal::none) {
    answer(link, refused(packet, cause, 0));
  } else {
    answer(link, fetched(packet, before));
  }
  return cause;
}

// A fetch that nobody answers counts as a put, if it names its opening: a fence by that says that it was
// lost.
void Core::note_lost_fetch(const Link& link, const Packet& packet, Refusal cause) noexcept {
  if (!names_opening(packet)) return;
  const std::uint32_t record = find_opening(slots_, records_, link, put_word_of(packet.entry));
  if (record == kDeadRecord || records_[record].slot != packet.slot) return;
  if (records_[record].put_refused == Refusal::none) records_[record].put_refused = cause;
}

// Puts before the fence have been handed over: the sender sees to that (Requests::fence).
Refusal Core::serve_fence(Link& link, const Packet& packet) noexcept {
  if (!link.remote.may_owe(link.arriving)) return Refusal::over_budget;
  const Refusal cause = why_no_fence(link, packet);
  answer(link, cause == Refusal::none ? fetched(packet, 0) : refused(packet, cause, 0));
  return Refusal::none;  // a put that was refused was counted then
}

// So that others like it need not be looked up (serve_cached).
void Core::remember_request(Link& link, const Packet& packet, const SlotRecord& slot, std::uint32_t length,
                            const Fetch& fetch) noexcept {
  const Puts* const puts = slot.puts.get();
  if (slot.mode != Mode::guarded || asks_to_tell(packet) || slot.watches != 0) return;
  if (puts != nullptr && (puts->unpinned.any() || puts->control == Control::always)) return;
  link.cached.request = {.kind = word_at(packet, kLeadWord) >> 32,
                         .slot_word = word_at(packet, kSlotWord),
                         .key = packet.key,
                         .entry_word = word_at(packet, kEntryWord),
                         .last_offset = slot.bound - length,
                         .base = slot.base,
                         .length = length,
                         .op = {fetch.op, fetch.bytes}};
}

Refusal Core::do_fetch(Link& link, const Packet& packet, std::uint64_t& before) noexcept {
  const Refusal cause = check_fetch(slots_, link, packet);
  if (cause != Refusal::none) return cause;
  const auto op = static_cast<FetchOp>(packet.delta & 0xFF);
  const std::uint32_t bytes = packet.delta >> 8 & 0xFF;
  const SlotRecord& slot = slots_[packet.slot];
  std::byte* const place = slot.base + packet.offset;
  const Refusal untold = check_told(slots_, records_, link, packet);
  if (untold != Refusal::none) return untold;
  std::uint64_t operands[2];
  std::memcpy(operands, packet.data, sizeof operands);
  const Fetch fetch{op, bytes, operands[0], operands[1]};
  HAMLYN_ASSERT(slot.live && inside(packet.offset, bytes, slot.bound),
                "the checks above have been made of this slot");
  before = apply_fetch(fetch, place);
  slot_changed(packet.slot);
  if ((packet.delta & kUnanswered) == 0) remember_request(link, packet, slot, bytes, fetch);
  return Refusal::none;
}

// At once, if nothing else of its level waits to be answered, and if it is its level's turn: grants, credits
// and acknowledgements that are due are of the normal one. (Whether there is room is seen later.)
bool Core::may_answer(const Link& link) const noexcept {
  const RemoteWork& work = link.remote;
  if (link.arriving == Priority::normal) return !work.owes_replies() && !link.replies_due;
  const bool first =
      work.urgent_in_a_row < kUrgentInARow || (!work.owes_normal_replies() && !link.replies_due);
  return !work.owes_urgent() && first;
}

void Core::answer(Link& link, const Packet& reply) noexcept {
  if (may_answer(link) && link.put_reply(reply, reply.data) == Status::ok) {
    link.remote.left(link.arriving);
    return;
  }
  owe(link, reply, 0);
}

// Later, from a work entry of its level, which is there.
void Core::owe(Link& link, const Packet& what, std::uint32_t sent) noexcept {
  link.remote.owe(link.arriving, {words_of(what), sent});
  link.replies_due = replies_due_ = true;
}

Core::AnswerPart Core::put_owed(Link& link, Owed& owed) noexcept {
  const Packet packet = packet_of(owed.packet);
  if (!is_get(packet.lead.operation))
    return link.put_reply(packet, packet.data) == Status::ok ? AnswerPart::last : AnswerPart::none;
  // A key that was changed, or a slot that went, since the last piece left stops it.
  const Refusal cause = check_get(slots_, link, packet);
  if (cause == Refusal::none) return put_data(link, packet, owed.sent);
  forgo_place(link, packet);
  owed.packet = words_of(refused(packet, cause, owed.sent));
  return put_owed(link, owed);
}

Core::AnswerPart Core::put_data(Link& link, const Packet& request, std::uint32_t& sent) noexcept {
  const std::uint32_t bytes = std::min<std::uint32_t>(request.delta - sent, kReplyPayload);
  alignas(8) std::byte copy[kReplyPayload];
  HAMLYN_ASSERT(sent < request.delta, "the last piece ends the answer");
  HAMLYN_ASSERT(slots_[request.slot].live, "check_get was asked for this very piece");
  copy_asked(copy, slots_[request.slot].base + request.offset, request, sent, bytes);
  Packet reply{};
  if (request.delta <= kPutInline && element_of(request.lead) == 0) {
    set_lead(reply, Operation::got, kInlineData, 0);
    set_tight_data(reply, copy, bytes);
    set_word(reply, kSlotWord, message_of(request.word));
    if (link.put_reply(reply, reply.data) != Status::ok) return AnswerPart::none;
  } else {
    reply = reply_to(request, Operation::get_data, bytes, element_of(request.lead));
    reply.offset = sent;
    if (link.put_reply(reply, copy) != Status::ok) return AnswerPart::none;
  }
  sent += bytes;
  return part_left(link, request, sent);
}

// The owner is told of a get when its last part has left.
Core::AnswerPart Core::part_left(const Link& link, const Packet& request, std::uint32_t sent) noexcept {
  if (sent != request.delta) return AnswerPart::more;
  tell_of(link, request, Puts::got, reach_of(request));
  return AnswerPart::last;
}

// Level by level, a piece of each in turn. True if any left.
bool Core::send_owed(Link& link) noexcept {
  RemoteWork& work = link.remote;
  bool moved = false;
  for (unsigned pieces = 0; work.owes_replies(); ++pieces) {
    const Priority level = work.level_owed();
    const std::uint32_t place = work.next_owed(level);
    const AnswerPart piece =
        pieces < kPiecesPerTurn ? put_owed(link, work.owed_at(level, place)) : AnswerPart::none;
    if (piece == AnswerPart::none) {
      link.replies_due = replies_due_ = true;  // again when there is room
      return moved;
    }
    moved = true;
    if (piece == AnswerPart::last) work.answer_left(level, place);
    work.left(level);
    work.turn_behind(level, place);
  }
  return moved;
}

// --- long answers

// Its first packet leaves at once, unless others wait for room there.
void Core::serve_long(Link& link, const Packet& packet) noexcept {
  std::uint32_t sent = 0;
  const bool at_once = !link.remote.owes_long() && link.way(Priority::normal).state == LinkLevel::State::idle;
  if (at_once && put_long(link, packet, sent) == AnswerPart::last) return;
  link.remote.leaves_long(link.remote.owe(Priority::normal, {words_of(packet), sent}), true);
  replies_due_ = true;
}

// As much as one packet of the link has. The link copies what stands in one run as it stands: aligned words
// are whole in the answer, though they change meanwhile.
Core::AnswerPart Core::put_long(Link& link, const Packet& request, std::uint32_t& sent) noexcept {
  HAMLYN_ASSERT(sent < request.delta, "the last part ends the answer");
  HAMLYN_ASSERT(slots_[request.slot].live, "check_get was asked for this very part");
  const auto most = static_cast<std::uint32_t>(link.payload_limit() / kReplyPayload * kReplyPayload);
  const std::byte* const from = slots_[request.slot].base + request.offset + sent;
  std::uint32_t bytes = std::min(request.delta - sent, most);
  const bool in_place = request.lead.operation == Operation::get && bytes >= kCopiedInPlace &&
                        reinterpret_cast<std::uintptr_t>(from) % sizeof(std::uint64_t) == 0;
  if (!in_place) bytes = std::min(bytes, kGathered);
  // Less than a word at the end is gathered: a copy of it might tear the word before.
  if (in_place && bytes % sizeof(std::uint64_t) != 0)
    bytes -= bytes % static_cast<std::uint32_t>(kReplyPayload);
  Packet reply = reply_to(request, Operation::get_data, bytes, element_of(request.lead));
  reply.offset = sent;
  const bool more = sent + bytes != request.delta;
  const Status status =
      in_place ? link.put_answer(reply, from, more) : put_gathered(link, request, sent, reply);
  if (status != Status::ok) return AnswerPart::none;
  sent += bytes;
  return part_left(link, request, sent);
}

Status Core::put_gathered(Link& link, const Packet& request, std::uint32_t sent,
                          const Packet& reply) noexcept {
  alignas(8) std::byte copy[kGathered];
  copy_asked(copy, slots_[request.slot].base + request.offset, request, sent, reply.lead.length);
  return link.put_answer(reply, copy, sent + reply.lead.length != request.delta);
}

Core::AnswerPart Core::put_owed_long(Link& link, std::uint32_t place) noexcept {
  Owed& owed = link.remote.owed_at(Priority::normal, place);
  const Packet packet = packet_of(owed.packet);
  // A key that was changed, or a slot that went, since the last part left stops it: a short reply says so.
  const Refusal cause = check_get(slots_, link, packet);
  if (cause == Refusal::none) return put_long(link, packet, owed.sent);
  forgo_place(link, packet);
  owed.packet = words_of(refused(packet, cause, owed.sent));
  link.remote.leaves_long(place, false);
  link.replies_due = replies_due_ = true;
  return AnswerPart::more;
}

// Links in turn. True if any left.
bool Core::send_long_answers() noexcept {
  bool moved = false;
  std::size_t bytes = 0;
  const std::size_t all = links().size(), first = next_long_;
  for (std::size_t i = 0; i != all && bytes < kLongPerRun; ++i) {
    Link& link = *links()[(first + i) % all];
    if (!link.remote.owes_long()) continue;
    const std::size_t left = send_long(link);
    bytes += left;
    moved |= left != 0;
    replies_due_ |= link.remote.owes_long();  // again when there is room
    next_long_ = (first + i + 1) % all;
  }
  replies_due_ |= bytes >= kLongPerRun;  // those that had no turn have theirs in the next run
  return moved;
}

// One answer behind the other: whoever asks for many at a time has them one by one, and asks for more
// meanwhile. Where messages wait for room, too, these and those leave in turns, and a turn lasts until
// something has left. An answer that finds no room holds back what needs less: that would take the room from
// it for ever. Direct sends have their turn once a part has left, until the next run. Returns how many bytes
// have left.
std::size_t Core::send_long(Link& link) noexcept {
  RemoteWork& work = link.remote;
  if (work.messages_turn && !link.way(Priority::normal).destinations.empty()) return 0;
  std::size_t bytes = 0;
  while (work.owes_long() && bytes < kLongPerLink) {
    const std::uint32_t place = work.next_long();
    const Owed& owed = work.owed_at(Priority::normal, place);
    const std::uint32_t before = owed.sent;
    const std::size_t each = cost_of(packet_of(owed.packet));
    const AnswerPart part = put_owed_long(link, place);
    if (part == AnswerPart::none) break;
    bytes += (owed.sent - before) * each;
    work.long_turn = place;
    if (part == AnswerPart::last) work.answer_left(Priority::normal, place);
  }
  if (bytes == 0 && work.owes_long()) {
    departures_.hold(link);
  } else {
    work.messages_turn = true;
    departures_.go_on(link);
  }
  return bytes;
}

// --- the requester's side

Refusal Core::take_answer(Link& link, const Packet& packet, const Payload& payload) noexcept {
  const Words words = words_of(packet);
  if (is_short_answer(words.word[kLeadWord])) return take_short_answer(link, words);
  Asked* const found = find_asked(link, packet.word);
  if (found == nullptr) return Refusal::unasked_reply;
  Asked& asked = *found;
  if (packet.lead.operation == Operation::get_data) return land_piece(link, asked, packet, payload);
  if (packet.lead.operation != Operation::refused_request || check_refused(asked, packet) != Refusal::none)
    return Refusal::unasked_reply;
  // Puts that have left before may be overtaken where a link keeps no order: the fence waits for them there.
  asked.cause = static_cast<Refusal>(packet.delta);
  asked.until = static_cast<std::uint32_t>(packet.offset);
  if (asked.landed == asked.until) finish(link, asked, Status::refused, 0);
  return Refusal::none;
}

Refusal Core::land_piece(Link& link, Asked& asked, const Packet& packet, const Payload& payload) noexcept {
  if (check_piece(asked, packet) != Refusal::none) return Refusal::unasked_reply;
  const std::uint32_t bytes = packet.lead.length;
  const auto from = static_cast<std::uint32_t>(packet.offset);
  asked.pieces.set(from / static_cast<std::uint32_t>(kReplyPayload), pieces_in(bytes));
  if (std::byte* const to = landing_of(asked, from)) {
    move_bytes(to, packet, payload);
    if (asked.slot != kNoEntry) slot_changed(asked.slot);
  } else {
    asked.lost = true;
  }
  HAMLYN_ASSERT(bytes <= asked.until - asked.landed, "no piece lands beyond what was asked for");
  asked.landed += bytes;
  ++link.remote.landed;
  if (asked.landed == asked.until) {
    const bool whole = asked.cause == Refusal::none;
    finish(link, asked, !whole ? Status::refused : asked.lost ? Status::cancelled : Status::ok, 0);
  }
  return Refusal::none;
}

// Its link has ended: whether it was done is not known.
void Core::fail_requests(Link& link, WhyNoLink why) noexcept {
  for (Asked& asked : link.remote.asked) {
    if (!asked.busy) continue;
    if (asked.fenced_by != 0 && asked.owner != nullptr) {  // the next one must say so
      if (asked.by_slot) asked.credit->lost |= asked.fenced_by;
      if (!asked.by_slot) asked.credit->lose_with_link(asked.fenced_by, why);
    }
    finish(link, asked, Status::link_ended, 0);
  }
  forget_watches(link);
  link.remote.forget_owed();
}

void Core::forget_queue(const Queue* queue) noexcept {
  for (Terminus* terminus : termini_) terminus->forget_queue(queue);
  for (Link* link : links()) {
    for (const Asked& asked : link->remote.asked) {
      if (asked.owner != nullptr) asked.owner->forget_queue(asked, queue);
    }
  }
}

}  // namespace hamlyn::internal_::interface
