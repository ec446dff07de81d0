#include "hamlyn/core/mapped_slot.h"

#include "library/control.h"
#include "library/engine.h"
#include "library/with_memory.h"

namespace hamlyn {

MappedSlot::MappedSlot(Interface& interface, const Ticket& ticket, std::chrono::milliseconds timeout) try
    : interface_(interface), peer_(ticket.interface) {
  library::Engine& engine = interface.engine();
  if (engine.lock().forked())
    throw Error(ErrorCode::forked, "a forked child has no interface: make a new one");
  if (const char* why = invalid(ticket))
    throw Error(ErrorCode::invalid_argument, std::string("the ticket: ") + why);
  library::ImportAnswer answer = engine.control().import_slot(ticket, timeout);
  can_write_ = answer.writers == shm::Writers::everybody;
  size_ = answer.bound;
  area_size_ = answer.memory.size();
  generation_word_ = static_cast<std::uint64_t*>(answer.page.data());
  generation_ = answer.generation;
  area_ = static_cast<std::byte*>(answer.memory.data());
  base_ = area_ + answer.offset;
  if (can_write_) {
    const base::RunLockGuard guard(engine.lock());
    interface::Link* link = guard ? engine.core().find_link(peer_) : nullptr;
    if (link != nullptr)
      link->mapped.push_back(
          {this, ticket.slot, ticket.generation, ticket.key, base_, size_, generation_word_, generation_});
  }
  answer.memory.release();
  answer.page.release();
} catch (const std::bad_alloc&) {
  library::throw_no_memory("a mapped slot");
}

MappedSlot::~MappedSlot() {
  library::Engine& engine = interface_.engine();
  {
    const base::RunLockGuard guard(engine.lock());
    if (!guard) return;  // a forked child has inherited neither mapping
    if (interface::Link* link = engine.core().find_link(peer_))
      std::erase_if(link->mapped, [&](const auto& target) { return target.owner == this; });
  }
  const shm::Mapping area(area_, area_size_);
  const shm::Mapping page(generation_word_, sizeof(shm::Page));
}

}  // namespace hamlyn
