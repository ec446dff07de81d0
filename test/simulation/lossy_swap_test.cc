// Compare-and-swap over datagrams that get lost, repeated, late and out of order, by hand: where CAS-II as
// published errs, and what hostile and forgotten requesters meet.
#include "segment/lossy_swap.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <memory>
#include <vector>

#include "fabric/sim/generator.h"
#include "test/support/swap_storm.h"

namespace hamlyn::test {
namespace {

using fabric::DatagramPort;
using segment::Peer;
using segment::SwapKind;
using segment::SwapPacket;
using segment::SwapRequester;
using segment::SwapTarget;

// --- a wire whose letters lie on a table

struct Letter {
  Peer from, to;
  std::vector<std::byte> bytes;
};

// All ports know all others, by their numbers; that of the target is 0.
class Table {
 public:
  class Port final : public DatagramPort {
   public:
    Port(Table& table, Peer number) : table_(table), number_(number) {}
    std::size_t limit() const noexcept override { return 1408; }
    std::span<const std::byte> address() const noexcept override { return {}; }
    Peer insert(std::span<const std::byte>) override { return kNobody; }
    void forget(Peer) noexcept override {}
    void take_strangers() noexcept override {}
    Status send(Peer to, std::span<const std::byte> data) noexcept override {
      table_.letters.push_back({number_, to, {data.begin(), data.end()}});
      return Status::ok;
    }
    std::optional<Arrival> receive(std::span<std::byte> into) noexcept override {
      if (coming.empty()) return std::nullopt;
      const Letter first = coming.front();
      coming.pop_front();
      std::ranges::copy(first.bytes, into.begin());
      return Arrival{first.from, first.bytes.size()};
    }
    std::uint64_t refused() const noexcept override { return 0; }
    std::deque<Letter> coming;

   private:
    Table& table_;
    const Peer number_;
  };

  Port& port(Peer number) {
    while (ports_.size() <= number) ports_.push_back(std::make_unique<Port>(*this, ports_.size()));
    return *ports_[number];
  }
  void carry() {
    for (Letter& each : letters) carry(each);
    letters.clear();
  }
  void carry(const Letter& letter) {
    all.push_back(letter);
    port(letter.to).coming.push_back(letter);
  }
  void lose() { letters.clear(); }

  std::vector<Letter> letters;  // that nobody has carried
  std::vector<Letter> all;      // that were

 private:
  std::vector<std::unique_ptr<Port>> ports_;
};

constexpr std::uint64_t kWait = 1000;
const SwapRequester::Options kOptions{.first_wait = kWait, .most_wait = 8 * kWait};

class LossySwap : public testing::Test {
 protected:
  LossySwap() { restart_target(); }

  struct Requester {
    Requester(LossySwap& in, Peer number)
        : world(in), it(in.table.port(number), 0, kOptions, chance_of(100 + number + in.born++)) {}
    std::uint64_t begin(std::uint64_t expected, std::uint64_t desired, std::uint64_t offset = 8) {
      std::uint64_t number = 0;
      EXPECT_EQ(it.begin(offset, expected, desired, world.now, number), Status::ok);
      return number;
    }
    // Greets if it must, and does one operation.
    SwapRequester::Answer swap(std::uint64_t expected, std::uint64_t desired, std::uint64_t offset = 8) {
      const std::uint64_t number = begin(expected, desired, offset);
      for (int i = 0; i < 6 && it.answer(number).status == Status::pending; ++i) step();
      return it.answer(number);
    }
    void step() {
      it.run(world.now);
      world.serve();
      it.run(world.now);
      world.now += 2 * kWait;
    }
    LossySwap& world;
    SwapRequester it;
  };

  // What lies there arrives, and is answered; and the answers arrive.
  void serve() {
    table.carry();
    while (target->run()) {
    }
    table.carry();
  }
  void restart_target(std::size_t most = 4) {
    target = std::make_unique<SwapTarget>(table.port(0), std::as_writable_bytes(std::span(memory)), most,
                                          chance_of(7 + born++));
  }

  Table table;
  std::uint64_t now = 1;
  std::uint64_t born = 0;
  std::uint64_t memory[4] = {};
  std::unique_ptr<SwapTarget> target;
};

TEST_F(LossySwap, swaps_and_says_what_was_there) {
  Requester a(*this, 1);
  auto answer = a.swap(0, 5);
  EXPECT_EQ(answer.status, Status::ok);
  EXPECT_EQ(answer.found, 0u);
  answer = a.swap(0, 6);
  EXPECT_EQ(answer.status, Status::ok);
  EXPECT_EQ(answer.found, 5u) << "it was not done";
  EXPECT_EQ(memory[1], 5u);
  EXPECT_EQ(target->done(), 2u);
}

// The first of the paper's errors: A wins, its reply is lost, B wins, A asks again, and was told that it
// lost.
TEST_F(LossySwap, tells_a_winner_that_it_won_after_somebody_else_did) {
  Requester a(*this, 1), b(*this, 2);
  a.swap(9, 9), b.swap(9, 9);  // they have sessions
  const std::uint64_t number = a.begin(0, 1);
  table.carry();
  target->run();
  table.lose();  // the reply
  EXPECT_EQ(memory[1], 1u);
  EXPECT_EQ(b.swap(1, 2).found, 1u);
  const std::uint64_t repeated = target->repeated();
  now += 4 * kWait;
  a.step();
  EXPECT_EQ(a.it.answer(number).status, Status::ok);
  EXPECT_EQ(a.it.answer(number).found, 0u) << "A is told that it lost";
  EXPECT_EQ(memory[1], 2u);
  EXPECT_EQ(target->repeated(), repeated + 1);
}

// The second: the value has come back meanwhile, and A, which asks again, wins twice.
TEST_F(LossySwap, does_not_swap_twice_when_the_value_came_back) {
  Requester a(*this, 1), b(*this, 2);
  a.swap(9, 9), b.swap(9, 9);
  const std::uint64_t number = a.begin(0, 1);
  table.carry();
  target->run();
  table.lose();
  EXPECT_EQ(b.swap(1, 0).found, 1u);
  for (int i = 0; i < 3; ++i) {
    now += 8 * kWait;
    a.it.run(now);
    table.carry();
    target->run();
    table.lose();  // again and again
    EXPECT_EQ(memory[1], 0u) << "A has swapped twice";
  }
  now += 8 * kWait;
  a.step();
  EXPECT_EQ(a.it.answer(number).found, 0u);
  EXPECT_EQ(memory[1], 0u);
}

TEST_F(LossySwap, does_nothing_for_letters_that_come_late) {
  Requester a(*this, 1);
  for (std::uint64_t i = 0; i < 40; ++i) EXPECT_EQ(a.swap(i % 2, 1 - i % 2).found, i % 2);
  const auto all = table.all;
  const std::uint64_t done = target->done();
  for (const Letter& each : all) table.carry(each);
  serve();
  a.it.run(now);
  EXPECT_EQ(memory[1], 0u);
  EXPECT_EQ(target->done(), done);
  EXPECT_EQ(a.swap(0, 1).found, 0u) << "and goes on";
}

TEST_F(LossySwap, does_nothing_for_an_earlier_incarnation) {
  auto old = std::make_unique<Requester>(*this, 1);
  old->swap(0, 1);
  old->begin(1, 7);  // stays on the way
  const Letter late = table.letters.at(0);
  table.lose();
  old.reset();
  const auto all = table.all;
  Requester fresh(*this, 1);
  EXPECT_EQ(fresh.swap(1, 2).found, 1u);
  EXPECT_EQ(fresh.swap(2, 1).found, 2u);
  // All of the old one's, its greetings too, and again those of the new one between.
  for (int round = 0; round < 3; ++round) {
    for (const Letter& each : all) table.carry(each);
    table.carry(late);
    serve();
    fresh.it.run(now);
  }
  EXPECT_EQ(memory[1], 1u);
  EXPECT_EQ(fresh.swap(1, 3).found, 1u) << "its session is the same";
  EXPECT_EQ(fresh.it.answer(3).status, Status::ok);
}

TEST_F(LossySwap, refuses_more_requesters_than_it_has_room_for_and_has_room_again) {
  restart_target(2);
  Requester a(*this, 1), b(*this, 2), c(*this, 3);
  EXPECT_EQ(a.swap(0, 1).status, Status::ok);
  EXPECT_EQ(b.swap(1, 2).status, Status::ok);
  EXPECT_EQ(c.swap(2, 3).status, Status::refused);
  EXPECT_EQ(a.swap(2, 3).status, Status::ok) << "nobody was put out for it";
  target->forget(1);
  EXPECT_EQ(c.swap(3, 4).status, Status::ok);
  const std::uint64_t number = a.begin(4, 5);
  a.step();
  EXPECT_EQ(a.it.answer(number).status, Status::link_ended) << "forgotten";
  EXPECT_EQ(a.swap(4, 5).status, Status::refused);
}

TEST_F(LossySwap, keeps_a_window_of_operations) {
  Requester a(*this, 1);
  a.swap(9, 9);
  const std::uint64_t first = a.begin(0, 1);
  table.lose();
  std::uint64_t number = 0;
  for (std::size_t i = 1; i < segment::kSwapWindow; ++i) number = a.begin(9, 9);
  EXPECT_EQ(a.it.begin(8, 0, 0, now, number), Status::queue_full);
  a.it.run(now);
  serve();
  a.it.run(now);
  EXPECT_EQ(a.it.answer(number).status, Status::ok) << "later ones are not held up";
  EXPECT_EQ(a.it.begin(8, 0, 0, now, number), Status::queue_full) << "the first is not over";
  now += 4 * kWait;
  a.step();
  EXPECT_EQ(a.it.answer(first).found, 0u);
  EXPECT_EQ(a.it.begin(8, 1, 2, now, number), Status::ok);
  EXPECT_EQ(a.it.answer(1).status, Status::invalid) << "its place has another";
  EXPECT_EQ(a.it.answer(number + 1).status, Status::invalid);
  EXPECT_EQ(a.it.answer(0).status, Status::invalid);
}

TEST_F(LossySwap, forgets_what_was_given_up) {
  Requester a(*this, 1);
  a.swap(9, 9);
  const std::uint64_t number = a.begin(0, 1);
  const Letter late = table.letters.at(0);
  table.lose();
  a.it.give_up(number);
  EXPECT_EQ(a.it.answer(number).status, Status::cancelled);
  EXPECT_EQ(a.swap(0, 2).found, 0u);
  EXPECT_EQ(a.swap(2, 0).found, 2u);
  table.carry(late);
  serve();
  EXPECT_EQ(memory[1], 0u) << "a later one is over: it is not done any more";
}

TEST_F(LossySwap, says_when_nobody_knows) {
  Requester a(*this, 1);
  a.swap(9, 9);
  const std::uint64_t number = a.begin(0, 1);
  table.carry();
  target->run();
  table.lose();
  restart_target();
  now += 4 * kWait;
  a.step();
  EXPECT_EQ(a.it.answer(number).status, Status::link_ended);
  EXPECT_EQ(memory[1], 1u) << "it was done, once";
  EXPECT_EQ(a.swap(1, 2).found, 1u) << "it has greeted the new one";
}

TEST_F(LossySwap, refuses_places_that_are_none) {
  Requester a(*this, 1);
  EXPECT_EQ(a.swap(0, 1, 32).status, Status::out_of_bounds);
  EXPECT_EQ(a.swap(0, 1, 25).status, Status::out_of_bounds);
  EXPECT_EQ(a.swap(0, 1, ~std::uint64_t{0} - 6).status, Status::out_of_bounds);
  EXPECT_EQ(a.swap(0, 1, 4).status, Status::misaligned);
  EXPECT_EQ(a.swap(0, 1, 24).status, Status::ok);
  EXPECT_EQ(target->done(), 1u);
}

// --- hostile

// A named port that plays other's letters as its own, and turns their bits: nothing of it is done for others'
// sessions. One with a session of its own can do what anybody may who is let in, and nothing else.
TEST_F(LossySwap, a_hostile_port_does_not_touch_others) {
  restart_target(4);
  Requester a(*this, 1), b(*this, 2);
  sim::Generator chance(3);
  for (std::uint64_t i = 0; i < 100; ++i) {
    EXPECT_EQ(a.swap(i, i + 1, 8).found, i);
    EXPECT_EQ(b.swap(i, i + 1, 16).found, i);
    for (int j = 0; j < 8; ++j) {
      Letter forged = table.all[chance.below(table.all.size())];
      const bool to_target = forged.to == 0;
      forged.from = 3;
      for (std::uint64_t turns = chance.below(4); turns != 0; --turns)
        forged.bytes[chance.below(forged.bytes.size())] ^= std::byte{1} << chance.below(8);
      if (chance.one_in(4)) forged.bytes.resize(chance.below(200));
      table.port(to_target ? 0 : forged.to).coming.push_back(forged);
    }
    table.all.resize(std::min<std::size_t>(table.all.size(), 200));
  }
  EXPECT_EQ(memory[1], 100u);
  EXPECT_EQ(memory[2], 100u);
  EXPECT_EQ(memory[0] | memory[3], 0u);
  EXPECT_GT(target->malformed(), 0u);
}

// From the very peers: whatever the bytes are, they are taken apart without harm.
TEST_F(LossySwap, any_bytes_are_survived) {
  Requester a(*this, 1);
  a.swap(0, 1);
  sim::Generator chance(4);
  const auto all = table.all;
  for (int i = 0; i < 5000; ++i) {
    Letter letter = all[chance.below(all.size())];
    if (chance.one_in(3)) {
      for (std::byte& each : letter.bytes) each = static_cast<std::byte>(chance.next());
    }
    for (std::uint64_t turns = chance.below(5); turns != 0 && !letter.bytes.empty(); --turns)
      letter.bytes[chance.below(letter.bytes.size())] = static_cast<std::byte>(chance.next());
    table.port(letter.to).coming.push_back(letter);
    target->run();
    a.it.run(now);
    table.lose();
    ++now;
  }
  SUCCEED();
}

TEST(SwapWire, has_the_bytes_that_the_page_says) {
  const SwapPacket packet{.kind = SwapKind::swap,
                          .session = 0x0102030405060708,
                          .number = 9,
                          .floor = 8,
                          .offset = 64,
                          .expected = 1,
                          .desired = 2};
  const segment::SwapBytes bytes = bytes_of(packet);
  EXPECT_EQ(std::string(reinterpret_cast<const char*>(bytes.data()), 4), "HSWP");
  EXPECT_EQ(bytes[4], std::byte{5});
  EXPECT_EQ(bytes[8], std::byte{8});
  EXPECT_EQ(bytes[15], std::byte{1});
  EXPECT_EQ(bytes[24], std::byte{9});
  EXPECT_EQ(bytes[32], std::byte{8});
  EXPECT_EQ(bytes[40], std::byte{64});
  EXPECT_EQ(bytes[48], std::byte{1});
  EXPECT_EQ(bytes[56], std::byte{2});
  ASSERT_TRUE(segment::swap_packet(bytes));
  EXPECT_EQ(bytes_of(*segment::swap_packet(bytes)), bytes);
  for (const std::size_t at : {0u, 4u, 5u, 6u, 7u, 16u}) {  // kinds and what must be 0
    segment::SwapBytes other = bytes;
    other[at] ^= std::byte{0x10};
    EXPECT_FALSE(segment::swap_packet(other)) << at;
  }
  segment::SwapBytes beyond = bytes;
  beyond[32] = std::byte{10};
  EXPECT_FALSE(segment::swap_packet(beyond)) << "its floor is above it";
  EXPECT_FALSE(segment::swap_packet(std::span(bytes).first(63)));
}

}  // namespace
}  // namespace hamlyn::test
