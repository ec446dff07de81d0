// Memory, VIs, work and completion queues of a NIC. connections.cc has the rest.
#include "hamlyn/vi/nic.h"

#include "library/with_memory.h"
#include "vi/inside.h"

namespace hamlyn {

namespace vi {

using internal_::vi::Side;

namespace {

constexpr std::size_t kPlaces = std::size_t{1} << 14;  // of the NIC's queue
constexpr std::size_t kMostAtOnce = 64;                // notifications, before other threads have their turn

}  // namespace

const char* name(Result result) noexcept {
  constexpr const char* kNames[] = {"success",
                                    "not_done",
                                    "invalid_parameter",
                                    "error_resource",
                                    "timeout",
                                    "reject",
                                    "invalid_reliability_level",
                                    "invalid_mtu",
                                    "invalid_qos",
                                    "invalid_ptag",
                                    "invalid_rdma_read",
                                    "descriptor_error",
                                    "invalid_state",
                                    "error_nameservice",
                                    "no_match",
                                    "not_reachable",
                                    "not_supported"};
  const auto at = static_cast<std::size_t>(result);
  return at < std::size(kNames) ? kNames[at] : "unknown";
}

Nic::Inside::Inside(Interface& from, Rights opened_to)
    : interface(from),
      opened(opened_to),
      waiting(from.waiting()),
      queue(from, kPlaces),
      port(from, queue),
      machine(port) {}

// --- hearing

void Nic::Inside::hear(const Notification& next) noexcept {
  lock.assert_held();
  try {
    machine.hear(next);
  } catch (const std::exception&) {  // no memory: what was said is as if it had been lost
  }
}

inline void Nic::Inside::found_nothing() noexcept {
  lock.assert_held();
  if (!machine.has_forsaken()) [[likely]]
    return;
  try {
    if (machine.end_forsaken()) waiting.changed();
  } catch (const std::exception&) {  // what nobody could be told of has come back nevertheless
  }
}

void Nic::Inside::step() noexcept {
  lock.assert_held();
  if (!machine.restless()) return;
  try {
    machine.step();
  } catch (const std::exception&) {  // as in `hear`
  }
}

void Nic::Inside::tell() noexcept {
  lock.assert_held();
  if (machine.changed() && (calls.count() != 0 || machine.has_notice())) waiting.changed();
}

inline bool Nic::Inside::poll() noexcept {
  lock.assert_held();
  Notification next;
  const bool found = queue.poll_posted(next) != 0;
  if (found)
    hear(next);
  else
    found_nothing();
  step();
  tell();
  return found;
}

inline Taken Nic::Inside::poll_for(const internal_::vi::QueueObject& from) noexcept {
  lock.assert_held();
  Notification next;
  Taken out;
  if (queue.poll_posted(next) != 0) {
    try {
      out = machine.hear_for(from, next);
    } catch (const std::exception&) {  // as in `hear`
    }
  } else {
    found_nothing();
  }
  step();
  tell();
  return out;
}

void Nic::Inside::poll_all() noexcept {
  lock.assert_held();
  for (std::size_t left = kMostAtOnce; left != 0 && poll(); --left) {
  }
}

void Nic::Inside::hear_standing() noexcept {
  lock.assert_held();
  Notification next;
  const auto take = [&] {
    const internal_::library::Lock held(waiting);
    return held && queue.take(held.held(), next) == Status::ok;
  };
  std::size_t left = kMostAtOnce;
  for (; left != 0 && take(); --left) hear(next);
  if (left == 0)
    waiting.changed();
  else
    found_nothing();
  step();
}

// --- the NIC

Nic::Nic(Interface& interface, Rights opened)
    : inside_(internal_::library::with_memory("a NIC",
                                              [&] { return std::make_unique<Inside>(interface, opened); })) {}

Nic::~Nic() {
  const bool own =
      inside_->calls.close_and_drain<Inside::Guard>(inside_->lock, [&] { inside_->waiting.changed(); });
  if (!own) {
    (void)inside_.release();  // all of it is the parent's
    return;
  }
  inside_->waiting.changed();  // the teller looks again
  inside_->teller.reset();
  for (const auto& [name, count] : inside_->names) inside_->give_up(name);
  static_cast<void>(inside_->locked([&] {
    inside_->machine.close();
    return Result::success;
  }));
}

Interface& Nic::interface() noexcept { return inside_->interface; }
std::uint64_t Nic::host() const noexcept { return inside_->interface.id() >> 48; }

// --- memory

Result Nic::create_tag(Tag& out) noexcept {
  return inside_->locked([&] { return inside_->machine.create_tag(out); });
}
Result Nic::destroy_tag(Tag tag) noexcept {
  return inside_->locked([&] { return inside_->machine.destroy_tag(tag); });
}
Result Nic::register_memory(std::span<std::byte> memory, const MemoryAttributes& attributes,
                            MemoryHandle& out) noexcept {
  return inside_->stepped([&] { return inside_->machine.register_memory(memory, attributes, out); });
}
Result Nic::deregister_memory(const void* address, MemoryHandle handle) noexcept {
  return inside_->stepped([&] { return inside_->machine.deregister_memory(address, handle); });
}
Result Nic::query_memory(const void* address, MemoryHandle handle, MemoryAttributes& out) noexcept {
  return inside_->locked([&] { return inside_->machine.query_memory(address, handle, out); });
}
Result Nic::set_memory(const void* address, MemoryHandle handle,
                       const MemoryAttributes& attributes) noexcept {
  return inside_->stepped([&] { return inside_->machine.set_memory(address, handle, attributes); });
}

// --- VIs

Result Nic::create_vi(const ViAttributes& attributes, std::uint32_t send, std::uint32_t receive,
                      std::uint32_t& out) noexcept {
  return inside_->locked([&] { return inside_->machine.create_vi(attributes, send, receive, out); });
}
Result Nic::destroy_vi(std::uint32_t vi) noexcept {
  const Result result = inside_->locked([&] { return inside_->machine.destroy_vi(vi); });
  if (result == Result::success) inside_->waiting.changed();
  return result;
}
Result Nic::query_vi(std::uint32_t number, ViStatus& out) noexcept {
  return inside_->locked([&] {
    inside_->poll_all();
    const Inside::Machine::Vi* const vi = inside_->machine.vi(number);
    if (vi == nullptr) return Result::invalid_parameter;
    out = {vi->state, vi->attributes, vi->send.empty(), vi->receive.empty()};
    return Result::success;
  });
}
Result Nic::set_vi(std::uint32_t vi, const ViAttributes& attributes) noexcept {
  return inside_->locked([&] { return inside_->machine.set_vi(vi, attributes); });
}

// --- work

Result Nic::post_send(std::uint32_t vi, Descriptor* descriptor, MemoryHandle handle) noexcept {
  return inside_->locked([&] {
    const Result result = inside_->machine.post_send(vi, descriptor, handle);
    inside_->tell();
    return result;
  });
}
Result Nic::post_receive(std::uint32_t vi, Descriptor* descriptor, MemoryHandle handle) noexcept {
  return inside_->locked([&] {
    const Result result = inside_->machine.post_receive(vi, descriptor, handle);
    inside_->tell();
    return result;
  });
}

Completed Nic::Inside::done(std::uint32_t vi, Side side) noexcept {
  const Guard guard(lock);
  if (!guard) return {Result::invalid_state, nullptr};
  const Completed done = machine.take(vi, side);
  if (done.descriptor != nullptr || done.result == Result::invalid_parameter) return done;
  poll();
  return machine.take(vi, side);
}
Completed Nic::send_done(std::uint32_t vi) noexcept { return inside_->done(vi, Side::send); }
Completed Nic::receive_done(std::uint32_t vi) noexcept { return inside_->done(vi, Side::receive); }

Completed Nic::Inside::wait_done(std::uint32_t vi, Side side, Time timeout) noexcept {
  Completed out = done(vi, side);
  if (out.result != Result::not_done) return out;
  Pending pending(lock, calls);
  if (!pending.enter()) return {Result::invalid_state, nullptr};
  const Result result = wait_in_call(
      [&] {
        out = machine.take(vi, side);
        return out.result;
      },
      timeout);
  return {result, out.descriptor};
}
Completed Nic::send_wait(std::uint32_t vi, Time timeout) noexcept {
  return inside_->wait_done(vi, Side::send, timeout);
}
Completed Nic::receive_wait(std::uint32_t vi, Time timeout) noexcept {
  return inside_->wait_done(vi, Side::receive, timeout);
}

Result Nic::Inside::notify(std::uint32_t vi, Side side, Handler handler) noexcept {
  if (handler == nullptr) return Result::invalid_parameter;
  if (const Result started = start_teller(); started != Result::success) return started;
  return locked([&] {
    const Result result = machine.notify(vi, side, std::move(handler));
    tell();
    return result;
  });
}
Result Nic::send_notify(std::uint32_t vi, Handler handler) noexcept {
  return inside_->notify(vi, Side::send, std::move(handler));
}
Result Nic::receive_notify(std::uint32_t vi, Handler handler) noexcept {
  return inside_->notify(vi, Side::receive, std::move(handler));
}

// --- completion queues

Result Nic::create_queue(std::uint32_t entries, std::uint32_t& out) noexcept {
  return inside_->locked([&] { return inside_->machine.create_queue(entries, out); });
}
Result Nic::destroy_queue(std::uint32_t queue) noexcept {
  const Result result = inside_->locked([&] { return inside_->machine.destroy_queue(queue); });
  if (result == Result::success) inside_->waiting.changed();
  return result;
}
Result Nic::resize_queue(std::uint32_t queue, std::uint32_t entries) noexcept {
  return inside_->locked([&] { return inside_->machine.resize_queue(queue, entries); });
}
inline Completion Nic::Inside::event(std::uint32_t of) noexcept {
  lock.assert_held();
  internal_::vi::QueueObject* const queue_of = machine.queue(of);
  if (queue_of == nullptr) return {Result::invalid_parameter};
  const Completion event = Machine::take_event(*queue_of);
  if (event.result != Result::not_done) return event;
  poll();
  return Machine::take_event(*queue_of);
}
Completion Nic::queue_done(std::uint32_t queue) noexcept {
  const Inside::Guard guard(inside_->lock);
  if (!guard) return {Result::invalid_state};
  return inside_->event(queue);
}
Completion Nic::queue_wait(std::uint32_t queue, Time timeout) noexcept {
  Completion out = queue_done(queue);
  if (out.result != Result::not_done) return out;
  Inside::Pending pending(inside_->lock, inside_->calls);
  if (!pending.enter()) return {Result::invalid_state};
  out.result = inside_->wait_in_call(
      [&] {
        out = inside_->machine.take_event(queue);
        return out.result;
      },
      timeout);
  return out;
}
Result Nic::queue_notify(std::uint32_t queue, QueueHandler handler) noexcept {
  if (handler == nullptr) return Result::invalid_parameter;
  if (const Result started = inside_->start_teller(); started != Result::success) return started;
  return inside_->locked([&] {
    const Result result = inside_->machine.notify_queue(queue, std::move(handler));
    inside_->tell();
    return result;
  });
}
Taken Nic::queue_take(std::uint32_t queue) noexcept {
  const Inside::Guard guard(inside_->lock);
  if (!guard) return {Result::invalid_state};
  internal_::vi::QueueObject* const from = inside_->machine.queue(queue);
  if (from == nullptr) return {Result::invalid_parameter};
  if (from->entries.empty()) {
    const Taken at_once = inside_->poll_for(*from);
    if (at_once.result == Result::success || from->entries.empty()) return at_once;
  }
  const Completion event = Inside::Machine::take_event(*from);
  const Completed done = inside_->machine.take(event.vi, event.receive ? Side::receive : Side::send);
  return {done.result, event.vi, event.receive, done.descriptor};
}

// --- handlers

Result Nic::Inside::start_teller() noexcept {
  // A forked child must not wait for `naming`, which a thread of its parent's may hold.
  Pending pending(lock, calls);
  if (!pending.enter()) return Result::invalid_state;
  try {
    const std::lock_guard guard(naming);
    if (teller == nullptr)
      teller = internal_::library::start_task(waiting, "hamlyn-vi", [this] { call_handlers(); });
    return Result::success;
  } catch (const std::exception&) {
    return Result::error_resource;
  }
}

// Until the NIC closes.
void Nic::Inside::call_handlers() noexcept {
  for (bool over = false; !over;) {
    std::optional<Machine::Notice> notice;
    const auto look = [&] {
      const Guard guard(lock);
      if (!guard) return Status::forked;
      hear_standing();
      tell();
      over = calls.closing();
      if (!over) notice = machine.take_notice();
      return over || notice ? Status::ok : Status::pending;
    };
    const Status status = waiting.until(look, internal_::library::Deadline{}, waiting.cancels());
    if (status == Status::forked) return;
    if (notice) (*notice)();
  }
}

Result Nic::on_error(std::function<void(const ErrorEvent&)> handler) noexcept {
  if (handler != nullptr)
    if (const Result started = inside_->start_teller(); started != Result::success) return started;
  return inside_->locked([&] {
    inside_->machine.on_error(std::move(handler));
    return Result::success;
  });
}

}  // namespace vi

}  // namespace hamlyn
