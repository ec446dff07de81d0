#pragma once
// Lanes of one process (vi/lane.h): a NIC's machine, its notifications, and two completion queues, of which
// the receives' is looked at first.
//
// One thread calls. What it polls it handles before it polls again.
#include <algorithm>
#include <array>
#include <cstdint>
#include <deque>
#include <exception>
#include <memory>
#include <new>
#include <vector>

#include "base/namespaces.h"
#include "hamlyn/core/interface.h"
#include "hamlyn/core/notification_queue.h"
#include "library/wait/waiting.h"
#include "vi/lane.h"
#include "vi/machine.h"
#include "vi/port.h"

namespace hamlyn::internal_::vi {

class Lanes {
 public:
  // `places`: of the queue of notifications. Throws Error, std::bad_alloc.
  Lanes(Interface& interface, std::size_t places)
      : interface_(interface),
        queue_(interface, places),
        port_(interface, queue_),
        nic_(port_),
        roots_(make_roots(nic_)),
        sent_(*nic_.queue(roots_.sent)),
        received_(*nic_.queue(roots_.received)) {
    nic_.on_error([this](const ErrorEvent& event) {
      if (event.fault == Fault::connection_lost) lost_.push_back(event.vi);
    });
  }
  // All lanes have gone; the other sides are told.
  ~Lanes() { step(); }
  Lanes(const Lanes&) = delete;
  Lanes& operator=(const Lanes&) = delete;

  // Where other NICs say that they want to be connected.
  Ticket door() const { return nic_.door(); }

  // Makes a lane, which goes before this object does, by `forget` first. Throws Error, std::bad_alloc.
  std::unique_ptr<Lane> make(void* owner, const LaneSize& size) {
    make_room_for(size);
    auto out = std::make_unique<Lane>(roots_, owner, 0, size);
    by_vi_[out->in() % kMostVis] = {out->in(), out.get()};
    entries_ += out->entries();
    return out;
  }
  void forget(const Lane& lane) noexcept {
    for (Late& late : std::span(late_).first(late_count_))
      if (late.vi == lane.in()) late = {};
    by_vi_[lane.in() % kMostVis] = {};
    entries_ -= lane.entries();
  }

  struct Event {
    enum class Kind : std::uint8_t { nothing, message, ended };
    Kind kind = Kind::nothing;
    Lane* lane = nullptr;
    const Descriptor* receive = nullptr;  // of a message
  };
  // Runs the interface if nothing stands here. False: nothing has come.
  bool poll(Event& next) noexcept {
    if (sent_since_ && late_count_ != 0) post_late();  // the answer takes a while
    sent_since_ = false;
    next = {};
    if (received_.entries.empty()) {
      Notification heard;
      if (queue_.poll_posted(heard) != 0) {
        hear(heard, next);
        return true;
      }
      rest();
    }
    return take_standing(next);
  }
  // Something was sent, whose answer is not expected at the next look.
  void note_sent() noexcept { sent_since_ = true; }
  // The receive of a message that was handled is posted anew: several at once, or behind what was sent.
  void free_later(const Lane& lane, std::uint32_t place) noexcept {
    late_[late_count_++] = {lane.in(), place};
    if (late_count_ == kLateReceives) post_late();
  }
  // Broken off here, which nothing else tells of: whoever waits looks again.
  void lose(const Lane& lane) noexcept {
    try {
      lost_.push_back(lane.in());
      interface_.waiting().changed();
    } catch (const std::bad_alloc&) {  // its end is told when it is used again
    }
  }
  // Takes the sends that are over.
  void reap() noexcept {
    for (;;) {
      const Completion event = Machine<Port>::take_event(sent_);
      if (event.result != Result::success) return;
      static_cast<void>(nic_.take(event.vi, Side::send));
      if (Lane* const lane = lane_of(event.vi); lane != nullptr) lane->reap();
    }
  }
  // Lets leave what is to be said to other NICs. True: something has not left.
  bool step() noexcept {
    try {
      nic_.step();
    } catch (const std::exception&) {  // no memory: what was said is as if it had been lost
    }
    return nic_.restless();
  }

  // So many lanes of that size have their completions stand in the queues at once.
  static constexpr std::uint32_t most(const LaneSize& lane) noexcept {
    return kMostQueueEntries / std::max(lane.receives, lane.sends);
  }
  // Receives whose messages are handled, and which are not posted anew yet.
  static constexpr std::uint32_t kLateReceives = 4;

 private:
  static constexpr std::uint32_t kFirstEntries = 256;

  // Throws std::bad_alloc.
  static LaneRoots make_roots(Machine<Port>& nic) {
    LaneRoots out{nic};
    const bool made = nic.create_tag(out.tag) == Result::success &&
                      nic.create_queue(kFirstEntries, out.sent) == Result::success &&
                      nic.create_queue(kFirstEntries, out.received) == Result::success;
    if (!made) throw std::bad_alloc();
    return out;
  }
  // Throws std::bad_alloc.
  void make_room_for(const LaneSize& lane) {
    const std::uint32_t entries = entries_ + std::max(lane.receives, lane.sends);
    std::uint32_t size = kFirstEntries;
    while (size < entries) size *= 2;
    if (size <= entries_made_) return;
    for (const std::uint32_t queue : {roots_.sent, roots_.received})
      if (nic_.resize_queue(queue, size) != Result::success) throw std::bad_alloc();
    entries_made_ = size;
  }
  Lane* lane_of(std::uint32_t vi) const noexcept {
    const Known& known = by_vi_[vi % kMostVis];
    return known.vi == vi ? known.lane : nullptr;
  }
  void hear(const Notification& heard, Event& next) noexcept {
    try {
      const Taken taken = nic_.hear_for(received_, heard);
      if (taken.result == Result::success) next = event_of(taken.vi, taken.descriptor);
    } catch (const std::exception&) {  // no memory: what was said is as if it had been lost
    }
    if (nic_.restless()) step();
  }
  Event event_of(std::uint32_t vi, const Descriptor* receive) const noexcept {
    Lane* const lane = lane_of(vi);
    return lane != nullptr ? Event{Event::Kind::message, lane, receive} : Event{};
  }
  bool take_standing(Event& next) noexcept {
    const Completion event = Machine<Port>::take_event(received_);
    if (event.result == Result::success) {
      const Completed done = nic_.take(event.vi, Side::receive);
      if (done.result == Result::success) next = event_of(event.vi, done.descriptor);
      return true;
    }
    if (lost_.empty()) return false;
    // Behind all that came by it.
    if (Lane* const lane = lane_of(lost_.front()); lane != nullptr) next = {Event::Kind::ended, lane};
    lost_.pop_front();
    return true;
  }
  void post_late() noexcept {
    for (; late_count_ != 0; --late_count_) {
      const Late& late = late_[late_count_ - 1];
      Lane* const lane = lane_of(late.vi);
      if (lane == nullptr) continue;
      lane->free(late.place);
      if (lane->over()) lose(*lane);
    }
  }
  // Nothing stood there to be heard.
  void rest() noexcept {
    try {
      if (nic_.has_forsaken() && nic_.end_forsaken()) interface_.waiting().changed();
      while (const auto notice = nic_.take_notice()) (*notice)();
    } catch (const std::exception&) {  // what nobody could be told of has come back nevertheless
    }
    if (nic_.restless()) step();
    reap();
  }

  struct Known {
    std::uint32_t vi = 0;
    Lane* lane = nullptr;
  };
  struct Late {
    std::uint32_t vi = 0, place = 0;
  };

  Interface& interface_;
  NotificationQueue queue_;
  Port port_;
  Machine<Port> nic_;
  const LaneRoots roots_;
  QueueObject &sent_, &received_;                            // completion queues
  std::vector<Known> by_vi_ = std::vector<Known>(kMostVis);  // by the index in its number
  std::array<Late, kLateReceives> late_;
  std::uint32_t late_count_ = 0;
  bool sent_since_ = false;                                   // the last look
  std::uint32_t entries_ = 0, entries_made_ = kFirstEntries;  // of each completion queue
  std::deque<std::uint32_t> lost_;                            // VIs whose connection has ended
};

}  // namespace hamlyn::internal_::vi
