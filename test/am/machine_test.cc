// An endpoint's machine: what it does with others that are honest.
#include <gtest/gtest.h>

#include <array>

#include "test/am/am_machine.h"

namespace hamlyn::test {
namespace {

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
  for (const bool heard : {false, true}) {
    make({.credits = 4, .ring = 32768});
    if (heard) {
      EXPECT_EQ(ask(1, 0), Try::ok);
      world->settle();
    }
    EXPECT_EQ(ask(0, 1), Try::ok);
    world->lose();
    Hello anew{.credits = 1,
               .way = 1,
               .from = number_of(world->at(1).name()),
               .to = number_of(world->at(0).name()),
               .session = 12345,
               .ring_bytes = 65536};
    anew.ring.bound = kSmallRing;
    AmWorld::Machine::Other& before = pair();
    world->at(0).hear_hello(2, std::as_bytes(std::span(&anew, 1)));
    EXPECT_EQ(before.state == AmWorld::Machine::Other::State::ended, heard);
    EXPECT_TRUE(world->at(0).has_returned());
    EXPECT_EQ(world->at(0).take_returned().why, Why::unreachable);
    EXPECT_EQ(ask(0, 1), Try::ok);  // to the new one
    EXPECT_TRUE(open());
    EXPECT_EQ(pair().session, 12345u);
    EXPECT_EQ(pair().in_flight(), 1u);
  }
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
      // Credits that are owed to it, and messages that were kept for it.
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

TEST_F(AmMachine, a_greeting_whose_process_has_died_meanwhile_has_ended) {
  make({.credits = 4, .ring = 32768}, 4);
  ASSERT_EQ(world->at(0).map(3, world->at(3).name(), kTag), Result::ok);
  EXPECT_TRUE(world->arrive());  // the hello, and who said it has not heard that yet
  world->kill(3);
  world->settle();
  EXPECT_EQ(ask(0, 3), Try::ok);
  world->settle();
  ASSERT_EQ(came_back.size(), 1u);
  EXPECT_EQ(came_back[0].why, Why::unreachable);
}

TEST_F(AmMachine, a_hello_whose_link_has_ended_opens_nothing) {
  Hello hello{
      .credits = 1, .from = 99, .to = number_of(world->at(0).name()), .session = 3, .ring_bytes = 65536};
  hello.ring.bound = kSmallRing;
  const std::size_t before = world->at(0).pairs();
  world->kill(2);
  world->at(0).hear_hello(3, std::as_bytes(std::span(&hello, 1)));
  world->settle();
  EXPECT_EQ(world->at(0).pairs(), before);  // that with the dead one is mapped
}

TEST_F(AmMachine, a_pair_ends_with_the_link_that_it_was_greeted_by_and_no_later_one) {
  make({.credits = 4, .ring = 32768}, 4);
  ASSERT_EQ(world->at(0).map(3, world->at(3).name(), kTag), Result::ok);
  EXPECT_TRUE(world->arrive());
  while (world->poll(3)) {
  }
  EXPECT_TRUE(world->arrive());  // the hello back
  world->cut(0, 3);              // there is another link before either hello is heard of
  world->settle();
  EXPECT_EQ(ask(0, 3), Try::ok);
  world->settle();
  ASSERT_EQ(came_back.size(), 1u);
  EXPECT_EQ(came_back[0].why, Why::unreachable);
}

// Each side takes the other's greeting for a new beginning.
TEST_F(AmMachine, a_greeting_that_was_heard_after_its_link_had_ended_begins_no_row_without_an_end) {
  make({.credits = 4, .ring = 32768}, 4);
  ASSERT_EQ(world->at(3).map(0, world->at(0).name(), kTag), Result::ok);
  EXPECT_TRUE(world->arrive());
  world->cut(0, 3);  // there is another link, and the hello stands there still
  int turns = 0;
  for (bool moved = true; moved && turns != 1000; ++turns) {
    moved = world->arrive();
    moved |= world->poll(0);
    moved |= world->poll(3);
  }
  EXPECT_LT(turns, 1000);
  EXPECT_EQ(ask(3, 0), Try::ok);
  world->settle();
  EXPECT_EQ(handled[0] + static_cast<int>(came_back.size()), 1);
}

TEST_F(AmMachine, those_whose_ring_has_no_room_hear_at_their_door_that_an_endpoint_has_gone) {
  EXPECT_EQ(ask(0, 1), Try::ok);
  world->lose();
  world->crowded = 100;
  EXPECT_FALSE(world->at(1).say_bye(all_answer));
  world->crowded = 0;
  world->at(1).say_gone();
  world->free(1);
  world->settle();
  ASSERT_EQ(came_back.size(), 1u);
  EXPECT_EQ(came_back[0].why, Why::bad_endpoint);
}

TEST_F(AmMachine, hellos_that_are_under_way_are_taken_back_when_it_goes) {
  make({.credits = 4, .ring = 32768}, 4);
  ASSERT_EQ(world->at(0).map(3, world->at(3).name(), kTag), Result::ok);
  world->free(0);
  EXPECT_EQ(world->port(1).unsaid, 1u);
}

TEST_F(AmMachine, an_older_acknowledgement_takes_no_newer_ones_place) {
  for (int i = 0; i != 3; ++i) EXPECT_EQ(ask(0, 1), Try::ok);
  world->lose();  // they are answered by hand
  const auto done = static_cast<std::uint16_t>(pair().log.over());
  const auto over = static_cast<std::uint16_t>(pair().asked.over());
  const auto acknowledge = [&](int count) {
    forge({.kind = Kind::acknowledge,
           .number = static_cast<std::uint16_t>(next() + 1),
           .done = static_cast<std::uint16_t>(done + count),
           .credited = static_cast<std::uint16_t>(over + count)});
  };
  acknowledge(3);
  acknowledge(1);
  EXPECT_EQ(pair().in_flight(), 3u);
  forge({.kind = Kind::request_short, .handler = kAsk, .number = next(), .done = done, .credited = over});
  EXPECT_EQ(pair().in_flight(), 0u);
}

TEST_F(AmMachine, goes_on_by_the_short_ring_if_there_is_no_memory_for_a_longer_one) {
  make({.credits = 128, .ring = 32768});
  world->port(2).no_memory = true;
  const std::vector<std::byte> data(kMostMedium);
  const auto ask_with = [&](std::size_t units) {
    Leaving leaving{.kind = Kind::request_medium, .handler = kAsk};
    leaving.data = std::span(data).first(units * kUnit);
    return world->at(0).request(1, leaving);
  };
  // Less than a quarter of the ring stands in its middle: what is left at either end is too short.
  EXPECT_EQ(ask_with(35), Try::ok);
  EXPECT_EQ(ask_with(30), Try::ok);
  world->settle();
  EXPECT_EQ(ask_with(64), Try::later);
  world->settle();
  EXPECT_EQ(ask_with(64), Try::ok);
  world->settle();
  EXPECT_EQ(handled[1], 3);
}

// A long request whose data moves: whatever becomes of its pair, the data is the caller's at the end.
TEST_F(AmMachine, data_that_moves_is_given_up_with_its_pair) {
  std::vector<std::byte> segment(4096);
  ASSERT_EQ(world->at(1).set_segment(segment), Result::ok);
  world->settle();
  for (const bool anew : {true, false}) {
    const std::vector<std::byte> data(100);
    Leaving leaving{.kind = Kind::request_long, .handler = kAsk, .data = data, .length = data.size()};
    AmWorld::Machine::Moving moving;
    ASSERT_EQ(world->at(0).begin_long(1, leaving, moving), Try::ok);
    moving.handle.sequence = 5;  // the port would say that it is under way
    const Hello hello{.credits = 1,
                      .way = 1,
                      .from = number_of(world->at(1).name()),
                      .to = number_of(world->at(0).name()),
                      .session = 99,
                      .ring_bytes = kLeastRing,
                      .door = on_wire(world->port(2).ticket()),
                      .ring = {.bound = kSmallRing}};
    if (anew)
      world->at(0).hear_hello(2, std::as_bytes(std::span(&hello, 1)));
    else
      world->cut(0, 1);
    while (world->poll(0)) {
    }
    const std::size_t before = world->port(1).given_up;
    EXPECT_EQ(world->at(0).moved(moving), Status::ok);
    EXPECT_EQ(world->port(1).given_up, before + 1);
    EXPECT_EQ(world->at(0).end_long(moving, leaving, false), Try::ok);
    while (world->poll(0)) {
    }
    EXPECT_EQ(came_back.size(), 1u) << "it comes back once";
    came_back.clear();
    if (anew) {
      make({.credits = 4, .ring = 32768});
      ASSERT_EQ(world->at(1).set_segment(segment), Result::ok);
      world->settle();
    }
  }
}

// A part of the data may have landed: later messages could not tell whether theirs has.
TEST_F(AmMachine, a_pair_ends_whose_long_message_is_cancelled_on_its_way) {
  std::vector<std::byte> segment(4096);
  ASSERT_EQ(world->at(1).set_segment(segment), Result::ok);
  world->settle();
  const std::vector<std::byte> data(100);
  Leaving leaving{.kind = Kind::request_long, .handler = kAsk, .data = data, .length = data.size()};
  for (const std::uint64_t sequence : {0u, 5u}) {
    AmWorld::Machine::Moving moving;
    ASSERT_EQ(world->at(0).begin_long(1, leaving, moving), Try::ok);
    moving.handle.sequence = sequence;  // 0: all of it has left
    EXPECT_TRUE(world->at(0).cancel(moving));
    EXPECT_EQ(pair().in_flight(), 0u);
    EXPECT_EQ(open(), sequence == 0);
    EXPECT_TRUE(came_back.empty());
  }
}

// --- segments that change

class AmSegments : public AmMachine {
 protected:
  void SetUp() override {
    AmMachine::SetUp();
    for (std::size_t i = 0; i != 2; ++i) set(i);
    world->settle();
  }
  void set(std::size_t i) {
    memory_.push_back(std::make_unique<std::array<std::byte, 4096>>());
    ASSERT_EQ(world->at(i).set_segment(*memory_.back()), Result::ok);
  }
  void arrive_all() {
    while (world->arrive()) {
    }
  }
  void get() {
    const GetHead head{.source = 0, .length = 100, .offset = 50};
    Leaving leaving{.kind = Kind::get, .handler = kAsk, .head = std::as_bytes(std::span(&head, 1))};
    leaving.length = 100;
    ASSERT_EQ(world->at(0).request(1, leaving), Try::ok);
    arrive_all();
  }
  void expect_back(std::size_t i, Why why, Operation operation) {
    world->settle();
    ASSERT_EQ(came_back.size(), 1u);
    EXPECT_EQ(came_back_at[0], i);
    EXPECT_EQ(came_back[0].why, why);
    EXPECT_EQ(came_back[0].operation, operation);
    EXPECT_EQ(handled[0], 0);
    EXPECT_TRUE(open());
    EXPECT_EQ(pair().in_flight(), 0u);
  }

 private:
  std::vector<std::unique_ptr<std::array<std::byte, 4096>>> memory_;
};

TEST_F(AmSegments, data_of_a_get_that_finds_another_segment_comes_back_to_who_asked_for_it) {
  get();
  EXPECT_TRUE(world->poll(1));
  arrive_all();  // the data has landed, and the message of it stands there
  set(0);
  expect_back(0, Why::reply_rejected, Operation::get);
  EXPECT_EQ(came_back[0].index, 1);
  EXPECT_EQ(came_back[0].length, 100u);
}

TEST_F(AmSegments, a_get_whose_data_finds_no_slot_any_more_comes_back) {
  get();
  set(0);
  world->quick_news = true;
  EXPECT_TRUE(world->poll(1));
  expect_back(0, Why::bad_offset, Operation::get);
  EXPECT_EQ(came_back[0].index, 1);
}

TEST_F(AmSegments, a_long_reply_that_finds_no_slot_any_more_comes_back_to_who_has_replied) {
  world->on_message = [this](std::size_t i, AmWorld::Machine::Delivery& delivery) {
    const std::array<std::byte, 10> data{};
    const Leaving leaving{.kind = Kind::reply_long, .handler = kAsk, .data = data};
    EXPECT_EQ(world->at(i).reply_long(delivery, leaving), Try::ok);
  };
  EXPECT_EQ(ask(0, 1), Try::ok);
  arrive_all();
  set(0);
  world->quick_news = true;
  EXPECT_TRUE(world->poll(1));
  world->settle();
  ASSERT_EQ(came_back.size(), 1u);
  EXPECT_EQ(came_back_at[0], 1u);
  EXPECT_EQ(came_back[0].why, Why::reply_rejected);
  EXPECT_EQ(came_back[0].operation, Operation::reply_long);
  EXPECT_TRUE(open());
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
