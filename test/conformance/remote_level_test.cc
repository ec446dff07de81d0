// Remote operations have the level of the terminus that asks (paper 1, sections 3.2 and 3.3): at the link, at
// the target, and among the answers.
#include "test/conformance/conformance.h"

namespace hamlyn::test {
namespace {

using interface::kOutstanding;
using interface::kReplyPayload;
using interface::kUrgentInARow;
using interface::Requests;
using interface::Terminus;

constexpr std::size_t kLong = 60000;
constexpr std::uint32_t kParts = 15;
constexpr std::size_t kBulk = kParts * kLong;
// Bytes that may overtake an urgent answer though it goes first: those that had left before, and those that
// leave with it, where what is under way overtakes each other.
constexpr std::size_t kUnderWay = std::size_t{2} * 131072;

class RemoteLevels : public Conformance {
 protected:
  RemoteLevels() { std::fill(own.bytes().begin(), own.bytes().end(), std::byte{0xEE}); }

  Status get(Requests& asks, std::uint64_t at, std::size_t length, RemoteHandle* handle = nullptr) {
    return asks.get(slot.ticket(), {landing.index(), at, length}, {}, nullptr, handle);
  }
  // Bytes that have come for the gets of the normal level.
  std::size_t bulk_landed() {
    const std::span<const std::byte> bytes = own.bytes().first(kBulk);
    return bytes.size() - static_cast<std::size_t>(std::count(bytes.begin(), bytes.end(), std::byte{0xEE}));
  }
  // Bob alone runs, until he can answer no more.
  void bob_is_stuck() {
    for (int i = 0; i < 8; ++i) {
      fabric->settle();
      bob.core.run();
    }
  }

  Area area{1u << 17};  // bob's
  Area own{1u << 20};   // alice's: the bulk, and then the rest
  TestSlot slot{bob, area, queue, {.fetches = true, .gets = 65536}};
  TestSlot landing{alice, own, alice.core.make_queue(16), {}};
  Terminus urgent{alice.core, 63, Priority::urgent};
  Terminus normal{alice.core, 63};
};

TEST_P(RemoteLevels, an_urgent_answer_overtakes_those_of_long_gets) {
  for (const std::size_t length : {std::size_t{0}, kUrgentInARow * kReplyPayload}) {
    std::fill(own.bytes().begin(), own.bytes().end(), std::byte{0xEE});
    RemoteHandle bulk, handle;
    for (std::uint32_t i = 0; i < kParts; ++i)
      ASSERT_EQ(get(normal.requests(), i * kLong, kLong, &bulk), Status::pending);
    bob_is_stuck();
    if (length == 0) {
      ASSERT_EQ(urgent.requests().fetch(slot.ticket(), {.operand = 1}, {}, nullptr, &handle),
                Status::pending);
    } else {
      ASSERT_EQ(get(urgent.requests(), kBulk, length, &handle), Status::pending);
    }
    bob_is_stuck();
    ASSERT_TRUE(until([&] { return urgent.requests().outcome(handle).status == Status::ok; }));
    EXPECT_LE(bulk_landed(), kUnderWay) << "it waits for what has left, not for the rest";
    ASSERT_TRUE(until([&] { return normal.requests().outcome(bulk).status == Status::ok; }));
    rest();
  }
  EXPECT_EQ(bob.refused_in_all() + alice.refused_in_all(), 0u);
}

TEST_P(RemoteLevels, an_urgent_request_does_not_stand_behind_bulk) {
  Area large(1u << 20);
  TestSlot bulk(bob, large, queue, {.entries = 1});
  SendHandle sent;
  ASSERT_EQ(normal.send(bulk.ticket(0), large.bytes(), {}, &sent), Status::pending);
  RemoteHandle handle;
  EXPECT_EQ(normal.requests().fetch(slot.ticket(), {.operand = 1}, {}, nullptr, nullptr), Status::queue_full);
  ASSERT_EQ(urgent.requests().fetch(slot.ticket(), {.operand = 1}, {}, nullptr, &handle), Status::pending);
  ASSERT_TRUE(until([&] { return urgent.requests().outcome(handle).status == Status::ok; }));
  EXPECT_EQ(normal.status(sent), Status::pending);
  ASSERT_TRUE(until([&] { return normal.status(sent) == Status::ok; }));
}

TEST_P(RemoteLevels, each_has_its_own_places_at_both_sides) {
  for (std::uint32_t i = 0; i < kOutstanding; ++i)
    ASSERT_EQ(get(normal.requests(), 0, kLong), Status::pending);
  EXPECT_EQ(get(normal.requests(), 0, 16), Status::queue_full);
  bob_is_stuck();
  std::vector<RemoteHandle> handles;
  for (int i = 0; i < 100 && handles.size() != kOutstanding; ++i) {  // as they find room in the link
    if (get(urgent.requests(), kLong, 512, &handles.emplace_back()) != Status::pending) handles.pop_back();
    bob_is_stuck();
  }
  ASSERT_EQ(handles.size(), kOutstanding);
  RemoteHandle none;
  EXPECT_EQ(get(urgent.requests(), kLong, 16, &none), Status::queue_full);
  ASSERT_TRUE(until([&] {
    return std::all_of(handles.begin(), handles.end(), [&](RemoteHandle each) {
      return urgent.requests().outcome(each).status == Status::ok;
    });
  }));
  rest();
  EXPECT_EQ(bob.refused_in_all() + alice.refused_in_all(), 0u);
}

// Urgent gets without end: a normal one still gets one piece for so many of theirs.
TEST_P(RemoteLevels, leave_the_normal_level_its_share) {
  RemoteHandle bulk;
  ASSERT_EQ(get(normal.requests(), 0, kLong, &bulk), Status::pending);
  std::vector<RemoteHandle> handles(8);
  std::size_t urgent_came = 0;
  ASSERT_TRUE(until([&] {
    for (RemoteHandle& handle : handles) {
      if (urgent.requests().outcome(handle).status == Status::ok) urgent_came += kLong;
      if (urgent.requests().outcome(handle).status != Status::pending)
        static_cast<void>(get(urgent.requests(), kLong, kLong, &handle));  // its outcome tells
    }
    return normal.requests().outcome(bulk).status == Status::ok;
  }));
  EXPECT_GE(urgent_came + 8 * kLong, kUrgentInARow * kLong / 2) << "they do go first";
  EXPECT_LE(urgent_came, (kUrgentInARow + 1) * kLong + kUnderWay);
}

INSTANTIATE_TEST_SUITE_P(fabric, RemoteLevels, testing::ValuesIn(fabrics()), fabric_name);

}  // namespace
}  // namespace hamlyn::test
