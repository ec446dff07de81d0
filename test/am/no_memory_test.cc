// Messages for which there is no memory to keep them in. A program of its own.
#include <gtest/gtest.h>

#include "test/am/am_machine.h"
#include "test/support/no_memory.h"

namespace hamlyn::test {
namespace {

TEST_F(AmMachine, gives_a_credit_back_for_a_long_message_that_it_cannot_keep) {
  std::array<std::byte, 4096> memory;
  const std::array<std::byte, 10> data{};
  ASSERT_EQ(world->at(1).set_segment(memory), Result::ok);
  world->settle();
  Leaving leaving{.kind = Kind::request_long, .handler = kAsk, .data = data};
  AmWorld::Machine::Moving moving;
  ASSERT_EQ(ask(0, 1), Try::ok);
  world->settle();
  ASSERT_EQ(world->at(0).begin_long(1, leaving, moving), Try::ok);
  EXPECT_EQ(pair().in_flight(), 1u);
  world->crowded = 100;
  no_memory = true;
  EXPECT_EQ(world->at(0).end_long(moving, leaving, true), Try::resource);
  no_memory = false;
  EXPECT_EQ(pair().in_flight(), 0u);
}

}  // namespace
}  // namespace hamlyn::test
