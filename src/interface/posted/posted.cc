// Messages that the receiving interface finds a buffer for: the oldest that the slot's owner has posted. From
// then on the buffer's metadata entry is as any other that a message fills: its link's end fails it, its
// sender may abandon it, and a promised acknowledgement is kept.
#include "interface/posted/posted.h"

#include <algorithm>
#include <utility>

#include "base/assert.h"
#include "interface/posted/take_posted.h"

namespace hamlyn::internal_::interface {

// --- the owner

std::uint32_t Core::make_posted_slot(Queue* queue, std::uint32_t buffers, bool halts) {
  auto posted = std::make_unique<Posted>(buffers, halts);
  SlotOptions options;
  options.entries = buffers;
  options.fast = false;
  queue->expect(1);  // of its halt
  std::uint32_t index;
  try {
    index = make_slot(nullptr, 0, queue, options);
  } catch (...) {
    queue->expect_no_more(1);
    throw;
  }
  ++queue->posted;
  SlotRecord& slot = slots_[index];
  slot.posted = std::move(posted);
  for (std::uint32_t e = 0; e < buffers; ++e) slot.entries[e].state = EntryState::idle;
  return index;
}

Status Core::post(std::uint32_t slot_index, std::span<const std::span<std::byte>> pieces,
                  std::uint64_t number) noexcept {
  SlotRecord& slot = slots_[slot_index];
  Posted& posted = *slot.posted;
  if (pieces.size() > kPostedPieces || number >> 63 != 0) return Status::invalid;
  std::uint64_t length = 0;
  for (const std::span<std::byte> piece : pieces) {
    if (piece.size() > 0xFFFFFFFFu - length) return Status::too_long;
    length += piece.size();
  }
  if (posted.in_use() + slot.unread >= slot.entry_count) return Status::queue_full;
  std::uint32_t index = posted.next_free;
  while (!is_unused(slot.entries[index])) index = index + 1 == slot.entry_count ? 0 : index + 1;
  posted.next_free = index + 1 == slot.entry_count ? 0 : index + 1;
  MetadataEntry& entry = slot.entries[index];
  entry.state = EntryState::posted;
  entry.offset = number;
  entry.link = 0;
  PostedBuffer& buffer = posted.buffer(index);
  std::copy(pieces.begin(), pieces.end(), buffer.pieces.begin());
  buffer.count = static_cast<std::uint32_t>(pieces.size());
  buffer.length = static_cast<std::uint32_t>(length);
  posted.append(index);
  return Status::ok;
}

Status Core::take_back_posted(std::uint32_t slot_index, std::uint64_t& number) noexcept {
  SlotRecord& slot = slots_[slot_index];
  if (slot.posted->waiting() == 0) return Status::not_ready;
  MetadataEntry& entry = slot.entries[slot.posted->take_oldest()];
  entry.state = EntryState::idle;
  number = entry.offset;
  return Status::ok;
}

// --- what arrives

std::uint32_t Core::find_posted(const Link& link, const SlotRecord& slot, std::uint32_t message,
                                std::uint32_t& under_way) const noexcept {
  under_way = 0;
  for (const std::uint32_t index : slot.posted->filling()) {
    const MetadataEntry& entry = slot.entries[index];
    HAMLYN_ASSERT(entry.state == EntryState::taking, "what is over is in the list no more");
    if (entry.link != link.serial) continue;
    if (entry.message == message) return index;
    ++under_way;
  }
  return Posted::kNone;
}

// The first packet of a message that comes takes a buffer.
Refusal Core::begin_posted(Link& link, SlotRecord& slot, const Packet& packet, const PostedPart& part,
                           std::uint32_t under_way, std::uint32_t& index) noexcept {
  Posted& posted = *slot.posted;
  if (!part.whole() && (link.lost_messages.has(part.message) || (link.in_order && part.at != 0)))
    return Refusal::stale_message;
  const bool over = !part.whole() && under_way >= kPostedUnderWay;
  const Refusal cause = over ? Refusal::over_budget : check_buffer(posted, part);
  if (cause != Refusal::none) {
    halt(slot, packet.slot, cause, link.peer);
    return cause;
  }
  index = posted.take_oldest();
  MetadataEntry& entry = slot.entries[index];
  entry.state = EntryState::taking;
  entry.message = part.message;
  entry.link = link.serial;
  entry.length = 0;
  posted.buffer(index).total = part.total;
  posted.buffer(index).word = part.word;
  posted.begin(index);
  if (!part.whole()) note_filler(link, packet.slot, index);
  return Refusal::none;
}

Refusal Core::deposit_posted(Link& link, SlotRecord& slot, const Packet& packet, const Payload& payload,
                             std::uint32_t& index) noexcept {
  if (is_telling(packet)) return deposit_telling(link, slot, packet, payload, index);
  const PostedPart part = posted_part_of(words_of(packet));
  const Refusal cause = check_posted(slot, packet, part);
  if (cause != Refusal::none) return cause;
  std::uint32_t under_way = 0;
  index = part.whole() ? Posted::kNone : find_posted(link, slot, part.message, under_way);
  if (index == Posted::kNone) {
    const Refusal begun = begin_posted(link, slot, packet, part, under_way, index);
    if (begun != Refusal::none) return begun;
  } else if (slot.posted->buffer(index).total != part.total) {
    return Refusal::malformed;
  }
  const PostedBuffer& buffer = slot.posted->buffer(index);
  land_posted(buffer, part, packet.data, payload);
  MetadataEntry& entry = slot.entries[index];
  if (part.length < part.total - entry.length) {
    entry.length += part.length;
    return Refusal::none;
  }
  entry.length = part.total;
  complete_posted(slot, packet.slot, index, link.peer);
  if (link.acknowledgements.promised_count != 0) settle_promises(packet.slot, index, Refusal::none);
  return Refusal::none;
}

// The acknowledged packet is the first that its sender sends, which may be the last to come.
Refusal Core::deposit_posted_acknowledged(Link& link, const Packet& packet, const Payload& payload) noexcept {
  Acknowledgements& owed = link.acknowledgements;
  HAMLYN_ASSERT(owed.promised_count + owed.due_count < kAcknowledgementLimit, "the caller has refused more");
  const std::uint32_t message = message_of(packet.word);
  std::uint32_t index = Posted::kNone;
  Refusal cause = check_slot(slots_, packet.slot, packet.generation);
  SlotRecord& slot = slot_of(slots_, packet.slot);
  if (cause == Refusal::none) cause = check_key(slot, packet.key);
  if (cause == Refusal::none) cause = deposit_posted(link, slot, packet, payload, index);
  if (cause == Refusal::none && slot.entries[index].state == EntryState::taking) {
    owed.promised[owed.promised_count++] = {packet.slot, index, message, false, nullptr, {}};
  } else {
    acknowledge(link, message, cause);
  }
  return cause;
}

void Core::complete_posted(SlotRecord& slot, std::uint32_t slot_index, std::uint32_t index,
                           std::uint64_t peer) noexcept {
  ++completions_;
  MetadataEntry& entry = slot.entries[index];
  ++slot.counters->messages;
  slot.counters->bytes += entry.length;
  slot.posted->end(index);
  entry.state = EntryState::complete;
  Notification notification;
  notification.kind = Notification::Kind::message;
  notification.slot = slot.number(slot_index);
  notification.entry = index;
  notification.length = entry.length;
  notification.word = slot.posted->buffer(index).word;
  notification.peer = peer;
  notify(slot, entry, notification);
}

// Tells once that the slot takes no more.
void Core::halt(SlotRecord& slot, std::uint32_t slot_index, Refusal cause, std::uint64_t peer) noexcept {
  if (!slot.posted->halts() || slot.posted->halted() != Refusal::none) return;
  slot.posted->halt(cause);
  if (std::exchange(slot.posted->halt_told, true)) return;  // the one before is not read yet
  Notification notification;
  notification.kind = Notification::Kind::halted;
  notification.cause = cause;
  notification.slot = slot.number(slot_index);
  notification.entry = kPostedEntry;
  notification.peer = peer;
  slot.queue->push(notification, slot.generation);
  if (slot.queue->event_wanted) surroundings_.signal(*slot.queue);
}

void Core::halt_taken(const Notification& notification, std::uint32_t generation) noexcept {
  SlotRecord& slot = slots_[index_of(notification.slot)];
  if (slot.live && slot.generation == generation) slot.posted->halt_told = false;
}

Core::Arrived Core::take_posted(Link& link, const Words& words, SlotRecord& slot, const Payload& payload,
                                Queue& queue, Notification& out) noexcept {
  return take_posted_here(link, words, slot, payload, queue, out);
}

// --- what will not come

Refusal Core::abandon_posted(Link& link, const Packet& packet) noexcept {
  const std::uint32_t message = message_of(packet.word), rest = packet.delta;
  if (link.lost_messages.count(message, rest)) return Refusal::none;
  const Refusal named = check_slot(slots_, packet.slot, packet.generation);
  if (named != Refusal::none) return named;
  SlotRecord& slot = slot_of(slots_, packet.slot);
  if (check_key(slot, packet.key) != Refusal::none) return Refusal::bad_key;
  if (slot.posted == nullptr) return Refusal::bad_entry;
  const std::uint32_t total = high_half(packet.offset);
  std::uint32_t under_way;
  const std::uint32_t index = find_posted(link, slot, message, under_way);
  if (index == Posted::kNone) {  // the packet has overtaken what there was of the message
    static_cast<void>(link.lost_messages.give_up(message, rest - total));
    return Refusal::none;
  }
  static_cast<void>(link.lost_messages.give_up(message, slot.entries[index].length + rest - total));
  fail(slot, packet.slot, index, Failure::abandoned, link.peer);
  return Refusal::none;
}

// Nobody can send the rest of what fills the slot's buffers: its key is another.
void Core::abandon_filling(std::uint32_t slot_index) noexcept {
  SlotRecord& slot = slots_[slot_index];
  while (!slot.posted->filling().empty()) {
    const std::uint32_t index = slot.posted->filling().back();
    const Link* const link = link_of_serial(slot.entries[index].link);
    fail(slot, slot_index, index, Failure::abandoned, link != nullptr ? link->peer : 0);
  }
}

// A packet was refused: the others of its message are to be refused, too, though a buffer is posted
// meanwhile.
void Core::note_lost_posted(Link& link, Refusal cause, const Packet& packet) noexcept {
  const Words words = words_of(packet);
  const PostedPart part = is_telling(packet) ? telling_part_of(words) : posted_part_of(words);
  const bool abandon = packet.lead.operation == Operation::abandon;
  if (link.lost_messages.count(part.message, abandon ? packet.delta : part.length) || part.whole() || abandon)
    return;
  const bool begins =
      cause == Refusal::no_buffer || cause == Refusal::too_long || cause == Refusal::over_budget;
  if (begins) link.lost_messages.refused(part.message, part.length - part.total);
}

}  // namespace hamlyn::internal_::interface
