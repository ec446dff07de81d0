#include "splitc/meeting.h"

#include <algorithm>
#include <cstring>

#include "base/assert.h"
#include "base/copy.h"
#include "splitc/shared_word.h"

namespace hamlyn::internal_::splitc {
namespace {

std::string bytes_of(std::uint64_t bytes) { return std::to_string(bytes) + " bytes"; }

}  // namespace

std::string words_of(std::uint64_t doing) {
  const std::uint64_t bytes = doing & 0xff'ffff'ffff;
  const std::string root = std::to_string(doing >> 40 & 0xffff);
  switch (static_cast<Kind>(doing >> 56)) {
    case Kind::barrier:
      return "a barrier";
    case Kind::store_sync:
      return "all_store_sync";
    case Kind::broadcast:
      return "a broadcast of " + bytes_of(bytes) + " from rank " + root;
    case Kind::reduction:
      return "a reduction of " + bytes_of(bytes) + " to rank " + root;
    case Kind::scan:
      return "a scan of " + bytes_of(bytes);
    case Kind::gather:
      return "a gather of " + bytes_of(bytes);
    case Kind::allocation:
      return "an allocation of " + bytes_of(bytes) + " everywhere";
    case Kind::deallocation:
      return "a deallocation of what lies everywhere at " + std::to_string(bytes);
    case Kind::end:
      return "the end of its program";
    case Kind::none:
    case Kind::count:
      break;
  }
  return "something that no rank does";
}

Line Meeting::begin(std::uint64_t what, const void* piece, std::size_t bytes) noexcept {
  HAMLYN_ASSERT(!goes_on_ && bytes <= kPieceBytes, "one meeting at a time, and values in pieces");
  Line out;
  out.meeting = ++number_;
  out.doing = doing_ = what;
  if (bytes != 0) std::memcpy(out.piece.data(), piece, bytes);
  came_ = 0;
  goes_on_ = true;
  return out;
}

bool Meeting::met() noexcept {
  for (; came_ != ranks_; ++came_)
    if (word_at(own_ + line_at(came_, number_)) != number_) return false;
  return true;
}

std::optional<Meeting::Disagrees> Meeting::end() noexcept {
  goes_on_ = false;
  for (std::uint32_t rank = 0; rank != ranks_; ++rank)
    if (const std::uint64_t there = line(rank).doing; there != doing_) return Disagrees{rank, there};
  return std::nullopt;
}

Line Meeting::line(std::uint32_t rank) const noexcept {
  Line out;
  base::copy_from_shared(reinterpret_cast<std::byte*>(&out), own_ + line_at(rank, number_), sizeof out);
  return out;
}

}  // namespace hamlyn::internal_::splitc
