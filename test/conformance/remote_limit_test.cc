// How many requests may be under way by a link: as many as both sides want, and no more than the one that
// takes them has places for, whatever the other says.
#include "test/conformance/remotes.h"

namespace hamlyn::test {
namespace {

using interface::kMostOutstanding;
using interface::kOutstanding;
using interface::Operation;

class RemoteLimits : public Remotes {
 protected:
  // Another link, of two that want so many.
  void want(std::uint32_t of_alice, std::uint32_t of_bob) {
    rest();
    fabric->kill(alice, bob);
    fabric->end(bob, alice);
    alice.core.set_outstanding(of_alice);
    bob.core.set_outstanding(of_bob);
    fabric->join(alice, bob);
    rest();
  }
  // As many as leave while bob does nothing, where the link has room for all.
  std::size_t ask(std::vector<RemoteHandle>& handles) {
    std::size_t asked = 0;
    for (RemoteHandle& handle : handles) {
      Status status = Status::queue_full;
      for (int i = 0; i != 50 && status == Status::queue_full; ++i) {
        status = asks.get(slot.ticket(), {landing.index(), asked * 512, 512}, {.offset = asked * 512},
                          nullptr, &handle);
        fabric->pass();
      }
      if (status != Status::pending) return asked;
      ++asked;
    }
    return asked;
  }
};

TEST_P(RemoteLimits, are_those_of_the_side_that_wants_fewer) {
  const struct {
    std::uint32_t of_alice, of_bob, both;
  } cases[] = {{16, 16, 16}, {32, 16, 16}, {16, 32, 16}, {20, 32, 20}, {32, 20, 20}, {31, 31, 31}};
  for (const auto& each : cases) {
    SCOPED_TRACE(each.of_alice * 100 + each.of_bob);
    want(each.of_alice, each.of_bob);
    for (std::size_t i = 0; i != area.bytes().size(); ++i)
      area.bytes()[i] = static_cast<std::byte>(i * 7 / 3);
    for (int round = 0; round != 3; ++round) {
      std::fill(own.bytes().begin(), own.bytes().end(), std::byte{0xEE});
      std::vector<RemoteHandle> handles(kMostOutstanding);
      const std::size_t asked = ask(handles);
      EXPECT_EQ(asked, each.both);
      for (std::size_t i = 0; i != asked; ++i) ASSERT_EQ(end_of(handles[i]).status, Status::ok);
      EXPECT_TRUE(same(own_bytes().subspan(0, asked * 512), area.bytes().subspan(0, asked * 512)));
    }
    EXPECT_EQ(bob.refused_in_all(), 0u) << "who keeps to it is refused nothing";
    EXPECT_EQ(alice.refused_in_all(), 0u);
  }
}

TEST_P(RemoteLimits, hold_at_both_levels) {
  want(24, 24);
  interface::Terminus urgent(alice.core, 63, Priority::urgent);
  std::vector<RemoteHandle> normal(kMostOutstanding), at_once(kMostOutstanding);
  EXPECT_EQ(ask(normal), 24u);
  std::size_t asked = 0;
  for (RemoteHandle& handle : at_once) {
    Status status = Status::queue_full;
    for (int i = 0; i != 200 && status == Status::queue_full; ++i) {
      status = urgent.requests().fetch(slot.ticket(), {.operand = 1}, {.offset = 8}, nullptr, &handle);
      if (status == Status::queue_full && asked < 24) bob.core.run();
      fabric->pass();
    }
    if (status != Status::pending) break;
    ++asked;
  }
  EXPECT_EQ(asked, 24u);
  EXPECT_TRUE(until([&] { return alice.core.find_link(bob.id)->remote.asks_nothing(); }));
  EXPECT_TRUE(bob.core.find_link(alice.id)->remote.owes_nothing());
  EXPECT_EQ(bob.refused_in_all(), 0u);
}

// A requester that thinks otherwise is refused what is beyond, and holds nothing more.
TEST_P(RemoteLimits, of_the_target_hold_whatever_the_requester_does) {
  want(64, 20);
  interface::Packet packet = hand_made(slot.ticket(), 0);
  set_lead(packet, Operation::get, 0, 0);
  packet.delta = 4096;
  int sent = 0;
  interface::Link& link = *alice.core.find_link(bob.id);
  for (; sent < 39; ++sent) {
    if (link.put(packet, nullptr, nullptr) != Status::ok) break;
  }
  ASSERT_GT(sent, 30);
  rest_of(bob);
  EXPECT_EQ(bob.refused_in_all(), bob.refused(Refusal::over_budget));
  EXPECT_GE(bob.refused(Refusal::over_budget), static_cast<std::uint64_t>(sent) - 20 - 12);
  rest();
  EXPECT_EQ(fetch(slot.ticket(), {.operand = 1}).status, Status::ok) << "the link goes on";
}

TEST_P(RemoteLimits, that_are_none_change_nothing) {
  want(64, 16);
  for (const std::uint32_t said : {0u, 1u, 15u, 65u, 1000u, ~0u})
    forge(bob, Operation::taken_requests, 0, 0, 0, said);
  EXPECT_EQ(alice.refused(Refusal::malformed), 6u);
  std::vector<RemoteHandle> handles(kMostOutstanding);
  EXPECT_EQ(ask(handles), kOutstanding);
  EXPECT_TRUE(until([&] { return alice.core.find_link(bob.id)->remote.asks_nothing(); }));
  // More than this side has room for is no more than that.
  want(24, 64);
  forge(bob, Operation::taken_requests, 0, 0, 0, 64);
  EXPECT_EQ(ask(handles), 24u);
  // Fewer than are under way ends none of them.
  forge(bob, Operation::taken_requests, 0, 0, 0, 16);
  EXPECT_EQ(alice.refused(Refusal::malformed), 6u);
  EXPECT_TRUE(until([&] { return alice.core.find_link(bob.id)->remote.asks_nothing(); }));
  EXPECT_EQ(ask(handles), kOutstanding);
  EXPECT_TRUE(until([&] { return alice.core.find_link(bob.id)->remote.asks_nothing(); }));
}

INSTANTIATE_TEST_SUITE_P(fabric, RemoteLimits, testing::ValuesIn(fabrics()), fabric_name);

}  // namespace
}  // namespace hamlyn::test
