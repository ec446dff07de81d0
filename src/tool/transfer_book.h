#pragma once
// The two sides' books of a transfer: which chunk is in which place. No input or output, no interface: what
// the other side says is checked against what it may say at this moment.
#include <array>
#include <cstdint>
#include <optional>

#include "tool/transfer_wire.h"

namespace hamlyn::tool {

// The receiver's: chunks may complete in any order and are handed out in the sender's.
class ArrivalBook {
 public:
  struct Arrival {
    std::uint32_t place = 0;
    ChunkNote note;
  };

  // A chunk has completed in `place` with `landed` bytes. Null, or what is wrong with it.
  const char* arrived(std::uint32_t place, const ChunkNote& note, std::uint64_t landed) noexcept;

  // The next chunk in order if it is here. From then on its place is the caller's to give back.
  std::optional<Arrival> next() noexcept;

 private:
  const char* out_of_order(const ChunkNote& note) const noexcept;

  std::array<std::optional<ChunkNote>, kPlaces> here_;
  std::uint64_t next_ = 0;
  std::optional<std::uint64_t> end_;  // sequence of the end, once it is known
};

// The sender's: places are used in turn, each with the ticket that came last.
class DepartureBook {
 public:
  struct Departure {
    std::uint32_t place = 0;
    std::uint64_t sequence = 0;
    Ticket ticket;
  };

  // Starts with the places of an answer, which `invalid` has passed.
  explicit DepartureBook(const Answer& answer) noexcept;

  // Takes a free place for the next chunk, if there is one.
  std::optional<Departure> take() noexcept;
  bool has_free_place() const noexcept;
  // The place that `take` gives next.
  std::uint32_t next_place() const noexcept { return static_cast<std::uint32_t>(next_ % kPlaces); }

  // A place came back, which `invalid` has passed. Null, or what is wrong with it.
  const char* returned(const Returned& returned) noexcept;

 private:
  struct Place {
    Ticket ticket;
    std::optional<std::uint64_t> sequence;  // of the chunk that is there; none: free
  };

  std::array<Place, kPlaces> places_;
  std::uint64_t next_ = 0;
};

}  // namespace hamlyn::tool
