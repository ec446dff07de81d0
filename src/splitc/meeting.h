#pragma once
// Meetings, without waiting: all ranks come to one after the other, and each writes a line to every other one
// behind all that it has stored there. So who has all lines has all that was stored for it before, and knows
// what each rank is doing. A line has 32 bytes of data; longer values take several meetings.
#include <cstdint>
#include <optional>
#include <string>

#include "base/namespaces.h"
#include "hamlyn/splitc/together.h"
#include "splitc/splitc_wire.h"

namespace hamlyn::internal_::splitc {

// Says in one word what a rank does in a meeting: a kind, a rank and a size.
constexpr std::uint64_t doing(Kind kind, std::uint32_t root, std::uint64_t bytes) noexcept {
  return static_cast<std::uint64_t>(kind) << 56 | std::uint64_t{root} << 40 | (bytes & 0xff'ffff'ffff);
}
// Says it in words.
std::string words_of(std::uint64_t doing);

// Machine of the meeting that goes on.
class Meeting {
 public:
  // `own`: this rank's control block.
  Meeting(const std::byte* own, std::uint32_t rank, std::uint32_t ranks) noexcept
      : own_(own), rank_(rank), ranks_(ranks) {}

  // Begins the next one. Returns the line that goes to each rank, but for its counts.
  Line begin(std::uint64_t doing, const void* piece, std::size_t bytes) noexcept;
  bool goes_on() const noexcept { return goes_on_; }
  std::uint64_t number() const noexcept { return number_; }
  // Says whether all have come. Looks at memory alone.
  bool met() noexcept;
  // Ends it. Nothing: all ranks do the same; or a rank that does something else, and what.
  struct Disagrees {
    std::uint32_t rank;
    std::uint64_t doing;
  };
  std::optional<Disagrees> end() noexcept;
  // A rank's line in the meeting that ended last. Good until the next one has begun.
  Line line(std::uint32_t rank) const noexcept;
  std::uint64_t doing() const noexcept { return doing_; }

 private:
  const std::byte* const own_;
  const std::uint32_t rank_, ranks_;
  std::uint64_t number_ = 0, doing_ = 0;
  std::uint32_t came_ = 0;  // all ranks before have
  bool goes_on_ = false;
};

}  // namespace hamlyn::internal_::splitc
