// The whole address space as a segment: who may have it, and what comes of addresses where nothing is.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <deque>
#include <memory>
#include <vector>

#include "test/am/am_machine.h"

namespace hamlyn::test {
namespace {

constexpr Membership kMember{.secret = {1, 2}};

class AmAddressSpace : public AmMachine {
 protected:
  void SetUp() override { begin(); }
  // Endpoint 0 gives its address space; `as` is what all but it are members of.
  void begin(std::uint64_t seed = 1, const Limits& limits = {.credits = 4, .ring = 32768},
             const std::optional<Membership>& as = kMember, bool keeps_order = true) {
    world = std::make_unique<AmWorld>(seed, 3, limits, keeps_order, as);
    world->on_message = [this](std::size_t i, AmWorld::Machine::Delivery& delivery) {
      ++handled[i];
      last = delivery.data;
      if (answer) answer(delivery);
    };
    world->on_return = [this](std::size_t, const Returned& returned) { came_back.push_back(returned); };
    for (std::size_t i = 0; i != 3; ++i) {
      world->at(i).set_tag(kTag);
      world->at(i).set_handler(kAsk, true);
    }
    std::ranges::fill(memory(), std::byte{0});
  }
  void greet() {
    for (std::uint32_t i = 1; i != 3; ++i) {
      ASSERT_EQ(world->at(0).map(i, world->at(i).name(), kTag), Result::ok);
      ASSERT_EQ(world->at(i).map(0, world->at(0).name(), kTag), Result::ok);
    }
    world->settle();
  }
  void give() { ASSERT_EQ(world->at(0).set_segment(kAddressSpace), Result::ok); }
  static std::vector<std::byte>& memory() { return AmPort::Memory::there; }
  static std::uint64_t address(std::size_t at) {
    return reinterpret_cast<std::uintptr_t>(memory().data()) + at;
  }
  static std::vector<std::byte> some(std::size_t bytes, unsigned seed = 1) {
    std::vector<std::byte> out(bytes);
    for (std::size_t i = 0; i != bytes; ++i) out[i] = static_cast<std::byte>(i * 7 + i / 251 + seed);
    return out;
  }
  // Sends a long request of endpoint `from`, and settles.
  void send(std::uint64_t to, const std::vector<std::byte>& data, std::size_t from = 1) {
    Leaving leaving{
        .kind = Kind::request_long, .handler = kAsk, .data = data, .offset = to, .length = data.size()};
    AmWorld::Machine::Moving moving;
    Try tried = Try::later;
    for (int i = 0; i != 100 && tried == Try::later; ++i) {
      tried = world->at(from).begin_long(0, leaving, moving);
      world->settle();
    }
    ASSERT_EQ(tried, Try::ok);
    if (moving.pair == 0) return;  // it has come back
    for (int i = 0; i != 100 && world->at(from).moved(moving) == Status::pending; ++i) world->settle();
    ASSERT_EQ(world->at(from).moved(moving), Status::ok);
    ASSERT_EQ(world->at(from).end_long(moving, leaving, false), Try::ok);
    world->settle();
  }
  // Endpoint 1 asks for `length` bytes of endpoint 0's, which are to land at `offset` of its own segment.
  void get(std::uint64_t source, std::uint64_t length, std::uint64_t offset) {
    const GetHead head{.source = source, .length = length, .offset = offset};
    Leaving leaving{.kind = Kind::get,
                    .handler = kAsk,
                    .head = std::as_bytes(std::span(&head, 1)),
                    .offset = source,
                    .length = length};
    ASSERT_EQ(world->at(1).request(0, leaving), Try::ok);
    world->settle();
  }
  void expect_back(Why why) {
    ASSERT_EQ(came_back.size(), 1u);
    EXPECT_EQ(came_back[0].why, why);
    came_back.clear();
    EXPECT_EQ(handled, (std::array<int, 8>{}));
    EXPECT_TRUE(std::ranges::all_of(memory(), [](std::byte each) { return each == std::byte{0}; }));
  }

  std::deque<std::vector<std::byte>> segments_;
  std::span<std::byte> last;
  std::function<void(AmWorld::Machine::Delivery&)> answer;
};

TEST_F(AmAddressSpace, takes_messages_of_any_length_at_any_address) {
  give();
  greet();
  for (const std::size_t bytes :
       {std::size_t{0}, std::size_t{1}, kMostMedium, kMostMedium + 1, std::size_t{50'000}}) {
    const std::vector<std::byte> data = some(bytes);
    send(address(100), data);
    EXPECT_TRUE(std::ranges::equal(last, data)) << bytes;
    EXPECT_EQ(last.data(), memory().data() + 100);
  }
  EXPECT_EQ(handled[0], 5);
  EXPECT_TRUE(came_back.empty());
}

TEST_F(AmAddressSpace, may_be_given_at_any_time_and_taken_back) {
  greet();
  const std::vector<std::byte> data = some(100);
  send(address(0), data);
  expect_back(Why::bad_offset);
  give();
  world->settle();
  send(address(0), data);
  EXPECT_EQ(handled[0], 1);
  handled = {};
  std::ranges::fill(memory(), std::byte{0});
  ASSERT_EQ(world->at(0).set_segment({}), Result::ok);
  world->settle();
  send(address(0), data);
  expect_back(Why::bad_offset);
}

TEST_F(AmAddressSpace, tells_the_sender_of_addresses_where_nothing_is) {
  give();
  greet();
  const std::uint64_t end = address(memory().size());
  for (const std::uint64_t to : {std::uint64_t{0}, address(0) - 1, end, ~std::uint64_t{0} - 50}) {
    send(to, some(50));
    expect_back(Why::bad_offset);
  }
}

TEST_F(AmAddressSpace, tells_the_sender_where_only_a_part_can_be_written) {
  give();
  greet();
  send(address(memory().size() - 5000), some(9000));
  ASSERT_EQ(came_back.size(), 1u);
  EXPECT_EQ(came_back[0].why, Why::bad_offset);
  EXPECT_EQ(handled[0], 0);
}

TEST_F(AmAddressSpace, is_given_to_members_of_the_job_alone) {
  begin(1, {.credits = 4, .ring = 32768}, std::nullopt);
  give();
  greet();
  send(address(0), some(50));
  expect_back(Why::bad_offset);
  get(address(0), 50, 0);
  expect_back(Why::bad_offset);
}

TEST_F(AmAddressSpace, is_not_given_to_other_users) {
  world->port(1).strangers = true;
  give();
  greet();
  send(address(0), some(50));
  expect_back(Why::bad_offset);
}

TEST_F(AmAddressSpace, is_given_between_hosts_if_the_network_is_trusted) {
  for (const bool trusted : {false, true}) {
    begin(1, {.credits = 4, .ring = 32768}, Membership{.secret = {1, 2}, .trusted_network = trusted});
    world->port(1).far = true;
    give();
    greet();
    send(address(0), some(50));
    if (!trusted) expect_back(Why::bad_offset);
  }
  EXPECT_EQ(handled[0], 1);
}

TEST_F(AmAddressSpace, is_not_given_for_the_proof_of_another_greeting) {
  give();
  greet();
  AmWorld::Machine::Other& pair = this->pair();
  EXPECT_TRUE(pair.is_member);
  // The process of endpoint 2 says what it has heard that endpoint 1 has said.
  const Hello heard{.credits = 4,
                    .way = 1,
                    .from = number_of(world->at(2).name()),
                    .to = number_of(world->at(0).name()),
                    .session = 77,
                    .ring_bytes = 32768,
                    .door = on_wire(world->port(3).ticket()),
                    .ring = {.bound = kSmallRing},
                    .proof = proof_of(kMember, {2, number_of(world->at(1).name()), 1,
                                                number_of(world->at(0).name()), pair.session})};
  world->send({AmWorld::Flight::Kind::hello,
               3,
               1,
               0,
               {std::as_bytes(std::span(&heard, 1)).begin(), std::as_bytes(std::span(&heard, 1)).end()}});
  world->settle();
  EXPECT_FALSE(world->at(0).translation(2)->pair->is_member);
}

TEST_F(AmAddressSpace, gives_what_is_asked_for) {
  give();
  ASSERT_EQ(world->at(1).set_segment(kAddressSpace), Result::ok);
  greet();
  const std::vector<std::byte> data = some(20'000);
  std::ranges::copy(data, memory().begin());
  get(address(0), data.size(), address(30'000));
  EXPECT_EQ(handled[1], 1);
  EXPECT_TRUE(std::equal(data.begin(), data.end(), memory().begin() + 30'000));
}

TEST_F(AmAddressSpace, gives_what_is_asked_for_to_a_segment) {
  give();
  std::vector<std::byte> segment(20'000);
  ASSERT_EQ(world->at(1).set_segment(segment), Result::ok);
  greet();
  const std::vector<std::byte> data = some(19'999);
  std::ranges::copy(data, memory().begin());
  get(address(0), data.size(), 1);
  EXPECT_EQ(handled[1], 1);
  EXPECT_TRUE(std::equal(data.begin(), data.end(), segment.begin() + 1));
  EXPECT_TRUE(came_back.empty());
}

TEST_F(AmAddressSpace, tells_who_asks_for_what_is_not_there) {
  give();
  greet();
  for (const bool everywhere : {false, true}) {
    std::vector<std::byte> segment(20'000);
    ASSERT_EQ(world->at(1).set_segment(everywhere ? kAddressSpace : std::span(segment)), Result::ok);
    world->settle();
    for (const std::uint64_t from : {std::uint64_t{8}, address(0) - 1, address(memory().size() - 5000)}) {
      get(from, 9000, everywhere ? address(0) : 0);
      expect_back(Why::bad_offset);
      EXPECT_EQ(pair().in_flight(), 0u);
      EXPECT_EQ(world->at(1).translation(0)->pair->in_flight(), 0u) << "its credit is back";
    }
  }
}

TEST_F(AmAddressSpace, takes_long_replies_that_are_the_handlers_again) {
  give();
  greet();
  std::vector<std::byte> data = some(30'000);
  answer = [&](AmWorld::Machine::Delivery& delivery) {
    if (!delivery.may_reply) return;
    Leaving leaving{.kind = Kind::reply_long, .handler = kAsk, .data = data, .offset = address(7)};
    EXPECT_EQ(world->at(1).reply_long(delivery, leaving), Try::ok);
    std::ranges::fill(data, std::byte{0xEE});
  };
  EXPECT_EQ(ask(0, 1), Try::ok);
  world->settle();
  EXPECT_EQ(handled[0], 1);
  EXPECT_TRUE(std::ranges::equal(last, some(30'000)));
}

TEST_F(AmAddressSpace, has_no_piece_left_of_a_message_that_was_cancelled) {
  give();
  greet();
  std::vector<std::byte> data = some(50'000);
  Leaving leaving{
      .kind = Kind::request_long, .handler = kAsk, .data = data, .offset = address(0), .length = data.size()};
  AmWorld::Machine::Moving moving;
  ASSERT_EQ(world->at(1).begin_long(0, leaving, moving), Try::ok);
  EXPECT_EQ(world->at(1).moved(moving), Status::pending);
  world->at(1).cancel(moving);
  std::ranges::fill(data, std::byte{0xEE});
  world->settle();
  EXPECT_EQ(world->at(1).translation(0)->pair->in_flight(), 0u);
  EXPECT_EQ(handled[0], 0);
  send(address(20), some(100));
  EXPECT_EQ(handled[0], 1);
  EXPECT_TRUE(std::ranges::equal(last, some(100)));
}

// A member that lies: its piece belongs nowhere, or a message says that there were pieces.
TEST_F(AmAddressSpace, refuses_pieces_that_no_honest_side_sends) {
  const auto piece = [&](const PieceHead& head, std::size_t bytes) {
    std::vector<std::byte> out(sizeof head + bytes);
    std::memcpy(out.data(), &head, sizeof head);
    return out;
  };
  const auto refused = [&](const char* what, bool given, const PieceHead& head, std::size_t bytes,
                           std::uint8_t count = 0) {
    begin();
    if (given) give();
    greet();
    forge({.kind = Kind::piece, .count = count, .number = next()}, piece(head, bytes));
    EXPECT_FALSE(open()) << what;
    EXPECT_TRUE(std::ranges::all_of(memory(), [](std::byte each) { return each == std::byte{0}; })) << what;
    expect_others_served();
  };
  refused("nobody has given it", false, {address(0), 0, 0}, 8);
  refused("a segment to come", true, {address(0), 0, 2}, 8);
  refused("not the first", true, {address(0), 8, 1}, 8);
  refused("nothing", true, {address(0), 0, 1}, 0);
  refused("too long", true, {address(0), 0, 1}, kMostMedium + 1);
  refused("with arguments", true, {address(0), 0, 1}, 8, 1);
}

// A process that is no member, and says that its data has come, or asks for ours, with a segment of its own.
TEST_F(AmAddressSpace, believes_nobody_who_is_no_member) {
  const auto bytes_of_head = [](const auto& head, std::size_t more = 0) {
    std::vector<std::byte> out(sizeof head + more);
    std::memcpy(out.data(), &head, sizeof head);
    return out;
  };
  const Membership other{.secret = {1, 3}};
  for (const int who : {0, 1, 2, 3}) {
    SCOPED_TRACE(who);
    const auto stranger = [&] {
      begin();
      if (who == 1) world->port(1).strangers = true;
      if (who == 2) world->port(1).far = true;
      if (who == 3) world->become(1, other);
      give();
      if (who == 0) world->become(1, std::nullopt);
      std::vector<std::byte>& own = segments_.emplace_back(4096);
      ASSERT_EQ(world->at(1).set_segment(own), Result::ok);
      for (std::size_t at = 0; at != 3; ++at) {
        world->at(at).set_tag(kTag);
        world->at(at).set_handler(kAsk, true);
      }
      greet();
      handled = {};
    };
    stranger();
    forge({.kind = Kind::piece, .number = next()}, bytes_of_head(PieceHead{address(0), 0, 1}, 8));
    EXPECT_FALSE(open());
    EXPECT_TRUE(std::ranges::all_of(memory(), [](std::byte each) { return each == std::byte{0}; }));
    for (const std::uint64_t length : {0u, 8u}) {
      stranger();
      forge({.kind = Kind::request_long, .handler = kAsk, .number = next()},
            bytes_of_head(LongHead{address(0), length, 1, 0}));
      EXPECT_EQ(handled[0], 0);
      EXPECT_EQ(world->at(0).statistics.rejected, 1u);
    }
    stranger();
    std::ranges::fill(memory(), std::byte{7});
    get(address(0), 100, 0);
    ASSERT_EQ(came_back.size(), 1u);
    EXPECT_EQ(came_back[0].why, Why::bad_offset);
    EXPECT_EQ(segments_.back(), std::vector<std::byte>(4096)) << "nothing of ours was sent";
    came_back.clear();
  }
}

// A process that is no member, and says that it gives all of its memory: nothing is kept for it.
TEST_F(AmAddressSpace, is_taken_from_members_alone) {
  greet();
  world->port(1).strangers = true;
  const SegmentNews news{{.bound = kEverywhere}, 9};
  std::vector<std::byte> bytes(sizeof news);
  std::memcpy(bytes.data(), &news, sizeof news);
  pair().is_member = false;
  forge({.kind = Kind::segment, .number = next()}, bytes);
  EXPECT_TRUE(open());
  const std::vector<std::byte> data = some(20'000);
  Leaving leaving{
      .kind = Kind::request_long, .handler = kAsk, .data = data, .offset = 64, .length = data.size()};
  AmWorld::Machine::Moving moving;
  Try tried = Try::later;
  for (int i = 0; i != 10 && tried == Try::later; ++i) {
    tried = world->at(0).begin_long(1, leaving, moving);
    EXPECT_EQ(moving.data, 0u);
    EXPECT_TRUE(pair().kept.empty());
    world->settle();
  }
}

// An asker that takes nothing, while the segment that it asks for changes: what was the segment may be freed.
TEST_F(AmAddressSpace, is_read_no_more_when_it_is_taken_back) {
  for (const bool everywhere : {true, false}) {
    begin();
    std::vector<std::byte> ordinary(40'000, std::byte{5});
    ASSERT_EQ(world->at(0).set_segment(everywhere ? kAddressSpace : std::span(ordinary)), Result::ok);
    ASSERT_EQ(world->at(1).set_segment(kAddressSpace), Result::ok);
    greet();
    const GetHead head{.source = everywhere ? address(0) : 0, .length = 40'000, .offset = address(10'000)};
    Leaving leaving{.kind = Kind::get, .handler = kAsk, .head = std::as_bytes(std::span(&head, 1))};
    leaving.length = 40'000;
    ASSERT_EQ(world->at(1).request(0, leaving), Try::ok);
    while (world->arrive()) {
    }
    while (world->poll(0)) {  // a part has left, which nobody has taken
    }
    EXPECT_FALSE(pair().kept.empty());
    ASSERT_EQ(world->at(0).set_segment({}), Result::ok);
    ordinary = {};
    world->settle();
    EXPECT_EQ(handled[1], 0);
    ASSERT_EQ(came_back.size(), 1u);
    EXPECT_EQ(came_back[0].operation, Operation::get);
    came_back.clear();
    EXPECT_EQ(world->at(1).translation(0)->pair->in_flight(), 0u);
  }
}

// Messages of any length, when what the receiver has not told yet stands in the short ring.
TEST_F(AmAddressSpace, is_reached_by_the_short_ring_whatever_stands_there) {
  for (const std::size_t bytes : {2000u, 2048u, 2049u, 4073u, 4096u, 4097u})
    for (int before = 60; before != 80; ++before) {
      begin(1, {.credits = 512, .ring = 32768});
      handled = {};
      give();
      greet();
      for (int i = 0; i != before; ++i) {
        ASSERT_EQ(ask(1, 0), Try::ok);
        if (i % 8 == 7) world->settle();
      }
      send(address(1), some(bytes));
      EXPECT_EQ(handled[0], before + 1);
    }
}

TEST_F(AmAddressSpace, takes_no_message_whose_pieces_have_not_come) {
  give();
  greet();
  const LongHead head{.offset = address(0), .length = 8, .segment = 1, .landed = 0};
  std::vector<std::byte> bytes(sizeof head);
  std::memcpy(bytes.data(), &head, sizeof head);
  forge({.kind = Kind::request_long, .handler = kAsk, .number = next()}, bytes);
  EXPECT_EQ(handled[0], 0);
  EXPECT_EQ(world->at(0).statistics.rejected, 1u);
}

// Requests of two endpoints, replies and gets, while the segment changes and nothing keeps its order.
TEST_F(AmAddressSpace, loses_and_doubles_nothing_in_any_order) {
  for (std::uint64_t seed = 0; seed != 40; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    begin(seed, {.credits = 2, .ring = 32768}, kMember, false);
    world->crowded = 20;
    handled = {};
    came_back.clear();
    give();
    greet();
    int sent = 0;
    for (int i = 0; i != 20; ++i) {
      if (world->chance() % 8 == 0) give();
      send(world->chance() % 4 == 0 ? 64 : address(world->chance() % 30'000), some(world->chance() % 20'000),
           1 + world->chance() % 2);
      ++sent;
    }
    world->settle();
    EXPECT_EQ(handled[0] + static_cast<int>(came_back.size()), sent);
  }
}

}  // namespace
}  // namespace hamlyn::test
