// When a link continues in a longer ring though it never lacks room: when its packets take more than a
// quarter of the one it has.
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

INSTANTIATE_TEST_SUITE_P(fabric, ShmGrowth, testing::Values(FabricKind{"shm", make_shm_fabric}), fabric_name);

}  // namespace
}  // namespace hamlyn::test
