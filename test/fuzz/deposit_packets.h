#pragma once
// Packets that the rogue of deposit.cc makes: right ones, and right but for a few fields or bits.
#include <algorithm>
#include <cstring>
#include <span>
#include <vector>

#include "interface/core.h"
#include "test/fuzz/input.h"

namespace hamlyn::fuzz {

using interface::Operation;
using interface::Packet;

inline constexpr std::size_t kSlotBytes = 4096;
inline constexpr std::uint32_t kEntries = 4;
inline constexpr std::uint32_t kBuffer = 1000;
inline constexpr std::size_t kShownBytes = 4096;
inline constexpr std::uint16_t kShown = 5;  // the number of the area that was shown, and its generation

// Makes each packet as the input chooses.
class Forger {
 public:
  // `slots`: of which the first two are guarded, the others paranoid; `posted` has buffers of kBuffer bytes.
  Forger(Input& input, interface::Core& core, const std::vector<std::uint32_t>& slots,
         const std::uint32_t& posted)
      : input_(input), core_(core), slots_(slots), posted_(posted) {}

  // An answer to something that may have been asked.
  Packet reply() {
    Packet packet{};
    const Operation kinds[] = {Operation::get_data, Operation::fetched,   Operation::refused_request,
                               Operation::got,      Operation::delivered, Operation::grant,
                               Operation::credit};
    packet.lead.operation = kinds[pick(9) % std::size(kinds)];
    const std::uint64_t places = interface::kRequestPlaces;
    packet.word = places / 2 + pick(3);
    packet.word += places * pick(4);
    if (packet.lead.operation == Operation::fetched) packet.lead.length = 8;
    if (packet.lead.operation == Operation::got) {
      packet.lead.length = interface::kInlineData;
      set_word(packet, interface::kSlotWord, packet.word);
    }
    if (packet.lead.operation == Operation::get_data) {
      packet.lead.length = static_cast<std::uint16_t>(pick(2) == 0 ? interface::kReplyPayload : pick(257));
      packet.offset = interface::kReplyPayload * pick(3);
    }
    if (packet.lead.operation == Operation::refused_request) {
      if (pick(2) == 0) packet.offset = pick(700);
      packet.delta = static_cast<std::uint32_t>(pick(20));
    }
    return packet;
  }

  Packet any() {
    const std::uint64_t kind = pick(11);
    Packet packet = kind < 2    ? request()
                    : kind < 4  ? put()
                    : kind == 4 ? from_area()
                    : kind == 5 ? watch()
                    : kind == 6 ? to_posted()
                                : right();
    auto* const words = reinterpret_cast<std::uint32_t*>(&packet);
    switch (pick(6)) {
      case 0:
        break;
      case 1:  // one field
        words[2 + pick(9)] = static_cast<std::uint32_t>(input_.number());
        break;
      case 2:  // one bit, after the turn
        words[1 + pick(15)] ^= 1u << pick(32);
        break;
      case 3: {  // at an edge
        const std::uint64_t edges[] = {
            kSlotBytes,        kSlotBytes - 1,        1023, 1535, 1536, std::uint64_t{1} << 32,
            ~std::uint64_t{0}, std::uint64_t{1} << 63};
        packet.offset = edges[pick(std::size(edges))];
        packet.offset -= pick(packet.lead.length + 2u);
        break;
      }
      case 4:
        packet.lead.operation = pick(2) == 0 ? Operation::abandon : static_cast<Operation>(1 + pick(23));
        break;
      default:
        if (pick(10) == 0) {
          for (std::size_t i = 1; i < 16; ++i) words[i] = static_cast<std::uint32_t>(input_.number());
        }
        break;
    }
    return packet;
  }

  void name(Packet& packet, std::size_t slot) const {
    packet.slot = slots_[slot];
    packet.generation = core_.slot(slots_[slot]).generation;
    packet.key = core_.slot(slots_[slot]).key;
  }

 private:
  std::uint64_t pick(std::uint64_t below) { return input_.pick(below); }

  // One that the interface would take.
  Packet right() {
    Packet packet{};
    const std::size_t slot = pick(slots_.size());
    name(packet, slot);
    const std::uint64_t sizes[] = {0, 1, 15, 16, 16, 17, 64, 100, 512};
    packet.lead.operation = pick(4) == 0 ? Operation::write_acknowledged : Operation::write;
    packet.lead.length = static_cast<std::uint16_t>(sizes[pick(std::size(sizes))]);
    const std::uint64_t room = (slot < 2 ? kSlotBytes : 512) - packet.lead.length;
    packet.offset = (slot < 2 ? 0 : 1024) + (pick(3) == 0 ? room : pick(room + 1));
    packet.entry =
        slot == 0 && pick(2) == 0 ? interface::kNoEntry : static_cast<std::uint32_t>(pick(kEntries));
    if (packet.entry != interface::kNoEntry) {
      const interface::MetadataEntry& entry = core_.slot(slots_[slot]).entries[packet.entry];
      if (slot >= 2) packet.key = entry.key;
      packet.delta = static_cast<std::uint32_t>(pick(3) != 0 ? 0 : 1 - pick(3));
      packet.word = interface::message_word(entry.message, entry.incarnation);
      packet.lead.metadata_length = static_cast<std::uint8_t>(pick(4) == 0 ? pick(61) : 0);
    }
    input_.fill(packet.data);
    return packet;
  }

  // To a posted buffer: a whole message, or a part of one of a few.
  Packet to_posted() {
    Packet packet{};
    packet.slot = posted_;
    packet.generation = core_.slot(posted_).generation;
    packet.key = core_.slot(posted_).key;
    input_.fill(packet.data);
    const std::uint32_t sizes[] = {0, 1, 16, 17, 100, 512};
    const std::uint32_t length = sizes[pick(std::size(sizes))];
    packet.lead.operation = pick(4) == 0 ? Operation::write_acknowledged : Operation::write;
    packet.lead.length = static_cast<std::uint16_t>(length);
    const bool whole = pick(2) == 0;
    const std::uint32_t total = whole ? length : static_cast<std::uint32_t>(pick(kBuffer + 8));
    set_posted(packet, {.at = whole ? 0 : static_cast<std::uint32_t>(pick(total + 1)),
                        .length = length,
                        .total = total,
                        .message = static_cast<std::uint32_t>(pick(6)),
                        .word = pick(7)});
    if (pick(12) == 0) {
      packet.lead.operation = Operation::abandon;
      packet.lead.length = 0;
    }
    if (pick(3) == 0) tell(packet);
    return packet;
  }
  // Makes of it a put of which a buffer tells, by an opening that there may be.
  void tell(Packet& packet) {
    const std::uint64_t opening =
        interface::opening_word(static_cast<std::uint32_t>(pick(3)), static_cast<std::uint32_t>(pick(4)));
    const std::uint64_t room = kSlotBytes - packet.lead.length;
    packet.offset = interface::telling_where(opening, pick(3) == 0 ? room : pick(room + 1));
    set_word(packet, interface::kEntryWord, interface::telling_entry_word(pick(7)));
  }

  // The same, of data that stand in the area that was shown, or near it.
  Packet from_area() {
    Packet packet = right();
    interface::AreaPart part {
      kShown, kShown, packet.lead.length, pick(kShownBytes - 512)
    };
    if (pick(4) == 0) part.offset = pick(2) == 0 ? input_.number() : kShownBytes - pick(600);
    if (pick(8) == 0) part.length = static_cast<std::uint32_t>(pick(2) == 0 ? input_.number() : pick(70000));
    if (pick(16) == 0) part.number = static_cast<std::uint16_t>(pick(2) == 0 ? input_.number() : pick(70));
    if (pick(16) == 0) part.generation = static_cast<std::uint16_t>(pick(10));
    packet.lead.operation = Operation::area_write;
    packet.lead.length = sizeof part;
    std::memcpy(packet.data, &part, sizeof part);
    return packet;
  }

  // A get or a fetch that the interface would serve.
  Packet request() {
    Packet packet = right();
    packet.lead.metadata_length = 0;
    packet.lead.operation = pick(2) == 0 ? Operation::get : Operation::fetch;
    const bool fetch = packet.lead.operation == Operation::fetch;
    packet.lead.length = fetch ? interface::kInlineData : 0;
    packet.offset &= ~std::uint64_t{7};
    const auto delta = static_cast<std::uint32_t>(1 + pick(fetch ? 10 : 300));
    const std::uint32_t bytes = fetch && pick(2) == 0 ? 4 : 8;
    const bool wanted = fetch && pick(4) != 0;
    packet.delta = fetch ? interface::fetch_delta(delta, bytes, wanted) : delta;
    const std::uint64_t opening = interface::opening_word(pick(8) == 0 ? 1 : 0, 0);
    if (pick(4) == 0) packet.entry = interface::telling_entry(opening);
    if (fetch && pick(4) == 0) packet.entry = interface::counting_entry(opening);
    if (!fetch && pick(2) == 0) {  // gathered
      packet.lead.operation = Operation::get_strided;
      packet.lead.length = interface::kInlineData;
      const auto chunk = static_cast<std::uint32_t>(1 + pick(9)),
                 row = static_cast<std::uint32_t>(1 + pick(4));
      const auto stride = [&] { return pick(8) == 0 ? input_.number() : pick(kSlotBytes / 8); };
      set_gather(
          packet,
          {.chunk = chunk, .x_chunks = row, .y_chunks = 2, .x_stride = stride(), .y_stride = stride()});
      if (pick(4) != 0) packet.delta = chunk * row * static_cast<std::uint32_t>(1 + pick(6));
    }
    return packet;
  }

  // A put is to be a signal, of its own slot's puts or of another's.
  void signal(Packet& packet) {
    packet.lead.length = pick(2) == 0 ? 4 : 8;
    packet.offset &= ~std::uint64_t{3};
    packet.word = pick(4);
    const auto name = static_cast<std::uint32_t>(pick(3)), serial = static_cast<std::uint32_t>(pick(2));
    if (pick(2) == 0) packet.key = interface::signals_of(interface::opening_word(name, serial));
  }

  // One that may be held, or what takes one back.
  Packet watch() {
    Packet packet = right();
    packet.lead.metadata_length = 0;
    packet.lead.operation = Operation::watch;
    packet.lead.length = interface::kInlineData;
    packet.offset &= ~std::uint64_t{7};
    packet.word = pick(32);
    packet.delta = pick(4) == 0 ? interface::kWatchNoMore : pick(3) == 0 ? 4 : 8;
    if (packet.offset <= kSlotBytes - 8 && pick(4) != 0)  // it has not changed
      std::memcpy(packet.data, core_.slot(packet.slot).base + packet.offset, sizeof(std::uint64_t));
    return packet;
  }

  // A put of any kind that may well land.
  Packet put() {
    Packet packet{};
    input_.fill(packet.data);
    const std::uint32_t name = pick(8) == 0 ? 1 : 0, serial = pick(8) == 0 ? 1 : 0;
    const std::uint64_t opening = interface::opening_word(name, serial);
    const std::uint64_t length = pick(50), offset = pick(kSlotBytes);
    const bool notify = pick(3) == 0;
    packet.lead.length = static_cast<std::uint16_t>(pick(300));
    switch (pick(4)) {
      case 3:
        packet.lead.operation = Operation::opened_write;
        packet.lead.length = interface::kInlineData;
        set_word(packet, interface::kSlotWord, interface::put_word(opening, length, pick(8) == 0, offset));
        break;
      case 0:
        packet.lead.operation = Operation::put;
        packet.lead.length = interface::kInlineData;
        set_word(packet, interface::kSlotWord, interface::put_word(opening, length, notify, offset));
        break;
      case 1:
        packet.lead.operation = Operation::put_block;
        if (pick(4) == 0) packet.lead.length = 0;
        set_word(packet, interface::kSlotWord, interface::put_word(opening, 0, notify, 0));
        set_word(packet, interface::kEntryWord, pick(2 * kSlotBytes));
        packet.offset = offset;
        if (pick(3) == 0) signal(packet);
        break;
      default: {
        packet.lead.operation = Operation::put_strided;
        const Strides strides{.chunk = static_cast<std::uint32_t>(pick(40)),
                              .x_chunks = static_cast<std::uint32_t>(pick(9)),
                              .y_chunks = static_cast<std::uint32_t>(pick(9)),
                              .x_stride = pick(100),
                              .y_stride = pick(10) == 0 ? input_.number() : pick(600)};
        set_word(packet, interface::kSlotWord, interface::put_word(opening, 0, notify, strides.x_stride));
        set_strides(packet, strides, offset, static_cast<std::uint32_t>(pick(400)));
      }
    }
    return packet;
  }

  Input& input_;
  interface::Core& core_;
  const std::vector<std::uint32_t>& slots_;
  const std::uint32_t& posted_;
};

}  // namespace hamlyn::fuzz
