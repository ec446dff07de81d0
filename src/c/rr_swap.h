#pragma once
// CAS-II (paper 4, section 4.2.3) by compare-and-swap of both its words.
#include <bit>
#include <cstdint>

#include "hamlyn/values/remote.h"
#include "library/setting.h"

namespace hamlyn::c {

// A value, and the nonce of who was the last to swap it.
struct Two {
  std::uint32_t value = 0;
  std::uint32_t nonce = 0;
};
inline std::uint64_t word_of(Two two) noexcept { return std::bit_cast<std::uint64_t>(two); }

// `swap(expected, desired)` is a compare-and-swap of 8 bytes; its outcome's value is what stood there. CAS-II
// asks for the value alone, so it is tried again while only the nonce is another one than was guessed:
// somebody else has then swapped. Whoever writes nonces without end could keep us here: timed_out at `until`.
template <class Swap>
Outcome swap_value(Swap swap, std::uint32_t expected, Two desired, std::uint32_t guess, Two& result,
                   library::Clock::time_point until) {
  for (;;) {
    const Two hoped{expected, guess};
    const Outcome outcome = swap(word_of(hoped), word_of(desired));
    if (outcome.status != Status::ok) return outcome;
    const Two found = std::bit_cast<Two>(outcome.value);
    const bool swapped = outcome.value == word_of(hoped);
    result = {found.value, swapped ? desired.nonce : found.nonce};
    if (swapped || found.value != expected) return outcome;
    if (library::Clock::now() >= until) return {Status::timed_out, Refusal::none, 0};
    guess = found.nonce;
  }
}

}  // namespace hamlyn::c
