#include "hamlyn/core/slot.h"

#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "base/byte_order.h"
#include "library/engine.h"
#include "library/memory/durable_area.h"
#include "library/with_memory.h"

namespace hamlyn {

namespace {

constexpr std::uint32_t kMostEntries = 1u << 20;

bool paranoid(const interface::SlotRecord& slot) { return slot.mode != Mode::guarded; }

// Two numbers that stand side by side in memory, stored as one word: copies of it word by word need not wait.
void store_pair(std::uint32_t& first, std::uint32_t one, std::uint32_t other) noexcept {
  const std::uint64_t word =
      base::kLittleEndian ? one | std::uint64_t{other} << 32 : other | std::uint64_t{one} << 32;
  std::memcpy(&first, &word, sizeof word);
}

}  // namespace

// Its place among the slots of this interface.
inline std::uint32_t Slot::index() const noexcept { return interface::index_of(number_); }

Slot::Slot(MessageArea& area, NotificationQueue& queue, Options options)
    : interface_(area.interface()),
      calls_(library::with_memory("a slot", [] { return std::make_unique<base::PendingCalls>(); })) {
  const std::size_t area_size = area.bytes().size();
  if (&queue.interface() != &interface_)
    throw Error(ErrorCode::invalid_argument, "the slot's area and queue are of different interfaces");
  if (options.base >= area_size || options.bound > area_size - options.base)
    throw Error(ErrorCode::invalid_argument, "the slot reaches beyond its message area");
  if (options.mode > Mode::paranoid_one_shot || options.access > Access::write_only)
    throw Error(ErrorCode::invalid_argument,
                "a slot has one of the modes and accesses that hamlyn/values/mode.h names");
  if (options.entries > kMostEntries)
    throw Error(ErrorCode::invalid_argument, "a slot has at most 2^20 metadata entries");
  if (area.sharing() != Sharing::guarded && options.mode != Mode::guarded)
    throw Error(ErrorCode::invalid_argument,
                "a mapped slot cannot be paranoid: whoever maps it writes or reads without being checked");
  if (options.gets > interface::kGetLimit)
    throw Error(ErrorCode::invalid_argument, "a remote get may ask for 64 KiB at most");
  if (options.mode == Mode::paranoid_one_shot && (options.fetches || options.gets != 0))
    throw Error(ErrorCode::invalid_argument, "a paranoid one-shot slot takes no remote operations");
  if (options.fetches && options.access != Access::read_write)
    throw Error(ErrorCode::invalid_argument, "a fetch-and-op reads and writes: the slot must allow both");
  if (options.puts && (options.mode != Mode::guarded || options.access == Access::read_only))
    throw Error(ErrorCode::invalid_argument, "a paranoid or a read-only slot takes no puts");
  if (options.gets != 0 && options.access == Access::write_only)
    throw Error(ErrorCode::invalid_argument, "a write-only slot gives nothing to remote gets");
  const bool unchecked = area.sharing() == Sharing::mapped_read_write;
  if ((options.access == Access::read_only && unchecked) ||
      (options.access == Access::write_only && area.sharing() != Sharing::guarded))
    throw Error(ErrorCode::invalid_argument,
                "whoever maps the area could do what the slot does not allow, without being checked");
  if (options.puts && area_size > interface::kPutSpan)
    throw Error(ErrorCode::invalid_argument, "a slot that takes puts has at most 128 GiB");
  if (options.puts && area.durable())
    throw Error(ErrorCode::invalid_argument,
                "a slot on a durable area takes no puts: nothing would say when they are safe");
  data_ = area.bytes().data() + options.base;
  size_ = options.bound == 0 ? area_size - options.base : options.bound;
  library::Engine& engine = interface_.engine();
  const base::RunLockGuard guard(engine.lock());
  if (!guard) throw Error(ErrorCode::forked, "a forked child has no interface: make a new one");
  const std::uint32_t made = library::with_memory("a slot and its metadata entries", [&] {
    return engine.core().make_slot(data_, size_, &queue.inside(), options);
  });
  interface::SlotRecord& slot = engine.core().slot(made);
  if (area.sharing() == Sharing::mapped_read_write) {
    slot.mapping = &area.words_->generation;
    slot.call = &area.words_->call;
  }
  slot.store = area.durable_.get();
  number_ = slot.number(made);
}

Slot::~Slot() {
  library::Engine& engine = interface_.engine();
  if (!engine.close_and_drain(*calls_)) return;
  const base::RunLockGuard guard(engine.lock());
  if (!guard) return;
  engine.core().drop_slot(index());
  engine.departure_waits();  // who has it open may wait for a place of another slot
}

Ticket Slot::ticket() const {
  library::Engine& engine = interface_.engine();
  const base::RunLockGuard guard(engine.lock());
  if (!guard) throw Error(ErrorCode::forked, "a forked child has no interface: make a new one");
  const interface::SlotRecord& slot = engine.core().slot(index());
  const bool remote = slot.mode == Mode::guarded && (slot.fetches || slot.gets != 0);
  const bool opened = slot.fast || slot.puts != nullptr;
  if (!opened && !remote && slot.access != Access::read_only)
    throw Error(ErrorCode::invalid_argument,
                "this slot takes neither fast-mode messages nor puts nor remote operations");
  Ticket ticket;
  ticket.entry = opened ? Ticket::kFast : Ticket::kRemote;
  ticket.interface = engine.id();
  ticket.slot = index();
  ticket.generation = slot.generation;
  ticket.key = slot.key;
  ticket.bound = slot.bound;
  return ticket;
}

Ticket Slot::ticket(std::uint32_t entry) const {
  library::Engine& engine = interface_.engine();
  const base::RunLockGuard guard(engine.lock());
  if (!guard) throw Error(ErrorCode::forked, "a forked child has no interface: make a new one");
  const interface::SlotRecord& slot = engine.core().slot(index());
  if (entry >= slot.entry_count)
    throw Error(ErrorCode::invalid_argument, "this slot has no such metadata entry");
  if (paranoid(slot) && slot.entries[entry].state != slot.armed_state())
    throw Error(ErrorCode::invalid_argument, "an entry of a paranoid slot has a ticket once it is armed");
  Ticket ticket;
  write_ticket(slot, entry, ticket);
  return ticket;
}

void Slot::write_ticket(const interface::SlotRecord& slot, std::uint32_t entry,
                        Ticket& ticket) const noexcept {
  const interface::MetadataEntry& metadata = slot.entries[entry];
  ticket.host = 0;
  ticket.interface = interface_.engine().id();
  store_pair(ticket.slot, index(), slot.generation);
  ticket.key = paranoid(slot) ? metadata.key : slot.key;
  store_pair(ticket.entry, entry, metadata.incarnation);
  ticket.base = paranoid(slot) ? metadata.base : 0;
  ticket.bound = paranoid(slot) ? metadata.bound : slot.bound;
  store_pair(ticket.version, 1, 0);
}

Status Slot::arm(std::uint32_t entry) noexcept {
  library::Engine& engine = interface_.engine();
  const base::RunLockGuard guard(engine.lock());
  if (!guard) return Status::forked;
  return engine.core().arm(index(), entry);
}

Status Slot::arm(std::uint32_t entry, Limits limits) noexcept {
  library::Engine& engine = interface_.engine();
  const base::RunLockGuard guard(engine.lock());
  if (!guard) return Status::forked;
  return engine.core().arm_anew(index(), entry, limits);
}

Status Slot::arm_group(std::uint32_t entry, std::uint32_t members, GroupShares& shares, Limits limits) {
  if (members == 0 || members > GroupShares::kMostMembers) return Status::invalid;
  try {
    library::Engine& engine = interface_.engine();
    const base::RunLockGuard guard(engine.lock());
    if (!guard) return Status::forked;
    const Status status = engine.core().arm_group(index(), entry, limits);
    if (status == Status::ok) {
      write_ticket(engine.core().slot(index()), entry, shares.ticket_);
      shares.begin(members);
    }
    return status;
  } catch (const std::bad_alloc&) {
    throw Error(ErrorCode::out_of_memory, "no memory for the sets of links of this slot's groups");
  }
}

Status Slot::fail_after(std::uint32_t entry, std::chrono::nanoseconds time) noexcept {
  library::Engine& engine = interface_.engine();
  const base::RunLockGuard guard(engine.lock());
  if (!guard) return Status::forked;
  return engine.fail_entry_at(index(), entry, library::deadline_in(time));
}

Status Slot::expect(std::uint32_t entry, std::uint64_t peer) noexcept {
  library::Engine& engine = interface_.engine();
  const base::RunLockGuard guard(engine.lock());
  if (!guard) return Status::forked;
  return engine.core().expect(index(), entry, peer);
}

Status Slot::expect_as(std::uint32_t entry, std::uint32_t from) noexcept {
  library::Engine& engine = interface_.engine();
  const base::RunLockGuard guard(engine.lock());
  return guard ? engine.core().expect_as(index(), entry, from) : Status::forked;
}

void Slot::notify_after(std::uint32_t messages) noexcept {
  const base::RunLockGuard guard(interface_.engine().lock());
  if (guard) interface_.engine().core().notify_after(index(), messages);
}

Status Slot::revoke(std::uint32_t entry) noexcept {
  library::Engine& engine = interface_.engine();
  const base::RunLockGuard guard(engine.lock());
  if (!guard) return Status::forked;
  return engine.core().revoke(index(), entry);
}

Status Slot::disarm(std::uint32_t entry) noexcept {
  library::Engine& engine = interface_.engine();
  const base::RunLockGuard guard(engine.lock());
  if (!guard) return Status::forked;
  return engine.core().disarm(index(), entry);
}

namespace {

// Calls what(core) if the slot takes puts.
template <class What>
Status with_puts(library::Engine& engine, std::uint32_t index, What what) noexcept {
  const base::RunLockGuard guard(engine.lock());
  if (!guard) return Status::forked;
  if (engine.core().slot(index).puts == nullptr) return Status::invalid;
  const Status status = what(engine.core());
  engine.replies_may_wait();
  return status;
}

}  // namespace

Status Slot::set_control(Control control) noexcept {
  if (control > Control::conditional) return Status::invalid;
  return with_puts(interface_.engine(), index(), [&](interface::Core& core) {
    core.set_control(index(), control);
    return Status::ok;
  });
}

Status Slot::inhibit() noexcept {
  return with_puts(interface_.engine(), index(), [&](interface::Core& core) {
    core.inhibit_puts(index());
    return Status::ok;
  });
}

Status Slot::release() noexcept {
  return with_puts(interface_.engine(), index(), [&](interface::Core& core) {
    core.release_puts(index());
    return Status::ok;
  });
}

Status Slot::set_pinned(std::size_t offset, std::size_t length, bool pinned) noexcept {
  if (offset > size_ || length > size_ - offset) return Status::out_of_bounds;
  return with_puts(interface_.engine(), index(), [&](interface::Core& core) {
    if (length != 0) core.pin_puts(index(), offset, offset + length, pinned);
    return Status::ok;
  });
}

Status Slot::protect(const Protection& protection) {
  auto guests = std::make_unique<interface::Guests>(protection, interface::User{geteuid(), getegid()});
  library::Engine& engine = interface_.engine();
  const base::RunLockGuard guard(engine.lock());
  if (!guard) return Status::forked;
  const interface::SlotRecord& slot = engine.core().slot(index());
  if (slot.fast || slot.entry_count != 0) return Status::invalid;
  engine.core().set_guests(index(), std::move(guests));
  engine.departure_waits();
  return Status::ok;
}

Status Slot::take_held(HeldPut& held, std::span<std::byte> into) noexcept {
  return with_puts(interface_.engine(), index(),
                   [&](interface::Core& core) { return core.take_held(index(), held, into); });
}

std::uint64_t Slot::landed() const noexcept {
  library::Engine& engine = interface_.engine();
  const base::RunLockGuard guard(engine.lock());
  return guard ? engine.core().landed_bytes(index()) : 0;
}

Status Slot::wait_landed(std::uint64_t bytes, std::chrono::nanoseconds timeout) noexcept {
  library::Engine& engine = interface_.engine();
  library::PendingCall call(engine.lock(), *calls_);
  const auto ready = [&] {
    return engine.core().landed_bytes(index()) >= bytes ? Status::ok : Status::pending;
  };
  return engine.wait(call, ready, library::deadline_in(timeout));
}

void Slot::change_key() {
  library::Engine& engine = interface_.engine();
  const base::RunLockGuard guard(engine.lock());
  if (!guard) throw Error(ErrorCode::forked, "a forked child has no interface: make a new one");
  engine.core().change_key(index());
  engine.departure_waits();
}

std::span<const std::byte> Slot::metadata(std::uint32_t entry) const noexcept {
  library::Engine& engine = interface_.engine();
  const base::RunLockGuard guard(engine.lock());
  if (!guard) return {};
  const interface::SlotRecord& slot = engine.core().slot(index());
  if (entry >= slot.entry_count) return {};
  return {slot.entries[entry].user, slot.entries[entry].user_length};
}

std::span<std::byte> Slot::bytes(const Notification& notification) noexcept {
  return bytes().subspan(notification.offset, notification.length);
}

void Slot::set_pointer(std::uint32_t entry, void* pointer) noexcept {
  library::Engine& engine = interface_.engine();
  const base::RunLockGuard guard(engine.lock());
  if (!guard) return;
  const interface::SlotRecord& slot = engine.core().slot(index());
  if (entry < slot.entry_count) slot.pointers[entry] = pointer;
}

void* Slot::pointer(std::uint32_t entry) const noexcept {
  library::Engine& engine = interface_.engine();
  const base::RunLockGuard guard(engine.lock());
  if (!guard) return nullptr;
  const interface::SlotRecord& slot = engine.core().slot(index());
  return entry < slot.entry_count ? slot.pointers[entry] : nullptr;
}

}  // namespace hamlyn
