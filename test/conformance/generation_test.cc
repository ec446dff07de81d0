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

INSTANTIATE_TEST_SUITE_P(fabric, Generations, testing::ValuesIn(fabrics()), fabric_name);

}  // namespace
}  // namespace hamlyn::test
