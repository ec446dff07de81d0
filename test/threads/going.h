#pragma once
// An object is destroyed while another thread waits on it.
#include <gtest/gtest.h>

#include <memory>
#include <thread>

#include "base/pending_calls.h"
#include "interface/terminus.h"
#include "library/engine.h"
#include "test/process/managers.h"
#include "test/threads/reveal.h"

namespace hamlyn::test {

HAMLYN_REVEAL(InsideMulticast, Multicast, interface::Terminus*, terminus_);
HAMLYN_REVEAL(InsideDatagramSender, DatagramSender, Terminus, terminus_);
HAMLYN_REVEAL(InsideTaggedSender, TaggedSender, Terminus, terminus_);
HAMLYN_REVEAL(InsideTaggedReceiver, TaggedReceiver, NotificationQueue, queue_);
HAMLYN_REVEAL(InsideSlot, Slot, std::unique_ptr<base::PendingCalls>, calls_);

// Nothing that is sent to `interface` is answered while this lives, and this thread does not use it.
class Deaf {
 public:
  explicit Deaf(Interface& interface) : guard_(interface.engine().lock()) {}

 private:
  base::RunLockGuard guard_;
};

// `call`, one call in a thread of its own, waits inside, as `inside()` knows; then `destroy` is called here,
// and it ends.
template <class Call, class Inside, class Destroy>
void expect_let_go(Call call, Inside inside, Destroy destroy) {
  Status status = Status::ok;
  std::thread waits([&] { status = call(); });
  while (!inside()) std::this_thread::yield();
  destroy();
  waits.join();
  EXPECT_EQ(status, Status::cancelled) << name(status);
}

// How many wait on an object of that interface.
inline std::uint32_t waiting_on(Interface& interface, const base::PendingCalls& calls) {
  const base::RunLockGuard guard(interface.engine().lock());
  return calls.count();
}
inline auto waits_on(Interface& interface, const base::PendingCalls& calls) {
  return [&] { return waiting_on(interface, calls) != 0; };
}
inline auto waits_in(Terminus& terminus) { return waits_on(terminus.interface(), terminus.calls()); }
inline auto waits_in(NotificationQueue& queue) { return waits_on(queue.interface(), queue.inside().calls); }

}  // namespace hamlyn::test
