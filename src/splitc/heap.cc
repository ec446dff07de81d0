// Room in the heaps.
#include <cstring>

#include "splitc/runtime.h"

namespace hamlyn::internal_::splitc {
namespace {

std::uint64_t bytes_for(std::size_t count, std::size_t bytes) noexcept {
  std::uint64_t out = 0;
  return __builtin_mul_overflow(std::uint64_t{count}, std::uint64_t{bytes}, &out) ? kPlaces : out;
}

}  // namespace

std::uint64_t Runtime::allocate(std::size_t count, std::size_t bytes) {
  go_on();
  const std::uint64_t wanted = bytes_for(count, bytes);
  const auto place = book_.take(wanted);
  if (!place)
    refuse(ErrorCode::out_of_memory,
           "no room for " + std::to_string(wanted) + " bytes in this rank's heap of " +
               std::to_string(view_.bytes) + ": " + std::to_string(book_.largest()) +
               " in one piece are free; ProgramOptions::heap, or --heap, gives more");
  std::memset(own_ + view_.first + *place, 0, wanted);
  return make_word(rank_, view_.first + *place);
}

void Runtime::deallocate(std::uint64_t word) {
  if (word == 0) return;
  if (rank_of_good(word, 0) != rank_ || !book_.give(place_of(word) - view_.first))
    refuse(ErrorCode::invalid_argument, "what is given back was not allocated in this rank's heap");
}

std::uint64_t Runtime::allocate_everywhere(std::size_t count, std::size_t bytes) {
  const std::uint64_t wanted = bytes_for(count, bytes);
  const auto place = book_.reserve_everywhere(wanted);
  const std::uint64_t below = book_.below();
  // Before anybody else may write there.
  if (place && below <= *place) std::memset(own_ + view_.first + *place, 0, wanted);
  begin(Kind::allocation, 0, wanted, &below, sizeof below);
  finish();
  std::uint64_t most = 0;
  for (std::uint32_t rank = 0; rank != ranks_; ++rank) {
    std::uint64_t there = 0;
    std::memcpy(&there, meeting_.line(rank).piece.data(), sizeof there);
    most = std::max(most, there);
  }
  if (!place || most > *place) {
    book_.leave_everywhere();
    refuse(ErrorCode::out_of_memory,
           "no room for " + std::to_string(wanted) + " bytes at the same place in all heaps of " +
               std::to_string(view_.bytes) + ", of which a rank has taken " + std::to_string(most) +
               " for itself; ProgramOptions::heap, or --heap, gives more");
  }
  book_.take_everywhere(*place, wanted);
  return make_word(rank_, view_.first + *place);
}

void Runtime::deallocate_everywhere(std::uint64_t word) {
  if (word == 0) return;
  // Before anybody is waited for: who shows another program's pointer is refused alone.
  const std::uint32_t owner = rank_of_good(word, 0);
  if (ended_) return;
  if (owner != rank_)
    refuse(ErrorCode::invalid_argument, "what is given back everywhere is named by another rank's pointer");
  const std::uint64_t place = place_of(word);
  begin(Kind::deallocation, 0, place, nullptr, 0);  // which one: ranks that mean others are found
  finish();
  if (!book_.give_everywhere(place - view_.first))
    refuse(ErrorCode::invalid_argument, "what is given back was not allocated everywhere");
}

}  // namespace hamlyn::internal_::splitc
