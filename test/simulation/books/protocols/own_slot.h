#pragma once
// A slot of a process in a run, with an area and a queue of its own.
#include <optional>

#include "hamlyn/core/message_area.h"
#include "hamlyn/core/notification_queue.h"
#include "hamlyn/core/slot.h"
#include "test/simulation/books/protocols/stage.h"

namespace hamlyn::simulation {

class OwnSlot {
 public:
  void make(Interface& interface, std::size_t places, std::size_t bytes, const Slot::Options& options,
            Sharing sharing = Sharing::guarded) {
    queue_.emplace(interface, places);
    area_.emplace(interface, bytes, sharing);
    slot_.emplace(*area_, *queue_, options);
  }
  // Nothing more lands there; the area is still there.
  void end() { slot_.reset(); }
  void go() {
    slot_.reset();
    area_.reset();
    queue_.reset();
  }

  // Has all that has come heard, while its process lives. True if there was something.
  template <class Hear>
  bool take(Stage& stage, Hear hear) {
    bool any = false;
    while (slot_ && stage.alive()) {
      const std::optional<Notification> arrival = queue_->poll();
      if (!arrival) break;
      any = true;
      hear(*arrival);
    }
    return any;
  }
  // Waits for one, for a while.
  template <class Hear>
  void wait(Stage& stage, Hear hear) {
    Notification arrival;
    if (queue_->receive(arrival, stage.a_while()) == Status::ok) hear(arrival);
  }

  explicit operator bool() const { return slot_.has_value(); }
  Slot* operator->() { return &*slot_; }
  MessageArea& area() { return *area_; }

 private:
  std::optional<NotificationQueue> queue_;
  std::optional<MessageArea> area_;
  std::optional<Slot> slot_;
};

}  // namespace hamlyn::simulation
