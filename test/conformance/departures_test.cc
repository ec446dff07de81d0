// The order of departures, over a link that only counts what is asked of it.
#include <gtest/gtest.h>

#include <memory>
#include <thread>
#include <vector>

#include "interface/terminus.h"
#include "test/support/party.h"

namespace hamlyn::test {
namespace {

using interface::Departures;
using interface::Terminus;

class CountingLink final : public interface::Link {
 public:
  explicit CountingLink(std::uint64_t number) { peer = number; }

  using Link::put;
  Status put(const interface::Packet& packet, const std::byte*, const std::byte*,
             Priority level) noexcept override {
    if (room == 0) return Status::queue_full;
    --room;
    levels.push_back(level);
    offsets.push_back(packet.offset);
    return Status::ok;
  }
  Status put_reply(const interface::Packet&, const std::byte*) noexcept override { return Status::ok; }
  unsigned arrive(interface::Core&, unsigned) noexcept override { return 0; }
  bool something_arrived() const noexcept override { return false; }
  std::uint64_t arrived_at_most() const noexcept override { return 0; }
  bool has_room(Priority) noexcept override {
    ++looks;
    return room != 0;
  }
  bool has_reply_room() noexcept override { return true; }
  std::size_t payload_limit() const noexcept override { return 1024; }
  std::size_t urgent_payload_limit() const noexcept override { return 320; }
  std::size_t payload_limit_ever() const noexcept override { return 1024; }
  std::uint64_t put_count() const noexcept override { return offsets.size(); }
  std::uint64_t taken_count() noexcept override { return offsets.size(); }

  unsigned room = 0;
  unsigned looks = 0;
  std::vector<Priority> levels;
  std::vector<std::uint64_t> offsets;
};

Ticket to(std::uint64_t peer) {
  Ticket ticket;
  ticket.interface = peer;
  ticket.entry = 0;
  ticket.bound = 1u << 30;
  return ticket;
}

class DepartureOrder : public testing::Test {
 protected:
  static constexpr std::uint64_t kLinks = 100;
  DepartureOrder() {
    for (std::uint64_t peer = 1; peer <= kLinks; ++peer) {
      links.push_back(std::make_unique<CountingLink>(peer));
      party.core.add_link(*links.back());
    }
  }
  ~DepartureOrder() override {
    for (auto& link : links) party.core.end_link(*link);
  }
  CountingLink& link(std::uint64_t peer) { return *links[peer - 1]; }

  Party party{1000};
  std::vector<std::unique_ptr<CountingLink>> links;
  const std::vector<std::byte> bytes = std::vector<std::byte>(100 * 1024);
};

TEST_F(DepartureOrder, a_destination_without_room_costs_a_look_now_and_then) {
  Terminus terminus(party.core, 4096);
  for (std::uint64_t peer = 1; peer <= kLinks; ++peer) {
    for (int i = 0; i < 10; ++i) ASSERT_EQ(terminus.send(to(peer), bytes, {}, nullptr), Status::pending);
  }
  unsigned before = 0, after = 0;
  for (auto& each : links) before += each->looks;
  EXPECT_FALSE(party.core.run());
  for (auto& each : links) after += each->looks;
  EXPECT_LE(after - before, Departures::kLooksPerRun) << "not one for each of 100 links, or of 1000 messages";
  // Every one of them is looked at in the end.
  for (auto& each : links) each->room = 1;
  for (std::uint64_t run = 0; run < kLinks; ++run) party.core.run();
  for (auto& each : links) EXPECT_EQ(each->room, 0u);
}

TEST_F(DepartureOrder, links_have_their_turns) {
  Terminus terminus(party.core, 63);
  for (std::uint64_t peer = 1; peer <= 4; ++peer) {
    ASSERT_EQ(terminus.send(to(peer), bytes, {}, nullptr), Status::pending);
    link(peer).room = 1000;
  }
  party.core.run();
  for (std::uint64_t peer = 1; peer <= 4; ++peer)
    EXPECT_EQ(link(peer).levels.size(), Departures::kPacketsPerRun / 4) << peer;
}

TEST_F(DepartureOrder, termini_have_their_turns_at_a_link) {
  std::vector<std::unique_ptr<Terminus>> termini;
  for (std::uint64_t i = 0; i < 5; ++i) {
    termini.push_back(std::make_unique<Terminus>(party.core, 63));
    ASSERT_EQ(termini.back()->send(to(1), bytes, {.offset = i << 20}, nullptr), Status::pending);
  }
  link(1).room = 1000;
  for (int i = 0; i < 3; ++i) party.core.run();
  std::vector<unsigned> turns(5);
  for (const std::uint64_t offset : link(1).offsets) ++turns[offset >> 20];
  for (const unsigned count : turns) {
    EXPECT_GE(count, 3 * Departures::kPacketsPerRun / 5);
    EXPECT_LE(count, 3 * Departures::kPacketsPerRun / 5 + 1);
  }
}

TEST_F(DepartureOrder, the_urgent_level_goes_first_and_leaves_every_ninth_packet_to_the_normal_one) {
  Terminus normal(party.core, 63), urgent(party.core, 63, Priority::urgent);
  ASSERT_EQ(normal.send(to(1), bytes, {}, nullptr), Status::pending);
  ASSERT_EQ(urgent.send(to(2), bytes, {}, nullptr), Status::pending);
  link(1).room = link(2).room = 1000;
  for (int i = 0; i < 9; ++i) party.core.run();
  EXPECT_EQ(link(2).levels.size(),
            9 * Departures::kPacketsPerRun * interface::kUrgentInARow / (interface::kUrgentInARow + 1));
  EXPECT_EQ(link(1).levels.size(), 9 * Departures::kPacketsPerRun / (interface::kUrgentInARow + 1));
  for (const Priority level : link(2).levels) EXPECT_EQ(level, Priority::urgent);
}

// The sequence word: up to which number all is over, whatever is over beyond it.
TEST_F(DepartureOrder, the_sequence_word_says_what_is_over) {
  Terminus terminus(party.core, 8);
  EXPECT_EQ(terminus.sequence(), 0u);
  link(1).room = 1000;
  SendHandle direct, stalled, later;
  ASSERT_EQ(terminus.send(to(1), {}, {}, &direct), Status::ok);
  EXPECT_EQ(direct.sequence, 1u);
  EXPECT_EQ(terminus.sequence(), 1u) << "direct sends count, too";
  ASSERT_EQ(terminus.send(to(2), bytes, {}, &stalled), Status::pending);
  ASSERT_EQ(terminus.send(to(1), {}, {}, &later), Status::ok);
  EXPECT_EQ(terminus.sequence(), 1u);
  EXPECT_EQ(terminus.status(later), Status::ok) << "over, though an earlier one is not";
  link(2).room = 1000;
  while (terminus.status(stalled) == Status::pending) ASSERT_TRUE(party.core.run());
  EXPECT_EQ(terminus.sequence(), 3u);
  // Entries of the queue are used again, numbers are not.
  for (std::uint64_t i = 4; i < 100; ++i) {
    SendHandle handle;
    ASSERT_EQ(terminus.send(to(1), {}, {}, &handle), Status::ok);
    EXPECT_EQ(handle.sequence, i);
    EXPECT_LT(handle.entry, 8u);
    EXPECT_EQ(terminus.sequence(), i);
  }
  EXPECT_EQ(terminus.status({.sequence = 100, .entry = 0}), Status::invalid) << "never given";
  EXPECT_EQ(terminus.status({.sequence = 1, .entry = 8}), Status::invalid) << "no such entry";
}

TEST_F(DepartureOrder, a_direct_send_waits_its_turn_when_others_found_no_room) {
  Terminus first(party.core, 63), second(party.core, 63);
  link(1).room = 1;
  ASSERT_EQ(first.send(to(1), bytes, {}, nullptr), Status::pending);
  link(1).room = 3;  // credit has come, but nobody has run the interface
  SendHandle handle;
  EXPECT_EQ(second.send(to(1), std::span(bytes).first(16), {.offset = 1u << 20}, &handle), Status::pending);
  EXPECT_EQ(link(1).offsets.size(), 1u);
  party.core.run();
  EXPECT_EQ(link(1).offsets, (std::vector<std::uint64_t>{0, 1024, 1u << 20, 2048}));
}

TEST_F(DepartureOrder, as_many_termini_as_wanted) {
  std::vector<std::unique_ptr<Terminus>> termini;
  for (std::uint64_t i = 0; i < 2000; ++i) {
    termini.push_back(std::make_unique<Terminus>(party.core, 2));
    ASSERT_EQ(termini.back()->send(to(i % kLinks + 1), bytes, {}, nullptr), Status::pending);
  }
  for (auto& each : links) each->room = 1000000;
  while (party.core.departures_wait()) ASSERT_TRUE(party.core.run());
  for (auto& each : links) EXPECT_EQ(each->offsets.size(), 2000 / kLinks * 100);
}

TEST_F(DepartureOrder, what_is_left_when_a_terminus_goes_disturbs_nobody) {
  Terminus stays(party.core, 63);
  {
    Terminus goes(party.core, 63), goes_too(party.core, 63, Priority::urgent);
    for (std::uint64_t peer = 1; peer <= 3; ++peer) {
      ASSERT_EQ(goes.send(to(peer), bytes, {}, nullptr), Status::pending);
      ASSERT_EQ(stays.send(to(peer), bytes, {}, nullptr), Status::pending);
      ASSERT_EQ(goes_too.send(to(peer), bytes, {}, nullptr), Status::pending);
    }
    ASSERT_EQ(goes.send(to(500), bytes, {}, nullptr), Status::pending) << "no link";
    link(1).room = 1000;
    party.core.run();
  }
  for (std::uint64_t peer = 1; peer <= 3; ++peer) {
    link(peer).room = 1000;
    EXPECT_EQ(link(peer).departures, 1u);
  }
  while (party.core.departures_wait()) ASSERT_TRUE(party.core.run());
  EXPECT_EQ(stays.sequence(), 3u);
}

}  // namespace
}  // namespace hamlyn::test
