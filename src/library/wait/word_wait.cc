#include "library/wait/word_wait.h"

#include "interface/packets/packet.h"
#include "library/engine.h"

namespace hamlyn::internal_::library {

WordWait::WordWait(Slot& slot) noexcept
    : interface_(slot.interface()), slot_(interface::index_of(slot.number())) {
  Engine& engine = interface_.engine();
  const base::RunLockGuard guard(engine.lock());
  if (!guard) return;
  generation_ = engine.core().slot(slot_).generation;
  engine.core().begin_watch(slot_);
}

WordWait::~WordWait() {
  Engine& engine = interface_.engine();
  const base::RunLockGuard guard(engine.lock());
  if (!guard) return;
  // A slot that has gone meanwhile took its watches with it.
  const interface::SlotRecord& slot = engine.core().slot(slot_);
  if (slot.live && slot.generation == generation_) engine.core().end_watch(slot_);
}

void words_changed(Slot& slot) noexcept {
  Engine& engine = slot.interface().engine();
  const base::RunLockGuard guard(engine.lock());
  if (!guard) return;
  engine.core().slot_changed(interface::index_of(slot.number()));
  engine.core().depart();
  engine.replies_may_wait();
  engine.settled();
}

}  // namespace hamlyn::internal_::library
