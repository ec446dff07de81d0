#include "hamlyn/core/mapped_slot.h"

#include <exception>
#include <mutex>
#include <utility>

#include "library/control/control.h"
#include "library/engine.h"
#include "library/memory/mapped_area.h"
#include "library/opening.h"
#include "library/wait/waiting.h"

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

// The generation of what is not mapped yet: no area has it.
constinit std::uint64_t unmapped_generation = 0;

}  // namespace

// The question to the owner, until it is over. Guarded by `mutex`.
struct MappedSlot::Opening {
  std::mutex mutex;
  std::shared_ptr<library::MappingRequest> request;  // null: it is over
  std::exception_ptr failure;                        // it was in vain
  NotMapped why = NotMapped::opening;                // as far as is known
  std::atomic<bool> open{false};
};

MappedSlot::MappedSlot(Interface& interface, const Ticket& ticket, Begin) try
    : interface_(interface),
      ticket_(ticket),
      opening_(std::make_unique<Opening>()),
      generation_word_(&unmapped_generation) {
  opening_->request = services_for(interface, ticket).begin_import(ticket);
} catch (const std::bad_alloc&) {
  library::throw_no_memory("a mapped slot");
}

// Goes on with the opening as far as can be. pending: not yet.
Status MappedSlot::go_on() noexcept {
  Opening& opening = *opening_;
  library::HostServices& services = interface_.engine().control();
  const std::lock_guard guard(opening.mutex);
  if (opening.request != nullptr && services.import_done(*opening.request)) {
    opening.why = opening.request->answer.not_mapped;
    try {
      adopt(services.end_import(std::exchange(opening.request, nullptr)));
      opening.why = NotMapped::none;
      opening.open.store(true, std::memory_order_release);  // pairs with opened()
    } catch (const std::exception&) {
      opening.failure = std::current_exception();
    }
  }
  if (opening.request != nullptr) return Status::pending;
  return opening.failure == nullptr ? Status::ok : library::status_of(opening.failure);
}

Status MappedSlot::opened(std::chrono::nanoseconds timeout) noexcept {
  library::Waiting& waiting = interface_.waiting();
  if (waiting.forked()) return Status::forked;
  if (opening_->open.load(std::memory_order_acquire)) return Status::ok;  // pairs with go_on()
  const std::uint32_t cancels = waiting.cancels();
  const Status status = go_on();
  if (status != Status::pending) return status;
  // The control thread brings it on: a look has nothing to run.
  if (timeout <= std::chrono::nanoseconds{0}) return Status::timed_out;
  return waiting.until([&] { return go_on(); }, library::deadline_in(timeout), cancels);
}

NotMapped MappedSlot::not_mapped() const noexcept {
  const std::lock_guard guard(opening_->mutex);
  return opening_->why;
}

void MappedSlot::open(std::chrono::nanoseconds timeout) {
  library::check_opened("a slot was not mapped", opened(timeout), [&] {
    const std::lock_guard guard(opening_->mutex);
    return opening_->failure;
  });
}

// Takes over what the owner has shown.
void MappedSlot::adopt(library::ImportAnswer&& answer) {
  library::Engine& engine = interface_.engine();
  std::byte* const area = static_cast<std::byte*>(answer.memory.data());
  std::byte* const base = area + answer.offset;
  auto* const generation_word = &static_cast<library::AreaPage*>(answer.page.data())->generation;
  const bool can_write = answer.writers == shm::Writers::everybody;
  {
    const base::RunLockGuard guard(engine.lock());
    interface::Link* link = guard ? engine.core().find_link(ticket_.interface) : nullptr;
    if (link == nullptr) {  // it has ended since the owner's answer came
      ended_.store(true, std::memory_order_relaxed);
    } else {
      link->mapping_ends.reserve(link->mapping_ends.size() + 1);
      if (can_write)
        link->mapped.push_back({this, ticket_.slot, ticket_.generation, ticket_.key, base, answer.bound,
                                generation_word, answer.generation});
      link->mapping_ends.push_back(&ended_);  // nothing throws behind this
    }
  }
  area_ = area;
  area_size_ = answer.memory.size();
  base_ = base;
  size_ = answer.bound;
  generation_word_ = generation_word;
  generation_ = answer.generation;
  can_write_ = can_write;
  answer.memory.release();
  answer.page.release();
}

MappedSlot::~MappedSlot() {
  library::Engine& engine = interface_.engine();
  {
    const base::RunLockGuard guard(engine.lock());
    if (!guard) return;  // a forked child has inherited neither mapping
    if (interface::Link* link = engine.core().find_link(ticket_.interface)) {
      std::erase_if(link->mapped, [&](const auto& target) { return target.owner == this; });
      std::erase(link->mapping_ends, &ended_);
    }
  }
  if (opening_->request != nullptr) engine.control().give_up_import(opening_->request);
  if (area_ == nullptr) return;
  const shm::Mapping area(area_, area_size_);
  const shm::Mapping page(generation_word_, sizeof(shm::Page));
}

bool MappedSlot::must_call(std::uint64_t& now) const noexcept {
  const auto& page = *reinterpret_cast<const library::AreaPage*>(generation_word_);
  return interface::called_for(page.call, called_.load(std::memory_order_relaxed), now);
}

}  // namespace hamlyn
