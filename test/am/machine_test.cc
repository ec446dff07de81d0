// An endpoint's machine, what it does with what no honest side sends, and where its bounds are.
#include <gtest/gtest.h>

#include <array>

#include "test/am/am_world.h"

namespace hamlyn::test {
namespace {

// Two endpoints that have greeted each other, and a third that has with the first.
class AmMachine : public testing::Test {
 protected:
  void SetUp() override { make({.credits = 4, .ring = 32768}); }
  void make(const Limits& limits, std::size_t endpoints = 3) {
    world = std::make_unique<AmWorld>(1, endpoints, limits);
    world->on_message = [this](std::size_t i, AmWorld::Machine::Delivery&) { ++handled[i]; };
    world->on_return = [this](std::size_t, const Returned& returned) { came_back.push_back(returned); };
    for (std::size_t i = 0; i != endpoints; ++i) {
      world->at(i).set_tag(kTag);
      world->at(i).set_handler(kAsk, true);
    }
    for (std::size_t i = 1; i < std::min<std::size_t>(endpoints, 3); ++i) {
      ASSERT_EQ(world->at(0).map(static_cast<std::uint32_t>(i), world->at(i).name(), kTag), Result::ok);
      ASSERT_EQ(world->at(i).map(0, world->at(0).name(), kTag), Result::ok);
    }
    world->settle();
  }
  Try ask(std::size_t from, std::uint32_t index) {
    Leaving leaving{.kind = Kind::request_short, .handler = kAsk};
    return world->at(from).request(index, leaving);
  }
  // The pair that endpoint 0 has with endpoint 1.
  AmWorld::Machine::Other& pair() { return *world->at(0).translation(1)->pair; }
  // A message of endpoint 1's, by hand, to endpoint 0.
  void forge(const Word& word, std::vector<std::byte> bytes = {}, std::uint64_t offset = 0) {
    forge_bits(word_of(word), std::move(bytes), offset);
  }
  void forge_bits(std::uint64_t word, std::vector<std::byte> bytes = {}, std::uint64_t offset = 0) {
    if (pair().way == nullptr) return;
    world->send(
        {AmWorld::Flight::Kind::message, 2, 1, pair().way->landing().slot, std::move(bytes), word, offset});
    world->settle();
  }
  std::uint16_t next() { return static_cast<std::uint16_t>(pair().expected); }
  bool open() { return pair().state == AmWorld::Machine::Other::State::open; }
  // The third one is served as ever.
  void expect_others_served() {
    const int before = handled[0];
    EXPECT_EQ(ask(2, 0), Try::ok);
    world->settle();
    EXPECT_EQ(handled[0], before + 1);
  }

  static bool all_answer(const Name&) { return true; }

  std::unique_ptr<AmWorld> world;
  std::array<int, 8> handled{};
  std::vector<Returned> came_back;
};

TEST_F(AmMachine, ends_the_pair_of_a_side_that_sends_what_no_honest_one_does) {
  const std::vector<std::byte> four(4), hundred(100);
  const auto forgeries = std::to_array<std::function<void()>>({
      [&] { forge({.kind = static_cast<Kind>(15), .number = next()}); },
      [&] {
        forge({.kind = Kind::request_short, .count = 17, .handler = kAsk, .number = next()},
              std::vector<std::byte>(68));
      },
      [&] { forge({.kind = Kind::request_short, .count = 2, .handler = kAsk, .number = next()}, four); },
      [&] { forge({.kind = Kind::request_medium, .count = 2, .handler = kAsk, .number = next()}, four); },
      [&] {
        forge({.kind = Kind::request_medium, .handler = kAsk, .number = next()},
              std::vector<std::byte>(4097));
      },
      [&] { forge({.kind = Kind::request_long, .handler = kAsk, .number = next()}, four); },
      [&] { forge({.kind = Kind::get, .handler = kAsk, .number = next()}, four); },
      [&] { forge({.kind = Kind::tag, .number = next()}, four); },
      [&] { forge({.kind = Kind::segment, .number = next()}, hundred); },
      [&] { forge({.kind = Kind::grown, .number = next()}, hundred); },
      [&] { forge({.kind = Kind::bye, .number = next()}, four); },
      // Replies that nobody has asked for, and messages that come twice or from far ahead.
      [&] { forge({.kind = Kind::reply_short, .handler = kAsk, .number = next()}); },
      [&] { forge({.kind = Kind::reply_short, .handler = kAsk, .number = next(), .credited = 1}); },
      [&] { forge({.kind = Kind::returned, .number = next()}, std::vector<std::byte>(24)); },
      [&] {
        forge(
            {.kind = Kind::request_short, .handler = kAsk, .number = static_cast<std::uint16_t>(next() - 1)});
      },
      [&] {
        forge({.kind = Kind::request_short,
               .handler = kAsk,
               .number = static_cast<std::uint16_t>(next() + 5000)});
      },
      [&] {
        forge(
            {.kind = Kind::request_short, .handler = kAsk, .number = static_cast<std::uint16_t>(next() + 2)});
        forge(
            {.kind = Kind::request_short, .handler = kAsk, .number = static_cast<std::uint16_t>(next() + 2)});
      },
  });
  for (std::size_t i = 0; i != forgeries.size(); ++i) {
    SCOPED_TRACE(i);
    make({.credits = 4, .ring = 32768});
    forgeries[i]();
    EXPECT_FALSE(open());
    expect_others_served();
  }
}

TEST_F(AmMachine, lets_no_side_say_what_was_not_sent) {
  EXPECT_EQ(ask(0, 1), Try::ok);
  world->settle();
  // More is done, and more credits are back, than there were.
  forge({.kind = Kind::acknowledge, .number = next(), .done = 40'000, .credited = 20'000});
  EXPECT_TRUE(open());
  EXPECT_LE(pair().in_flight(), 1u);
  for (int i = 0; i != 20; ++i) {
    EXPECT_EQ(ask(0, 1), Try::ok);
    world->settle();
  }
  EXPECT_EQ(handled[1], 21);
}

TEST_F(AmMachine, stays_whole_whatever_comes) {
  for (std::uint64_t seed = 0; seed != 3000; ++seed) {
    std::mt19937_64 of(seed);
    std::vector<std::byte> bytes(of() % 3 == 0 ? of() % 200 : of() % 40);
    for (std::byte& each : bytes) each = static_cast<std::byte>(of());
    std::uint64_t word = of();
    if (of() % 2 == 0)  // in its turn, and of a kind that there is
      word = word_of({.kind = static_cast<Kind>(of() % 15),
                      .count = static_cast<std::uint8_t>(of() % 18),
                      .handler = static_cast<HandlerNumber>(of() % 3),
                      .number = next(),
                      .done = static_cast<std::uint16_t>(of() % 4),
                      .credited = static_cast<std::uint16_t>(of() % 4)});
    if (of() % 3 == 0) static_cast<void>(ask(0, 1));
    forge_bits(word, std::move(bytes), of() % 100 * 64);
    if (!open()) make({.credits = 4, .ring = 32768});
  }
  expect_others_served();
}

TEST_F(AmMachine, hears_no_hello_that_is_none) {
  const auto say = [&](const Hello& hello, std::uint64_t from = 2) {
    const auto bytes = std::as_bytes(std::span(&hello, 1));
    world->send({AmWorld::Flight::Kind::hello, from, 1, 0, {bytes.begin(), bytes.end()}});
    world->settle();
  };
  const std::size_t before = world->at(0).pairs();
  const std::uint64_t to = number_of(world->at(0).name());
  Hello good{.credits = 1, .from = 99, .to = to, .session = 3};
  good.ring.bound = kSmallRing;
  Hello bad = good;
  bad.version = 2, say(bad), bad = good;
  bad.to = 5, say(bad), bad = good;
  bad.from = 0, say(bad), bad = good;
  bad.credits = 0, say(bad), bad = good;
  bad.ring.bound = kSmallRing - 64, say(bad), bad = good;
  bad.ring.bound = kMostRing + 64, say(bad), bad = good;
  EXPECT_EQ(world->at(0).pairs(), before);
  EXPECT_EQ(world->at(0).statistics.refused, 6u);
  // A refusal of what was not said ends nothing.
  bad.why = static_cast<std::uint16_t>(Why::congestion), bad.from = number_of(world->at(1).name());
  say(bad);
  EXPECT_TRUE(open());
  say(good);
  EXPECT_EQ(world->at(0).pairs(), before + 1);
}

TEST_F(AmMachine, has_so_many_pairs_of_one_process_that_nobody_has_mapped_and_no_more) {
  const std::size_t before = world->at(0).pairs();
  for (std::uint64_t i = 0; i != kMostOfOneProcess + 20; ++i) {
    Hello hello{.credits = 1, .from = 1000 + i, .to = number_of(world->at(0).name()), .session = 3};
    hello.ring.bound = kSmallRing;
    const auto bytes = std::as_bytes(std::span(&hello, 1));
    world->at(0).hear_hello(3, bytes);
  }
  EXPECT_LE(world->at(0).pairs(), before + kMostOfOneProcess);
  EXPECT_GE(world->at(0).pairs(), before + kMostOfOneProcess - 1);
  EXPECT_EQ(ask(0, 1), Try::ok);
  world->settle();
  EXPECT_EQ(handled[1], 1);
}

TEST_F(AmMachine, requests_wait_for_a_credit) {
  for (int i = 0; i != 4; ++i) EXPECT_EQ(ask(0, 1), Try::ok);
  EXPECT_EQ(ask(0, 1), Try::later);
  world->settle();
  EXPECT_EQ(ask(0, 1), Try::ok);
}

TEST_F(AmMachine, the_smaller_number_of_credits_counts) {
  make({.credits = 2, .ring = 32768}, 2);
  EXPECT_EQ(pair().most, 2u);
}

TEST_F(AmMachine, a_tag_belongs_to_the_mapping_and_is_told_before_the_request) {
  AmWorld::Machine& machine = world->at(0);
  ASSERT_EQ(machine.map(5, world->at(1).name(), kTag + 1), Result::ok);
  EXPECT_EQ(ask(0, 5), Try::ok);
  EXPECT_EQ(ask(0, 1), Try::ok);
  world->settle();
  ASSERT_EQ(came_back.size(), 1u);
  EXPECT_EQ(came_back[0].why, Why::bad_tag);
  EXPECT_EQ(handled[1], 1);
}

TEST_F(AmMachine, a_process_that_begins_anew_is_not_taken_for_what_it_was) {
  EXPECT_EQ(ask(0, 1), Try::ok);
  Hello anew{.credits = 1,
             .from = number_of(world->at(1).name()),
             .to = number_of(world->at(0).name()),
             .session = 12345};
  anew.ring.bound = kSmallRing;
  AmWorld::Machine::Other& before = pair();
  world->at(0).hear_hello(2, std::as_bytes(std::span(&anew, 1)));
  EXPECT_EQ(before.state, AmWorld::Machine::Other::State::ended);
  EXPECT_TRUE(world->at(0).has_returned());
  EXPECT_EQ(ask(0, 1), Try::ok);  // to the new one
  EXPECT_TRUE(open());
}

TEST_F(AmMachine, those_who_send_to_an_endpoint_are_told_that_it_goes) {
  EXPECT_FALSE(world->at(1).say_bye(all_answer));  // nobody has heard it yet
  world->settle();
  EXPECT_TRUE(world->at(1).say_bye(all_answer));
  EXPECT_EQ(ask(0, 1), Try::ok);
  world->settle();
  ASSERT_EQ(came_back.size(), 1u);
  EXPECT_EQ(came_back[0].why, Why::bad_endpoint);
  expect_others_served();
}

TEST_F(AmMachine, an_endpoint_that_nobody_polls_is_not_waited_for) {
  EXPECT_TRUE(world->at(1).say_bye([](const Name&) { return false; }));
  EXPECT_EQ(ask(0, 1), Try::ok);
  world->free(1);
  world->settle();
  ASSERT_EQ(came_back.size(), 1u);
  EXPECT_EQ(came_back[0].why, Why::bad_endpoint);
}

// Its interface may hear that a slot has gone before its endpoint hears why.
TEST_F(AmMachine, a_slot_that_has_gone_while_its_link_lives_is_an_endpoint_that_has) {
  const auto ways = std::to_array<std::function<void()>>({
      [&] { static_cast<void>(ask(0, 1)); },
      [&] {
        Leaving leaving{.kind = Kind::request_medium, .handler = kAsk};
        static_cast<void>(world->at(0).request(1, leaving));
      },
      // What is owed to it, or was kept for it.
      [&] {
        pair().over += 4;
        AmWorld::Machine::Delivery nothing;
        nothing.pair = &pair(), nothing.done = nothing.over = true;
        world->at(0).finish(nothing);
      },
      [&] {
        pair().kept.push_back({.kind = Kind::acknowledge});
        pair().kept.push_back({.kind = Kind::ask});
        static_cast<void>(world->at(0).say_bye(all_answer));
      },
      [&] { static_cast<void>(world->at(0).say_bye(all_answer)); },
  });
  for (std::size_t i = 0; i != ways.size(); ++i) {
    SCOPED_TRACE(i);
    make({.credits = 4, .ring = 32768});
    EXPECT_EQ(ask(0, 1), Try::ok);  // it is under way when the endpoint goes
    world->quick_news = true;
    world->free(1);
    ways[i]();
    EXPECT_FALSE(open());
    EXPECT_EQ(pair().why, Why::bad_endpoint);
    came_back.clear();
    world->settle();
    EXPECT_GE(came_back.size(), 1u);
    for (const Returned& each : came_back) EXPECT_EQ(each.why, Why::bad_endpoint);
    // Also who greets it now is told so.
    const std::uint32_t anew = 9;
    ASSERT_EQ(world->at(0).map(anew, world->at(0).translation(1)->name, kTag), Result::ok);
    EXPECT_EQ(ask(0, anew), Try::ok);
    EXPECT_EQ(world->at(0).translation(anew)->pair->why, Why::bad_endpoint);
  }
}

TEST_F(AmMachine, mappings_go_and_what_nobody_maps_is_forgotten_when_it_has_ended) {
  AmWorld::Machine& machine = world->at(0);
  const std::size_t before = machine.pairs();
  world->kill(1);
  world->settle();
  EXPECT_EQ(machine.unmap(1), Result::ok);
  world->settle();
  EXPECT_EQ(machine.pairs(), before - 1);
  EXPECT_EQ(machine.unmap(1), Result::bad_argument);
}

// --- its parts

TEST(AmRing, gives_places_in_one_piece_and_frees_them_in_their_order) {
  Ring ring(10);
  std::uint32_t at = 0, first = 0, second = 0, third = 0;
  ASSERT_TRUE(ring.take(6, at, first));
  EXPECT_EQ(at, 0u);
  ASSERT_TRUE(ring.take(3, at, second));
  EXPECT_EQ(at, 6u);
  EXPECT_FALSE(ring.take(2, at, third));
  ring.free(first);
  ASSERT_TRUE(ring.take(2, at, third));  // one unit is left at the end
  EXPECT_EQ(at, 0u);
  EXPECT_EQ(third, 3u);
  ring.give_back(at, 2, third);
  EXPECT_EQ(ring.used(), second);
  ring.free(second);
  ASSERT_TRUE(ring.take(10, at, first));
  EXPECT_EQ(at, 0u);
  EXPECT_FALSE(ring.take(1, at, second));
  EXPECT_FALSE(Ring(5).take(6, at, second));
}

TEST(AmWord, keeps_all_that_is_put_into_it) {
  for (std::uint64_t seed = 0; seed != 1000; ++seed) {
    std::mt19937_64 of(seed);
    const std::uint64_t bits = of();
    EXPECT_EQ(word_of(word_of(bits)), bits);
  }
}

TEST(AmName, is_a_door_and_a_number) {
  Ticket door;
  door.interface = 5, door.slot = 6, door.generation = 7, door.key = 8, door.entry = Ticket::kPosted;
  const Name name = internal_::am::name_of(door, 9);
  EXPECT_EQ(door_of(name), door);
  EXPECT_EQ(number_of(name), 9u);
  EXPECT_TRUE(internal_::am::good(name));
  EXPECT_FALSE(internal_::am::good(Name{}));
  EXPECT_FALSE(internal_::am::good(internal_::am::name_of(door, 0)));
  door.entry = Ticket::kFast;
  EXPECT_FALSE(internal_::am::good(internal_::am::name_of(door, 9)));
}

}  // namespace
}  // namespace hamlyn::test
