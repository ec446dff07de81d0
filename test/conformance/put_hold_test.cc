// Puts that may not land now: into slots that are inhibited, and into parts that are not pinned.
#include "test/conformance/puts.h"

namespace hamlyn::test {
namespace {

class PutHold : public Puts {};

TEST_P(PutHold, waits_while_the_slot_is_inhibited_and_lands_in_order) {
  bob.core.inhibit_puts(slot.index());
  std::vector<std::byte> last;
  for (std::uint64_t i = 0; i < 10; ++i) {
    last = pattern(60, i);
    ASSERT_EQ(put(slot.ticket(), last, {.offset = 30}), Status::ok);
    ASSERT_EQ(fence(slot.ticket()).status, Status::ok) << "what waits is not refused";
  }
  const auto all = told();
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0].kind, Notification::Kind::put_held);
  EXPECT_EQ(all[0].word, 10u);
  EXPECT_EQ(touched(), 0u);
  bob.core.release_puts(slot.index());
  EXPECT_TRUE(there(30, last));
  EXPECT_EQ(touched(), 60u - static_cast<std::size_t>(std::count(last.begin(), last.end(), kBefore)));
  EXPECT_TRUE(told().empty());
  EXPECT_EQ(put(slot.ticket(), last, {.offset = 3000}), Status::ok);
  rest();
  EXPECT_TRUE(there(3000, last)) << "it went on waiting";
}

TEST_P(PutHold, that_waits_is_told_of_when_it_lands_if_it_asked) {
  bob.core.inhibit_puts(slot.index());
  ASSERT_EQ(put(slot.ticket(), pattern(60, 1), {.offset = 8, .notify = true}), Status::ok);
  ASSERT_EQ(told().size(), 1u);
  bob.core.release_puts(slot.index());
  const auto all = told();
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0].kind, Notification::Kind::put);
  EXPECT_EQ(all[0].offset, 8u);
  EXPECT_EQ(all[0].length, 60u);
}

TEST_P(PutHold, that_waits_in_several_pieces_is_told_of_once_also_if_all_are) {
  bob.core.set_control(slot.index(), Control::always);
  const Strides rows{.chunk = 8, .x_chunks = 5, .y_chunks = 2, .x_stride = 16, .y_stride = 128};
  // Scattered by one packet, and one of several packets where a cell is all that a packet carries.
  for (const Strides* const strides : {&rows, static_cast<const Strides*>(nullptr)}) {
    bob.core.inhibit_puts(slot.index());
    const auto data = pattern(strides != nullptr ? 80 : 3000, 1);
    ASSERT_EQ(put(slot.ticket(), data, {.offset = 8, .notify = true, .strides = strides}), Status::ok);
    ASSERT_EQ(told().size(), 1u);
    bob.core.release_puts(slot.index());
    const auto all = told();
    ASSERT_EQ(all.size(), 1u);
    EXPECT_EQ(all[0].word, 1u);
    EXPECT_EQ(all[0].offset, 8u);
    EXPECT_EQ(all[0].length, strides != nullptr ? interface::span_of(rows) : data.size());
  }
}

TEST_P(PutHold, to_an_unpinned_part_waits_and_can_be_taken) {
  bob.core.pin_puts(slot.index(), 4096, 8192, false);
  const auto low = pattern(40, 1), middle = pattern(40, 2), across = pattern(400, 3);
  ASSERT_EQ(put(slot.ticket(), low, {.offset = 4056}), Status::ok);  // ends where it begins
  ASSERT_EQ(put(slot.ticket(), middle, {.offset = 5000}), Status::ok);
  rest();
  ASSERT_EQ(put(slot.ticket(), across, {.offset = 8000}), Status::ok);
  rest();
  EXPECT_TRUE(there(4056, low));
  EXPECT_EQ(touched(), 40u - static_cast<std::size_t>(std::count(low.begin(), low.end(), kBefore)));
  HeldPut record;
  std::byte room[400];
  EXPECT_EQ(bob.core.take_held(slot.index(), record, std::span(room).first(39)), Status::too_long);
  ASSERT_EQ(bob.core.take_held(slot.index(), record, room), Status::ok);
  EXPECT_EQ(record.offset, 5000u);
  EXPECT_EQ(record.length, 40u);
  EXPECT_EQ(record.peer, alice.id);
  EXPECT_TRUE(same(std::span(room).first(40), middle));
  bob.core.pin_puts(slot.index(), 4096, 8192, true);
  EXPECT_TRUE(there(8000, across));
  EXPECT_EQ(bob.core.take_held(slot.index(), record, room), Status::not_ready);
}

TEST_P(PutHold, what_overlaps_one_that_waits_comes_behind_it) {
  bob.core.pin_puts(slot.index(), 4096, 8192, false);
  const auto across = pattern(400, 3), later = pattern(40, 4);
  ASSERT_EQ(put(slot.ticket(), across, {.offset = 8000}), Status::ok);
  rest();
  ASSERT_EQ(put(slot.ticket(), later, {.offset = 8300}), Status::ok);  // pinned
  rest();
  EXPECT_EQ(touched(), 0u);
  bob.core.pin_puts(slot.index(), 4096, 8192, true);
  EXPECT_TRUE(there(8300, later)) << "the older one has the last word";
}

TEST_P(PutHold, more_than_may_wait_is_refused_whole) {
  bob.core.inhibit_puts(slot.index());
  const Strides strides{.chunk = 8, .x_chunks = 100, .y_chunks = 1, .x_stride = 16, .y_stride = 0};
  ASSERT_EQ(put(slot.ticket(), pattern(800, 1), {.strides = &strides}), Status::ok);  // 100 of 40 bytes
  ASSERT_EQ(put(slot.ticket(), pattern(40, 2), {.offset = 4000}), Status::ok);
  rest();
  EXPECT_EQ(bob.refused(Refusal::hold_full), 1u);
  // Nothing is wrong with it: something has run out.
  std::vector<Refusal> run_out;
  while (const auto one = take(bob, queue)) {
    EXPECT_NE(one->kind, Notification::Kind::protocol_error);
    if (one->kind == Notification::Kind::resource_exhausted) run_out.push_back(one->cause);
  }
  EXPECT_EQ(run_out, std::vector{Refusal::hold_full});
  bob.core.release_puts(slot.index());
  rest();
  EXPECT_TRUE(there(4000, pattern(40, 2)));
  EXPECT_EQ(area.bytes()[0], kBefore);
}

TEST_P(PutHold, what_is_not_pinned_is_not_read_and_nothing_is_changed_where_puts_wait) {
  Area own{4096};
  TestSlot landing{alice, own, alice.core.make_queue(16), {}};
  const auto get = [&](std::uint64_t offset) {
    RemoteHandle handle;
    EXPECT_TRUE(until([&] {
      return terminus.requests().get(slot.ticket(), {landing.index(), 0, 100}, {.offset = offset}, nullptr,
                                     &handle) == Status::pending;
    }));
    until([&] { return terminus.requests().outcome(handle).status != Status::pending; });
    return terminus.requests().outcome(handle);
  };
  const auto fetch = [&](std::uint64_t offset) {
    RemoteHandle handle;
    EXPECT_TRUE(until([&] {
      return terminus.requests().fetch(slot.ticket(), {}, {.offset = offset}, nullptr, &handle) ==
             Status::pending;
    }));
    until([&] { return terminus.requests().outcome(handle).status != Status::pending; });
    return terminus.requests().outcome(handle);
  };
  bob.core.pin_puts(slot.index(), 4096, 8192, false);
  EXPECT_EQ(get(4090).cause, Refusal::not_pinned);
  EXPECT_EQ(get(8191).cause, Refusal::not_pinned);
  EXPECT_EQ(get(3996).status, Status::ok);
  EXPECT_EQ(get(8192).status, Status::ok);
  EXPECT_EQ(fetch(4096).cause, Refusal::not_pinned);
  EXPECT_EQ(fetch(8192).status, Status::ok);
  bob.core.inhibit_puts(slot.index());
  EXPECT_EQ(get(8192).status, Status::ok);
  EXPECT_EQ(fetch(8192).cause, Refusal::inhibited);
}

INSTANTIATE_TEST_SUITE_P(fabric, PutHold, testing::ValuesIn(fabrics()), fabric_name);

}  // namespace
}  // namespace hamlyn::test
