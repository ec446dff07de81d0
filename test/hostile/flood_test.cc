// Peers that do too much of what is allowed in moderation: nobody else is kept waiting, and nothing is used
// up that others need.
#include <gtest/gtest.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <climits>
#include <deque>
#include <filesystem>
#include <thread>
#include <vector>

#include "fabric/shm/bell.h"
#include "node/client/address.h"
#include "test/hostile/world.h"

namespace hamlyn::test {
namespace {

HAMLYN_HOSTILE(Flood)

using namespace std::chrono_literals;

TEST_P(HostileFlood, FloodsTheDoorbell) {
  World world(options());
  Actor rogue = world.rogue([&](Line& line, Rogue& self) {
    RogueLink link = self.connect(world.victim());
    // In the end it is not listened to any more.
    using Clock = std::chrono::steady_clock;
    const auto until = Clock::now() + kPatience;
    for (auto deaf_since = Clock::now(); Clock::now() - deaf_since < 300ms;) {
      if (Clock::now() > until) return 2;
      link.ring();
      if (base::RealMemory::load_relaxed(link.theirs().watch.watch) != 0) deaf_since = Clock::now();
    }
    line.put('.');
    // A bell that moves, then one that only wakes.
    while (!line.take<char>(0ms)) link.ring();
    line.put('.');
    while (!line.take<char>(0ms))
      ::syscall(SYS_futex, &link.mine().watch.doorbell, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
    return link.put(packet_for(world.tickets().counted[0], 16)) && line.take<char>() ? 0 : 1;
  });
  for (int style = 0; style < 2; ++style) {
    ASSERT_TRUE(rogue.line().take<char>());
    for (int i = 0; i < 20; ++i) world.expect_goes_on();
    rogue.line().put('.');
  }
  EXPECT_TRUE(eventually([&] { return world.report().counted == 1; }))
      << "its messages are taken all the same";
  rogue.line().put('.');
  EXPECT_EQ(rogue.wait(), 0);
  world.expect_errors({});
  world.expect_clean();
}

// Each thread that is woken costs whoever wakes it.
TEST_P(HostileFlood, WaitsForTheBellWithManyThreads) {
  World world(options());
  Actor rogue = world.rogue([&](Line&, Rogue& self) {
    constexpr long kThreads = 64;
    RogueLink link = self.connect(world.victim());
    auto* const bell = const_cast<std::uint32_t*>(&link.theirs().watch.doorbell);
    std::uint32_t quiet = 0;
    std::atomic<int> woken = 0;
    const auto wake_all = [](std::uint32_t* word) {
      return ::syscall(SYS_futex, word, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
    };
    std::vector<std::thread> threads;
    for (long i = 0; i < kThreads; ++i) {
      threads.emplace_back([&] {
        ::syscall(SYS_futex, &quiet, FUTEX_WAIT, 0, nullptr, nullptr, 0);
        ++woken;
      });
    }
    // Where its value does not matter any more.
    long moved = 0;
    const bool there = eventually([&] {
      moved += ::syscall(SYS_futex, &quiet, FUTEX_CMP_REQUEUE, 0, long{INT_MAX}, bell, 0);
      return moved == kThreads;
    });
    base::RealMemory::store_relaxed(link.mine().watch.watch, 2 | shm::kWantsRoom);
    const bool rung =
        link.put(packet_for(world.tickets().counted[0], 16)) && eventually([&] { return woken != 0; });
    const long left = wake_all(bell);  // one ring wakes all that it wakes at once
    wake_all(&quiet);
    for (std::thread& thread : threads) thread.join();
    return !there ? 1 : !rung ? 2 : left < kThreads - 8 ? 3 : 0;
  });
  EXPECT_EQ(rogue.wait(), 0);
  world.expect_clean();
}

TEST_P(HostileFlood, SendsMoreThanItHasPlacesFor) {
  World world(options());
  constexpr std::uint64_t kMessages = 20000;
  Actor rogue = world.rogue([&](Line& line, Rogue& self) {
    RogueLink link = self.connect(world.victim());
    const auto record = link.open(world.tickets().fast);
    if (!record) return 1;
    for (std::uint64_t i = 0; i < kMessages; ++i) {
      if (!link.put(packet_for(world.tickets().fast, 16, *record))) return 2;
    }
    return line.take<char>() ? 0 : 3;
  });
  // Each is either taken or refused for this cause; none is lost, none is taken beyond what was granted.
  EXPECT_TRUE(eventually([&] {
    const Report report = world.report();
    return report.fast + report.errors[static_cast<std::size_t>(Refusal::no_place)] == kMessages;
  }));
  world.expect_goes_on();
  EXPECT_EQ(world.counters().links_broken, 0u);
  rogue.line().put('.');
  EXPECT_EQ(rogue.wait(), 0);
  world.expect_clean();
}

TEST_P(HostileFlood, AsksForAllPlacesThereAre) {
  World world(options());
  constexpr std::uint64_t kTimes = 2000;
  Actor rogue = world.rogue([&](Line& line, Rogue& self) {
    RogueLink link = self.connect(world.victim());
    interface::Packet packet {};
    interface::set_lead(packet, interface::Operation::open, 0, 0);
    interface::set_slot(packet, world.tickets().fast);
    for (packet.word = 0; packet.word < kTimes; ++packet.word) {
      if (!link.put(packet)) return 1;
    }
    packet.key ^= 1;  // to be seen to have come
    return link.put(packet) && line.take<char>() ? 0 : 2;
  });
  std::array<std::uint64_t, kCauses> expected{};
  expected[static_cast<std::size_t>(Refusal::bad_key)] = 1;
  world.expect_errors(expected);
  // Another sender gets the places it asks for.
  Actor other = world.rogue([&](Line&, Rogue& self) {
    RogueLink link = self.connect(world.victim());
    return link.open(world.tickets().fast) ? 0 : 1;
  });
  EXPECT_EQ(other.wait(), 0);
  rogue.line().put('.');
  EXPECT_EQ(rogue.wait(), 0);
  world.expect_clean();
}

// Nobody is kept waiting by an urgent ring that is never empty: not the neighbour, and not what the rogue
// itself sends at the normal level.
TEST_P(HostileFlood, FillsTheUrgentRingWithoutEnd) {
  World world(options());
  Actor rogue = world.rogue([&](Line& line, Rogue& self) {
    RogueLink link = self.connect(world.victim());
    interface::Packet urgent = packet_for(world.tickets().fast, 16);
    urgent.key ^= 1;
    bool sent = false;
    for (std::uint64_t i = 0; !line.take<char>(0ms); ++i) {
      for (int burst = 0; burst < 64; ++burst) {
        if (!link.put_urgent(urgent)) return 1;
      }
      link.ring();
      if (i == 20) sent = link.put(packet_for(world.tickets().counted[0], 16));
    }
    return sent ? 0 : 2;
  });
  EXPECT_TRUE(eventually([&] { return world.report().counted == 1; }))
      << "its own normal level has its share";
  world.expect_goes_on();
  EXPECT_GT(world.report().errors[static_cast<std::size_t>(Refusal::bad_key)], 20u * 64);
  rogue.line().put('.');
  EXPECT_EQ(rogue.wait(), 0);
  world.expect_clean();
}

TEST_P(HostileFlood, HangsUpAndGoesOnWriting) {
  World world(options());
  Actor rogue = world.rogue([&](Line& line, Rogue& self) {
    RogueLink link = self.connect(world.victim());
    for (int i = 0; i < 1000; ++i) {
      if (!link.put(packet_for(world.tickets().counted[0], 16))) return 1;
    }
    link.hang_up();
    // As fast as it can, whatever the victim says, in every cell and turn.
    for (std::uint32_t at = 0; !line.take<char>(0ms); ++at) {
      interface::Packet packet = packet_for(world.tickets().counted[0], 16);
      packet.lead.turn = 1 + at / shm::kHomeCells % 0xFFFF;
      base::RealMemory::store_release(
          *reinterpret_cast<std::uint64_t*>(&link.mine().cells[at % shm::kHomeCells]),
          shm::word_of(packet.lead));
    }
    return 0;
  });
  EXPECT_TRUE(eventually([&] { return world.report().ended == 1; }));
  world.expect_goes_on();
  EXPECT_EQ(world.counters().links, 1u);
  rogue.line().put('.');
  EXPECT_EQ(rogue.wait(), 0);
  world.expect_clean();
}

// It lives, rings and sends, and takes nothing of what it is sent.
TEST_P(HostileFlood, NeverReturnsCredits) {
  World::Options stage = options();
  stage.victim.stall = 300ms;
  World world(stage);
  Actor rogue = world.rogue([&](Line& line, Rogue& self) {
    RogueLink link = self.connect(world.victim());
    line.put(self.id());
    while (!link.ended()) {
      link.ring();
      if (link.put(packet_for(world.tickets().counted[0], 16))) pause_briefly();
    }
    return line.take<char>() ? 0 : 1;
  });
  const auto id = rogue.line().take<std::uint64_t>();
  ASSERT_TRUE(id);
  const Ticket back = World::ticket_back(*id);
  world.send_to(back);
  world.expect_goes_on();
  EXPECT_TRUE(eventually([&] {
    world.send_to(back);
    return world.counters().links_stalled == 1;
  })) << "what it does not take ends its link";
  world.expect_goes_on();
  rogue.line().put('.');
  EXPECT_EQ(rogue.wait(), 0);
  EXPECT_TRUE(eventually([&] { return world.counters().links == 1; }));
  world.expect_clean();
}

TEST_P(HostileFlood, NeverShowsItsPage) {
  World world(options());
  Actor rogue = world.rogue([&](Line&, Rogue& self) {
    const auto link = self.introduce(world.victim());
    return link && link->wait_for_end() ? 0 : 1;
  });
  world.expect_goes_on();
  EXPECT_EQ(rogue.wait(), 0) << "the victim does not wait for ever";
  EXPECT_EQ(no_links(world, LinkReason::no_page), 1u);
  world.expect_clean();
}

// Connections to the daemon that say nothing (slow-loris), more than it takes of all users, and made so fast
// that it has not yet done with those that it has dropped: it keeps a bounded number of descriptors, and goes
// on.
TEST_P(HostileFlood, ConnectsToTheDaemonAndSaysNothing) {
  constexpr int kConnections = 6000;
  World::Options stage = options();
  stage.config = "[total]\ninterfaces = 64\n";
  World world(stage);
  Actor rogue = world.rogue([&](Line& line, Rogue&) {
    std::deque<base::FileDescriptor> silent;
    for (int made = 0; made < kConnections;) {
      try {
        silent.push_back(node::connect_to(world.node()));
        ++made;
      } catch (const Error&) {
        pause_briefly();  // the daemon's queue is full
      }
      if (silent.size() > 600) silent.pop_front();
    }
    line.put('.');
    return line.take<char>() ? 0 : 1;
  });
  std::size_t most = 0;
  const auto done = [&] {
    const std::filesystem::directory_iterator open("/proc/" + std::to_string(world.daemon_pid()) + "/fd");
    most = std::max<std::size_t>(most, static_cast<std::size_t>(std::distance(begin(open), end(open))));
    return rogue.line().take<char>(0ms).has_value();
  };
  EXPECT_TRUE(eventually(done));
  EXPECT_LT(most, 1500u) << "of the daemon's, which waits for the end of 1024 processes";
  Actor newcomer(
      [&](Line&) {
        Rogue(world.node()).connect(world.victim());
        return 0;
      },
      world.victim_user());
  EXPECT_EQ(newcomer.wait(), 0) << "somebody else is served";
  rogue.line().put('.');
  EXPECT_EQ(rogue.wait(), 0);
  EXPECT_TRUE(eventually([&] { return world.counters().links == 1; }));
  world.expect_clean();
}

// Links until the node refuses: the refusal has a name, and the victim's own user still gets one.
TEST_P(HostileFlood, OpensLinksUntilTheNodeRefuses) {
  World::Options stage = options();
  stage.config = "[quotas]\nlinks = 24\n";
  World world(stage);
  Actor rogue = world.rogue([&](Line& line, Rogue& self) {
    std::vector<std::unique_ptr<Rogue>> crowd;
    std::vector<RogueLink> links;
    ErrorCode error{};
    while (links.size() < 30) {
      crowd.push_back(std::make_unique<Rogue>(world.node()));
      auto link = crowd.back()->introduce(world.victim(), &error);
      if (!link) break;
      links.push_back(std::move(*link));
      if (!links.back().exchange(crowd.back()->id())) return 2;
    }
    (void)self;
    line.put(error);
    line.put(links.size());
    return line.take<char>() ? 0 : 3;
  });
  EXPECT_EQ(rogue.line().take<ErrorCode>(), ErrorCode::quota_links);
  const auto links = rogue.line().take<std::size_t>();
  ASSERT_TRUE(links);
  EXPECT_LE(*links, 12u) << "two ends each, or as many of the victim's as others may have";
  world.expect_goes_on();
  if (GetParam() == Rogues::of_other_user) {
    Actor friendly(
        [&](Line&) {
          Rogue one(world.node());
          one.connect(world.victim());
          return 0;
        },
        world.victim_user());
    EXPECT_EQ(friendly.wait(), 0) << "the victim's own user";
  }
  rogue.line().put('.');
  EXPECT_EQ(rogue.wait(), 0);
  EXPECT_TRUE(eventually([&] { return world.counters().links == 1; }));
  world.expect_clean();
}

TEST_P(HostileFlood, OpensMoreLinksThanTheVictimTakes) {
  World::Options stage = options();
  stage.victim.links = 4;
  World world(stage);
  Actor rogue = world.rogue([&](Line& line, Rogue&) {
    std::vector<std::unique_ptr<Rogue>> crowd;
    std::vector<RogueLink> links;
    int made = 0;
    for (int i = 0; i < 12; ++i) {
      crowd.push_back(std::make_unique<Rogue>(world.node()));
      auto link = crowd.back()->introduce(world.victim());
      if (!link) continue;
      links.push_back(std::move(*link));
      made += links.back().exchange(crowd.back()->id());
    }
    line.put(made);
    return line.take<char>() ? 0 : 1;
  });
  EXPECT_EQ(rogue.line().take<int>(), 3) << "and the neighbour's";
  EXPECT_EQ(world.counters().links, 4u);
  world.expect_goes_on();
  rogue.line().put('.');
  EXPECT_EQ(rogue.wait(), 0);
  EXPECT_TRUE(eventually([&] { return world.counters().links == 1; }));
  world.expect_clean();
}

}  // namespace
}  // namespace hamlyn::test
