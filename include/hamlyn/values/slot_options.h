#pragma once
// Options of a slot (hamlyn/core/slot.h). A value.
#include <cstddef>
#include <cstdint>

#include "hamlyn/values/mode.h"
#include "hamlyn/values/protection.h"

namespace hamlyn {

struct SlotOptions {
  std::size_t base = 0;                // first byte, from the area's start
  std::size_t bound = 0;               // bytes; 0: to the area's end
  Mode mode = Mode::guarded;           // how it checks what arrives
  Access access = Access::read_write;  // what peers may do here
  std::uint32_t entries = 0;           // metadata entries, at most 2^20; armed at once unless paranoid
  bool fast = true;                    // takes fast-mode packets (not in the paranoid modes)
  // Queue places kept for fast mode per link that sends here. Those that are free again are told of when
  // half of them are: so many, at least, a sender can count on.
  std::uint32_t places = 256;
  bool fetches = false;        // takes fetch-and-ops (paper 1, section 3.1; not in paranoid one-shot mode)
  std::uint32_t gets = 0;      // bytes that one remote get may ask for, up to 64 KiB; 0: none (likewise)
  bool puts = false;           // takes puts (paper 4, section 3.3; not in the paranoid modes)
  std::uint32_t hold = 65536;  // bytes for puts that wait while a part of it is inhibited or not pinned
};

}  // namespace hamlyn
