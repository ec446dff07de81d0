// A peer that takes back what it has said to have taken. The ring finds that out (RingWriter::credit) unless
// it has been told to forget its room, or the peer still speaks of the ring before: then the link does.
#include "fabric/shm/shm_link.h"
#include "test/conformance/conformance.h"

namespace hamlyn::test {
namespace {

constexpr std::uint64_t kPeer = 102;

// The peer is a page, which the test writes.
class ShmCredit : public testing::TestWithParam<Priority> {
 protected:
  Status send() {
    interface::Packet packet {};
    set_lead(packet, interface::Operation::write, 0, 0);
    return link.put(packet, nullptr, nullptr, GetParam());
  }
  void send(int packets) {
    for (int i = 0; i < packets; ++i) ASSERT_EQ(send(), Status::ok);
  }
  void say_taken(std::uint64_t cells) {
    auto& credits = static_cast<shm::Page*>(page.mapping.data())->credits;
    (GetParam() == Priority::urgent ? credits.urgent_taken : credits.taken) = cells;
  }

  Party alice{101};
  shm::OwnedMemory page = shm::ShmLink::prepare_page(kPeer, kMtu);
  shm::ShmLink link{alice,
                    alice.id,
                    kPeer,
                    kMtu,
                    shm::ShmLink::prepare_page(alice.id, kMtu).mapping,
                    shm::map_foreign_memory(page.memfd, sizeof(shm::Page)).mapping};
};

TEST_P(ShmCredit, taken_back_ends_the_link) {
  send(5);
  say_taken(5);
  EXPECT_FALSE(link.work_pending());
  say_taken(4);
  EXPECT_FALSE(link.work_pending());
  EXPECT_TRUE(link.broken);
  EXPECT_EQ(alice.attentions, 1) << "whoever keeps the links is called";
}

TEST_P(ShmCredit, taken_back_while_nobody_watches_ends_the_link_at_the_next_packet) {
  send(5);
  say_taken(5);
  ASSERT_FALSE(link.work_pending());
  link.leave_unwatched();
  say_taken(4);
  EXPECT_EQ(send(), Status::link_ended);
  EXPECT_TRUE(link.broken);
}

INSTANTIATE_TEST_SUITE_P(level, ShmCredit, testing::Values(Priority::normal, Priority::urgent),
                         [](const auto& level) {
                           return std::string(level.param == Priority::urgent ? "urgent" : "normal");
                         });

// Only what is normal grows.
class ShmCreditOfTwoRings : public ShmCredit {};

TEST_P(ShmCreditOfTwoRings, taken_back_in_the_former_one_ends_the_link) {
  send(20);
  link.continue_out(shm::make_sealed_memory(link.next_size() * interface::kCell).mapping);
  send(5);
  say_taken(10);
  EXPECT_EQ(link.taken_count(), 10u);
  EXPECT_FALSE(link.broken);
  say_taken(9);
  EXPECT_EQ(link.taken_count(), 10u) << "as far as it was";
  EXPECT_TRUE(link.broken);
}

INSTANTIATE_TEST_SUITE_P(level, ShmCreditOfTwoRings, testing::Values(Priority::normal));

}  // namespace
}  // namespace hamlyn::test
