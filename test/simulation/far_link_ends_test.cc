// How a link between hosts ends when a side is held up, dies or was never heard: nothing that its host has
// got away is lost.
#include <gtest/gtest.h>

#include "test/simulation/far_link.h"

namespace hamlyn::test {
namespace {

// Who was held up does not take its own standstill for the other side's silence: what had come is taken
// first, a dead process's last word, too.
TEST_F(FarLink, takes_what_had_come_before_it_believes_its_clock) {
  for (const bool dead : {true, false}) {
    SCOPED_TRACE(dead);
    constexpr std::uint64_t kDelay = 20 * kMillisecond;
    make(3, {.least_delay = kDelay, .most_delay = kDelay});
    Area area(4096);
    TestSlot slot(other->party, area, other->queue, {.places = 64});
    Terminus terminus(one->party.core, 63);
    ASSERT_TRUE(until([&] { return terminus.send_fast(slot.ticket(), {}, 1, 0) == Status::ok; }));
    ASSERT_TRUE(until([&] { return take(other->party, other->queue).has_value(); }));
    ASSERT_EQ(terminus.send_fast(slot.ticket(), {}, 2, 0), Status::ok);
    for (const std::uint64_t end = net->now() + kDelay; net->now() < end; net->pass(kTurn))
      one->exchange.pump();  // its host gets it away
    if (dead) other->link->expect_end();
    other->exchange.pump();
    net->pass(2 * limits().dead);
    other->exchange.look_at_clocks(net->now());
    EXPECT_EQ(other->link->over(), LinkProtocol::End::none) << "it has not looked since";
    other->party.core.run();
    const auto word = take(other->party, other->queue);
    ASSERT_TRUE(word);
    EXPECT_EQ(word->word, 2u);
    ASSERT_TRUE(until([&] { return other->link->over() != LinkProtocol::End::none; }));
  }
}

// What is lost on the way of a process that has died is sent again by its host, which takes TCP 200 ms.
TEST_F(FarLink, waits_for_the_last_word_of_the_dead_as_long_as_their_host_may_need) {
  make(3, {});
  Area area(4096);
  TestSlot slot(other->party, area, other->queue, {.places = 64});
  Terminus terminus(one->party.core, 63);
  ASSERT_TRUE(until([&] { return terminus.send_fast(slot.ticket(), {}, 1, 0) == Status::ok; }));
  ASSERT_TRUE(until([&] { return take(other->party, other->queue).has_value(); }));
  ASSERT_EQ(terminus.send_fast(slot.ticket(), {}, 2, 0), Status::ok);
  net->weather().least_delay = net->weather().most_delay = 250 * kMillisecond;
  for (int i = 0; i < 100; ++i) turn();
  one->cut();
  other->link->expect_end();
  ASSERT_TRUE(until([&] { return other->link->over() != LinkProtocol::End::none; }));
  other->party.core.drain(*other->link);
  const auto word = take(other->party, other->queue);
  ASSERT_TRUE(word);
  EXPECT_EQ(word->word, 2u);
}

// Others that send all the time do not keep a dead one alive.
TEST_F(FarLink, ends_in_time_though_each_look_brings_something) {
  make(3, {});
  ASSERT_TRUE(until([&] { return other->link->made(); }));
  net->cut(one->port->address(), other->port->address());
  const std::uint64_t cut = net->now();
  ASSERT_TRUE(until([&] {
    net->inject(other->port->address(), frame({}));
    return other->link->over() != LinkProtocol::End::none;
  }));
  EXPECT_GE(net->now() - cut, limits().dead - ofi::Limits::heartbeat(limits().dead));
  EXPECT_LE(net->now() - cut, limits().dead + ofi::Limits::heartbeat(limits().dead) + 2 * 64 * kTurn);
}

// The other end may give up first: its node says that it has ended, which is no reason for that.
TEST_F(FarLink, was_a_way_that_never_was_though_the_other_end_has_gone_first) {
  for (const WhyNoLink said : {WhyNoLink{LinkReason::ended, false}, WhyNoLink{LinkReason::stalled, true},
                               WhyNoLink{LinkReason::stalled, false}}) {
    make(3, {});
    net->cut(other->port->address(), one->port->address());
    for (int i = 0; i < 10; ++i) turn();
    one->link->expect_end();
    ASSERT_TRUE(until([&] { return one->link->over() == LinkProtocol::End::peer_ended; }));
    EXPECT_EQ(one->link->why_over(said), (WhyNoLink{LinkReason::no_connection, false}));
    ASSERT_TRUE(other->link->made());
    EXPECT_EQ(other->link->why_over(said), said) << "which was heard";
  }
}

// Nobody may run the sender's interface again: what does not leave at once asks for a run.
TEST_F(FarLink, keeps_no_message_in_its_frame_though_it_is_as_long_as_a_packet) {
  make(3, {});
  const std::vector<std::byte> data(2 * limits().mtu);
  const std::span<const std::byte> packet(data.data(), limits().mtu);
  Area area(data.size());
  // The first place record of a link has the name 0, which is a delta of none.
  TestSlot first(other->party, area, other->queue, {.places = 64});
  TestSlot slot(other->party, area, other->queue, {.entries = 2, .places = 64});
  Terminus terminus(one->party.core, 63);
  for (TestSlot* each : {&first, &slot})
    ASSERT_TRUE(until([&] { return terminus.send_fast(each->ticket(), {}, 1, 0) == Status::ok; }));
  ASSERT_TRUE(until([&] { return one->link->all_arrived(); }));
  auto asked = [&, before = one->party.departures]() mutable {
    return std::exchange(before, one->party.departures) != before;
  };
  net->pass(limits().gather);
  const std::uint64_t before = one->link->protocol().sent();
  ASSERT_EQ(terminus.send_fast(slot.ticket(), packet, 2, 0), Status::ok);
  EXPECT_EQ(one->link->protocol().sent(), before + 1) << "nothing has left just before";
  EXPECT_FALSE(asked());
  ASSERT_EQ(terminus.send_fast(slot.ticket(), packet, 3, 0), Status::ok);
  EXPECT_EQ(one->link->protocol().sent(), before + 1) << "the first has left just before";
  EXPECT_TRUE(asked());
  ASSERT_TRUE(until([&] { return one->link->all_arrived(); }));
  static_cast<void>(asked());
  ASSERT_EQ(terminus.send(slot.ticket(0), data, {}, nullptr), Status::ok);
  EXPECT_TRUE(asked()) << "of its last packet";
  EXPECT_TRUE(until([&] { return one->link->all_arrived(); }));
}

// What waits for company leaves when it is asked to, and has left when the host has it: not before.
TEST_F(FarLink, has_departed_when_the_wire_has_let_go_of_it) {
  make(3, {});
  ASSERT_TRUE(until([&] { return one->link->made() && other->link->made(); }));
  interface::Packet packet {};
  set_lead(packet, interface::Operation::write, 0, 0);
  EXPECT_TRUE(one->link->departed()) << "nothing was put";
  const std::uint64_t before = one->link->protocol().sent();
  for (int i = 0; i < 2; ++i)
    ASSERT_EQ(one->link->put(packet, nullptr, nullptr, Priority::normal), Status::ok);
  net->weather().not_now_one_in = 1;
  EXPECT_EQ(one->link->protocol().sent(), before + 1) << "the second waits for company";
  EXPECT_FALSE(one->link->departed());
  EXPECT_EQ(one->link->protocol().sent(), before + 2);
  net->weather().not_now_one_in = 0;
  EXPECT_FALSE(one->link->departed()) << "the wire has it, and reads it later";
  net->pass(net->weather().most_delay);
  one->exchange.pump();
  EXPECT_TRUE(one->link->departed());
  EXPECT_TRUE(until([&] { return handed_over() == 2; }));
}

}  // namespace
}  // namespace hamlyn::test
