// Datagram ports: what arrives is what was sent, whole and from whom it says; nothing else is promised.
#include <gtest/gtest.h>

#include <map>

#include "test/conformance/datagrams.h"
#include "test/simulation/books/owned_slot.h"

namespace hamlyn::test {
namespace {

using fabric::DatagramPort;
using simulation::pattern;

class DatagramPorts : public testing::Test {
 protected:
  DatagramPort& port(int which) { return world->port(which); }
  // One that comes within a generous time.
  std::optional<DatagramPort::Arrival> next(int which) {
    for (int i = 0; i < 100'000; ++i) {
      const auto arrival = port(which).receive(into);
      if (arrival) return arrival;
      world->pass();
    }
    return std::nullopt;
  }

  std::unique_ptr<DatagramWorld> world = make_datagram_world();
  std::vector<std::byte> into = std::vector<std::byte>(65536);
};

TEST_F(DatagramPorts, bring_what_was_sent_whole_and_from_whom_it_says) {
  DatagramPort &one = port(0), &other = port(1);
  const auto to = one.insert(other.address()), back = other.insert(one.address());
  ASSERT_NE(to, DatagramPort::kNobody);
  ASSERT_NE(back, DatagramPort::kNobody);
  std::map<std::uint64_t, int> times;
  std::uint64_t sent = 0;
  const auto take = [&](const std::optional<DatagramPort::Arrival>& arrival) {
    if (!arrival) return;
    ASSERT_EQ(arrival->from, back);
    ASSERT_GE(arrival->length, sizeof(std::uint64_t));
    std::uint64_t number;
    std::memcpy(&number, into.data(), sizeof number);
    ASSERT_LT(number, sent);
    const std::size_t length = 8 + number * 37 % (one.limit() - 7);
    ASSERT_EQ(arrival->length, length) << number;
    ASSERT_TRUE(simulation::same(std::span(into).first(length).subspan(8), pattern(length - 8, number)));
    ++times[number];
  };
  while (times.size() < 500) {
    const std::size_t length = 8 + sent * 37 % (one.limit() - 7);
    std::vector<std::byte> data(8);
    std::memcpy(data.data(), &sent, 8);
    const auto rest = pattern(length - 8, sent);
    data.insert(data.end(), rest.begin(), rest.end());
    const Status status = one.send(to, data);
    ASSERT_TRUE(status == Status::ok || status == Status::queue_full);
    sent += status == Status::ok ? 1u : 0u;
    ASSERT_LT(sent, 100'000u) << "hardly any arrives";
    world->pass();
    one.receive(into);
    take(other.receive(into));
    if (HasFatalFailure()) return;
  }
  EXPECT_EQ(other.refused(), 0u);
}

TEST_F(DatagramPorts, carry_as_much_as_they_say_and_as_little) {
  DatagramPort &one = port(0), &other = port(1);
  const auto to = one.insert(other.address());
  other.insert(one.address());
  const auto longest = pattern(one.limit(), 1);
  EXPECT_EQ(one.send(to, std::vector<std::byte>(one.limit() + 1)), Status::too_long);
  for (const std::size_t length : {one.limit(), std::size_t{0}, std::size_t{1}}) {
    std::optional<DatagramPort::Arrival> arrival;
    for (int i = 0; i < 100 && !(arrival && arrival->length == length); ++i) {  // some are lost
      EXPECT_EQ(one.send(to, std::span(longest).first(length)), Status::ok);
      one.receive(into);
      for (int turn = 0; turn < 100 && !(arrival && arrival->length == length); ++turn) {
        world->pass();
        arrival = other.receive(into);
      }
    }
    ASSERT_TRUE(arrival) << length;
    EXPECT_TRUE(simulation::same(std::span(into).first(length), std::span(longest).first(length)));
  }
  EXPECT_EQ(one.send(to, longest), Status::ok);
  one.receive(into);
  EXPECT_FALSE(other.receive(std::span(into).first(other.limit() - 1))) << "it might not fit";
}

TEST_F(DatagramPorts, send_to_whom_they_have_named_and_take_from_those_alone) {
  DatagramPort &one = port(0), &other = port(1), &third = port(2);
  EXPECT_EQ(one.send(0, {}), Status::invalid);
  EXPECT_EQ(one.send(DatagramPort::kNobody, {}), Status::invalid);
  EXPECT_EQ(one.insert({}), DatagramPort::kNobody);
  EXPECT_EQ(one.insert(std::vector<std::byte>(other.address().size(), std::byte{0xEE})),
            DatagramPort::kNobody);
  EXPECT_EQ(one.insert(std::vector<std::byte>(other.address().size() + 1)), DatagramPort::kNobody);
  const auto to = one.insert(other.address());
  EXPECT_EQ(one.insert(other.address()), to) << "named once";
  EXPECT_EQ(one.send(to + 1, {}), Status::invalid);
  const auto known = other.insert(third.address());
  const auto from_third = third.insert(other.address());
  // One that `other` has not named, then one that it has.
  for (int i = 0; i < 1000 && other.refused() == 0; ++i) {
    EXPECT_EQ(one.send(to, pattern(100, 1)), Status::ok);
    one.receive(into);
    world->pass();
    EXPECT_FALSE(other.receive(into));
  }
  EXPECT_GT(other.refused(), 0u);
  std::optional<DatagramPort::Arrival> arrival;
  for (int i = 0; i < 1000 && !arrival; ++i) {
    EXPECT_EQ(third.send(from_third, pattern(200, 2)), Status::ok);
    third.receive(into);
    world->pass();
    arrival = other.receive(into);
  }
  ASSERT_TRUE(arrival);
  EXPECT_EQ(arrival->from, known);
  EXPECT_EQ(arrival->length, 200u);
}

TEST_F(DatagramPorts, take_strangers_if_they_are_told_to_and_names_back) {
  DatagramPort &one = port(0), &other = port(1);
  const auto to = one.insert(other.address()), from = other.insert(one.address());
  const auto arrives = [&] {
    std::optional<DatagramPort::Arrival> arrival;
    for (int i = 0; i < 1000 && !arrival; ++i) {
      EXPECT_EQ(one.send(to, pattern(100, 1)), Status::ok);
      one.receive(into);
      world->pass();
      arrival = other.receive(into);
    }
    return arrival;
  };
  ASSERT_TRUE(arrives());
  other.forget(from);
  EXPECT_EQ(other.send(from, {}), Status::invalid);
  for (int i = 0; i < 1000 && other.refused() == 0; ++i) {
    EXPECT_EQ(one.send(to, pattern(100, 1)), Status::ok);
    one.receive(into);
    world->pass();
    other.receive(into);
  }
  EXPECT_GT(other.refused(), 0u) << "one more stranger";
  other.take_strangers();
  const std::uint64_t refused = other.refused();
  for (int i = 0; i < 3; ++i) {
    const auto arrival = arrives();
    ASSERT_TRUE(arrival);
    EXPECT_EQ(arrival->length, 100u);
    if (i == 2) {
      EXPECT_EQ(arrival->from, DatagramPort::kNobody);
    }
  }
  EXPECT_EQ(other.refused(), refused);
  const auto again = other.insert(one.address());
  ASSERT_NE(again, DatagramPort::kNobody);
  std::optional<DatagramPort::Arrival> arrival;
  for (int i = 0; i < 1000 && !(arrival && arrival->from == again); ++i) arrival = arrives();
  EXPECT_EQ(arrival->from, again);
}

TEST_F(DatagramPorts, say_when_too_many_wait_and_go_on) {
  DatagramPort &one = port(0), &other = port(1);
  const auto to = one.insert(other.address());
  other.insert(one.address());
  Status status = Status::ok;
  int accepted = 0;
  while ((status = one.send(to, pattern(8, 1))) == Status::ok) ASSERT_LT(++accepted, 10'000);
  EXPECT_EQ(status, Status::queue_full);
  EXPECT_GT(accepted, 0);
  EXPECT_FALSE(one.receive(into));
  EXPECT_EQ(one.send(to, pattern(8, 1)), Status::ok);
  one.receive(into);
  ASSERT_TRUE(next(1));
}

}  // namespace
}  // namespace hamlyn::test
