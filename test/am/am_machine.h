#pragma once
// Endpoints' machines, and messages by hand between them.
#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <vector>

#include "test/am/am_world.h"

namespace hamlyn::test {

// Two endpoints that have greeted each other, and a third that has with the first.
class AmMachine : public testing::Test {
 protected:
  void SetUp() override { make({.credits = 4, .ring = 32768}); }
  void make(const Limits& limits, std::size_t endpoints = 3) {
    world = std::make_unique<AmWorld>(1, endpoints, limits);
    world->on_message = [this](std::size_t i, AmWorld::Machine::Delivery&) { ++handled[i]; };
    world->on_return = [this](std::size_t i, const Returned& returned) {
      came_back.push_back(returned);
      came_back_at.push_back(i);
    };
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
  std::vector<std::size_t> came_back_at;  // by which endpoint it had been sent
};

}  // namespace hamlyn::test
