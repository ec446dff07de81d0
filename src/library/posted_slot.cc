#include "hamlyn/core/posted_slot.h"

#include "library/engine.h"
#include "library/with_memory.h"

namespace hamlyn {

namespace {
constexpr std::uint32_t kMostBuffers = 1u << 16;
}  // namespace

inline std::uint32_t PostedSlot::index() const noexcept { return interface::index_of(number_); }

PostedSlot::PostedSlot(NotificationQueue& queue, Options options) : queue_(queue) {
  static_assert(kMostPieces == interface::kPostedPieces);
  if (options.buffers == 0 || options.buffers > kMostBuffers)
    throw Error(ErrorCode::invalid_argument, "a slot has 1 to 65536 posted buffers");
  library::Engine& engine = queue.interface().engine();
  const base::RunLockGuard guard(engine.lock());
  if (!guard) throw Error(ErrorCode::forked, "a forked child has no interface: make a new one");
  interface::Core& core = engine.core();
  const std::uint32_t made = library::with_memory("a slot and its buffers", [&] {
    return core.make_posted_slot(&queue.inside(), options.buffers, options.halts);
  });
  number_ = core.slot(made).number(made);
}

PostedSlot::~PostedSlot() {
  library::Engine& engine = interface().engine();
  const base::RunLockGuard guard(engine.lock());
  if (!guard) return;
  engine.core().drop_slot(index());
  engine.departure_waits();  // acknowledgements that were promised leave as refusals
}

Ticket PostedSlot::ticket() const {
  library::Engine& engine = queue_.interface().engine();
  const base::RunLockGuard guard(engine.lock());
  if (!guard) throw Error(ErrorCode::forked, "a forked child has no interface: make a new one");
  const interface::SlotRecord& slot = engine.core().slot(index());
  Ticket ticket;
  ticket.entry = Ticket::kPosted;
  ticket.interface = engine.id();
  ticket.slot = index();
  ticket.generation = slot.generation;
  ticket.key = slot.key;
  ticket.bound = 0xFFFFFFFFu;
  return ticket;
}

Status PostedSlot::post(std::span<const std::span<std::byte>> pieces, std::uint64_t number) noexcept {
  library::Engine& engine = interface().engine();
  const base::RunLockGuard guard(engine.lock());
  return guard ? engine.core().post(index(), pieces, number) : Status::forked;
}

Status PostedSlot::take_back(std::uint64_t& number) noexcept {
  library::Engine& engine = interface().engine();
  const base::RunLockGuard guard(engine.lock());
  return guard ? engine.core().take_back_posted(index(), number) : Status::forked;
}

void PostedSlot::resume() noexcept {
  library::Engine& engine = interface().engine();
  const base::RunLockGuard guard(engine.lock());
  if (guard) engine.core().slot(index()).posted->resume();
}

std::uint32_t PostedSlot::posted() const noexcept {
  library::Engine& engine = queue_.interface().engine();
  const base::RunLockGuard guard(engine.lock());
  return guard ? engine.core().slot(index()).posted->waiting() : 0;
}

void PostedSlot::change_key() {
  library::Engine& engine = interface().engine();
  const base::RunLockGuard guard(engine.lock());
  if (guard) engine.core().change_key(index());
}

}  // namespace hamlyn
