// Lies: an endpoint's machine, what it does with what no honest side sends, and where its bounds are.
#include <gtest/gtest.h>

#include <array>

#include "test/am/am_machine.h"

namespace hamlyn::test {
namespace {

TEST_F(AmMachine, ends_the_pair_of_a_side_that_sends_what_no_honest_one_does) {
  const std::vector<std::byte> four(4), hundred(100);
  const auto ring_news = [](std::uint64_t bytes) {
    const WireTicket ticket{.key = 1, .bound = bytes, .slot = 1, .generation = 1};
    const auto all = std::as_bytes(std::span(&ticket, 1));
    return std::vector<std::byte>(all.begin(), all.end());
  };
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
      // A longer ring that nobody has asked for, or that is none; one that is asked for twice.
      [&] { forge({.kind = Kind::grown, .number = next()}, ring_news(65536)); },
      [&] {
        pair().asked_longer = true;
        forge({.kind = Kind::grown, .number = next()}, ring_news(kSmallRing));
      },
      [&] {
        pair().asked_longer = true;
        forge({.kind = Kind::grown, .number = next()}, ring_news(32768));
        EXPECT_TRUE(open());
        forge({.kind = Kind::grown, .number = next()}, ring_news(32768));
      },
      [&] {
        world->at(1).translation(0)->pair->asked_longer = true;
        forge({.kind = Kind::grow, .number = next()});
        EXPECT_TRUE(open());
        forge({.kind = Kind::grow, .number = next()});
      },
      // One that is too short, before its turn.
      [&] {
        forge({.kind = Kind::request_long, .number = static_cast<std::uint16_t>(next() + 1)}, four, 8128);
        EXPECT_TRUE(open());
        forge({.kind = Kind::request_short, .handler = kAsk, .number = next()});
      },
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
      word = word_of({.kind = static_cast<Kind>(of() % 16),
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
  Hello good{.credits = 1, .way = 1, .from = 99, .to = to, .session = 3, .ring_bytes = 65536};
  good.ring.bound = kSmallRing;
  Hello bad = good;
  bad.version = kWireVersion + 1, say(bad), bad = good;
  bad.to = 5, say(bad), bad = good;
  bad.from = 0, say(bad), bad = good;
  bad.credits = 0, say(bad), bad = good;
  bad.ring.bound = kSmallRing - 64, say(bad), bad = good;
  bad.ring.bound = kMostRing + 64, say(bad), bad = good;
  bad.session = 0, say(bad), bad = good;
  bad.ring_bytes = kLeastRing - 64, say(bad), bad = good;
  bad.ring_bytes = kMostRing + 64, say(bad), bad = good;
  EXPECT_EQ(world->at(0).pairs(), before);
  EXPECT_EQ(world->at(0).statistics.refused, 9u);
  bad.why = 11, bad.from = number_of(world->at(1).name()), bad.session = pair().own_session;
  say(bad), bad = good;
  EXPECT_EQ(world->at(0).statistics.refused, 10u);
  EXPECT_TRUE(open());
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
    Hello hello{.credits = 1,
                .way = 1,
                .from = 1000 + i,
                .to = number_of(world->at(0).name()),
                .session = 3,
                .ring_bytes = 65536};
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

// Its replies find no room: what is kept of them has a bound.
TEST_F(AmMachine, takes_no_more_requests_than_there_are_credits_for) {
  make({.credits = 10, .ring = 32768});
  EXPECT_EQ(ask(1, 0), Try::ok);  // it has told its tag
  world->settle();
  world->on_message = [this](std::size_t i, AmWorld::Machine::Delivery& delivery) {
    ++handled[i];
    if (!is_request(delivery.kind)) return;
    Leaving leaving{.kind = Kind::reply_short, .handler = kAsk};
    EXPECT_EQ(world->at(i).reply(delivery, leaving), Try::ok);
  };
  world->crowded = 100;
  for (int i = 0; i != 50 && open(); ++i) {
    forge({.kind = Kind::request_short, .handler = kAsk, .number = next()});
    EXPECT_LE(pair().kept.size(), 11u);  // and the wish for a longer ring
  }
  EXPECT_FALSE(open());
  EXPECT_EQ(handled[0], 1 + 9);  // that one's credit is not told yet
  world->crowded = 0;
  expect_others_served();
}

TEST_F(AmMachine, a_request_comes_back_as_it_was_sent_whatever_the_other_side_says_of_it) {
  const std::array<std::int32_t, 2> arguments{5, 6};
  Leaving leaving{.kind = Kind::request_short, .handler = 77, .arguments = arguments};
  ASSERT_EQ(world->at(0).request(1, leaving), Try::ok);
  world->settle();
  ASSERT_EQ(came_back.size(), 1u);  // by its honest side
  ASSERT_EQ(world->at(0).request(1, leaving), Try::ok);
  world->lose();
  ReturnedHead head;
  head.offset = 99, head.why = static_cast<std::uint8_t>(Why::bad_handler);
  head.operation = static_cast<std::uint8_t>(Operation::get);
  std::vector<std::byte> bytes(sizeof head + 4);
  std::memcpy(bytes.data(), &head, sizeof head);
  forge({.kind = Kind::returned,
         .count = 1,
         .handler = 3,
         .number = next(),
         .credited = static_cast<std::uint16_t>(pair().asked.over() + 1)},
        bytes);
  ASSERT_EQ(came_back.size(), 2u);
  for (const Returned& each : came_back) {
    EXPECT_EQ(each.why, Why::bad_handler);
    EXPECT_EQ(each.operation, Operation::request_short);
    EXPECT_EQ(each.index, 1);
    EXPECT_EQ(each.handler, 77);
    EXPECT_EQ(each.count, 2);
    EXPECT_EQ(each.room[1], 6);
    EXPECT_EQ(each.offset, 0u);
  }
}

// The default for what comes back ends the process, unless it is a reply.
TEST_F(AmMachine, nothing_comes_back_but_requests_and_replies) {
  for (int operation = 0; operation != 256; ++operation) {
    make({.credits = 4, .ring = 32768});
    world->on_message = [this](std::size_t i, AmWorld::Machine::Delivery& delivery) {
      if (!delivery.may_reply) return;
      Leaving leaving{.kind = Kind::reply_short, .handler = kAsk};
      EXPECT_EQ(world->at(i).reply(delivery, leaving), Try::ok);
    };
    came_back.clear();
    EXPECT_EQ(ask(1, 0), Try::ok);
    world->settle();
    ReturnedHead head;
    head.why = static_cast<std::uint8_t>(Why::bad_handler);
    head.operation = static_cast<std::uint8_t>(operation);
    std::vector<std::byte> bytes(sizeof head);
    std::memcpy(bytes.data(), &head, sizeof head);
    forge({.kind = Kind::returned, .handler = 3, .number = next()}, bytes);
    const auto of = static_cast<Operation>(operation);
    const bool reply = of >= Operation::reply_short && of <= Operation::reply_long;
    EXPECT_EQ(open(), reply) << operation;
    EXPECT_EQ(came_back.size(), reply ? 1u : 0u) << operation;
  }
}

}  // namespace
}  // namespace hamlyn::test
