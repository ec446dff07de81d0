// What the owner of a slot keeps its guests from by itself, on every fabric: whatever packets they make up,
// and though their own side never looked at what it was granted.
#include "test/conformance/puts.h"

namespace hamlyn::test {
namespace {

using interface::Operation;
using interface::Packet;
using interface::Terminus;

// Alice's user is a stranger to bob, carol's is his own.
class Guest : public Puts {
 protected:
  Guest() {
    bob.core.find_link(alice.id)->user = {8, 80};
    bob.core.find_link(carol.id)->user = {7, 70};
  }
  void protect(TestSlot& one, std::uint32_t mode) {
    bob.core.set_guests(one.index(), std::make_unique<interface::Guests>(
                                         Protection{.mode = mode, .users = {}}, interface::User{7, 70}));
  }
  // By the opening that alice was granted.
  void send(Operation operation, std::size_t length, bool notify, std::uint64_t what = 0) {
    const std::uint32_t opening = terminus.opening_of(terminus.credit_of(slot.ticket()));
    ASSERT_LT(opening, interface::kLostOpening) << "nothing was granted";
    const bool strided = operation == Operation::put_strided;
    Packet packet = hand_made(slot.ticket(), 0);
    set_lead(packet, operation, length, 0);
    set_word(packet, interface::kSlotWord,
             interface::put_word(opening, operation == Operation::put ? 48 : 0, notify, strided ? 16 : 0));
    if (strided) {
      set_strides(packet, {.chunk = 8, .x_chunks = 2, .y_chunks = 1, .x_stride = 16}, 64, 0);
    } else {
      packet.offset = 64;
      set_word(packet, interface::kEntryWord, length == 0 ? 100 : 0);
      packet.word = what;
    }
    inject(packet);
    rest();
  }
  static constexpr auto kAdd = static_cast<std::uint64_t>(Signal::add);
  static constexpr auto kWritten = static_cast<std::uint64_t>(Touched::written);
  static constexpr auto kRead = static_cast<std::uint64_t>(Touched::read);
};

TEST_P(Guest, that_may_only_read_puts_nothing_by_an_opening_that_it_has) {
  protect(slot, 0604);
  EXPECT_EQ(put(slot.ticket(), pattern(8, 1)), Status::refused);
  for (const bool notify : {false, true}) {
    send(Operation::put, interface::kInlineData, notify);
    send(Operation::put_block, 16, notify);
    send(Operation::put_block, 900, notify);
    send(Operation::put_block, 8, notify, kAdd);
    send(Operation::put_strided, 16, notify);
  }
  send(Operation::put_block, 0, true, kWritten);
  EXPECT_EQ(touched(), 0u);
  EXPECT_TRUE(told().empty());
  EXPECT_EQ(bob.refused(Refusal::not_permitted), 11u);
  send(Operation::put_block, 0, true, kRead);
  const auto all = told();
  ASSERT_EQ(all.size(), 1u) << "of what it may, it tells";
  EXPECT_EQ(all[0].kind, Notification::Kind::got);
  EXPECT_EQ(bob.refused_in_all(), 11u);
}

TEST_P(Guest, that_may_only_write_tells_of_no_read) {
  protect(slot, 0602);
  const auto data = pattern(8, 1);
  ASSERT_EQ(put(slot.ticket(), data), Status::ok);
  send(Operation::put_block, 0, true, kRead);
  EXPECT_TRUE(told().empty());
  EXPECT_EQ(bob.refused(Refusal::not_permitted), 1u);
  EXPECT_TRUE(there(0, data));
}

// Others need them, and it has no use for them.
TEST_P(Guest, that_may_do_nothing_is_kept_no_places_for) {
  TestSlot shared(bob, area, bob.core.make_queue(16), {.fast = false, .places = 16, .puts = true});
  protect(shared, 0600);
  const auto data = pattern(8, 1);
  EXPECT_EQ(put(shared.ticket(), data, {.notify = true}), Status::refused);
  EXPECT_EQ(bob.refused(Refusal::not_permitted), 1u);
  Terminus owners(carol.core, 63);
  Status status = Status::connecting;
  until([&] {
    status = owners.put(shared.ticket(), data, {.notify = true}, nullptr);
    return status != Status::connecting;
  });
  EXPECT_EQ(status, Status::ok) << "a guest holds the places of the queue";
  rest();
  EXPECT_EQ(bob.refused_in_all(), 1u);
}

INSTANTIATE_TEST_SUITE_P(fabric, Guest, testing::ValuesIn(fabrics()), fabric_name);

}  // namespace
}  // namespace hamlyn::test
