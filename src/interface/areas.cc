// The core's part of send buffer areas: numbers for our own, and what arrives out of those of others.
#include <algorithm>

#include "hamlyn/values/error.h"
#include "interface/deposit.h"
#include "interface/terminus.h"

namespace hamlyn::internal_::interface {

std::uint32_t Core::add_area(const std::byte* data, std::uint64_t size) {
  const auto free =
      std::find_if(areas_.begin(), areas_.end(), [](const SendArea& area) { return area.data == nullptr; });
  if (free == areas_.end())
    throw Error(ErrorCode::out_of_memory, "this interface has 64 send buffer areas, the most there can be");
  free->data = data;
  free->size = size;
  if (++free->generation == 0) free->generation = 1;
  return static_cast<std::uint32_t>(free - areas_.begin());
}

// Bytes that were copied so far are reported as copied. That is looked up before the other sides find the
// area good
// no more, and this before anybody hears that a message is over.
void Core::drop_area(std::uint32_t number) noexcept {
  areas_[number].data = nullptr;
  const std::uint64_t bit = std::uint64_t{1} << number;
  for (Link* link : links()) {
    link->taken_seen = link->taken_count();
    if ((link->areas_shown & bit) != 0) link->set_areas_shown(link->areas_shown & ~bit);
    link->areas_wanted &= ~bit;
  }
  for (Terminus* terminus : termini_) terminus->area_gone(number);
}

const SlotRecord* Core::find_guarded_slot(std::uint32_t index, std::uint32_t generation,
                                          std::uint64_t key) const noexcept {
  if (index >= slots_.size()) return nullptr;
  const SlotRecord& slot = slots_[masked_index(index, slots_.size())];
  if (!slot.live || slot.generation != generation || slot.key != key || slot.mode != Mode::guarded)
    return nullptr;
  return &slot;
}

bool Core::refuse_import(Link& link, std::uint32_t slot, std::uint32_t generation,
                         std::uint64_t key) noexcept {
  const std::uint32_t index = masked_index(slot, slots_.size());
  const SlotRecord& named = slots_[index];
  Refusal cause = Refusal::none;  // it is good, of a slot that is not mapped
  if (slot != index || named.generation == 0) {
    cause = Refusal::bad_slot;
  } else if (named.generation != generation || !named.live) {
    cause = Refusal::stale_generation;
  } else if (named.mode == Mode::guarded && named.key != key) {
    cause = Refusal::bad_key;
  }
  if (cause == Refusal::none) return false;
  const std::uint32_t told = link.told_causes;
  refuse(link, cause, slot);
  return link.told_causes != told;
}

Refusal Core::deposit_from_area(Link& link, const Packet& packet, const Payload& payload) noexcept {
  const std::uint32_t index = masked_index(packet.slot, slots_.size());
  SlotRecord& slot = slots_[index];
  if (packet.slot != index || slot.generation == 0) return Refusal::bad_slot;
  if (slot.generation != packet.generation || !slot.live) return Refusal::stale_generation;
  if (packet.entry == kNoEntry) return Refusal::mode_forbids;
  AreaPart part;
  std::memcpy(&part, packet.data, sizeof part);
  if (part.number == kInPlace) return deposit_in_place(link, slot, packet, payload, part);
  if (link.shown == nullptr || part.number >= kAreaLimit || part.length > kAreaPacketLimit)
    return Refusal::bad_area;
  const ShownArea& area = (*link.shown)[masked_index(part.number, kAreaLimit)];
  const bool withdrawn = area.data == nullptr || area.generation != part.generation;
  if (!withdrawn && !inside(part.offset, part.length, area.size)) return Refusal::bad_area;
  Payload there = payload;
  there.first = withdrawn ? nullptr : area.data + part.offset;
  there.first_length = part.length;
  const Refusal refusal = deposit_counted<true>(link, slot, packet, there, part.length);
  if (refusal == Refusal::none) link.counters->bytes_in += part.length - std::uint64_t{kInlineData};
  return refusal;
}

// The data of a mapped slot came by stores; there is nothing to copy. A mapping that was revoked since leads
// elsewhere: what was stored there has not come.
Refusal Core::deposit_in_place(Link& link, SlotRecord& slot, const Packet& packet, const Payload& payload,
                               const AreaPart& part) noexcept {
  if (slot.mapping == nullptr || static_cast<std::uint16_t>(*slot.mapping) != part.generation)
    return Refusal::bad_area;
  return deposit_counted<true>(link, slot, packet, payload, part.length);
}

// False: its sender uses that memory for something else, or may. What was copied then is of no message.
bool Core::land_from_area(const Link& link, std::byte* to, const Packet& packet, const Payload& payload,
                          std::uint64_t length) noexcept {
  AreaPart part;
  std::memcpy(&part, packet.data, sizeof part);
  if (part.number == kInPlace) return true;
  if (payload.first == nullptr) return false;
  std::memcpy(to, payload.first, length);
  return link.area_good(part.number);
}

}  // namespace hamlyn::internal_::interface
