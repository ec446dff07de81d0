#include "hamlyn/core/bulk.h"

#include "hamlyn/values/error.h"
#include "library/with_memory.h"

namespace hamlyn {

namespace {

constexpr std::uint32_t kMostPieces = 4096;

// Where a piece goes that begins at `position`, counted since the ring was made: not across the buffer's end.
std::uint64_t begin_of(std::uint64_t position, std::uint64_t length, std::uint64_t bound) noexcept {
  const std::uint64_t offset = position % bound;
  return length <= bound - offset ? position : position + (bound - offset);
}

}  // namespace

BulkSpace::BulkSpace(NotificationQueue& queue, std::size_t bytes)
    : area_(queue.interface(), bytes),
      slot_(area_, queue, {.mode = Mode::paranoid_one_shot, .entries = 1, .fast = false}) {
  if (slot_.arm(0) != Status::ok) throw Error(ErrorCode::forked, "a forked child has no space for a message");
  offer_ = slot_.ticket(0);
}

const char* invalid(const BulkRingOffer& offer) noexcept {
  if (const char* wrong = invalid(offer.ticket)) return wrong;
  if (offer.ticket.entry != 0) return "the offer's ticket is not of a ring's first entry";
  if (offer.ticket.bound == 0) return "the offer is of no bytes";
  if (offer.pieces == 0 || offer.pieces > kMostPieces) return "the offer's number of pieces cannot be";
  return offer.version == 1 ? nullptr : "the bytes are no offer of this version";
}

BulkRing::BulkRing(NotificationQueue& queue, std::size_t bytes, std::uint32_t pieces) try
    : area_(queue.interface(), bytes),
      slot_(area_, queue, {.entries = pieces, .fast = false}),
      pieces_(pieces) {
  if (pieces == 0 || pieces > kMostPieces)
    throw Error(ErrorCode::invalid_argument, "a ring has 1 to 4096 pieces");
} catch (const std::bad_alloc&) {
  library::throw_no_memory("a ring");
}

BulkRingOffer BulkRing::offer() const {
  return {slot_.ticket(0), static_cast<std::uint32_t>(pieces_.size()), 1};
}

bool BulkRing::arrived(const Notification& arrival) noexcept {
  if (!holds(arrival) || arrival.kind != Notification::Kind::message || arrival.length == 0) return false;
  Piece& piece = pieces_[arrival.entry];
  if (piece.here) return false;
  piece = {arrival.offset, arrival.length, true};
  return true;
}

std::optional<std::span<std::byte>> BulkRing::next() noexcept {
  const Piece& piece = pieces_[given_ % pieces_.size()];
  if (!piece.here || given_ - freed_.pieces == pieces_.size()) return std::nullopt;
  ++given_;
  return slot_.bytes().subspan(piece.offset, piece.length);
}

bool BulkRing::free() noexcept {
  if (freed_.pieces == given_) return false;
  const auto entry = static_cast<std::uint32_t>(freed_.pieces % pieces_.size());
  Piece& piece = pieces_[entry];
  piece.here = false;
  ++freed_.pieces;
  freed_.bytes = begin_of(freed_.bytes, piece.length, slot_.bytes().size()) + piece.length;
  return slot_.arm(entry) == Status::ok;
}

BulkRingSender::BulkRingSender(Terminus& terminus, const BulkRingOffer& offer)
    : terminus_(terminus), offer_(offer) {
  if (const char* wrong = invalid(offer)) throw Error(ErrorCode::invalid_argument, wrong);
}

Status BulkRingSender::send(std::span<const std::byte> piece, SendHandle* handle) noexcept {
  const std::uint64_t bound = offer_.ticket.bound;
  if (piece.empty()) return Status::invalid;
  if (piece.size() > bound) return Status::too_long;
  const std::uint64_t begin = begin_of(sent_.bytes, piece.size(), bound);
  const std::uint64_t end = begin + piece.size();
  // With nothing in it, all of it is free, wherever the last piece ended.
  const bool fits = unfreed_pieces() == 0 || end - freed_.bytes <= bound;
  if (unfreed_pieces() == offer_.pieces || !fits) return Status::no_place;
  Ticket ticket = offer_.ticket;
  ticket.entry = static_cast<std::uint32_t>(sent_.pieces % offer_.pieces);
  const Status status = terminus_.send(ticket, piece, {.offset = begin % bound}, handle);
  if (status == Status::ok || status == Status::pending) sent_ = {sent_.pieces + 1, end};
  return status;
}

bool BulkRingSender::freed(const BulkFreed& freed) noexcept {
  // A reply that was overtaken by a later one says nothing new.
  if (freed.pieces > sent_.pieces || freed.bytes > sent_.bytes) return false;
  if (freed.pieces < freed_.pieces) return true;
  freed_ = freed;
  return true;
}

}  // namespace hamlyn
