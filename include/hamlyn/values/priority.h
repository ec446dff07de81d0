#pragma once
// Levels of urgency, end to end (paper 1, sections 3.2 and 5): a terminus has one, and each link has a ring
// per level, so that what is urgent does not stand behind bulk. docs/slots.md says what that bounds.
#include <cstddef>
#include <cstdint>

namespace hamlyn {

enum class Priority : std::uint8_t {
  urgent,  // overtakes at the next packet boundary; for short messages
  normal,
};

// How many levels there are.
inline constexpr std::size_t kPriorities = 2;

}  // namespace hamlyn
