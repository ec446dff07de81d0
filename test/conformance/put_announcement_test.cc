// What is told of as one put of several packets is whole, whatever else comes by the same opening.
#include "interface/packets/put_packet.h"
#include "test/conformance/conformance.h"

namespace hamlyn::test {
namespace {

using interface::Operation;
using interface::Packet;
using interface::Terminus;

// Packets of long puts that alice's termini have under way by one opening, in the order that the test wants.
class PutAnnouncement : public Conformance {
 protected:
  PutAnnouncement() {
    EXPECT_TRUE(until([&] { return terminus.put(slot.ticket(), junk_bytes(8), {}, nullptr) == Status::ok; }));
    rest();
    opening = terminus.opening_of(terminus.credit_of(slot.ticket()));
  }
  static std::span<const std::byte> junk_bytes(std::size_t length) { return std::span(junk).first(length); }
  void send(std::size_t length, std::uint64_t offset, std::uint64_t announced) {
    Packet packet{};
    set_lead(packet, Operation::put_block, length, 0);
    set_word(packet, interface::kSlotWord, interface::put_word(opening, 0, announced != 0, 0));
    packet.offset = offset;
    set_word(packet, interface::kEntryWord, announced);
    inject(packet);
    rest();
  }
  void part(std::uint64_t offset) { send(kPart, offset, 0); }
  void announce(std::uint64_t offset, std::uint64_t length) { send(0, offset, length); }
  // Where what was told of began.
  std::vector<std::uint64_t> told() {
    rest();
    std::vector<std::uint64_t> all;
    while (const auto one = take(bob, queue)) {
      if (one->kind == Notification::Kind::put) all.push_back(one->offset);
    }
    return all;
  }
  using Offsets = std::vector<std::uint64_t>;

  static constexpr std::size_t kPart = 512;
  Area area{1u << 16};
  TestSlot slot{bob,
                area,
                queue,
                {.fast = false, .places = 4, .fetches = true, .gets = 4096, .puts = true, .hold = 64}};
  Terminus terminus{alice.core, 63};
  std::uint64_t opening = 0;
};

TEST_P(PutAnnouncement, of_each_put_that_lost_a_part_is_refused) {
  for (const bool fence_between : {false, true}) {
    bob.core.inhibit_puts(slot.index());
    part(0);
    part(8192);
    bob.core.release_puts(slot.index());
    part(kPart);
    part(8192 + kPart);
    announce(0, 2 * kPart);
    if (fence_between) {  // of another terminus
      Terminus other{alice.core, 63};
      RemoteHandle handle;
      ASSERT_TRUE(until(
          [&] { return other.requests().fence(slot.ticket(), {}, nullptr, &handle) == Status::pending; }));
      ASSERT_TRUE(until([&] { return other.requests().outcome(handle).status != Status::pending; }));
    }
    announce(8192, 2 * kPart);
    EXPECT_EQ(told(), Offsets{}) << "a put was told of before it was whole";
    // Both once more.
    for (const std::uint64_t offset : Offsets{0, 8192}) {
      part(offset);
      part(offset + kPart);
      announce(offset, 2 * kPart);
    }
    EXPECT_EQ(told(), (Offsets{0, 8192})) << "a refusal is for the put that it was of";
  }
}

TEST_P(PutAnnouncement, of_a_put_that_lost_nothing_is_told_of) {
  bob.core.inhibit_puts(slot.index());
  part(8192);
  bob.core.release_puts(slot.index());
  part(0);
  part(kPart);
  announce(0, 2 * kPart);
  EXPECT_EQ(told(), Offsets{0});
  announce(8192, 2 * kPart);
  EXPECT_EQ(told(), Offsets{});
}

// More than the receiver keeps apart: some that are whole may be refused, none that is not is told of.
TEST_P(PutAnnouncement, of_any_of_many_that_lost_a_part_is_refused) {
  constexpr std::uint64_t kPuts = 16, kApart = 3000;
  bob.core.inhibit_puts(slot.index());
  for (std::uint64_t i = 0; i < kPuts; ++i) part(i * 7 % kPuts * kApart);
  bob.core.release_puts(slot.index());
  for (std::uint64_t i = 0; i < kPuts; ++i) part(i * kApart + kPart);
  for (std::uint64_t i = 0; i < kPuts; ++i) announce(i * 5 % kPuts * kApart, 2 * kPart);
  EXPECT_EQ(told(), Offsets{});
}

TEST_P(PutAnnouncement, is_not_refused_for_ever_between_what_nobody_announces) {
  constexpr std::uint64_t kPuts = 16, kApart = 3000;
  bob.core.inhibit_puts(slot.index());
  for (std::uint64_t i = 0; i < kPuts; ++i) part(i * kApart);
  bob.core.release_puts(slot.index());
  for (int i = 0; i < 2; ++i) announce(5 * kApart + 1024, 2 * kPart);
  EXPECT_EQ(told(), Offsets{5 * kApart + 1024});
}

INSTANTIATE_TEST_SUITE_P(fabric, PutAnnouncement, testing::ValuesIn(fabrics()), fabric_name);

}  // namespace
}  // namespace hamlyn::test
