#pragma once
// How work is completed (vi/machine.h), and who is told: completion queues and handlers.
#include "vi/machine.h"

namespace hamlyn::internal_::vi {

template <class Port>
__attribute__((always_inline)) inline Taken Machine<Port>::hear_for(const QueueObject& queue,
                                                                    const Notification& next) {
  if (next.kind == Notification::Kind::message) [[likely]] {
    Vi* const vi = of_inbox(next.slot);
    const SendWord word = send_word(next.word);
    if (vi != nullptr && vi->receive_queue == &queue && queue.entries.empty() && queue.notify == nullptr &&
        vi->receive.notify == nullptr && vi->receive.is_next(next.offset) && next.peer == vi->other.peer &&
        good(word) && vi->receive.at(next.offset).segments.size() <= Port::kMostPieces) {
      const std::uint32_t length = word.write ? word.length : static_cast<std::uint32_t>(next.length);
      const std::uint32_t status =
          (word.write ? kOfRemoteWrite : kOfReceive) | (word.has_immediate ? kHasImmediate : 0);
      return {Result::success, vi->number, true,
              vi->receive.complete_and_take(status, length, word.immediate)};
    }
  }
  hear(next);
  return {};
}

template <class Port>
__attribute__((always_inline)) inline void Machine<Port>::finish_here(Vi& vi, Side side, Work& work,
                                                                      std::uint32_t errors,
                                                                      std::uint32_t length) {
  WorkQueue& queue = queue_of(vi, side);
  if (side == Side::send) cancel(vi, work);  // nothing of it is read any more
  work.phase = Work::Phase::finished;
  work.status |= errors;
  if (side == Side::send) work.status |= operation_status(work.operation());
  if (side == Side::receive && (work.status & (kOfReceive | kOfWrite)) == 0) work.status |= kOfReceive;
  work.length = length;
  const bool failed = (work.status & kErrors & ~kFlushed) != 0;
  while (queue.complete_next()) announce(vi, side);
  if (failed && vi.state == State::connected && vi.reliable()) [[unlikely]]
    break_off(vi, Reason::broken);
}

template <class Port>
__attribute__((always_inline)) inline void Machine<Port>::announce(Vi& vi, Side side) {
  changed_ = true;
  WorkQueue& queue = queue_of(vi, side);
  if (queue.notify != nullptr) [[unlikely]]
    tell(vi, queue);
  QueueObject* const events = side == Side::send ? vi.send_queue : vi.receive_queue;
  if (events == nullptr) return;
  if (events->entries.full()) [[unlikely]]
    return overrun(vi, *events);
  events->entries.add({vi.number, side == Side::receive});
  if (events->notify != nullptr) [[unlikely]]
    tell(*events);
}

template <class Port>
void Machine<Port>::tell(Vi& vi, WorkQueue& queue) {
  if (!queue.has_completed()) return;
  const Completed done = queue.take();
  notice([call = std::exchange(queue.notify, nullptr), number = vi.number, done] {
    call(number, done.descriptor);
  });
}

template <class Port>
void Machine<Port>::overrun(const Vi& vi, QueueObject& events) {
  if (!events.overrun) fault({.fault = Fault::overrun, .vi = vi.number, .queue = events.number});
  events.overrun = true;
}

template <class Port>
void Machine<Port>::tell(QueueObject& queue) {
  if (queue.entries.empty()) return;
  const Completion event = take_event(queue);
  notice([call = std::exchange(queue.notify, nullptr), event] { call(event.vi, event.receive); });
}

template <class Port>
void Machine<Port>::flush(Vi& vi, Side side) {
  WorkQueue& queue = queue_of(vi, side);
  for (std::uint64_t number = queue.completed(); number < queue.posted(); ++number) {
    Work& work = queue.at(number);
    if (work.phase == Work::Phase::finished) continue;
    finish(vi, side, number, (work.status & kErrors) == 0 ? kFlushed : 0, 0);
  }
  if (side == Side::send) vi.started = vi.send.posted();
}

// --- completion queues

template <class Port>
Result Machine<Port>::create_queue(std::uint32_t entries, std::uint32_t& out) {
  if (entries == 0 || entries > kMostQueueEntries) return Result::invalid_parameter;
  out = queues_.make(entries);
  if (out == 0) return Result::error_resource;
  queues_.find(out)->number = out;
  return Result::success;
}

template <class Port>
Result Machine<Port>::destroy_queue(std::uint32_t number) noexcept {
  const QueueObject* const queue = queues_.find(number);
  if (queue == nullptr) return Result::invalid_parameter;
  if (queue->users != 0) return Result::error_resource;
  queues_.erase(number);
  return Result::success;
}

template <class Port>
Result Machine<Port>::resize_queue(std::uint32_t number, std::uint32_t entries) {
  QueueObject* const queue = queues_.find(number);
  if (queue == nullptr || entries == 0 || entries > kMostQueueEntries) return Result::invalid_parameter;
  if (entries < queue->entries.count()) return Result::error_resource;
  queue->entries.resize(entries);
  return Result::success;
}

template <class Port>
Result Machine<Port>::notify_queue(std::uint32_t number, QueueObject::Notify notify) {
  QueueObject* const queue = queues_.find(number);
  if (queue == nullptr) return Result::invalid_parameter;
  if (queue->notify != nullptr) return Result::error_resource;
  queue->notify = std::move(notify);
  tell(*queue);
  return Result::success;
}

}  // namespace hamlyn::internal_::vi
