#pragma once
// An end point that messages are given to (paper 0, section 3.3). The protocols' receivers are made of it,
// and so can be those of your own: make slots that notify `manager.queue()`, attach them, override
// `process_arrival`.
// Threads: as its manager; `process_arrival` is called by one at a time. Owner: who made it; its manager
// outlives it, and it detaches its slots before they go.
#include <memory>

#include "hamlyn/core/slot.h"
#include "hamlyn/protocols/manager.h"
#include "hamlyn/values/notification.h"

namespace hamlyn {

namespace internal_::base {
class PendingCalls;
}
namespace internal_::protocols {
class Dispatcher;
}

// The base of all receivers.
class Receiver {
 public:
  Receiver(const Receiver&) = delete;
  Receiver& operator=(const Receiver&) = delete;
  // Manager that the receiver was made from.
  Manager& manager() noexcept { return manager_; }

 protected:
  explicit Receiver(Manager& manager);  // throws std::bad_alloc
  virtual ~Receiver();

  // From here on, messages and failures at `slot` are given to this receiver; until `detach`, which must
  // come before the slot goes. Throws Error: invalid_argument (another receiver has it), out_of_memory,
  // forked.
  void attach(const Slot& slot);
  void detach(const Slot& slot) noexcept;

  // Records that a message has arrived. Called by whichever thread runs the manager, one call at a time for
  // all receivers of a manager. It may send and take what has arrived; it must not wait (waits for what a
  // manager gives answer `invalid`; others hold up all of its receivers), throw, or destroy a receiver. A
  // class that overrides a protocol's calls that one, too.
  virtual void process_arrival(const Notification& arrival) = 0;

  // Gives nothing more to this receiver, and ends the waits on it with `cancelled`. A class that overrides
  // `process_arrival` calls it first in its destructor if other threads use the manager.
  void retire() noexcept;

 private:
  friend class internal_::protocols::Dispatcher;

  Manager& manager_;
  const std::unique_ptr<internal_::base::PendingCalls> calls_;  // calls that wait on it
};

}  // namespace hamlyn
