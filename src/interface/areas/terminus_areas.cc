// Messages out of send buffer areas (paper 0, section 2.3): descriptors that the interface gathers, cuts into
// packets, and has copied once by the interface at the other side. What is short, and what the other side has
// not been shown yet, goes through the link like any other message.
#include <algorithm>

#include "base/memory.h"
#include "interface/areas/gathering.h"
#include "interface/terminus.h"

namespace hamlyn::internal_::interface {

namespace {
// Below this the second copy costs less than the other side's look at memory that it has not read before
// (docs/performance.md).
constexpr std::size_t kLeastFromArea = 4096;
}  // namespace

Status Terminus::bind(std::uint32_t tag, std::uint32_t area) {
  if (tag >= kTagLimit) return Status::invalid;
  if (gathering_ == nullptr) gathering_ = std::make_unique<Gathering>(work_.size());
  gathering_->tags[tag] = area;
  return Status::ok;
}

Status Terminus::unbind(std::uint32_t tag) noexcept {
  if (tag >= kTagLimit || gathering_ == nullptr || gathering_->tags[tag] == Gathering::kNoArea)
    return Status::invalid;
  gathering_->tags[tag] = Gathering::kNoArea;
  return Status::ok;
}

Status Terminus::send_gathered(const Ticket& ticket, const Share* share, std::span<const Piece> pieces,
                               const SendOptions& options, SendHandle* handle, Queue* queue) noexcept {
  if (handle != nullptr) *handle = {};
  if (pieces.size() > kPieceLimit) return Status::too_long;
  std::array<Gathering::GatheredPiece, kPieceLimit> found;
  std::uint32_t parts = 0;
  std::uint64_t length = 0;
  for (const Piece& piece : pieces) {
    if (piece.tag >= kTagLimit || gathering_ == nullptr) return Status::invalid;
    const std::uint32_t number = gathering_->tags[piece.tag];
    if (number == Gathering::kNoArea) return Status::invalid;
    const SendArea& area = core_.area(number);
    if (piece.length > area.size || piece.offset > area.size - piece.length) return Status::out_of_bounds;
    if (piece.length == 0) continue;
    length += piece.length;
    if (length > 0xFFFFFFFFu) return Status::too_long;
    found[parts++] = {area.data + piece.offset, piece.offset, piece.length, number, area.generation};
  }
  Status wrong = share != nullptr ? check(*share, length, options) : Status::ok;
  if (wrong == Status::ok) wrong = check(ticket, length, options);
  if (wrong != Status::ok) return wrong;
  Work& work = *free_.first();
  if (parts != 0) std::copy_n(found.begin(), parts, gathering_->parts[index_of(work)].begin());
  work.data = nullptr;
  work.in_place = false;
  work.parts = parts;
  work.part = 0;
  work.part_sent = 0;
  work.from_area = work.area_gone = false;
  work.kind = Work::Kind::message;
  if (queue != nullptr && queue->reserve(1) == 0) return Status::no_place;
  return post(work, ticket, share != nullptr ? share->count : 0, length, options, handle, false, queue);
}

bool Terminus::stands_in_shown_area(const Work& work) noexcept {
  if (priority_ != Priority::normal) return false;  // what is urgent is short, and carries its data
  const Gathering::GatheredPiece& part = gathering_->parts[index_of(work)][work.part];
  if (part.length - work.part_sent < kLeastFromArea) return false;
  const std::uint64_t bit = std::uint64_t{1} << part.area;
  if ((work.link->areas_shown & bit) != 0) return true;
  if ((work.link->areas_wanted & bit) == 0) {
    work.link->areas_wanted |= bit;
    core_.surroundings().attention();
  }
  return false;
}

// How many packets there will be is not known before: the last one's delta takes back what the others have
// added (paper 0, section 2.5), or adds what they leave of a share. Each but the last carries 64 bytes or
// more, so a share is enough for them.
Status Terminus::put_gathered(Work& work) noexcept {
  if (work.acknowledged && work.packets_sent == 0) {
    const Status asked = put_question(work);
    if (asked != Status::ok) return asked;
  }
  const Gathering::GatheredPiece& part = gathering_->parts[index_of(work)][work.part];
  const bool from_area = stands_in_shown_area(work);
  std::size_t bytes = 0;
  if (from_area) {
    bytes = std::min<std::size_t>(part.length - work.part_sent, kAreaPacketLimit);
  } else {
    if (priority_ == Priority::normal && work.length > work.link->payload_limit()) work.link->want_room();
    bytes = std::min<std::size_t>(work.length - work.sent, work.link->payload_limit(priority_));
  }
  const bool last = work.sent + bytes == work.length;
  Packet packet;
  set_slot(packet, work.ticket);
  packet.offset = work.offset + work.sent;
  set_entry(packet, work.ticket.entry, last ? work.count - work.packets_sent : 1);
  packet.word = message_word(work.message, work.ticket.incarnation);
  const Status status =
      from_area ? put_from_area(work, packet, bytes) : put_through_ring(work, packet, bytes);
  if (status != Status::ok) {
    if (status == Status::link_ended) finish(work, status);
    return status;
  }
  ++work.packets_sent;
  work.sent += bytes;
  if (!last) return Status::ok;
  if (work.acknowledged) {
    await_delivery(work);  // whoever says that it has landed has read it
  } else if (work.from_area) {
    lend(work);
  } else {
    finish(work, Status::ok);
  }
  return Status::ok;
}

// An empty packet in front asks to be told when all has landed: what stands in an area cannot.
Status Terminus::put_question(Work& work) noexcept {
  Packet packet;
  set_lead(packet, Operation::write_acknowledged, 0, work.metadata_length);
  set_slot(packet, work.ticket);
  packet.offset = work.offset;
  set_entry(packet, work.ticket.entry, 1);
  packet.word = message_word(work.message, work.ticket.incarnation);
  const Status status = work.link->put(packet, nullptr, work.metadata.data(), priority_);
  if (status == Status::link_ended) finish(work, status);
  if (status == Status::ok) ++work.packets_sent;
  return status;
}

Status Terminus::put_from_area(Work& work, Packet& packet, std::size_t bytes) noexcept {
  const Gathering::GatheredPiece& part = gathering_->parts[index_of(work)][work.part];
  const AreaPart there{static_cast<std::uint16_t>(part.area), part.generation,
                       static_cast<std::uint32_t>(bytes), part.offset + work.part_sent};
  std::byte data[sizeof there];
  std::memcpy(data, &there, sizeof there);
  set_lead(packet, Operation::area_write, sizeof there, work.packets_sent == 0 ? work.metadata_length : 0);
  const Status status = work.link->put(packet, data, work.metadata.data(), priority_);
  if (status != Status::ok) return status;
  work.link->counters->bytes_out += bytes - std::uint64_t{sizeof there};
  work.from_area = true;
  work.mark = work.link->put_count();
  work.part_sent += bytes;
  if (work.part_sent == part.length) {
    ++work.part;
    work.part_sent = 0;
  }
  return status;
}

// Short pieces that follow each other share a packet; a long one is not copied before the link does it.
Status Terminus::put_through_ring(Work& work, Packet& packet, std::size_t bytes) noexcept {
  const auto& parts = gathering_->parts[index_of(work)];
  std::uint32_t part = work.part;
  std::uint64_t part_sent = work.part_sent;
  const std::byte* data = parts[part].data + part_sent;
  if (parts[part].length - part_sent >= bytes) {
    part_sent += bytes;
  } else {
    std::size_t collected = 0;
    while (true) {
      const auto some = std::min<std::size_t>(parts[part].length - part_sent, bytes - collected);
      std::memcpy(gathering_->staging + collected, parts[part].data + part_sent, some);
      collected += some;
      part_sent += some;
      if (collected == bytes) break;
      ++part;
      part_sent = 0;
    }
    data = gathering_->staging;
  }
  if (part_sent == parts[part].length) {
    ++part;
    part_sent = 0;
  }
  set_lead(packet, Operation::write, bytes, work.packets_sent == 0 ? work.metadata_length : 0, work.element);
  const Status status = work.link->put(packet, data, work.metadata.data(), priority_);
  if (status != Status::ok) return status;
  work.part = part;
  work.part_sent = part_sent;
  return status;
}

// A slot of a trusted peer that is mapped here: the data goes there by stores, and only the notification as a
// packet (design, section 3). False: there is no such mapping, or it was revoked.
bool Terminus::store_in_place(Work& work, const Ticket& ticket, std::span<const std::byte> data,
                              std::uint64_t offset) noexcept {
  Link* link = core_.find_link(ticket.interface);
  if (link == nullptr || link->mapped.empty() || data.size() <= kInlineData) return false;
  for (const MappedTarget& target : link->mapped) {
    // Its partner is Generation::move, without a fence: what is stored while the owner revokes may be lost.
    // The packet behind it names the generation, so it is refused then (Core::deposit_in_place).
    if (target.slot != ticket.slot || target.slot_generation != ticket.generation ||
        target.key != ticket.key ||
        base::RealMemory::load_acquire(*target.generation_word) != target.generation)
      continue;
    const std::uint64_t at = ticket.base + offset;
    if (at > target.bound || data.size() > target.bound - at) return false;
    base::copy_over_read_lines(target.base + at, data.data(), data.size());
    work.mapping = static_cast<std::uint16_t>(target.generation);
    return true;
  }
  return false;
}

Status Terminus::put_in_place(Work& work) noexcept {
  const AreaPart there{kInPlace, work.mapping, static_cast<std::uint32_t>(work.length), 0};
  std::byte data[sizeof there];
  std::memcpy(data, &there, sizeof there);
  Packet packet;
  set_lead(packet, Operation::area_write, sizeof there, work.metadata_length);
  set_slot(packet, work.ticket);
  packet.offset = work.offset;
  set_entry(packet, work.ticket.entry, work.count);
  packet.word = message_word(work.message, work.ticket.incarnation);
  const Status status = work.link->put(packet, data, work.metadata.data(), priority_);
  if (status != Status::queue_full) finish(work, status);
  return status;
}

// All has left, but the other side still reads it: its count of what it has taken says when that is over.
void Terminus::lend(Work& work) noexcept {
  leave_destination(work);
  work.lent = true;
  ++work.link->lent;
  core_.count_lent(1);
  lent_.append(work);
}

bool Terminus::take_back() noexcept {
  bool moved = false;
  for (Work *work = lent_.first(), *next; work != nullptr; work = next) {
    next = lent_.next(*work);
    if (work->link->taken_seen < work->mark) continue;
    finish(*work, work->area_gone ? Status::cancelled : Status::ok);
    moved = true;
  }
  return moved;
}

// Pieces in that area are copied no more (Core::drop_area). A message may have other pieces, in areas that
// are good.
// Those may be read until all of the message was taken: then its buffers are free, and not before.
void Terminus::area_gone(std::uint32_t area) noexcept {
  if (gathering_ == nullptr) return;
  take_back();
  for (std::uint32_t& tag : gathering_->tags) {
    if (tag == area) tag = Gathering::kNoArea;
  }
  const auto gone = [&](const Gathering::GatheredPiece& part) {
    const SendArea& now = core_.area(part.area);
    return now.data == nullptr || now.generation != part.generation;
  };
  for (Work *work = waiting_.first(), *next; work != nullptr; work = next) {
    next = waiting_.next(*work);
    const auto first = gathering_->parts[index_of(*work)].begin(), last = first + work->parts;
    if (std::none_of(first, last, gone)) continue;
    if (still_read(*work) && !std::all_of(first, last, gone)) {
      work->area_gone = true;
    } else {
      finish(*work, Status::cancelled);
    }
  }
}

}  // namespace hamlyn::internal_::interface
