// A slot's place is used again and again while others hold old tickets: those are told so, clearly, and touch
// none of its successors (paper 4, sections 4.2.1 and 4.2.6).
#include <algorithm>
#include <string_view>

#include "test/conformance/conformance.h"

namespace hamlyn::test {
namespace {

using interface::Terminus;

class Generations : public Conformance {
 protected:
  static constexpr Slot::Options kOptions{
      .fast = false, .places = 4, .fetches = true, .gets = 64, .puts = true, .hold = 64};

  // What somebody with an old ticket tries.
  void use(const Ticket& old) {
    const std::uint64_t word = 0xBAD;
    until([&] {
      const Status status = terminus.put(old, std::as_bytes(std::span(&word, 1)), {}, nullptr);
      return status != Status::connecting && status != Status::queue_full;
    });
    RemoteHandle handle;
    ASSERT_TRUE(until([&] {
      return terminus.requests().fetch(old, {.operand = 1}, {}, nullptr, &handle) == Status::pending;
    }));
    ASSERT_TRUE(until([&] { return terminus.requests().outcome(handle).status != Status::pending; }));
    EXPECT_EQ(terminus.requests().outcome(handle).status, Status::refused);
    EXPECT_EQ(terminus.requests().outcome(handle).cause, Refusal::stale_generation);
    ASSERT_TRUE(until([&] {
      return terminus.requests().get(old, {landing.index(), 0, 8}, {}, nullptr, &handle) == Status::pending;
    }));
    ASSERT_TRUE(until([&] { return terminus.requests().outcome(handle).status != Status::pending; }));
    EXPECT_EQ(terminus.requests().outcome(handle).cause, Refusal::stale_generation);
  }

  Area area{4096};
  Area own{4096};
  interface::Queue* alices = alice.core.make_queue(16);
  TestSlot landing{alice, own, alices, {}};
  Terminus terminus{alice.core, 63};
};

TEST_P(Generations, a_million_later_an_old_ticket_is_still_only_old) {
  // What a fabric has to do with it, fewer show.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  const int generations = 20000;
#else
  const int generations = std::string_view(GetParam().name) == "shm" ? 1000000 : 20000;
#endif
  constexpr int kLooks = 50;
  std::vector<Ticket> olds;
  std::uint32_t slot = bob.core.make_slot(area.data(), area.size(), queue, kOptions);
  const std::uint32_t place = slot;
  const auto ticket_of = [&] {
    Ticket ticket;
    ticket.interface = bob.id;
    ticket.slot = slot;
    ticket.generation = bob.core.slot(slot).generation;
    ticket.key = bob.core.slot(slot).key;
    ticket.bound = area.size();
    return ticket;
  };
  for (int i = 0; i < generations; ++i) {
    const bool look = i % (generations / kLooks) == 0;
    if (look) olds.push_back(ticket_of());
    bob.core.drop_slot(slot);
    slot = bob.core.make_slot(area.data(), area.size(), queue, kOptions);
    ASSERT_EQ(slot, place) << "the place is to be used again";
    if (look) {
      use(olds.front());
      use(olds.back());
    }
  }
  EXPECT_EQ(std::count(area.bytes().begin(), area.bytes().end(), std::byte{0}),
            static_cast<std::ptrdiff_t>(area.size()))
      << "an old ticket has touched a successor";
  RemoteHandle handle;
  ASSERT_TRUE(until([&] {
    return terminus.requests().fetch(ticket_of(), {.operand = 1}, {}, nullptr, &handle) == Status::pending;
  }));
  ASSERT_TRUE(until([&] { return terminus.requests().outcome(handle).status == Status::ok; }));
  bob.core.drop_slot(slot);
}

// Of every kind: a message in fast mode, one that has come and one that has not, a put that is told of.
TEST_P(Generations, what_a_queue_has_of_a_slot_that_has_gone_is_not_told_of_the_next) {
  constexpr Slot::Options kTold{.entries = 2, .places = 4, .puts = true};
  auto gone = std::make_unique<TestSlot>(bob, area, queue, kTold);
  const std::uint32_t index = gone->index(), number = gone->number();
  ASSERT_EQ(send_fast(terminus, gone->ticket(), {}), Status::ok);
  ASSERT_EQ(terminus.send(gone->ticket(0), {}, {}, nullptr), Status::ok);
  ASSERT_EQ(terminus.put(gone->ticket(), {}, {.notify = true}, nullptr), Status::ok);
  ASSERT_EQ(gone->fail_at(1, 1), Status::ok);
  rest();
  ASSERT_TRUE(bob.core.expire(2));
  gone.reset();
  TestSlot next_one(bob, area, queue, kTold);
  ASSERT_EQ(next_one.index(), index) << "the place is to be used again";
  ASSERT_EQ(terminus.send(next_one.ticket(0), {}, {}, nullptr), Status::ok);
  rest();
  for (int i = 0; i < 4; ++i) {
    const Notification n = next();
    EXPECT_EQ(n.slot, number) << i;
    EXPECT_NE(n.slot, next_one.number()) << i;
  }
  EXPECT_EQ(next_one.arm(0), Status::invalid) << "its own was not read";
  const Notification last = next();
  EXPECT_EQ(last.kind, Notification::Kind::message);
  EXPECT_EQ(last.slot, next_one.number());
  EXPECT_EQ(next_one.arm(0), Status::ok);
}

// Of a get, who asked is told by the number of the slot that it was to land in.
TEST_P(Generations, a_get_that_was_to_land_in_a_slot_that_has_gone_is_not_told_of_the_next) {
  TestSlot from(bob, area, queue, kOptions);
  auto into = std::make_unique<TestSlot>(alice, own, alices, Slot::Options{});
  const std::uint32_t index = into->index(), number = into->number();
  ASSERT_TRUE(until([&] {
    return terminus.requests().get(from.ticket(), {index, 0, 8}, {}, alices, nullptr) == Status::pending;
  }));
  into.reset();
  TestSlot next_one(alice, own, alices, {});
  ASSERT_EQ(next_one.index(), index) << "the place is to be used again";
  const Notification n = next(alice, alices);
  EXPECT_EQ(n.kind, Notification::Kind::remote_failed);
  EXPECT_EQ(n.slot, number);
  EXPECT_NE(n.slot, next_one.number());
}

INSTANTIATE_TEST_SUITE_P(fabric, Generations, testing::ValuesIn(fabrics()), fabric_name);

TEST(SlotNumbers, are_none_of_a_notification_that_names_no_slot_and_begin_again_after_65534) {
  std::uint32_t generation = interface::next_generation(0);
  const auto number = [&](std::uint32_t index) {
    return interface::number_of(std::uint64_t{generation} << 32 | index);
  };
  const std::uint32_t first = number(7);
  for (int i = 0; i < 3 * 65534; ++i) {
    ASSERT_EQ(interface::index_of(number(65535)), 65535u);
    ASSERT_NE(number(0), Notification{}.slot);
    ASSERT_NE(number(65535), interface::kNoEntry);
    ASSERT_EQ(number(7) == first, i % 65534 == 0) << i;
    generation = interface::next_generation(generation);
  }
  generation = 0xFFFFFFFEu;
  generation = interface::next_generation(generation);
  EXPECT_EQ(generation, 1u);
}

}  // namespace
}  // namespace hamlyn::test
