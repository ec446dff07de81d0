#pragma once
// How a slot checks what arrives (paper 0, section 2.7).
#include <cstdint>

namespace hamlyn {

enum class Mode : std::uint8_t {
  guarded,            // the slot's key and bounds hold for every entry
  paranoid,           // each metadata entry has a key and bounds of its own; its key replaces the slot's
  paranoid_one_shot,  // the same, and the entry takes one message per arming
};

// Operations that peers may do at a slot (paper 1, section 3.5.2).
enum class Access : std::uint8_t {
  read_write,  // whatever its other options allow
  read_only,   // remote gets, and mapping it for reading; no message and no fetch-and-op
  write_only,  // messages; no remote get, no fetch-and-op, and nobody maps it
};

}  // namespace hamlyn
