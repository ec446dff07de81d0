// Links that have room for one reply only: whoever is owed one gets it, whatever else is answered there.
#include <gtest/gtest.h>

#include <functional>

#include "fabric/sim/sim_link.h"
#include "interface/terminus.h"
#include "test/support/receiving.h"

namespace hamlyn::test {
namespace {

using interface::Terminus;

class Narrow : public testing::Test {
 protected:
  Narrow() {
    auto [first, second] = net.join(alice.id, bob.id);
    to_bob = std::move(first);
    to_alice = std::move(second);
    alice.core.add_link(*to_bob);
    bob.core.add_link(*to_alice);
  }
  ~Narrow() override {
    alice.core.end_link(*to_bob);
    bob.core.end_link(*to_alice);
  }
  void turn() {
    net.settle();
    alice.core.run();
    bob.core.run();
  }
  bool within(int turns, const std::function<bool()>& done) {
    for (; turns != 0 && !done(); --turns) turn();
    return done();
  }

  sim::SimNet net{1, {.reply_window = 1}};
  Party alice{101}, bob{102};
  std::unique_ptr<sim::SimLink> to_bob, to_alice;
  interface::Queue* queue = bob.core.make_queue(64);
  Area area{4096};
};

TEST_F(Narrow, a_slot_without_places_has_nothing_to_tell_of) {
  TestSlot slot(bob, area, queue, {.fast = false, .places = 0, .fetches = true, .gets = 4096, .puts = true});
  Area own{4096};
  TestSlot landing(alice, own, alice.core.make_queue(16), {});
  Terminus terminus{alice.core, 63};
  ASSERT_TRUE(within(100, [&] { return terminus.put(slot.ticket(), {}, {}, nullptr) == Status::ok; }));
  // More than one reply holds: the rest waits for room.
  RemoteHandle handle;
  ASSERT_EQ(terminus.requests().get(slot.ticket(), {landing.index(), 0, 4096}, {}, nullptr, &handle),
            Status::pending);
  EXPECT_TRUE(within(200, [&] { return terminus.requests().outcome(handle).status == Status::ok; }));
}

TEST_F(Narrow, grants_leave_between_urgent_answers) {
  TestSlot words(bob, area, queue, {.fetches = true});
  TestSlot slot(bob, area, queue, {.places = 4});
  Terminus urgent{alice.core, 63, Priority::urgent}, normal{alice.core, 63};
  const auto ask = [&] {
    while (urgent.requests().fetch(words.ticket(), {.operand = 1}, {}, nullptr, nullptr) == Status::pending) {
    }
  };
  // There is always another request before the answer of the one before has made its room.
  EXPECT_TRUE(within(1000, [&] {
    ask();
    return normal.send_fast(slot.ticket(), {}, 0, 0) == Status::ok;
  }));
}

}  // namespace
}  // namespace hamlyn::test
