#pragma once
// Where the clerk's reads of other nodes' registries land, while they are under way. What is read cannot be
// called back, so a place is kept until its answer has come or its link has ended. A node that owes an answer
// for too long is not read until then: it may hold up some look-ups of its own names, and nobody else's.
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "base/namespaces.h"

namespace hamlyn::internal_::segment {

class ReadPlaces {
 public:
  using Time = std::chrono::steady_clock::time_point;

  static constexpr std::size_t kPlaces = 48;              // a terminus has 63 entries
  static constexpr std::size_t kMostOfNode = 16;          // whatever links its registry is read by
  static constexpr std::chrono::milliseconds kLate{400};  // below what the daemon waits for

  // For a read of that node. Nothing: there is none, or that node has its share or is late.
  std::optional<std::size_t> take(std::uint32_t node, Time now) noexcept;
  // Its answer has come, or never will.
  void give(std::size_t place) noexcept { places_[place] = {}; }

  bool taken(std::size_t place) const noexcept { return places_[place].taken; }
  bool late(std::size_t place) const noexcept { return places_[place].late; }
  // Time at which the next place becomes late.
  std::optional<Time> deadline() const noexcept;
  // One whose time has passed since the last call, which is late from now on.
  std::optional<std::size_t> find_late(Time now) noexcept;

 private:
  struct Place {
    bool taken = false;
    bool late = false;
    std::uint32_t node = 0;
    Time until{};
  };

  std::array<Place, kPlaces> places_;
};

}  // namespace hamlyn::internal_::segment
