// A link never loads from the page that it shows: whatever stands there, only what the link itself knows
// decides. (Its peer cannot write there. Nothing rests on that alone.)
#include <cstring>

#include "base/generation.h"
#include "fabric/shm/shm_link.h"
#include "test/conformance/conformance.h"

namespace hamlyn::test {
namespace {

constexpr std::uint64_t kPeer = 102;

struct ShmOwnPage : testing::Test {
  Party alice{101};
  shm::OwnedMemory page = shm::ShmLink::prepare_page(kPeer, kMtu);
  shm::OwnedMemory own = scribbled();
  shm::Page& mine = *static_cast<shm::Page*>(own.mapping.data());
  shm::Page& theirs = *static_cast<shm::Page*>(page.mapping.data());
  shm::ShmLink link{alice,
                    alice.id,
                    kPeer,
                    kMtu,
                    std::move(own.mapping),
                    shm::map_foreign_memory(page.memfd, sizeof(shm::Page)).mapping};

  static shm::OwnedMemory scribbled() {
    shm::OwnedMemory made = shm::ShmLink::prepare_page(101, kMtu);
    std::memset(made.mapping.data(), 0xA5, sizeof(shm::Page));
    return made;
  }
};

TEST_F(ShmOwnPage, does_not_say_where_the_first_packet_goes) {
  interface::LinkCounters counters {};
  link.counters = &counters;
  interface::Packet packet {};
  set_lead(packet, interface::Operation::write, 0, 0);
  ASSERT_EQ(link.put(packet, nullptr, nullptr, Priority::normal), Status::ok);
  EXPECT_EQ(mine.cells[shm::first_cell(alice.id)].lead.turn, 1u);
}

TEST_F(ShmOwnPage, does_not_say_how_often_the_bell_was_rung) {
  for (std::uint32_t sleep = 1; sleep <= 3; ++sleep) {
    theirs.watch.watch = 2 * sleep;
    EXPECT_TRUE(link.must_ring());
    EXPECT_EQ(std::exchange(mine.watch.doorbell, 0xA5A5A5A5), sleep);
  }
}

TEST_F(ShmOwnPage, does_not_say_whether_a_sleeper_wakes_for_room) {
  link.arm(8);
  ++link.departures;
  mine.watch.watch = 8 | shm::kWantsRoom;
  EXPECT_TRUE(link.must_arm_anew());
  link.arm(10);
  mine.watch.watch = 10;
  EXPECT_FALSE(link.must_arm_anew());
}

TEST(MappedMemory, has_the_generation_that_its_owner_knows_and_not_the_one_that_it_shows) {
  std::uint64_t shown = 0xA5A5, number = 3;
  base::Generation<>::move(shown, number);
  EXPECT_EQ(shown, 4u);
  EXPECT_EQ(number, 4u);
}

}  // namespace
}  // namespace hamlyn::test
