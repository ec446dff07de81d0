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
// area good no more, and this before anybody hears that a message is over.
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
  if (check_slot(slots_, index, generation) != Refusal::none) return nullptr;
  const SlotRecord& slot = slot_of(slots_, index);
  return slot.mode == Mode::guarded && check_key(slot, key) == Refusal::none ? &slot : nullptr;
}

Refusal Core::import_refusal(std::uint32_t slot, std::uint32_t generation, std::uint64_t key) const noexcept {
  const Refusal cause = check_slot(slots_, slot, generation);
  const SlotRecord& named = slot_of(slots_, slot);
  return cause == Refusal::none && named.mode == Mode::guarded ? check_key(named, key) : cause;
}

bool Core::refuse_import(Link& link, std::uint32_t slot, std::uint32_t generation,
                         std::uint64_t key) noexcept {
  const Refusal cause = import_refusal(slot, generation, key);
  if (cause == Refusal::none) return false;
  const std::uint32_t told = link.told_causes;
  Sweep::refused(link);
  refuse(link, cause, slot);
  return link.told_causes != told;
}

Refusal Core::deposit_from_area(Link& link, const Packet& packet, const Payload& payload) noexcept {
  const Refusal named = check_slot(slots_, packet.slot, packet.generation);
  if (named != Refusal::none) return named;
  SlotRecord& slot = slot_of(slots_, packet.slot);
  if (packet.entry == kNoEntry) return Refusal::mode_forbids;
  AreaPart part;
  std::memcpy(&part, packet.data, sizeof part);
  if (part.number == kInPlace) return deposit_in_place(link, slot, packet, payload, part);
  bool withdrawn = false;
  if (check_area(link, part, withdrawn) != Refusal::none) return Refusal::bad_area;
  const ShownArea& area = (*link.shown)[masked_index(part.number, kAreaLimit)];
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
  if (check_mapping(slot, part) != Refusal::none) return Refusal::bad_area;
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
