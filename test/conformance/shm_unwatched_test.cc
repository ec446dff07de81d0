// A link at which nobody looks for what its peer leaves untaken (ShmLink::leave_unwatched): the first that
// sends calls for attention, whichever way it sends, and nothing else is changed.
#include "fabric/shm/shm_link.h"
#include "test/conformance/conformance.h"

namespace hamlyn::test {
namespace {

using interface::Terminus;

class ShmUnwatched : public Conformance {
 protected:
  ShmUnwatched() {
    EXPECT_EQ(send_fast(normal, slot.ticket(), word), Status::ok);
    EXPECT_EQ(arrived(), 1u);
  }
  shm::ShmLink& link() { return *alice.core.find_link(bob.id)->local(); }
  unsigned arrived() {
    rest();
    unsigned count = 0;
    while (take(bob, queue)) ++count;
    rest();  // gives the places back
    bob.core.find_link(alice.id)->local()->tell_taken();
    return count;
  }
  // Sends `count` times while nobody looks; how often it has called for attention.
  template <class Send>
  int calls(Send send, unsigned count = 1) {
    EXPECT_FALSE(link().work_pending());
    link().leave_unwatched();
    const int before = alice.attentions;
    rest();
    EXPECT_EQ(alice.attentions, before) << "nothing was sent";
    for (unsigned i = 0; i < count; ++i) EXPECT_EQ(send(), Status::ok) << i;
    const int after = alice.attentions;
    EXPECT_TRUE(link().work_pending());
    EXPECT_EQ(arrived(), count);
    EXPECT_FALSE(link().broken);
    return after - before;
  }

  const std::vector<std::byte> word = pattern(16, 1), more = pattern(300, 2);
  Area area{4096};
  TestSlot slot{bob, area, queue, {.places = 8}};
  TestSlot many{bob, area, queue, {.places = 48}};
  Terminus normal{alice.core, 63};
  Terminus urgent{alice.core, 63, Priority::urgent};
};

TEST_P(ShmUnwatched, calls_once_for_the_first_that_is_sent) {
  EXPECT_EQ(calls([&] { return send_fast(normal, slot.ticket(), word); }), 1);
  EXPECT_EQ(calls([&] { return send_fast(normal, slot.ticket(), word); }, 5), 1);
  EXPECT_EQ(calls([&] { return send_fast(normal, slot.ticket(), more); }), 1) << "of several cells";
}

TEST_P(ShmUnwatched, calls_for_what_is_urgent) {
  EXPECT_EQ(calls([&] { return send_fast(urgent, slot.ticket(), word); }, 2), 1);
  EXPECT_EQ(calls([&] { return send_fast(urgent, slot.ticket(), word); }), 1);
}

// Wherever the ring stands, and whichever lap it is in.
TEST_P(ShmUnwatched, is_left_so_at_every_cell_of_the_ring) {
  for (int i = 0; i < 100; ++i) {
    ASSERT_EQ(calls([&] { return send_fast(normal, slot.ticket(), word); }), 1) << i;
    ASSERT_EQ(calls([&] { return send_fast(urgent, slot.ticket(), word); }), 1) << i;
  }
}

TEST_P(ShmUnwatched, is_found_pending_by_who_looks_anyway) {
  link().leave_unwatched();
  link().watch_again();
  const int before = alice.attentions;
  EXPECT_EQ(send_fast(normal, slot.ticket(), word), Status::ok);
  EXPECT_TRUE(link().work_pending());
  EXPECT_EQ(alice.attentions, before) << "somebody looks";
  EXPECT_EQ(arrived(), 1u);
}

// Room that was withheld is all there when it is asked for.
TEST_P(ShmUnwatched, has_all_its_room_again) {
  unsigned most = 0;
  while (send_fast(normal, many.ticket(), word) == Status::ok) ++most;
  EXPECT_EQ(arrived(), most);
  ASSERT_FALSE(link().work_pending());
  link().leave_unwatched();
  unsigned again = 0;
  while (send_fast(normal, many.ticket(), word) == Status::ok) ++again;
  EXPECT_GE(again, most) << "the ring may have grown";
  EXPECT_EQ(arrived(), again);
}

INSTANTIATE_TEST_SUITE_P(fabric, ShmUnwatched, testing::Values(FabricKind{"shm", make_shm_fabric}),
                         fabric_name);

}  // namespace
}  // namespace hamlyn::test
