#pragma once
// How a slot checks what arrives (paper 0, section 2.7).
#include <cstdint>

namespace hamlyn {

enum class Mode : std::uint8_t {
  guarded,            // the slot's key and bounds hold for every entry
  paranoid,           // each metadata entry has a key and bounds of its own; its key replaces the slot's
  paranoid_one_shot,  // the same, and the entry takes one message per arming
};

}  // namespace hamlyn
