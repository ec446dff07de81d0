// Data that is numbers (paper 4, section 7.2.5): what is refused, that hosts of one byte order find it as it
// was, and hosts of different orders turned over, number by number.
#include "fabric/sim/sim_link.h"
#include "test/conformance/conformance.h"

namespace hamlyn::test {
namespace {

using interface::Terminus;

std::vector<std::byte> turned(std::span<const std::byte> data, std::size_t element) {
  std::vector<std::byte> all(data.begin(), data.end());
  for (std::size_t at = 0; at < all.size(); at += element)
    std::reverse(all.begin() + static_cast<std::ptrdiff_t>(at),
                 all.begin() + static_cast<std::ptrdiff_t>(at + element));
  return all;
}

class Elements : public Conformance {
 protected:
  Area area{65536}, other{65536};
};

TEST_P(Elements, that_do_not_divide_length_and_offset_are_refused) {
  TestSlot slot(bob, area, queue, {.entries = 2, .gets = 65536});
  TestSlot landing(alice, other, alice.core.make_queue(8), {.entries = 1});
  Terminus terminus(alice.core, 63);
  const std::vector<std::byte> data = pattern(64, 1);
  const auto send = [&](std::size_t length, std::uint64_t offset, std::uint32_t element) {
    return terminus.send(slot.ticket(0), std::span(data).first(length),
                         {.offset = offset, .element = element}, nullptr);
  };
  const auto get = [&](std::uint64_t length, std::uint64_t offset, std::uint32_t element) {
    return terminus.requests().get(slot.ticket(), {landing.index(), 0, length},
                                   {.offset = offset, .element = element}, nullptr, nullptr);
  };
  for (const std::uint32_t none : {1u, 3u, 5u, 6u, 16u, 0x01000000u, ~0u}) {
    EXPECT_EQ(send(48, 0, none), Status::invalid) << none;
    EXPECT_EQ(get(48, 0, none), Status::invalid) << none;
  }
  for (const std::uint32_t element : {2u, 4u, 8u}) {
    EXPECT_EQ(send(element + 1, 0, element), Status::misaligned);
    EXPECT_EQ(send(2 * element, element - 1, element), Status::misaligned);
    EXPECT_EQ(get(element + 1, 0, element), Status::misaligned);
    EXPECT_EQ(get(2 * element, element - 1, element), Status::misaligned);
  }
  Ticket odd = slot.ticket(0);
  odd.base = 2;
  odd.bound = 64;
  EXPECT_EQ(terminus.send(odd, std::span(data).first(8), {.element = 4}, nullptr), Status::misaligned)
      << "the offset is from the slot's base, not the ticket's";
  EXPECT_EQ(terminus.sequence(), 0u) << "nothing has left";
  ASSERT_LE(send(64, 8, 8), Status::pending);
  EXPECT_EQ(next().length, 64u);
  EXPECT_TRUE(same(area.bytes().subspan(8, 64), data)) << "the orders are the same";
  rest();
  EXPECT_EQ(bob.refused_in_all(), 0u);
}

TEST_P(Elements, come_as_they_are_where_the_orders_are_the_same) {
  TestSlot slot(bob, area, queue, {.entries = 2, .gets = 65536});
  TestSlot landing(alice, other, alice.core.make_queue(8), {.entries = 1});
  Terminus terminus(alice.core, 63), urgent(alice.core, 63, Priority::urgent);
  const std::vector<std::byte> data = pattern(20000, 2);
  ASSERT_LE(terminus.send(slot.ticket(0), data, {.element = 8}, nullptr), Status::pending);
  ASSERT_LE(urgent.send(slot.ticket(1), std::span(data).first(800), {.offset = 32768, .element = 2}, nullptr),
            Status::pending);
  next();
  next();
  EXPECT_TRUE(same(area.bytes().first(data.size()), data));
  EXPECT_TRUE(same(area.bytes().subspan(32768, 800), std::span(data).first(800)));
  RemoteHandle handle;
  ASSERT_EQ(
      terminus.requests().get(slot.ticket(), {landing.index(), 0, 20000}, {.element = 4}, nullptr, &handle),
      Status::pending);
  ASSERT_TRUE(until([&] { return terminus.requests().outcome(handle).status == Status::ok; }));
  EXPECT_TRUE(same(other.bytes().first(data.size()), data));
}

// Of different orders: simulated, and with the codec itself in test/unit/byte_order_test.cc.
TEST(ElementsBetweenOrders, are_turned_over_one_by_one_whatever_packets_they_come_in) {
  for (const std::uint32_t element : {0u, 2u, 4u, 8u}) {
    for (const std::size_t length : {std::size_t{8}, std::size_t{16}, std::size_t{24}, std::size_t{10'000}}) {
      SCOPED_TRACE(testing::Message() << length << " bytes in elements of " << element);
      sim::SimNet net(length, {.mtu = 1024, .orders_differ = true});
      Party alice{101}, bob{102};
      auto [there, here] = net.join(alice.id, bob.id);
      alice.core.add_link(*there);
      bob.core.add_link(*here);
      const auto run = [&] {
        for (int i = 0; i < 40; ++i) {
          net.settle();
          alice.core.run();
          bob.core.run();
        }
      };
      {
        Area area(65536), other(65536);
        interface::Queue* const queue = bob.core.make_queue(8);
        TestSlot slot(bob, area, queue, {.entries = 2, .gets = 65536});
        TestSlot landing(alice, other, alice.core.make_queue(8), {.entries = 1});
        Terminus terminus(alice.core, 63);
        const std::vector<std::byte> data = pattern(length, 3), name = pattern(9, 4);
        const auto expected = element == 0 ? data : turned(data, element);
        ASSERT_LE(terminus.send(slot.ticket(0), data, {.metadata = name, .element = element}, nullptr),
                  Status::pending);
        run();
        ASSERT_TRUE(take(bob, queue));
        EXPECT_TRUE(same(area.bytes().first(length), expected));
        EXPECT_TRUE(same(slot.metadata(0), name)) << "metadata is bytes";
        RemoteHandle handle;
        ASSERT_EQ(terminus.requests().get(slot.ticket(), {landing.index(), 0, length}, {.element = element},
                                          nullptr, &handle),
                  Status::pending);
        run();
        EXPECT_EQ(terminus.requests().outcome(handle).status, Status::ok);
        EXPECT_TRUE(same(other.bytes().first(length), data)) << "there and back";
      }
      alice.core.end_link(*there);
      bob.core.end_link(*here);
    }
  }
}

TEST(ElementsBetweenOrders, of_pieces_of_any_length_are_those_of_the_whole_message) {
  sim::SimNet net(1, {.mtu = 1024, .orders_differ = true});
  Party alice{101}, bob{102};
  auto [there, here] = net.join(alice.id, bob.id);
  alice.core.add_link(*there);
  bob.core.add_link(*here);
  {
    Area area(65536);
    interface::Queue* const queue = bob.core.make_queue(8);
    TestSlot slot(bob, area, queue, {.entries = 1});
    Terminus terminus(alice.core, 63);
    std::vector<std::byte> data = pattern(3000, 5);
    ASSERT_EQ(terminus.bind(0, alice.core.add_area(data.data(), data.size())), Status::ok);
    const Piece odd[] = {{0, 1, 1001}, {0, 1002, 3}, {0, 1005, 900}};
    EXPECT_EQ(terminus.send_gathered(slot.ticket(0), std::span(odd).first(2), {.element = 8}, nullptr),
              Status::misaligned);
    ASSERT_LE(terminus.send_gathered(slot.ticket(0), odd, {.element = 8}, nullptr), Status::pending);
    for (int i = 0; i < 40; ++i) {
      net.settle();
      alice.core.run();
      bob.core.run();
    }
    ASSERT_TRUE(take(bob, queue));
    EXPECT_TRUE(same(area.bytes().first(1904), turned(std::span(data).subspan(1, 1904), 8)));
  }
  alice.core.end_link(*there);
  bob.core.end_link(*here);
}

INSTANTIATE_TEST_SUITE_P(Fabrics, Elements, testing::ValuesIn(fabrics()), fabric_name);

}  // namespace
}  // namespace hamlyn::test
