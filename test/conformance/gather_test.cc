// Gathered gets: the read that matches a scattered put (paper 4, section 3.3), on every fabric, and the
// shapes that are refused, which are those of the put.
#include "interface/packets/put_packet.h"
#include "test/conformance/conformance.h"

namespace hamlyn::test {
namespace {

using interface::Operation;
using interface::Packet;
using interface::Terminus;

class Gather : public Conformance {
 protected:
  Gather() {
    const auto numbers = pattern(area.size(), 5);
    std::ranges::copy(numbers, area.bytes().begin());
    std::ranges::fill(own.bytes(), kBefore);
  }

  Outcome gather(const Ticket& ticket, const Strides& strides, std::uint64_t offset, std::size_t length,
                 std::uint64_t at = 0, std::uint32_t element = 0) {
    RemoteHandle handle;
    Status status = Status::queue_full;
    until([&] {
      status = terminus.requests().get(ticket, {landing.index(), at, length},
                                       {.offset = offset, .element = element, .strides = &strides}, nullptr,
                                       &handle);
      return status != Status::queue_full && status != Status::connecting;
    });
    if (status != Status::pending) return {status, Refusal::none, 0};
    until([&] { return terminus.requests().outcome(handle).status != Status::pending; });
    return terminus.requests().outcome(handle);
  }
  // What a put of that shape is answered.
  Status scatter(const Strides& strides, std::uint64_t offset, std::size_t length) {
    const std::vector<std::byte> data(length);
    SendHandle handle;
    Status status = Status::connecting;
    until([&] {
      status = terminus.put(slot.ticket(), data, {.offset = offset, .strides = &strides}, &handle);
      return status != Status::connecting && status != Status::queue_full;
    });
    if (status != Status::pending) return status;
    until([&] { return terminus.status(handle) != Status::pending; });
    return terminus.status(handle);
  }
  std::vector<std::byte> chunks(const Strides& strides, std::uint64_t offset) {
    std::vector<std::byte> all;
    for (std::uint32_t y = 0; y < strides.y_chunks; ++y) {
      for (std::uint32_t x = 0; x < strides.x_chunks; ++x) {
        const auto chunk =
            area.bytes().subspan(offset + y * strides.y_stride + x * strides.x_stride, strides.chunk);
        all.insert(all.end(), chunk.begin(), chunk.end());
      }
    }
    return all;
  }
  std::size_t landed() {
    return own.size() - static_cast<std::size_t>(std::count(own.bytes().begin(), own.bytes().end(), kBefore));
  }
  // Sends one that nobody asked for.
  void forge(const Strides& strides, std::uint64_t offset, std::uint32_t length, std::uint32_t element = 0) {
    Packet packet = hand_made(slot.ticket(), 0);
    set_lead(packet, Operation::get_strided, interface::kInlineData, 0, element);
    set_entry(packet, interface::kNoEntry, length);
    packet.offset = offset;
    set_gather(packet, strides);
    interface::Link* const link = alice.core.find_link(bob.id);
    ASSERT_TRUE(until([&] { return link->put(packet, packet.data, nullptr) != Status::queue_full; }));
  }

  static constexpr std::byte kBefore{0xEE};
  Area area{1u << 17};
  Area own{1u << 17};
  TestSlot slot{bob, area, queue, {.fast = false, .gets = 65536, .puts = true}};
  interface::Queue* alices = alice.core.make_queue(16);
  TestSlot landing{alice, own, alices, {}};
  Terminus terminus{alice.core, 63};
};

TEST_P(Gather, brings_planes_of_three_dimensions) {
  struct Shape {
    Strides strides;
    std::uint64_t offset;
  };
  const Shape shapes[] = {
      {{.chunk = 1, .x_chunks = 7, .y_chunks = 5, .x_stride = 3, .y_stride = 100}, 1},
      {{.chunk = 48, .x_chunks = 1, .y_chunks = 1, .x_stride = 0, .y_stride = 0}, 131024},
      {{.chunk = 24, .x_chunks = 1, .y_chunks = 2, .x_stride = ~0ull >> 30, .y_stride = 64}, 0},
      {{.chunk = 7, .x_chunks = 20, .y_chunks = 30, .x_stride = 16, .y_stride = 640}, 5},
      {{.chunk = 8, .x_chunks = 1000, .y_chunks = 8, .x_stride = 16, .y_stride = 16384}, 8},
      {{.chunk = 1, .x_chunks = 1, .y_chunks = 65536, .x_stride = 0, .y_stride = 2}, 0},
      {{.chunk = 1, .x_chunks = 65536, .y_chunks = 1, .x_stride = 2, .y_stride = ~0ull}, 1},
      {{.chunk = 65536, .x_chunks = 1, .y_chunks = 1, .x_stride = 0, .y_stride = 0}, 65536},
      {{.chunk = 3000, .x_chunks = 2, .y_chunks = 3, .x_stride = 4001, .y_stride = 0}, 11}};  // rows again
  for (const auto& [strides, offset] : shapes) {
    std::ranges::fill(own.bytes(), kBefore);
    auto wanted = chunks(strides, offset);
    ASSERT_EQ(wanted.size(), interface::data_of(strides));
    ASSERT_EQ(gather(slot.ticket(), strides, offset, wanted.size(), 13).status, Status::ok);
    EXPECT_TRUE(same(own.bytes().subspan(13, wanted.size()), wanted)) << strides.chunk;
    EXPECT_LE(landed(), wanted.size()) << "beside its place";
  }
  EXPECT_EQ(bob.refused_in_all() + alice.refused_in_all(), 0u);
}

TEST_P(Gather, of_a_part_of_the_slot_stays_in_it) {
  TestSlot part(bob, area, queue, {.base = 1000, .bound = 500, .gets = 200});
  const Strides two{.chunk = 20, .x_chunks = 2, .y_chunks = 1, .x_stride = 480};
  ASSERT_EQ(gather(part.ticket(), two, 0, 40).status, Status::ok);
  EXPECT_TRUE(same(own.bytes().first(20), area.bytes().subspan(1000, 20)));
  EXPECT_TRUE(same(own.bytes().subspan(20, 20), area.bytes().subspan(1480, 20)));
  EXPECT_EQ(gather(part.ticket(), two, 1, 40).status, Status::out_of_bounds);
  const Strides more{.chunk = 201};
  EXPECT_EQ(gather(part.ticket(), more, 0, 201).cause, Refusal::too_long);
  TestSlot closed(bob, area, queue, {});
  EXPECT_EQ(gather(closed.ticket(), two, 0, 40).cause, Refusal::mode_forbids);
  Ticket other = part.ticket();
  other.key ^= 1;
  EXPECT_EQ(gather(other, two, 0, 40).cause, Refusal::bad_key);
}

TEST_P(Gather, shapes_that_cannot_be_are_refused_as_those_of_puts) {
  constexpr std::uint64_t kHuge = ~std::uint64_t{0};
  struct Case {
    Strides strides;
    Status status;
    std::uint64_t offset = 0;
  };
  const Case cases[] = {
      {{.chunk = 0}, Status::invalid},
      {{.chunk = 64, .x_chunks = 0}, Status::invalid},
      {{.chunk = 64, .x_chunks = 1, .y_chunks = 0}, Status::invalid},
      {{.chunk = 32, .x_chunks = 3}, Status::invalid},
      {{.chunk = 1u << 31, .x_chunks = 1u << 31, .y_chunks = 1u << 31}, Status::invalid},
      {{.chunk = 32, .x_chunks = 2, .y_chunks = 1, .x_stride = kHuge}, Status::out_of_bounds},
      {{.chunk = 64, .x_chunks = 1, .y_chunks = 1, .x_stride = kHuge, .y_stride = kHuge}, Status::ok},
      {{.chunk = 32, .x_chunks = 2, .y_chunks = 1, .x_stride = 131041}, Status::out_of_bounds},
      {{.chunk = 32, .x_chunks = 2, .y_chunks = 1, .x_stride = 131040}, Status::ok},
      {{.chunk = 32, .x_chunks = 1, .y_chunks = 2, .x_stride = 0, .y_stride = kHuge}, Status::out_of_bounds},
      {{.chunk = 16, .x_chunks = 2, .y_chunks = 2, .x_stride = kHuge / 2, .y_stride = kHuge / 2},
       Status::out_of_bounds},
      {{.chunk = 32, .x_chunks = 1, .y_chunks = 2, .x_stride = 0, .y_stride = 131040},
       Status::out_of_bounds,
       1},
      {{.chunk = 64}, Status::ok, 131008},
      {{.chunk = 64}, Status::out_of_bounds, 131009},
      {{.chunk = 64}, Status::out_of_bounds, kHuge}};
  for (const Case& each : cases) {
    EXPECT_EQ(gather(slot.ticket(), each.strides, each.offset, 64).status, each.status) << &each - cases;
    EXPECT_EQ(scatter(each.strides, each.offset, 64), each.status) << &each - cases;
  }
  EXPECT_EQ(gather(slot.ticket(), {.chunk = 32769, .x_chunks = 2}, 0, 65538).status, Status::too_long);
  EXPECT_EQ(gather(slot.ticket(), {.chunk = 6, .x_chunks = 4, .x_stride = 8}, 0, 24, 0, 4).status,
            Status::misaligned);
  EXPECT_EQ(gather(slot.ticket(), {.chunk = 8, .x_chunks = 3, .x_stride = 12}, 4, 24, 0, 4).status,
            Status::ok);
}

// A ticket that lies, and packets of no ticket: only the owner's checks count.
TEST_P(Gather, packets_that_lie_bring_nothing) {
  Ticket wide = slot.ticket();
  wide.bound = ~std::uint64_t{0} / 2;
  const Strides beyond{.chunk = 8, .x_chunks = 2, .y_chunks = 2, .x_stride = 8, .y_stride = 131060};
  EXPECT_EQ(gather(wide, beyond, 0, 32).cause, Refusal::out_of_bounds);
  EXPECT_EQ(gather(wide, {.chunk = 8}, 1ull << 40, 8).cause, Refusal::out_of_bounds);
  bob.core.pin_puts(slot.index(), 4096, 8192, false);
  const Strides over{.chunk = 8, .x_chunks = 2, .y_chunks = 1, .x_stride = 8192};
  EXPECT_EQ(gather(slot.ticket(), over, 4000, 16).cause, Refusal::not_pinned);
  bob.core.pin_puts(slot.index(), 4096, 8192, true);
  EXPECT_EQ(gather(slot.ticket(), over, 4000, 16).status, Status::ok);
  std::ranges::fill(own.bytes(), kBefore);

  const std::uint64_t before = bob.refused_in_all();
  const std::uint64_t stride = (std::uint64_t{1} << interface::kStrideBits) - 1;
  const Strides good{.chunk = 8, .x_chunks = 3, .y_chunks = 2, .x_stride = 8, .y_stride = 64};
  forge(good, 0, 0);
  forge(good, 0, 47);  // no whole rows
  forge(good, 0, 25);
  forge({.chunk = 65536, .x_chunks = 65536}, 0, 65536);
  rest();
  EXPECT_EQ(bob.refused(Refusal::malformed), 4u);
  const std::uint64_t outside = bob.refused(Refusal::out_of_bounds);
  forge(good, 131072 - 87, 48);
  forge(good, ~std::uint64_t{0} - 40, 48);
  forge({.chunk = 1, .x_chunks = 65536, .y_chunks = 2, .x_stride = stride, .y_stride = stride}, 0, 131072);
  forge({.chunk = 1, .x_chunks = 1, .y_chunks = 2, .x_stride = 0, .y_stride = stride}, 0, ~0u);
  rest();
  EXPECT_EQ(bob.refused(Refusal::out_of_bounds), outside + 4);
  forge({.chunk = 65536, .x_chunks = 1, .y_chunks = 2, .x_stride = 0, .y_stride = 1}, 0, 131072);
  rest();
  EXPECT_EQ(bob.refused(Refusal::too_long), 1u);
  EXPECT_EQ(bob.refused_in_all(), before + 9);
  EXPECT_EQ(landed(), 0u) << "answers to what was never asked have landed";
}

TEST_P(Gather, is_stopped_in_its_middle_by_a_changed_key) {
  const Strides strides{.chunk = 16, .x_chunks = 2048, .y_chunks = 2, .x_stride = 32, .y_stride = 16};
  RemoteHandle handle;  // of the last of as many as may be asked for, which are more than leaves at a time
  for (std::uint32_t i = 0; i < interface::kOutstanding; ++i) {
    ASSERT_TRUE(until([&] {
      return terminus.requests().get(slot.ticket(), {landing.index(), 0, 65536}, {.strides = &strides},
                                     nullptr, &handle) == Status::pending;
    }));
  }
  ASSERT_TRUE(until([&] { return landed() != 0; }));
  ASSERT_EQ(terminus.requests().outcome(handle).status, Status::pending);
  bob.core.change_key(slot.index());
  ASSERT_TRUE(until([&] { return terminus.requests().outcome(handle).status != Status::pending; }));
  EXPECT_EQ(terminus.requests().outcome(handle).status, Status::refused);
  EXPECT_EQ(terminus.requests().outcome(handle).cause, Refusal::bad_key);
}

INSTANTIATE_TEST_SUITE_P(fabric, Gather, testing::ValuesIn(fabrics()), fabric_name);

// Packets say of what size their numbers are between hosts only.
class GatherBetweenHosts : public Gather {};

TEST_P(GatherBetweenHosts, of_chunks_that_cut_a_number_in_two_is_refused_by_the_owner_and_so_is_the_put) {
  const Strides cuts{.chunk = 6, .x_chunks = 2, .y_chunks = 1, .x_stride = 8};
  const Strides whole{.chunk = 4, .x_chunks = 3, .y_chunks = 1, .x_stride = 8};
  ASSERT_EQ(scatter(cuts, 0, 12), Status::ok) << "of bytes";
  rest();
  const auto before = pattern(area.size(), 6);
  std::ranges::copy(before, area.bytes().begin());
  forge(cuts, 0, 12, 4);
  rest();
  EXPECT_EQ(bob.refused(Refusal::misaligned), 1u);
  Packet put{};
  set_lead(put, Operation::put_strided, 12, 0, 4);
  const std::uint64_t opening = terminus.opening_of(terminus.credit_of(slot.ticket()));
  set_word(put, interface::kSlotWord, interface::put_word(opening, 0, false, cuts.x_stride));
  set_strides(put, cuts, 0, 0);
  inject(put);
  rest();
  EXPECT_EQ(bob.refused(Refusal::misaligned), 2u);
  EXPECT_TRUE(same(area.bytes(), before));
  forge(whole, 0, 12, 4);
  set_strides(put, whole, 0, 0);
  inject(put);
  rest();
  EXPECT_EQ(bob.refused_in_all(), 2u);
  EXPECT_FALSE(same(area.bytes(), before));
}

INSTANTIATE_TEST_SUITE_P(fabric, GatherBetweenHosts,
                         testing::Values(FabricKind{"sim", make_sim_fabric},
                                         FabricKind{"ofi", make_ofi_fabric}),
                         fabric_name);

}  // namespace
}  // namespace hamlyn::test
