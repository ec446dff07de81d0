// Long answers beside sends that need one cell each, in a ring of which an answer needs more than the reader
// gives back at a time: neither is left without room for ever.
#include "fabric/shm/short_way.h"
#include "test/conformance/remotes.h"

namespace hamlyn::test {
namespace {

using interface::Terminus;

class ShmAnswers : public Remotes {
 protected:
  ShmAnswers() : Remotes(32768) {}

  // Bob's ring has the length that it has for another user's answers, and gets no longer.
  void SetUp() override {
    EXPECT_EQ(get(slot.ticket(), 65536).status, Status::ok);
    rest();
    EXPECT_EQ(get(slot.ticket(), 65536).status, Status::ok);
    EXPECT_EQ(ring().payload_limit(), 32768u);
    ring().growth_refused();
    ASSERT_TRUE(until([&] { return puts.put_now(alices_slot.ticket(), word(), 0) == Status::ok; }));
    rest();
  }
  shm::ShmLink& ring() { return *bob.core.find_link(alice.id)->local(); }
  static std::span<const std::byte> word() { return std::span(junk).first(8); }

  // Bob puts as much as goes, by the short way or by the long one; then each has a turn.
  void flood(bool short_way) {
    shm::ShmLink* asleep = nullptr;
    const auto left = [&] {
      return short_way ? shm::ShortWay::put(puts, alices_slot.ticket(), word(), {}, asleep)
                       : puts.put_now(alices_slot.ticket(), word(), 0) == Status::ok;
    };
    while (left()) ++sent;
    if (short_way && puts.put_now(alices_slot.ticket(), word(), 0) == Status::ok)
      ++sent;  // as the library does
    alice.core.run();
    bob.core.run();
  }

  TestSlot alices_slot{alice, own, alices, {.puts = true}};
  Terminus puts{bob.core, 63};
  std::uint64_t sent = 0;
};

TEST_P(ShmAnswers, leave_though_each_cell_that_becomes_free_is_wanted) {
  for (const bool short_way : {false, true}) {
    for (int i = 0; i < 100; ++i) flood(short_way);
    RemoteHandle handle;
    ASSERT_TRUE(until([&] {
      return asks.get(slot.ticket(), {landing.index(), 0, 65536}, {}, nullptr, &handle) == Status::pending;
    }));
    int turns = 0;
    while (asks.outcome(handle).status == Status::pending && ++turns != 2000) flood(short_way);
    EXPECT_EQ(asks.outcome(handle).status, Status::ok) << (short_way ? "short" : "long") << " way";
  }
  rest();
  EXPECT_EQ(bob.core.find_link(alice.id)->way(Priority::normal).state, interface::LinkLevel::State::idle);
  EXPECT_TRUE(ring().cached_room() || puts.put_now(alices_slot.ticket(), word(), 0) == Status::ok);
}

TEST_P(ShmAnswers, of_gets_without_end_leave_direct_sends_their_turns) {
  for (const bool short_way : {false, true}) {
    std::vector<RemoteHandle> handles(interface::kOutstanding);
    int over = 0;
    sent = 0;
    for (int i = 0; i < 4000; ++i) {
      for (RemoteHandle& handle : handles) {
        if (asks.outcome(handle).status == Status::pending) continue;
        over += asks.outcome(handle).status == Status::ok ? 1 : 0;
        static_cast<void>(asks.get(slot.ticket(), {landing.index(), 0, 65536}, {}, nullptr, &handle));
      }
      flood(short_way);
    }
    EXPECT_GT(over, 20);
    EXPECT_GT(sent, 20u);
    ASSERT_TRUE(until([&] {
      return std::ranges::none_of(
          handles, [&](RemoteHandle each) { return asks.outcome(each).status == Status::pending; });
    }));
  }
}

// A message of two cells, posted behind others, takes no room from an answer either.
TEST_P(ShmAnswers, leave_though_messages_wait_in_their_termini) {
  interface::Queue* const told = alice.core.make_queue(256);
  Area there(1u << 17);
  TestSlot messages(alice, there, told, {.entries = 64});
  Terminus bobs(bob.core, 63);
  std::vector<SendHandle> handles(63);
  std::size_t gets = 0, sends = 0;
  RemoteHandle asked;
  for (int i = 0; i < 20000 && (gets < 20 || sends < 200); ++i) {
    if (asks.outcome(asked).status != Status::pending) {
      gets += asks.outcome(asked).status == Status::ok ? 1u : 0u;
      static_cast<void>(asks.get(slot.ticket(), {landing.index(), 0, 65536}, {}, nullptr, &asked));
    }
    for (std::uint32_t n = 0; n < handles.size(); ++n) {
      if (bobs.status(handles[n]) == Status::pending) continue;
      static_cast<void>(messages.arm(n));
      static_cast<void>(bobs.send(messages.ticket(n), std::span(junk).first(64), {}, &handles[n]));
    }
    flood(false);
    while (take(alice, told)) ++sends;
  }
  EXPECT_GE(gets, 20u);
  EXPECT_GE(sends, 200u);
}

INSTANTIATE_TEST_SUITE_P(fabric, ShmAnswers, testing::Values(FabricKind{"shm", make_shm_fabric}),
                         fabric_name);

}  // namespace
}  // namespace hamlyn::test
