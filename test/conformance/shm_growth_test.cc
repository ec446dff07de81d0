// When a link continues in a longer ring though it never lacks room: when its packets take more than a
// quarter of the one it has. And how those who wait for room, or for a longer ring, are told.
#include "fabric/shm/credit.h"
#include "fabric/shm/shm_link.h"
#include "test/conformance/conformance.h"

namespace hamlyn::test {
namespace {

class ShmGrowth : public Conformance {
 protected:
  ShmGrowth() : Conformance(interface::kPacketLimit) {}

  // One after the other, each taken before the next. The longest packet that the link carries then.
  std::size_t longest_after(int packets, std::size_t bytes) {
    const std::vector<std::byte> data = pattern(bytes, bytes);
    for (int i = 0; i < packets; ++i) {
      EXPECT_EQ(send_fast(terminus, slot.ticket(), data), Status::ok);
      EXPECT_TRUE(same(slot.bytes(next()), data)) << i;
      rest();
    }
    return link().payload_limit();
  }
  shm::ShmLink& link() { return *alice.core.find_link(bob.id)->local(); }

  Area area{interface::kPacketLimit};
  TestSlot slot{bob, area, queue, {}};
  interface::Terminus terminus {
    alice.core, 63
  };
};

TEST_P(ShmGrowth, is_not_for_packets_that_are_short_for_their_ring) {
  EXPECT_EQ(longest_after(300, 16), 1024u);
  EXPECT_EQ(longest_after(300, 9 * interface::kCell), 1024u)
      << "with its header a quarter of the home page's";
}

TEST_P(ShmGrowth, is_for_packets_of_more_than_a_quarter_of_it) {
  EXPECT_EQ(longest_after(1, 9 * interface::kCell + 1), 4096u);
  EXPECT_EQ(longest_after(300, 63 * interface::kCell), 4096u) << "a quarter of the next";
  EXPECT_EQ(longest_after(300, 4096), interface::kPacketLimit);
  EXPECT_EQ(longest_after(300, interface::kPacketLimit), interface::kPacketLimit);
}

// Nobody is told to try again what will never go.
TEST_P(ShmGrowth, that_was_refused_leaves_short_packets_alone) {
  EXPECT_EQ(longest_after(1, 16), 1024u);
  link().growth_refused();
  EXPECT_EQ(longest_after(300, 1024), 1024u);
  EXPECT_EQ(terminus.send_fast(slot.ticket(), pattern(1025, 1), 0, 0), Status::too_long);
}

TEST_P(ShmGrowth, that_was_refused_later_leaves_packets_of_half_of_the_ring) {
  EXPECT_EQ(longest_after(1, 1024), 4096u);
  link().growth_refused();
  EXPECT_EQ(longest_after(300, 8192), 8192u);
  EXPECT_EQ(terminus.send_fast(slot.ticket(), pattern(8193, 1), 0, 0), Status::too_long);
}

// There is room in the ring that it has, but not for that packet; and none longer can be had before the peer
// has left the former one. Whoever waits is rung then.
TEST_P(ShmGrowth, waits_for_the_peer_to_leave_the_former_ring_and_is_told) {
  EXPECT_EQ(longest_after(1, 16), 1024u);
  ASSERT_EQ(terminus.send_fast(slot.ticket(), pattern(1024, 1), 0, 0), Status::ok);
  fabric->pass();
  ASSERT_EQ(link().payload_limit(), 4096u) << "the next ring is in use, and the peer has not looked";
  ASSERT_EQ(terminus.send_fast(slot.ticket(), pattern(8192, 1), 0, 0), Status::queue_full);
  EXPECT_FALSE(link().wants_growth());
  EXPECT_FALSE(alice.core.something_to_do());
  link().arm(2);
  shm::ShmLink& other = *bob.core.find_link(alice.id)->local();
  bob.core.run();
  other.arm(2);  // it goes to sleep, and says what it has taken
  EXPECT_EQ(other.counters->doorbells, 1u);
  link().disarm();
  other.disarm();
  const auto told = alice.settles;
  EXPECT_TRUE(alice.core.something_to_do());
  EXPECT_EQ(alice.settles, told + 1) << "a thread that waits for a longer ring looks again";
  ASSERT_EQ(terminus.send_fast(slot.ticket(), pattern(8192, 1), 0, 0), Status::queue_full);
  EXPECT_TRUE(link().wants_growth());
}

INSTANTIATE_TEST_SUITE_P(fabric, ShmGrowth, testing::Values(FabricKind{"shm", make_shm_fabric}), fabric_name);

// A thread that finds room in a link that others have asked for in vain tells them: the peer rings for
// it no more.
struct Waiters final : interface::Surroundings {
  std::uint64_t random_key() override { return 1; }
  void want_link(std::uint64_t) noexcept override {}
  void attention() noexcept override {}
  void signal(interface::Queue&) noexcept override {}
  void settled() noexcept override { ++told; }
  int told = 0;
};

TEST(ShmRoom, that_is_found_is_told_once_to_those_who_wait) {
  constexpr std::uint64_t kHere = 101, kThere = 102;
  Waiters waiters;
  shm::OwnedMemory own = shm::ShmLink::prepare_page(kHere, kMtu);
  shm::OwnedMemory page = shm::ShmLink::prepare_page(kThere, kMtu);
  auto& theirs = *static_cast<shm::Page*>(page.mapping.data());
  shm::ShmLink link(waiters, kHere, kThere, kMtu, std::move(own.mapping),
                    shm::map_foreign_memory(page.memfd, sizeof(shm::Page)).mapping);
  interface::LinkCounters counters {};
  link.counters = &counters;
  interface::Packet packet {};
  set_lead(packet, interface::Operation::write, 0, 0);
  EXPECT_TRUE(link.has_room(Priority::normal));
  EXPECT_EQ(waiters.told, 0) << "nobody has asked for any";
  Status status = Status::ok;
  while (status == Status::ok) status = link.put(packet, nullptr, nullptr, Priority::normal);
  ASSERT_EQ(status, Status::queue_full);
  EXPECT_FALSE(link.has_room(Priority::normal));
  EXPECT_EQ(waiters.told, 0);
  shm::Credit<>::tell(theirs.credits.taken, link.put_count());
  EXPECT_TRUE(link.has_room(Priority::normal));
  EXPECT_TRUE(link.has_room(Priority::normal));
  EXPECT_EQ(waiters.told, 1);
}

}  // namespace
}  // namespace hamlyn::test
