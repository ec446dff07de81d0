#include "tool/transfer_book.h"

#include <algorithm>

namespace hamlyn::tool {

const char* ArrivalBook::out_of_order(const ChunkNote& note) const noexcept {
  if (note.sequence < next_) return "a chunk came twice";
  if (note.sequence - next_ >= kPlaces) return "a chunk is further ahead than there are places";
  if (end_ && note.sequence >= *end_) return "a chunk came after the end";
  for (const auto& other : here_) {
    if (!other) continue;
    if (other->sequence == note.sequence) return "a chunk came twice";
    if (note.end == 1 && other->sequence > note.sequence) return "a chunk came after the end";
  }
  return nullptr;
}

const char* ArrivalBook::arrived(std::uint32_t place, const ChunkNote& note, std::uint64_t landed) noexcept {
  if (const char* why = invalid(note)) return why;
  if (place >= kPlaces) return "a chunk is in no place";
  if (here_[place]) return "a chunk is in a place that was not free";
  if (note.length != landed) return "a chunk has another length than it says";
  if (const char* why = out_of_order(note)) return why;
  here_[place] = note;
  if (note.end == 1) end_ = note.sequence;
  return nullptr;
}

std::optional<ArrivalBook::Arrival> ArrivalBook::next() noexcept {
  const auto is_next = [this](const auto& note) { return note && note->sequence == next_; };
  const auto found = std::find_if(here_.begin(), here_.end(), is_next);
  if (found == here_.end()) return std::nullopt;
  const Arrival arrival{static_cast<std::uint32_t>(found - here_.begin()), **found};
  found->reset();
  ++next_;
  return arrival;
}

DepartureBook::DepartureBook(const Answer& answer) noexcept {
  for (std::uint32_t place = 0; place < kPlaces; ++place) places_[place].ticket = answer.tickets[place];
}

bool DepartureBook::has_free_place() const noexcept { return !places_[next_place()].sequence; }

// In turn: a receiver gives places back in the order of the chunks, so the next in turn is the first to be
// free, and the bytes of one round follow each other through the sender's buffers.
std::optional<DepartureBook::Departure> DepartureBook::take() noexcept {
  if (!has_free_place()) return std::nullopt;
  const std::uint32_t index = next_place();
  places_[index].sequence = next_;
  return Departure{index, next_++, places_[index].ticket};
}

const char* DepartureBook::returned(const Returned& returned) noexcept {
  if (returned.place >= kPlaces) return "a place comes back that was never given";
  Place& place = places_[returned.place];
  if (!place.sequence) return "a place comes back that is free";
  if (*place.sequence != returned.sequence) return "a place comes back with another chunk than it held";
  const Ticket& before = place.ticket;
  const Ticket& after = returned.ticket;
  if (after.slot != before.slot || after.entry != before.entry || after.base != before.base) {
    return "a place comes back somewhere else";
  }
  place.ticket = after;
  place.sequence.reset();
  return nullptr;
}

}  // namespace hamlyn::tool
