#pragma once
// How a slot checks what arrives (paper 0, section 2.7).
#include <cstdint>

namespace hamlyn {

enum class Mode : std::uint8_t {
  guarded,            // the slot's key and bounds hold for every entry
  paranoid,           // each metadata entry has a key and bounds of its own; its key replaces the slot's
  paranoid_one_shot,  // the same, and the entry takes one message per arming
};

// Operations that peers may do at a slot (paper 1, section 3.5.2), or for which one imports a segment
// (Import::Options::access).
enum class Access : std::uint8_t {
  // Allows at a slot whatever its other options do; of an import all, for which both rights are needed.
  read_write,
  // Allows remote gets at a slot, and mapping it for reading: no message and no fetch-and-op; of an import
  // reads and waits for words, for which the right to read is needed.
  read_only,
  // Allows messages to a slot: no remote get, no fetch-and-op, and nobody maps it; of an import writes and
  // signals, for which the right to write is needed.
  write_only,
};

}  // namespace hamlyn
