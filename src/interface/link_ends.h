#pragma once
// Remembers why there is no link with whom, in bounded memory: strangers whose links come and go push out
// what is known of other strangers, and nothing of those with whom this process itself wanted a link.
#include <array>
#include <cstddef>
#include <cstdint>

#include "base/link_reasons.h"
#include "base/namespaces.h"
#include "hamlyn/values/link_reason.h"

namespace hamlyn::internal_::interface {

class LinkEnds {
 public:
  static constexpr std::size_t kRemembered = 64;  // of each of the two

  // `asked`: this process wanted that link.
  void remember(std::uint64_t peer, WhyNoLink why, bool asked) noexcept {
    if (base::says_less(why, of(peer))) return;
    forget(peer);
    if (why.reason == LinkReason::none) return;
    Ring& ring = rings_[asked ? 1 : 0];
    ring.places[ring.next] = {peer, why};
    ring.next = (ring.next + 1) % kRemembered;
  }
  // A link that has ended is asked for anew: its end is nothing that the next one fails by, and is still told
  // (`last`) until there is a link or another reason.
  void asked_anew(std::uint64_t peer) noexcept {
    for (Ring& ring : rings_) {
      for (Place& place : ring.places) place.asked_anew |= place.peer == peer;
    }
  }
  // There is a link again.
  void forget(std::uint64_t peer) noexcept {
    for (Ring& ring : rings_) {
      for (Place& place : ring.places) {
        if (place.peer == peer) place = {};
      }
    }
  }
  // Returns why there is no link, or none could be had, unless it is asked for anew.
  WhyNoLink of(std::uint64_t peer) const noexcept {
    const Place* const place = find(peer);
    return place != nullptr && !place->asked_anew ? place->why : WhyNoLink{};
  }
  WhyNoLink last(std::uint64_t peer) const noexcept {
    const Place* const place = find(peer);
    return place != nullptr ? place->why : WhyNoLink{};
  }

 private:
  struct Place {
    std::uint64_t peer = 0;
    WhyNoLink why;
    bool asked_anew = false;
  };
  const Place* find(std::uint64_t peer) const noexcept {
    for (const Ring& ring : rings_) {
      for (const Place& place : ring.places) {
        if (place.peer == peer) return &place;
      }
    }
    return nullptr;
  }
  struct Ring {
    std::array<Place, kRemembered> places{};
    std::size_t next = 0;
  };
  std::array<Ring, 2> rings_;
};

}  // namespace hamlyn::internal_::interface
