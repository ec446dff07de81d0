#pragma once
// The NIC of the lanes of one process (vi/lane.h): its machine, the queue of its notifications, and two
// completion queues. One has all receives, another all sends; receives are looked at first.
//
// One thread calls, or several under a lock of the caller's. What it hears it handles before it looks again.
#include <algorithm>
#include <array>
#include <cstdint>
#include <deque>
#include <exception>
#include <new>
#include <span>
#include <vector>

#include "base/namespaces.h"
#include "hamlyn/core/interface.h"
#include "hamlyn/core/notification_queue.h"
#include "library/wait/waiting.h"
#include "vi/lane.h"
#include "vi/machine.h"
#include "vi/port.h"

namespace hamlyn::internal_::vi {

class LaneNic {
 public:
  // `places`: of the queue of notifications. Throws Error, std::bad_alloc.
  LaneNic(Interface& interface, std::size_t places)
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
  ~LaneNic() { step(); }
  LaneNic(const LaneNic&) = delete;
  LaneNic& operator=(const LaneNic&) = delete;

  // Where other NICs say that they want to be connected.
  Ticket door() const { return nic_.door(); }
  NotificationQueue& queue() noexcept { return queue_; }
  Machine<Port>& machine() noexcept { return nic_; }
  const LaneRoots& roots() const noexcept { return roots_; }

  // --- lanes, by their VIs

  // Room in the completion queues for all of one more lane. Throws std::bad_alloc; as much, too, if there are
  // as many as there may be.
  void make_room_for(const LaneSize& lane) {
    const std::uint32_t entries = entries_ + std::max(lane.receives, lane.sends);
    std::uint32_t size = kFirstEntries;
    while (size < entries) size *= 2;
    if (size <= entries_made_) return;
    for (const std::uint32_t queue : {roots_.sent, roots_.received})
      if (nic_.resize_queue(queue, size) != Result::success) throw std::bad_alloc();
    entries_made_ = size;
  }
  void know(std::uint32_t vi, Lane& lane) noexcept {
    Known& known = by_vi_[vi % kMostVis];
    if (known.lane == nullptr) entries_ += lane.entries();
    known = {vi, &lane};
  }
  void forget(const Lane& lane) noexcept {
    forget_late(lane);
    for (const std::uint32_t vi : {lane.in(), lane.out()}) {
      Known& known = by_vi_[vi % kMostVis];
      if (known.lane != &lane) continue;
      entries_ -= lane.entries();
      known = {};
    }
  }
  __attribute__((always_inline)) Lane* lane_of(std::uint32_t vi) const noexcept {
    const Known& known = by_vi_[vi % kMostVis];
    return known.vi == vi ? known.lane : nullptr;
  }
  // Whether `what` is true of any.
  template <class What>
  bool any_lane(What what) const noexcept {
    return std::ranges::any_of(by_vi_,
                               [&](const Known& each) { return each.lane != nullptr && what(*each.lane); });
  }

  // --- receives that are posted anew: several at once, or behind a message that was sent, and not between
  // one that has come and its answer. Each lane has so many more than its sender counts on. A post also ends
  // the quick looks at the queue; by the next look they begin anew.

  // Something was sent, whose answer is not expected at the next look.
  __attribute__((always_inline)) void note_sent() noexcept { sent_since_ = true; }
  __attribute__((always_inline)) void post_later(const Lane& lane, std::uint32_t place) noexcept {
    late_[late_count_++] = {lane.in(), place};
    if (late_count_ == kLateReceives) [[unlikely]]
      post_late();
  }
  // All receives of the lane are posted anew.
  void forget_late(const Lane& lane) noexcept {
    for (Late& late : std::span(late_).first(late_count_))
      if (late.vi == lane.in()) late = {};
  }

  // --- what the queues tell

  // Before each look.
  __attribute__((always_inline)) void begin_look() noexcept {
    if (sent_since_ & (late_count_ != 0)) post_late();  // the answer takes a while
    sent_since_ = false;
  }
  // Whether a receive is over that nobody was told of.
  bool stands() const noexcept { return !received_.entries.empty(); }
  // Hears what came: a message that is taken by that, or something else (not_done). It may be heard while
  // nothing stands.
  __attribute__((always_inline)) Taken hear(const Notification& heard) noexcept {
    Taken taken;
    try {
      taken = nic_.hear_for(received_, heard);
    } catch (const std::exception&) {  // no memory: what was said is as if it had been lost
    }
    if (nic_.restless()) [[unlikely]]
      step();
    return taken;
  }
  // A receive that is over; or, of a VI whose connection has ended, not_reachable, behind all that came by
  // it. False: nothing stands there.
  bool take_standing(Taken& next) noexcept {
    const Completion event = Machine<Port>::take_event(received_);
    if (event.result == Result::success) {
      const Completed done = nic_.take(event.vi, Side::receive);
      next = {done.result, event.vi, true, done.descriptor};
      return true;
    }
    if (lost_.empty()) [[likely]]
      return false;
    next = {Result::not_reachable, lost_.front(), true, nullptr};
    lost_.pop_front();
    return true;
  }
  // Nothing stood there to be heard.
  void rest() noexcept {
    try {
      if (nic_.has_forsaken() && nic_.end_forsaken()) interface_.waiting().changed();
      while (const auto notice = nic_.take_notice()) (*notice)();
    } catch (const std::exception&) {  // what nobody could be told of has come back nevertheless
    }
    if (nic_.restless()) [[unlikely]]
      step();
    reap();
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
  // Lets leave what is to be said to other NICs.
  void step() noexcept {
    try {
      nic_.step();
    } catch (const std::exception&) {  // no memory: what was said is as if it had been lost
    }
  }

 private:
  static constexpr std::uint32_t kFirstEntries = 256;

  struct Known {
    std::uint32_t vi = 0;
    Lane* lane = nullptr;
  };
  struct Late {
    std::uint32_t vi = 0, place = 0;
  };

  // Throws std::bad_alloc.
  static LaneRoots make_roots(Machine<Port>& nic) {
    LaneRoots out{nic};
    const bool made = nic.create_tag(out.tag) == Result::success &&
                      nic.create_queue(kFirstEntries, out.sent) == Result::success &&
                      nic.create_queue(kFirstEntries, out.received) == Result::success;
    if (!made) throw std::bad_alloc();
    return out;
  }
  void post_late() noexcept {
    for (; late_count_ != 0; --late_count_) {
      const Late& late = late_[late_count_ - 1];
      if (Lane* const lane = lane_of(late.vi); lane != nullptr && !lane->free(late.place)) [[unlikely]]
        lose(*lane);
    }
  }

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
  std::deque<std::uint32_t> lost_;  // VIs whose connection has ended: no receive may be left to say so
};

}  // namespace hamlyn::internal_::vi
