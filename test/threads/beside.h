#pragma once
// Several threads that wait in one interface: which of them is the one who notices arrivals, and who waits
// beside it.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <span>
#include <thread>

#include "library/engine.h"
#include "test/process/managers.h"
#include "test/threads/reveal.h"

namespace hamlyn::test {

using library::Engine;
using library::SleeperRole;
HAMLYN_REVEAL(EngineRole, Engine, std::atomic<SleeperRole>, role_);
HAMLYN_REVEAL(EngineDeep, Engine, std::atomic<bool>, deep_);
HAMLYN_REVEAL(EngineWaiting, Engine, std::atomic<std::uint32_t>, waiting_);

// One of those who wait has the role, and `beside` others wait beside it. `deep`: it sleeps until something
// comes, and no tick of the interface thread would make good what is lost.
inline bool sleep_in(Interface& interface, std::uint32_t beside, bool deep = true) {
  Engine& engine = interface.engine();
  const base::RunLockGuard guard(engine.lock());
  return (engine.*reveal(EngineRole{})).load() == SleeperRole::application &&
         (!deep || (engine.*reveal(EngineDeep{})).load()) &&
         (engine.*reveal(EngineWaiting{})).load() == beside;
}

// Says words at a slot that keeps places for them.
class Speaker {
 public:
  Speaker(Interface& interface, const Ticket& ticket) : terminus_(interface), ticket_(ticket) {
    EXPECT_EQ(terminus_.wait_for_place(ticket_, kPatience), Status::ok);
  }
  void say(std::uint64_t word, std::span<const std::byte> data = {}) {
    for (;;) {
      const Status status = terminus_.send_fast(ticket_, data, word);
      if (status == Status::ok) return;
      ASSERT_TRUE(status == Status::queue_full || status == Status::no_place) << name(status);
      const Status waited = terminus_.wait_for_place(ticket_, kPatience);
      ASSERT_TRUE(waited == Status::ok || waited == Status::cancelled) << name(waited);
    }
  }

 private:
  Terminus terminus_;
  Ticket ticket_;
};

// A queue of one interface, and who speaks to it from another.
struct Ear {
  Ear(Interface& here, Interface& there, std::uint32_t places = 64)
      : area(here, 64), queue(here), slot(area, queue, {.places = places}), speaker(there, slot.ticket()) {}
  Status hear(std::uint64_t& word, std::chrono::nanoseconds timeout = kPatience) {
    Notification next;
    const Status status = queue.receive(next, timeout);
    word = next.word;
    return status;
  }
  MessageArea area;
  NotificationQueue queue;
  Slot slot;
  Speaker speaker;
};

}  // namespace hamlyn::test
