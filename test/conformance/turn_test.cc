// How much of a link is handed over before it is another's turn, whatever its peer writes meanwhile.
#include "fabric/shm/shm_link.h"
#include "test/conformance/conformance.h"

namespace hamlyn::test {
namespace {

constexpr std::uint64_t kPeer = 102;

TEST(Turns, of_a_link_are_no_longer_than_their_budget) {
  Party alice{101};
  const shm::OwnedMemory page = shm::ShmLink::prepare_page(kPeer, kMtu);
  shm::ShmLink link{alice,
                    alice.id,
                    kPeer,
                    kMtu,
                    shm::ShmLink::prepare_page(alice.id, kMtu).mapping,
                    shm::map_foreign_memory(page.memfd, sizeof(shm::Page)).mapping};
  auto& theirs = *static_cast<shm::Page*>(page.mapping.data());
  shm::RingWriter<> writer, urgent;
  writer.reset(theirs.cells, shm::kHomeCells, 0, 1, shm::first_cell(kPeer));
  urgent.reset(theirs.urgent, shm::kUrgentCells, 0);
  interface::Packet packet {};
  set_lead(packet, interface::Operation::write, 0, 0);
  packet.slot = 9;
  while (writer.has_room(1)) writer.put(packet, nullptr, nullptr);
  while (urgent.has_room(1)) urgent.put(packet, nullptr, nullptr);
  alice.core.add_link(link);
  EXPECT_EQ(link.arrive(alice.core, 3), 3u) << "of the urgent ones";
  EXPECT_EQ(link.arrive(alice.core, 100), shm::kUrgentCells - 1 - 3u);
  EXPECT_EQ(link.arrive(alice.core, 5), 5u);
  EXPECT_EQ(link.arrive(alice.core, 32), 32u);
  EXPECT_EQ(link.arrive(alice.core, 100), shm::kHomeCells - 1 - 37u);
  alice.core.end_link(link);
}

// There is always more of it.
struct Endless final : interface::Link {
  Status put(const interface::Packet&, const std::byte*, const std::byte*, Priority) noexcept override {
    return Status::queue_full;
  }
  Status put_reply(const interface::Packet&, const std::byte*) noexcept override {
    return Status::queue_full;
  }
  unsigned arrive(interface::Core&, unsigned budget) noexcept override {
    taken += budget;
    return taken < 1 << 20 ? budget : 0;
  }
  bool something_arrived() const noexcept override { return true; }
  std::uint64_t arrived_at_most() const noexcept override { return 100; }
  bool has_room(Priority) noexcept override { return false; }
  bool has_reply_room() noexcept override { return false; }
  std::size_t payload_limit() const noexcept override { return kMtu; }
  std::size_t urgent_payload_limit() const noexcept override { return kMtu; }
  std::size_t payload_limit_ever() const noexcept override { return kMtu; }
  std::uint64_t put_count() const noexcept override { return 0; }
  std::uint64_t taken_count() noexcept override { return 0; }

  unsigned taken = 0;
};

TEST(Turns, of_a_link_that_is_over_take_what_it_can_hold) {
  Party alice{101};
  Endless link;
  alice.core.drain(link);
  EXPECT_EQ(link.taken, 100u);
}

}  // namespace
}  // namespace hamlyn::test
