// Puts: data that lands and says nothing, on every fabric, and what is refused.
#include "test/conformance/puts.h"

namespace hamlyn::test {
namespace {

using interface::Operation;
using interface::Packet;

class Put : public Puts {};

TEST_P(Put, lands_where_it_was_told_and_nowhere_else) {
  for (const std::size_t length :
       {0u, 1u, 7u, 8u, 40u, 47u, 48u, 49u, 64u, 1023u, 1024u, 1025u, 9000u, 65530u}) {
    for (const std::size_t offset : {0u, 3u, 5u}) {
      if (offset + length > area.size()) continue;
      std::fill(area.bytes().begin(), area.bytes().end(), kBefore);
      std::vector<std::byte> data = pattern(length, length + offset);
      std::replace(data.begin(), data.end(), kBefore, std::byte{1});
      ASSERT_EQ(put(slot.ticket(), data, {.offset = offset}), Status::ok);
      rest();
      ASSERT_TRUE(there(offset, data)) << length << " bytes at " << offset;
      ASSERT_EQ(touched(), length);
    }
  }
  EXPECT_TRUE(told().empty()) << "a put was told of";
  EXPECT_EQ(bob.refused_in_all(), 0u);
}

TEST_P(Put, is_told_of_if_it_asks_for_it) {
  EXPECT_EQ(put(slot.ticket(), pattern(40, 1), {.offset = 100}), Status::ok);
  EXPECT_EQ(put(slot.ticket(), pattern(40, 2), {.offset = 200, .notify = true}), Status::ok);
  const auto all = told();
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0].kind, Notification::Kind::put);
  EXPECT_EQ(all[0].slot, slot.number());
  EXPECT_EQ(all[0].offset, 200u);
  EXPECT_EQ(all[0].length, 40u);
  EXPECT_EQ(all[0].word, 1u);
  EXPECT_EQ(all[0].peer, alice.id);
}

TEST_P(Put, of_several_packets_is_told_of_when_all_has_landed) {
  const auto data = pattern(40000, 3);
  for (int i = 0; i < 20; ++i) {
    std::fill(area.bytes().begin(), area.bytes().end(), kBefore);
    SendHandle handle;
    ASSERT_TRUE(until([&] {
      const Status status = terminus.put(slot.ticket(), data, {.offset = 13, .notify = true}, &handle);
      return status == Status::pending || status == Status::ok;
    }));
    ASSERT_TRUE(until([&] { return !queue->empty(); }));
    EXPECT_TRUE(there(13, data)) << "told of before it was whole";
    const auto all = told();
    ASSERT_EQ(all.size(), 1u);
    EXPECT_EQ(all[0].offset, 13u);
    EXPECT_EQ(all[0].length, data.size());
  }
}

TEST_P(Put, has_no_more_notifications_under_way_than_places) {
  const auto data = pattern(8, 4);
  for (int i = 0; i < 4; ++i) EXPECT_EQ(put(slot.ticket(), data, {.notify = true}), Status::ok);
  EXPECT_EQ(put(slot.ticket(), data, {.notify = true}), Status::no_place);
  EXPECT_EQ(put(slot.ticket(), data), Status::ok) << "a put that is not told of needs no place";
  EXPECT_EQ(told().size(), 4u);
  EXPECT_EQ(slot.record().counters->most_places, 4u);
  rest();
  EXPECT_EQ(put(slot.ticket(), data, {.notify = true}), Status::ok) << "places did not come back";
  EXPECT_EQ(bob.refused_in_all(), 0u);
}

TEST_P(Put, is_never_told_of_if_the_owner_says_so) {
  bob.core.set_control(slot.index(), Control::never);
  const auto data = pattern(8, 5);
  for (int i = 0; i < 40; ++i) {
    ASSERT_EQ(put(slot.ticket(), data, {.notify = true}), Status::ok) << i;
    rest();
  }
  EXPECT_TRUE(told().empty());
  EXPECT_EQ(slot.record().counters->most_places, 0u);
  EXPECT_EQ(bob.refused_in_all(), 0u);
}

TEST_P(Put, is_always_told_of_if_the_owner_says_so_together_with_others) {
  bob.core.set_control(slot.index(), Control::always);
  const auto data = pattern(8, 6);
  for (std::uint64_t i = 0; i < 100; ++i)
    ASSERT_EQ(put(slot.ticket(), data, {.offset = 1000 + i * 8}), Status::ok);
  auto all = told();
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0].kind, Notification::Kind::put);
  EXPECT_EQ(all[0].offset, 1000u);
  EXPECT_EQ(all[0].length, 800u);
  EXPECT_EQ(all[0].word, 100u);
  EXPECT_EQ(all[0].peer, alice.id);
  EXPECT_EQ(put(slot.ticket(), data, {.offset = 16}), Status::ok);
  all = told();
  ASSERT_EQ(all.size(), 1u) << "what came after it was read";
  EXPECT_EQ(all[0].offset, 16u);
  EXPECT_EQ(all[0].word, 1u);
}

TEST_P(Put, of_several_packets_that_asks_is_told_of_once_also_if_all_are) {
  bob.core.set_control(slot.index(), Control::always);
  const auto data = pattern(60000, 7);
  const Strides rows{.chunk = 60, .x_chunks = 10, .y_chunks = 100, .x_stride = 64, .y_stride = 640};
  for (const Strides* const strides : {static_cast<const Strides*>(nullptr), &rows}) {
    ASSERT_EQ(put(slot.ticket(), data, {.offset = 13, .notify = true, .strides = strides}), Status::ok);
    const auto all = told();
    ASSERT_EQ(all.size(), 1u);
    EXPECT_EQ(all[0].offset, 13u);
    EXPECT_EQ(all[0].length, strides != nullptr ? interface::span_of(rows) : data.size());
    EXPECT_EQ(all[0].word, 1u);
  }
  ASSERT_EQ(put(slot.ticket(), data), Status::ok);
  EXPECT_EQ(told().size(), 1u) << "what does not ask is told of, too";
}

TEST_P(Put, that_asks_is_refused_at_once_where_no_places_are_kept) {
  TestSlot mute{bob, area, queue, {.fast = false, .places = 0, .puts = true}};
  const auto data = pattern(8, 8);
  EXPECT_EQ(put(mute.ticket(), data, {.notify = true}), Status::refused);
  EXPECT_EQ(put(mute.ticket(), data), Status::ok);
  EXPECT_EQ(terminus.place_free(mute.ticket()), Status::refused);
  EXPECT_FALSE(terminus.opened(mute.ticket()).told);
  EXPECT_EQ(put(slot.ticket(), data), Status::ok);
  EXPECT_TRUE(terminus.opened(slot.ticket()).told);
}

TEST_P(Put, scatters_planes_of_three_dimensions) {
  struct Shape {
    Strides strides;
    std::uint64_t offset;
  };
  const Shape shapes[] = {
      {{.chunk = 1, .x_chunks = 7, .y_chunks = 5, .x_stride = 3, .y_stride = 100}, 1},
      {{.chunk = 48, .x_chunks = 2, .y_chunks = 1, .x_stride = 64, .y_stride = 0}, 0},
      {{.chunk = 8, .x_chunks = 20, .y_chunks = 30, .x_stride = 16, .y_stride = 640}, 5},
      {{.chunk = 3000, .x_chunks = 2, .y_chunks = 3, .x_stride = 4001, .y_stride = 10007}, 11},
      {{.chunk = 16, .x_chunks = 1, .y_chunks = 1, .x_stride = 0, .y_stride = 0}, 65520}};
  for (const auto& [strides, offset] : shapes) {
    std::fill(area.bytes().begin(), area.bytes().end(), kBefore);
    const std::uint64_t length = interface::data_of(strides);
    auto data = pattern(length, length);
    std::replace(data.begin(), data.end(), kBefore, std::byte{1});
    ASSERT_EQ(put(slot.ticket(), data, {.offset = offset, .notify = true, .strides = &strides}), Status::ok);
    const auto all = told();
    ASSERT_EQ(all.size(), 1u);
    EXPECT_EQ(all[0].offset, offset);
    EXPECT_EQ(all[0].length, interface::span_of(strides));
    for (std::size_t y = 0, at = 0; y < strides.y_chunks; ++y) {
      for (std::size_t x = 0; x < strides.x_chunks; ++x, at += strides.chunk) {
        const std::size_t place = offset + y * strides.y_stride + x * strides.x_stride;
        ASSERT_TRUE(there(place, std::span(data).subspan(at, strides.chunk))) << x << ", " << y;
      }
    }
    EXPECT_EQ(touched(), length);
  }
}

// Through many laps of a ring.
TEST_P(Put, is_scattered_however_many_came_before) {
  const Strides strides{.chunk = 12, .x_chunks = 3, .y_chunks = 2, .x_stride = 20, .y_stride = 400};
  const auto data = pattern(72, 1);
  for (int i = 0; i < 500; ++i) ASSERT_EQ(put(slot.ticket(), data, {.strides = &strides}), Status::ok);
  EXPECT_EQ(fence(slot.ticket()).status, Status::ok);
  EXPECT_EQ(bob.refused_in_all(), 0u);
}

TEST_P(Put, shapes_that_cannot_be_are_refused_here) {
  const auto data = pattern(64, 7);
  const auto with = [&](const Strides& strides, std::uint64_t offset = 0) {
    return put(slot.ticket(), data, {.offset = offset, .strides = &strides});
  };
  EXPECT_EQ(with({.chunk = 0}), Status::invalid);
  EXPECT_EQ(with({.chunk = 64, .x_chunks = 0}), Status::invalid);
  EXPECT_EQ(with({.chunk = 64, .x_chunks = 1, .y_chunks = 0}), Status::invalid);
  EXPECT_EQ(with({.chunk = 32, .x_chunks = 3}), Status::invalid) << "other data than that";
  EXPECT_EQ(with({.chunk = 1u << 31, .x_chunks = 1u << 31, .y_chunks = 1u << 31}), Status::invalid);
  EXPECT_EQ(with({.chunk = 32, .x_chunks = 2, .y_chunks = 1, .x_stride = ~0ull}), Status::out_of_bounds);
  EXPECT_EQ(with({.chunk = 32, .x_chunks = 2, .y_chunks = 1, .x_stride = 65505}), Status::out_of_bounds);
  EXPECT_EQ(with({.chunk = 32, .x_chunks = 2, .y_chunks = 1, .x_stride = 65504}), Status::ok);
  EXPECT_EQ(with({.chunk = 32, .x_chunks = 1, .y_chunks = 2, .x_stride = 0, .y_stride = ~0ull}),
            Status::out_of_bounds);
  EXPECT_EQ(with({.chunk = 32, .x_chunks = 1, .y_chunks = 2, .x_stride = 0, .y_stride = 65504}, 1),
            Status::out_of_bounds);
}

TEST_P(Put, strides_that_count_for_nothing_may_be_anything) {
  const auto data = pattern(64, 9);
  const auto with = [&](const Strides& strides, std::uint64_t offset) {
    return put(slot.ticket(), data, {.offset = offset, .strides = &strides});
  };
  EXPECT_EQ(with({.chunk = 64, .x_stride = ~0ull, .y_stride = ~0ull}, 0), Status::ok);
  EXPECT_EQ(with({.chunk = 32, .y_chunks = 2, .x_stride = ~0ull, .y_stride = 32}, 1000), Status::ok);
  EXPECT_EQ(with({.chunk = 32, .x_chunks = 2, .x_stride = 32, .y_stride = ~0ull}, 2000), Status::ok);
  EXPECT_EQ(fence(slot.ticket()).status, Status::ok);
  for (const std::size_t offset : {0u, 1000u, 2000u}) EXPECT_TRUE(there(offset, data)) << offset;
}

TEST_P(Put, outside_of_the_ticket_is_refused_here) {
  const auto data = pattern(40, 8);
  EXPECT_EQ(put(slot.ticket(), data, {.offset = 65497}), Status::out_of_bounds);
  EXPECT_EQ(put(slot.ticket(), data, {.offset = ~0ull}), Status::out_of_bounds);
  EXPECT_EQ(put(slot.ticket(), data, {.offset = 65496}), Status::ok);
  EXPECT_EQ(put(slot.ticket(), data, {.element = 3}), Status::invalid);
  EXPECT_EQ(put(slot.ticket(), data, {.offset = 2, .element = 4}), Status::misaligned);
  EXPECT_EQ(put(Ticket{}, data), Status::out_of_bounds);
  Ticket other = slot.ticket();
  other.key ^= 1;
  EXPECT_EQ(put(other, data), Status::stale);
}

TEST_P(Put, to_a_slot_that_takes_none_is_refused) {
  TestSlot closed{bob, area, queue, {.fast = false}};
  EXPECT_EQ(put(closed.ticket(), pattern(8, 9)), Status::refused);
  TestSlot reads{bob, area, queue, {.access = Access::read_only, .gets = 8, .puts = true}};
  EXPECT_EQ(put(reads.ticket(), pattern(8, 9)), Status::refused);
  TestSlot fast{bob, area, queue, {}};
  EXPECT_EQ(send_fast(terminus, fast.ticket(), pattern(8, 9)), Status::ok);
  Packet packet = hand_made(fast.ticket(), 0);
  set_lead(packet, Operation::put, interface::kInlineData, 0);
  for (std::uint32_t name = 0; name < 3; ++name) {
    set_word(packet, interface::kSlotWord,
             interface::put_word(interface::opening_word(name, name), 8, false, 0));
    inject(packet);
  }
  rest();
  EXPECT_EQ(touched(), 8u);
}

// Whatever stands in their words.
TEST_P(Put, hand_made_packets_change_nothing) {
  ASSERT_EQ(put(slot.ticket(), pattern(8, 10)), Status::ok);
  rest();
  std::fill(area.bytes().begin(), area.bytes().end(), kBefore);
  const std::uint64_t opening = terminus.opening_of(terminus.credit_of(slot.ticket()));
  Packet packet = hand_made(slot.ticket(), 0);
  const auto send = [&](Operation operation, std::size_t length, std::uint64_t word,
                        const Strides& strides = {}, std::uint64_t offset = 0, std::uint32_t at = 0) {
    set_lead(packet, operation, length, 0);
    set_word(packet, interface::kSlotWord, word);
    set_strides(packet, strides, offset, at);
    inject(packet);
  };
  using interface::put_word;
  send(Operation::put, 16, put_word(opening ^ 1, 8, false, 0));                             // another name
  send(Operation::put, 16, put_word(opening ^ 255, 8, false, 0));                           // none
  send(Operation::put, 16, put_word(opening ^ (1u << interface::kNameBits), 8, false, 0));  // another serial
  send(Operation::put, 16, put_word(opening, 49, false, 0));
  send(Operation::put, 16, put_word(opening, 63, false, 0));
  send(Operation::put, 16, put_word(opening, 8, false, 65529));
  send(Operation::put, 16, put_word(opening, 8, false, interface::kPutSpan - 1));
  send(Operation::put_block, 8, put_word(opening, 0, false, 0), {}, 65529);
  send(Operation::put_block, 100, put_word(opening, 0, false, 0), {}, ~0ull);
  const Strides good{.chunk = 8, .x_chunks = 2, .y_chunks = 1, .x_stride = 8, .y_stride = 0};
  send(Operation::put_strided, 16, put_word(opening, 0, false, 8), good, 0, 1);  // more than there is
  send(Operation::put_strided, 16, put_word(opening, 0, false, 8), good, 0, ~0u);
  send(Operation::put_strided, 16, put_word(opening, 0, false, 8), good, 65521);
  send(Operation::put_strided, 16, put_word(opening, 0, false, interface::kPutSpan - 1), good);
  send(Operation::put_strided, 0, put_word(opening, 0, false, 8), good);
  send(Operation::put_strided, 8, put_word(opening, 0, false, 8), {.chunk = 0, .x_chunks = 1, .y_chunks = 1});
  send(Operation::put_strided, 8, put_word(opening, 0, false, 8), {.chunk = 8, .x_chunks = 0, .y_chunks = 1});
  send(Operation::put_strided, 8, put_word(opening, 0, false, 8),
       {.chunk = ~0u, .x_chunks = ~0u, .y_chunks = ~0u});
  send(Operation::put_strided, 8, put_word(opening, 0, false, 8),
       {.chunk = 8, .x_chunks = 1, .y_chunks = 2, .x_stride = 0, .y_stride = ~0ull});
  rest();
  EXPECT_EQ(touched(), 0u);
  EXPECT_EQ(bob.refused_in_all(), 18u);
  EXPECT_EQ(put(slot.ticket(), pattern(8, 11)), Status::ok) << "the link has gone";
}

TEST_P(Put, a_slot_made_in_the_place_of_another_is_never_touched_by_what_was_for_that) {
  const auto data = pattern(200, 12);
  for (int round = 0; round < 50; ++round) {
    TestSlot first{bob, area, queue, {.fast = false, .puts = true}};
    const Ticket old = first.ticket();
    ASSERT_EQ(put(old, data), Status::ok);
    for (int i = 0; i < 8; ++i)
      static_cast<void>(terminus.put(old, std::span(data).first(20), {}, nullptr));  // under way
    first.drop();
    Area fresh{4096};
    std::fill(fresh.bytes().begin(), fresh.bytes().end(), kBefore);
    TestSlot second{bob, fresh, queue, {.fast = false, .puts = true}};
    ASSERT_EQ(second.index(), old.slot);
    const auto own = pattern(8, 13);
    ASSERT_EQ(put(second.ticket(), own, {.offset = 4000}), Status::ok);
    for (int i = 0; i < 8; ++i) static_cast<void>(terminus.put(old, std::span(data).first(20), {}, nullptr));
    rest();
    ASSERT_EQ(std::count(fresh.bytes().begin(), fresh.bytes().begin() + 4000, kBefore), 4000)
        << "round " << round;
    ASSERT_TRUE(same(fresh.bytes().subspan(4000, 8), own));
  }
}

TEST_P(Put, a_changed_key_ends_it) {
  const Ticket old = slot.ticket();
  ASSERT_EQ(put(old, pattern(8, 14)), Status::ok);
  rest();
  slot.change_key();
  std::fill(area.bytes().begin(), area.bytes().end(), kBefore);
  static_cast<void>(terminus.put(old, pattern(8, 15), {}, nullptr));
  rest();
  EXPECT_EQ(touched(), 0u);
  EXPECT_EQ(put(old, pattern(8, 15)), Status::stale);
  EXPECT_EQ(fence(old).cause, Refusal::bad_key);
  EXPECT_EQ(put(slot.ticket(), pattern(8, 16)), Status::ok);
  EXPECT_EQ(fence(slot.ticket()).status, Status::ok);
  rest();
  EXPECT_EQ(touched(), 8u);
}

TEST_P(Put, is_only_for_those_whom_the_slot_is_open_to) {
  const auto open_to = [&](const Protection& protection) {
    bob.core.set_guests(slot.index(),
                        std::make_unique<interface::Guests>(protection, interface::User{7, 70}));
    rest();
  };
  const auto outcome = [&](const std::function<Status(RemoteHandle*)>& ask) {
    RemoteHandle handle;
    EXPECT_TRUE(until([&] { return ask(&handle) == Status::pending; }));
    until([&] { return terminus.requests().outcome(handle).status != Status::pending; });
    return terminus.requests().outcome(handle);
  };
  Area own{64};
  TestSlot landing{alice, own, alice.core.make_queue(16), {}};
  const auto get = [&] {
    return outcome([&](RemoteHandle* handle) {
             return terminus.requests().get(slot.ticket(), {landing.index(), 0, 8}, {}, nullptr, handle);
           })
        .cause;
  };
  const auto fetch = [&] {
    return outcome([&](RemoteHandle* handle) {
             return terminus.requests().fetch(slot.ticket(), {}, {}, nullptr, handle);
           })
        .cause;
  };
  const auto data = pattern(8, 1);
  struct Case {
    interface::User user;
    bool reads, writes;
  };
  const Protection protection{.mode = 0640,
                              .users = {{9, true, true}, {10, false, false}, {11, false, true}}};
  for (const auto& [user, reads, writes] :
       {Case{{7, 1}, true, true}, Case{{0, 0}, true, true}, Case{{8, 70}, true, false},
        Case{{8, 71}, false, false}, Case{{9, 71}, true, true}, Case{{10, 70}, false, false},
        Case{{11, 70}, false, true}}) {
    bob.core.find_link(alice.id)->user = user;
    open_to(protection);
    EXPECT_EQ(put(slot.ticket(), data), writes ? Status::ok : Status::refused) << user.uid;
    EXPECT_EQ(get(), reads ? Refusal::none : Refusal::not_permitted) << user.uid;
    EXPECT_EQ(fetch(), reads && writes ? Refusal::none : Refusal::not_permitted) << user.uid;
    slot.change_key();  // what was refused is asked for anew
    rest();
  }
  bob.core.find_link(alice.id)->user = {7, 70};
  open_to({.mode = 0600});
  ASSERT_EQ(put(slot.ticket(), data), Status::ok);
  std::fill(area.bytes().begin(), area.bytes().end(), kBefore);
  open_to({.mode = 0400});
  EXPECT_NE(put(slot.ticket(), data), Status::ok) << "what was opened before still lets puts in";
  rest();
  EXPECT_EQ(touched(), 0u);
}

TEST_P(Put, late_answers_of_an_opening_that_has_ended_change_nothing) {
  ASSERT_EQ(put(slot.ticket(), pattern(8, 1)), Status::ok);
  rest();
  bob.core.set_guests(slot.index(), nullptr);
  rest();
  interface::Link* const back = bob.core.find_link(alice.id);
  const auto late = [&](Operation operation, std::uint64_t question) {
    Packet reply{};
    set_lead(reply, operation, 0, 0);
    reply.word = interface::credit_word(0, question);
    reply.entry = 200;
    reply.delta = 9;
    reply.offset = interface::kOpenForPuts | 5;
    ASSERT_TRUE(until([&] { return back->put_reply(reply, nullptr) == Status::ok; }));
    rest();
  };
  const auto all_late = [&] {
    late(Operation::grant, 1);
    late(Operation::credit, 1);
  };
  all_late();  // before it is asked for anew
  for (int i = 0; i < 4; ++i) {
    ASSERT_EQ(put(slot.ticket(), pattern(8, 2), {.notify = true}), Status::ok);
    all_late();
  }
  EXPECT_EQ(put(slot.ticket(), pattern(8, 3), {.notify = true}), Status::no_place);
  EXPECT_EQ(alice.refused_in_all() + bob.refused_in_all(), 0u);
  EXPECT_EQ(told().size(), 4u);
  late(Operation::grant, 3);
  late(Operation::credit, 3);
  EXPECT_EQ(alice.refused(Refusal::malformed), 2u) << "of a question that was never asked";
}

// As a slot without gets has nothing for whoever may only read: with other rights it would.
TEST_P(Put, who_was_refused_is_let_in_with_other_rights_if_it_asks_again) {
  TestSlot only_puts{bob, area, queue, {.fast = false, .places = 0, .puts = true}};
  const auto open_to = [&](std::uint32_t mode) {
    bob.core.set_guests(
        only_puts.index(),
        std::make_unique<interface::Guests>(Protection{.mode = mode, .users = {}}, interface::User{7, 70}));
    rest();
  };
  bob.core.find_link(alice.id)->user = {7, 70};
  for (const std::uint32_t mode : {0u, 0400u}) {
    open_to(mode);
    EXPECT_EQ(put(only_puts.ticket(), pattern(8, 1)), Status::refused);
    open_to(0600);
    terminus.ask_again(only_puts.ticket());
    EXPECT_EQ(put(only_puts.ticket(), pattern(8, 1)), Status::ok) << mode;
  }
}

INSTANTIATE_TEST_SUITE_P(fabric, Put, testing::ValuesIn(fabrics()), fabric_name);

}  // namespace
}  // namespace hamlyn::test
