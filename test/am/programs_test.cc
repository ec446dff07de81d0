// Random programs of endpoints that ask each other for everything at once, from one to a few credits, on a
// fabric where sends find no room, messages overtake each other, links are cut and processes die.
#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <map>
#include <set>

#include "test/am/am_world.h"

namespace hamlyn::test {
namespace {

constexpr std::size_t kSegment = 20'000;
constexpr HandlerNumber kAnswer = 2, kNobody = 9;

// Fate of one request.
struct Fate {
  std::size_t from = 0, to = 0;
  bool wrong = false;  // on purpose
  int handled = 0, answered = 0, returned = 0;
  bool replied = false;  // its handler did
};

std::byte pattern(std::uint32_t id, std::size_t at) { return static_cast<std::byte>(id * 31 + at * 7 + 1); }

class Program {
 public:
  Program(std::uint64_t seed, std::size_t endpoints, const Limits& limits, bool in_order)
      : world_(seed, endpoints, limits, in_order), limits_(limits), segments_(endpoints) {
    world_.on_message = [this](std::size_t i, AmWorld::Machine::Delivery& delivery) { handle(i, delivery); };
    world_.on_return = [this](std::size_t i, const Returned& returned) { come_back(i, returned); };
    for (std::size_t i = 0; i != endpoints; ++i) {
      AmWorld::Machine& machine = world_.at(i);
      machine.set_tag(kTag);
      machine.set_handler(kAsk, true);
      machine.set_handler(kAnswer, true);
      segments_[i].resize(kSegment);
      EXPECT_EQ(machine.set_segment(segments_[i]), Result::ok);
      for (std::size_t other = 0; other != endpoints; ++other)
        EXPECT_EQ(machine.map(static_cast<std::uint32_t>(other), world_.at(other).name(), kTag), Result::ok);
    }
  }

  // Each makes so many requests. False: nothing goes on any more, and some are not over.
  bool run(std::size_t requests) {
    left_.assign(world_.size(), requests);
    for (int stuck = 0; stuck != 20'000;) {
      const std::size_t i = world_.chance() % world_.size();
      bool moved = world_.chance() % 2 == 0 && world_.arrive();
      if (world_.alive(i)) {
        moved |= world_.poll(i);
        if (left_[i] != 0) moved |= try_one(i);
      }
      if (between) between();
      stuck = moved ? 0 : stuck + 1;
      if (over()) break;
    }
    world_.crowded = 0;
    world_.settle();
    return over();
  }
  void judge() const {
    for (const auto& [id, fate] : fates_) {
      if (fate.handled > 1 || fate.answered > 1 || fate.returned > 1)
        ADD_FAILURE() << id << ": more than once";
      if (!world_.alive(fate.from)) continue;
      EXPECT_LE(fate.answered + fate.returned, 1) << id;
      // A request that was not handled has come back.
      if (fate.handled == 0 || fate.wrong) {
        EXPECT_EQ(fate.returned, 1) << id << " from " << fate.from << " to " << fate.to;
      }
      if (!world_.alive(fate.to) || ended_.contains({fate.from, fate.to})) continue;
      EXPECT_EQ(fate.handled, fate.wrong ? 0 : 1) << id;
      if (fate.handled != 0) {
        EXPECT_EQ(fate.answered, fate.replied ? 1 : 0) << id;
      }
    }
  }
  // Credits that are not back yet are fewer than a side may owe.
  void judge_credits() {
    for (std::size_t i = 0; i != world_.size(); ++i) {
      if (!world_.alive(i)) continue;
      for (std::uint32_t number = 1; number <= world_.size() + 4; ++number) {
        const AmWorld::Machine::Other* const pair = world_.at(i).pair(number);
        if (pair == nullptr || pair->state != AmWorld::Machine::Other::State::open) continue;
        EXPECT_LT(pair->in_flight(), std::max(limits_.credits / 4, 1u));
        const std::size_t ring = pair->way->is_short() ? kSmallRing : limits_.ring;
        EXPECT_LT(pair->way->used(), ring / kUnit / 4 + 2 * units_of(kMostBytes));
        EXPECT_TRUE(pair->kept.empty() && pair->early.empty());
      }
    }
  }
  void kill(std::size_t i) { world_.kill(i); }
  // Frees an endpoint as soon as it has said so to all, or all have heard it.
  void free(std::size_t i, bool at_once) {
    goes_.insert(i);
    if (world_.at(i).say_bye([&](const Name&) { return !at_once; })) world_.free(i);
  }
  void cut(std::size_t one, std::size_t other) {
    world_.cut(one, other);
    ended_.insert({one, other});
    ended_.insert({other, one});
  }
  AmWorld& world() { return world_; }
  std::size_t requests() const { return fates_.size(); }
  std::size_t returned() const {
    return static_cast<std::size_t>(
        std::ranges::count_if(fates_, [](const auto& each) { return each.second.returned != 0; }));
  }
  std::function<void()> between;

 private:
  bool over() const {
    for (std::size_t i = 0; i != world_.size(); ++i)
      if (world_.alive(i) && left_[i] != 0) return false;
    return true;
  }
  bool try_one(std::size_t i) {
    // Tries one request until it is taken: its number says what it is.
    const auto id = static_cast<std::uint32_t>(i * 100'000 + left_[i]);
    std::mt19937 of(id);
    Fate fate{.from = i, .to = of() % world_.size()};
    fate.wrong = of() % 16 == 0;
    std::array<std::int32_t, kMostArguments> arguments{static_cast<std::int32_t>(id)};
    const std::size_t count = 1 + of() % 16;
    std::vector<std::byte> data(of() % 3 == 0 ? of() % 5000 : of() % 200);
    for (std::size_t at = 0; at != data.size(); ++at) data[at] = pattern(id, at);
    const HandlerNumber handler = fate.wrong ? kNobody : kAsk;
    Leaving leaving{.handler = handler, .arguments = {arguments.data(), count}};
    Try tried = Try::later;
    const auto to = static_cast<std::uint32_t>(fate.to);
    switch (of() % 3) {
      case 0:
        leaving.kind = Kind::request_short;
        tried = world_.at(i).request(to, leaving);
        break;
      case 1:
        leaving.kind = Kind::request_medium;
        data.resize(std::min(data.size(), kMostMedium));
        leaving.data = data;
        tried = world_.at(i).request(to, leaving);
        break;
      default:
        tried = try_long(i, to, leaving, data);
    }
    if (tried == Try::later) return false;
    EXPECT_EQ(tried, Try::ok);
    fates_[id].from = fate.from, fates_[id].to = fate.to, fates_[id].wrong = fate.wrong;
    --left_[i];
    return true;
  }
  // Each sender has a part of the segment of its own, and one long request at a time.
  Try try_long(std::size_t i, std::uint32_t to, Leaving& leaving, std::span<const std::byte> data) {
    leaving.kind = Kind::request_long;
    leaving.data = data.first(std::min<std::size_t>(data.size(), 64));
    leaving.offset = (static_cast<std::size_t>(leaving.arguments[0]) % 250) * 64 + i * 16'000 % 4000;
    leaving.length = leaving.data.size();
    AmWorld::Machine::Moving moving;
    const Try begun = world_.at(i).begin_long(to, leaving, moving);
    if (begun != Try::ok || moving.pair == 0) return begun;
    return world_.at(i).end_long(moving, leaving, true);
  }
  void handle(std::size_t i, AmWorld::Machine::Delivery& delivery) {
    const auto id = static_cast<std::uint32_t>(delivery.arguments[0]);
    if (!fates_.contains(id)) fates_[id].from = ~std::size_t{0};
    Fate& fate = fates_[id];
    if (delivery.kind == Kind::request_medium || delivery.kind == Kind::reply_medium)
      for (std::size_t at = 0; at != delivery.data.size(); ++at)
        if (delivery.data[at] != pattern(id, at)) {
          ADD_FAILURE() << "message " << id << " has another's bytes at " << at << " of "
                        << delivery.data.size();
          break;
        }
    if (is_reply(delivery.kind)) {
      ++fate.answered;
      return;
    }
    EXPECT_EQ(fate.to, i) << id;
    ++fate.handled;
    reply(i, delivery, id, fate);
  }
  void reply(std::size_t i, AmWorld::Machine::Delivery& delivery, std::uint32_t id, Fate& fate) {
    std::mt19937 of(id + 1);
    Leaving leaving{.handler = kAnswer, .arguments = {delivery.arguments.data(), delivery.count}};
    std::vector<std::byte> data(of() % 4096);
    switch (of() % 4) {
      case 0:
        return;  // no reply
      case 1:
        for (std::size_t at = 0; at != data.size(); ++at) data[at] = pattern(id, at);
        leaving.kind = Kind::reply_medium;
        leaving.data = data;
        EXPECT_EQ(world_.at(i).reply(delivery, leaving), Try::ok);
        break;
      case 2: {
        leaving.kind = Kind::reply_long;
        leaving.data = std::span<const std::byte>(data).first(std::min<std::size_t>(data.size(), 100));
        leaving.offset = 100;
        EXPECT_EQ(world_.at(i).reply_long(delivery, leaving), Try::ok);
        break;
      }
      default:
        leaving.kind = Kind::reply_short;
        EXPECT_EQ(world_.at(i).reply(delivery, leaving), Try::ok);
    }
    EXPECT_EQ(world_.at(i).reply(delivery, leaving), Try::bad_argument) << "a second reply";
    fate.replied = true;
  }
  void come_back(std::size_t i, const Returned& returned) {
    const auto id = static_cast<std::uint32_t>(returned.room[0]);
    Fate& fate = fates_[id];
    if (returned.operation == Operation::reply_long) {  // there is no place for it any more
      EXPECT_TRUE(goes_.contains(fate.from) || goes_.contains(fate.to));
      EXPECT_EQ(returned.why, Why::reply_rejected);
      return;
    }
    EXPECT_EQ(id / 100'000, i);
    ++fate.returned;
    if (goes_.contains(fate.to) && !fate.wrong) {
      EXPECT_EQ(returned.why, Why::bad_endpoint) << id;
    }
    if (returned.why == Why::bad_handler) {
      EXPECT_EQ(returned.handler, kNobody);
    }
  }

  AmWorld world_;
  const Limits limits_;
  std::vector<std::vector<std::byte>> segments_;
  std::vector<std::size_t> left_;
  std::map<std::uint32_t, Fate> fates_;
  std::set<std::pair<std::size_t, std::size_t>> ended_;
  std::set<std::size_t> goes_;
};

constexpr std::uint64_t kSeeds = 60;

TEST(AmPrograms, end_with_any_number_of_credits_and_everybody_asking_everybody) {
  for (std::uint64_t seed = 0; seed != kSeeds && !testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    const std::uint32_t credits[] = {1, 2, 3, 8, 128};
    Program program(seed, 2 + seed % 3,
                    {.credits = credits[seed % 5], .ring = seed % 2 == 0 ? 32768u : 65536u}, seed % 4 != 3);
    program.world().crowded = seed % 3 == 0 ? 30 : 0;
    for (std::uint64_t id = 1; seed % 7 == 0 && id <= program.world().size(); ++id)
      program.world().port(id).no_memory = true;
    ASSERT_TRUE(program.run(120)) << "a deadlock";
    program.judge();
    program.judge_credits();
  }
}

TEST(AmPrograms, tell_of_each_request_whose_other_side_dies) {
  std::size_t returned = 0;
  for (std::uint64_t seed = 0; seed != kSeeds && !testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    Program program(seed, 3, {.credits = 1 + static_cast<std::uint32_t>(seed % 9), .ring = 32768},
                    seed % 4 != 3);
    int turns = 0;
    const int when = static_cast<int>(program.world().chance() % 2000);
    program.between = [&] {
      if (++turns == when) program.kill(2);
    };
    ASSERT_TRUE(program.run(60)) << "a deadlock";
    program.judge();
    program.judge_credits();
    returned += program.returned();
  }
  EXPECT_GT(returned, kSeeds / 2);
}

TEST(AmPrograms, tell_of_each_request_whose_endpoint_goes) {
  std::size_t returned = 0;
  for (std::uint64_t seed = 0; seed != kSeeds && !testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    Program program(seed, 3, {.credits = 1 + static_cast<std::uint32_t>(seed % 9), .ring = 32768},
                    seed % 4 != 3);
    program.world().quick_news = seed % 2 == 0;
    int turns = 0;
    const int when = static_cast<int>(program.world().chance() % 2000);
    program.between = [&] {
      if (++turns >= when && program.world().alive(2)) program.free(2, seed % 3 == 0);
    };
    ASSERT_TRUE(program.run(60)) << "a deadlock";
    for (; program.world().alive(2); program.world().settle()) program.free(2, false);
    program.judge();
    program.judge_credits();
    returned += program.returned();
  }
  EXPECT_GT(returned, kSeeds / 2);
}

TEST(AmPrograms, tell_of_each_request_whose_link_is_cut) {
  for (std::uint64_t seed = 0; seed != kSeeds && !testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    Program program(seed, 3, {.credits = 1 + static_cast<std::uint32_t>(seed % 9), .ring = 32768},
                    seed % 4 != 3);
    int turns = 0;
    program.between = [&] {
      if (++turns % 700 == 0) program.cut(program.world().chance() % 3, program.world().chance() % 3);
    };
    ASSERT_TRUE(program.run(60)) << "a deadlock";
    program.judge();
    program.judge_credits();
  }
}

}  // namespace
}  // namespace hamlyn::test
