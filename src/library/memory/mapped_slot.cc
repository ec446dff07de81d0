#include "hamlyn/core/mapped_slot.h"

#include "library/control/control.h"
#include "library/control/pending_mapping.h"
#include "library/engine.h"
#include "library/memory/mapped_area.h"
#include "library/with_memory.h"

namespace hamlyn {

namespace {

library::HostServices& services_for(Interface& interface, const Ticket& ticket) {
  library::Engine& engine = interface.engine();
  if (engine.lock().forked())
    throw Error(ErrorCode::forked, "a forked child has no interface: make a new one");
  if (const char* why = invalid(ticket))
    throw Error(ErrorCode::invalid_argument, std::string("the ticket: ") + why);
  return engine.control();
}

}  // namespace

MappedSlot::MappedSlot(Interface& interface, const Ticket& ticket, std::chrono::milliseconds timeout) try
    : MappedSlot(interface, ticket, services_for(interface, ticket).import_slot(ticket, timeout)) {
} catch (const std::bad_alloc&) {
  library::throw_no_memory("a mapped slot");
}

MappedSlot::MappedSlot(Interface& interface, const Ticket& ticket, library::ImportAnswer&& answer)
    : interface_(interface), peer_(ticket.interface) {
  library::Engine& engine = interface.engine();
  can_write_ = answer.writers == shm::Writers::everybody;
  size_ = answer.bound;
  area_size_ = answer.memory.size();
  generation_word_ = &static_cast<library::AreaPage*>(answer.page.data())->generation;
  generation_ = answer.generation;
  area_ = static_cast<std::byte*>(answer.memory.data());
  base_ = area_ + answer.offset;
  {
    const base::RunLockGuard guard(engine.lock());
    interface::Link* link = guard ? engine.core().find_link(peer_) : nullptr;
    if (link == nullptr) {  // it has ended since the owner's answer came
      ended_.store(true, std::memory_order_relaxed);
    } else {
      link->mapping_ends.reserve(link->mapping_ends.size() + 1);
      if (can_write_)
        link->mapped.push_back({this, ticket.slot, ticket.generation, ticket.key, base_, size_,
                                generation_word_, answer.generation});
      link->mapping_ends.push_back(&ended_);  // nothing throws behind this
    }
  }
  answer.memory.release();
  answer.page.release();
}

MappedSlot::~MappedSlot() {
  library::Engine& engine = interface_.engine();
  {
    const base::RunLockGuard guard(engine.lock());
    if (!guard) return;  // a forked child has inherited neither mapping
    if (interface::Link* link = engine.core().find_link(peer_)) {
      std::erase_if(link->mapped, [&](const auto& target) { return target.owner == this; });
      std::erase(link->mapping_ends, &ended_);
    }
  }
  const shm::Mapping area(area_, area_size_);
  const shm::Mapping page(generation_word_, sizeof(shm::Page));
}

bool MappedSlot::must_call(std::uint64_t& now) const noexcept {
  const auto& page = *reinterpret_cast<const library::AreaPage*>(generation_word_);
  return interface::called_for(page.call, called_.load(std::memory_order_relaxed), now);
}

// --- one that nobody waits for

namespace internal_::library {

PendingMapping::PendingMapping(Interface& interface, const Ticket& ticket)
    : interface_(interface), request_(services_for(interface, ticket).begin_import(ticket)) {}

PendingMapping::~PendingMapping() {
  if (request_ != nullptr) interface_.engine().control().give_up_import(request_);
}

bool PendingMapping::done() const noexcept { return interface_.engine().control().import_done(*request_); }

std::unique_ptr<MappedSlot> PendingMapping::take() {
  const Ticket ticket = request_->ticket;
  ImportAnswer answer = interface_.engine().control().end_import(std::exchange(request_, nullptr));
  return std::make_unique<MappedSlot>(interface_, ticket, std::move(answer));
}

}  // namespace internal_::library

}  // namespace hamlyn
