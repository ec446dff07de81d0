// Puts of which a posted buffer tells: one packet lands its data in one slot and takes the oldest buffer of
// another. It does both or neither, so a put that is refused is told to nobody. A slot that halts does so at
// such a refusal, too: no later message overtakes it.
#include "base/copy.h"
#include "interface/core.h"
#include "interface/packets/element.h"
#include "interface/posted/take_posted.h"

namespace hamlyn::internal_::interface {

Refusal Core::check_telling_put(const Link& link, const SlotRecord& slot, const Packet& packet,
                                std::uint32_t& record) const noexcept {
  const Refusal cause = check_telling(slots_, records_, link, put_word_of(packet.offset), record);
  return cause != Refusal::none ? cause : check_waiting(*slot.posted);
}

Refusal Core::deposit_telling(Link& link, SlotRecord& slot, const Packet& packet, const Payload& payload,
                              std::uint32_t& index) noexcept {
  if (slot.posted == nullptr) return Refusal::bad_entry;
  if (packet.lead.metadata_length != 0 || element_of(packet.lead) != 0) return Refusal::malformed;
  std::uint32_t record = kDeadRecord;
  Refusal cause = check_telling_put(link, slot, packet, record);
  if (cause == Refusal::none) {
    const PutWord where = put_word_of(packet.offset);
    Packet put = packet;  // as it would come by itself
    put.lead.operation = Operation::put_block;
    put.key = put.word = 0;
    put.offset = where.offset;
    cause = land_put(link, put, payload, {.name = where.name, .serial = where.serial}, record);
  }
  if (cause != Refusal::none) {
    halt(slot, packet.slot, cause, link.peer);
    return cause;
  }
  const PostedPart part = telling_part_of(words_of(packet));
  index = slot.posted->take_oldest();
  MetadataEntry& entry = slot.entries[index];
  entry.message = part.message;
  entry.link = link.serial;
  entry.length = 0;  // nothing lands there
  slot.posted->buffer(index).word = part.word;
  complete_posted(slot, packet.slot, index, link.peer);
  return Refusal::none;
}

// For the owner of an empty queue (take_posted.h). Whatever a put may do beside landing is left to the long
// way.
Core::Arrived Core::take_telling(Link& link, const Words& words, SlotRecord& slot, const Payload& payload,
                                 Queue& queue, Notification& out) noexcept {
  const PutWord where = put_word_of(words.word[kOffsetWord]);
  const PostedPart part = telling_part_of(words);
  const bool in_cell = part.length <= kInlineData;
  std::uint32_t record = kDeadRecord;
  if (check_telling(slots_, records_, link, where, record) != Refusal::none ||
      check_waiting(*slot.posted) != Refusal::none || (!in_cell && payload.first_length < part.length))
    return Arrived::other;
  const SlotRecord& target = slots_[records_[record].slot];
  if (target.puts->control == Control::always || target.watches != 0 ||
      check_bounds(target, where.offset, part.length) != Refusal::none)
    return Arrived::other;
  const auto* const data =
      in_cell ? reinterpret_cast<const std::byte*>(&words.word[kDataWord]) : payload.first;
  base::copy_to_shared(target.base + where.offset, data, part.length);
  ++target.counters->messages;
  target.counters->bytes += part.length;
  tell_of_posted(link, words, slot, part, 0, queue, out);
  return Arrived::whole;
}

}  // namespace hamlyn::internal_::interface
