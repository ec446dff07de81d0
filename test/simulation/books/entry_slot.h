#pragma once
// A slot whose entries take messages in a part of its area each, with guards between those.
#include "test/simulation/books/process.h"
#include "test/simulation/books/world.h"

namespace hamlyn::simulation {

struct EntrySlot {
  Area* area;
  OwnedSlot* slot;
};

// In that mode, and armed. `region`: of an entry.
inline EntrySlot make_entry_slot(World& world, Operation& operation, Process& process, Mode mode,
                                 std::uint32_t entries, std::size_t region) {
  const std::size_t stride = region + Area::kGuard;
  Area& area = process.make_area(entries * stride);
  OwnedSlot& slot = process.make_slot(operation, area, {.mode = mode, .entries = entries}, world.chance());
  for (std::uint32_t entry = 0; entry != entries; ++entry) {
    area.guard(entry * stride + region);
    if (mode != Mode::guarded)
      demand(slot.arm(entry, {entry * stride, region}) == Status::ok, "a new slot's entry cannot be armed");
  }
  return {&area, &slot};
}

}  // namespace hamlyn::simulation
