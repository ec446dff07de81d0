// Peers that stop, die, exec or fork, at any instant: their links end at the victim, nothing else does.
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <cstring>
#include <iostream>
#include <random>

#include "test/hostile/world.h"

namespace hamlyn::test {
namespace {

HAMLYN_HOSTILE(Death)

using namespace std::chrono_literals;

// An honest process with an interface of its own, linked to the victim.
Actor honest(const World& world, const std::function<int(Line&, Interface&, Terminus&)>& part) {
  return Actor(
      [&](Line& line) {
        Interface interface({.node = world.node(), .start_node = false, .mtu = 64});
        Terminus terminus(interface);
        if (terminus.connect(world.tickets().fast, kPatience) != Status::ok) return 90;
        line.put('.');
        return part(line, interface, terminus);
      },
      world.rogue_user());
}

bool only_the_neighbour_is_left(World& world) {
  return eventually([&] { return world.counters().links == 1 || testing::Test::HasFailure(); });
}

TEST_P(HostileDeath, StopsInTheMiddleOfAPacket) {
  World world(options());
  Actor rogue = world.rogue([&](Line& line, Rogue& self) {
    RogueLink link = self.connect(world.victim());
    if (!link.grow(shm::kGrownCells[0])) return 1;
    // The data stands in its cells, most of the header too; the word that publishes it comes after the stop.
    interface::Packet packet = packet_for(world.tickets().counted[0], 1024);
    interface::Packet* const cells = link.cells().data();
    std::memset(cells + 1, 0x42, 512);
    std::memcpy(reinterpret_cast<std::byte*>(cells) + 8, reinterpret_cast<const std::byte*>(&packet) + 8, 56);
    ::raise(SIGSTOP);
    std::memset(reinterpret_cast<std::byte*>(cells + 1) + 512, 0x42, 512);
    packet.lead.turn = 1;
    base::RealMemory::store_release(*reinterpret_cast<std::uint64_t*>(cells), shm::word_of(packet.lead));
    link.ring();
    return line.take<char>() ? 0 : 1;
  });
  ASSERT_TRUE(eventually([&] { return rogue.stopped(); }));
  world.expect_goes_on();
  EXPECT_EQ(world.report().counted, 0u) << "half a packet is none";
  rogue.signal(SIGCONT);
  EXPECT_TRUE(eventually([&] { return world.report().counted == 1; })) << "whole, it is taken";
  rogue.line().put('.');
  EXPECT_EQ(rogue.wait(), 0);
  world.expect_errors({});
  world.expect_clean();
}

// The victim has mapped the ring, and reads the old one until it is told.
TEST_P(HostileDeath, StopsBetweenTwoRings) {
  World world(options());
  Actor rogue = world.rogue([&](Line& line, Rogue& self) {
    RogueLink link = self.connect(world.victim());
    const bool grown = link.grow(shm::kGrownCells[0], [] { ::raise(SIGSTOP); });
    const bool sent = grown && link.put(packet_for(world.tickets().counted[0], 16), "0123456789abcdef");
    link.ring();
    return sent && line.take<char>() ? 0 : 1;
  });
  ASSERT_TRUE(eventually([&] { return rogue.stopped(); }));
  world.expect_goes_on();
  rogue.signal(SIGCONT);
  EXPECT_TRUE(eventually([&] { return world.report().counted == 1; })) << "by the longer ring";
  rogue.line().put('.');
  EXPECT_EQ(rogue.wait(), 0);
  world.expect_errors({});
  world.expect_clean();
}

TEST_P(HostileDeath, StopsForLongerThanTheStallTime) {
  World::Options stage = options();
  stage.victim.stall = 300ms;
  World world(stage);
  Actor rogue = world.rogue([&](Line& line, Rogue& self) {
    RogueLink link = self.connect(world.victim());
    line.put(self.id());
    ::raise(SIGSTOP);
    return link.wait_for_end() ? 0 : 1;
  });
  const auto id = rogue.line().take<std::uint64_t>();
  ASSERT_TRUE(id);
  ASSERT_TRUE(eventually([&] { return rogue.stopped(); }));
  Ticket nowhere;
  nowhere.interface = *id;
  nowhere.entry = 0;
  nowhere.bound = 1 << 20;
  world.send_to(nowhere);
  world.expect_goes_on();
  EXPECT_TRUE(eventually([&] { return world.report().unsent == 1; })) << "the sender hears of it";
  EXPECT_EQ(world.counters().links_stalled, 1u);
  EXPECT_TRUE(only_the_neighbour_is_left(world));
  rogue.signal(SIGCONT);
  EXPECT_EQ(rogue.wait(), 0) << "and so does the one that stopped, when it goes on";
  world.expect_clean();
}

// An honest peer that is stopped with nothing due keeps its link.
TEST_P(HostileDeath, AStopWithNothingDueEndsNothing) {
  World::Options stage = options();
  stage.victim.stall = 100ms;
  World world(stage);
  Actor peer = honest(world, [&](Line& line, Interface&, Terminus& terminus) {
    ::raise(SIGSTOP);
    const std::byte data[16]{};
    return terminus.send_fast(world.tickets().fast, data) == Status::ok && line.take<char>() ? 0 : 1;
  });
  ASSERT_TRUE(eventually([&] { return peer.stopped(); }));
  // Two looks for stalls, which come every 500 ms, pass.
  const auto from = std::chrono::steady_clock::now();
  while (std::chrono::steady_clock::now() - from < 1100ms) world.expect_goes_on();
  EXPECT_EQ(world.counters().links, 2u);
  peer.signal(SIGCONT);
  EXPECT_TRUE(eventually([&] { return world.report().fast == 1; }));
  peer.line().put('.');
  EXPECT_EQ(peer.wait(), 0);
  world.expect_clean();
}

TEST_P(HostileDeath, DiesInTheMiddleOfAPacketAndOfAMessage) {
  World world(options());
  Actor rogue = world.rogue([&](Line& line, Rogue& self) {
    RogueLink link = self.connect(world.victim());
    if (!link.grow(shm::kGrownCells[0])) return 1;
    interface::Packet packet = packet_for(world.tickets().counted[0], 16);
    packet.delta = 1u - 3;  // three packets, of which one comes
    link.put(packet);
    link.put(packet_for(world.tickets().counted[1], 16));
    std::memset(&link.cells()[3], 0x42, 512);
    line.put('.');
    ::raise(SIGKILL);
    return 0;
  });
  EXPECT_EQ(rogue.wait(), 128 + SIGKILL);
  EXPECT_TRUE(eventually([&] { return world.report().failed == 1; })) << "the entry it was filling";
  EXPECT_EQ(world.report().counted, 1u) << "what had arrived whole is delivered";
  EXPECT_TRUE(only_the_neighbour_is_left(world));
  world.expect_clean();
}

TEST_P(HostileDeath, DiesAtAnyInstant) {
  World world(options());
  const unsigned seed = std::random_device{}();
  std::cout << "seed " << seed << '\n';
  SCOPED_TRACE(seed);
  std::mt19937 random(seed);
  constexpr unsigned kDeaths = 40;
  for (unsigned death = 0; death < kDeaths && !HasFailure(); ++death) {
    Actor peer = honest(world, [&](Line&, Interface& interface, Terminus& terminus) {
      // Several packets each, of one byte all over, which the victim checks.
      std::array<std::byte, kHonestBytes> data{};
      data.fill(static_cast<std::byte>(death));
      while (true) {
        for (std::uint32_t entry = 0; entry < kEntries; ++entry) {
          SendHandle handle;
          static_cast<void>(terminus.send(world.tickets().counted[entry], data,
                                          {.offset = entry * (kSlotBytes / kEntries)}, &handle));
          if (terminus.wait(handle, kPatience) != Status::ok) return 1;
        }
        interface.run();
      }
    });
    ASSERT_TRUE(peer.line().take<char>());
    const timespec pause{0, static_cast<long>(random() % 3'000'000)};
    ::nanosleep(&pause, nullptr);
    peer.signal(SIGKILL);
    EXPECT_EQ(peer.wait(), 128 + SIGKILL);
    EXPECT_TRUE(only_the_neighbour_is_left(world)) << "after death " << death;
  }
  EXPECT_EQ(world.counters().links_ended, kDeaths);
  EXPECT_EQ(world.counters().links_broken, 0u) << "a death is no breach of the protocol";
  EXPECT_GT(world.report().counted, 0u);
  world.expect_clean();
}

TEST_P(HostileDeath, AnExecEndsTheLink) {
  World world(options());
  Actor peer = honest(world, [](Line&, Interface&, Terminus&) {
    ::execl("/bin/sleep", "sleep", "1000", nullptr);
    return 1;
  });
  EXPECT_TRUE(peer.line().take<char>());
  EXPECT_TRUE(eventually([&] { return world.report().ended == 1; }));
  EXPECT_TRUE(only_the_neighbour_is_left(world));
  EXPECT_TRUE(peer.running()) << "the process itself lives on as something else";
  world.expect_clean();
}

TEST_P(HostileDeath, ADeathIsToldThoughAChildLives) {
  World world(options());
  Actor peer = honest(world, [](Line& line, Interface&, Terminus&) -> int {
    if (::fork() != 0) ::_exit(7);
    while (!line.gone()) pause_briefly();
    ::_exit(0);
  });
  EXPECT_TRUE(peer.line().take<char>());
  EXPECT_EQ(peer.wait(), 7);
  EXPECT_TRUE(eventually([&] { return world.report().ended == 1; }));
  EXPECT_TRUE(only_the_neighbour_is_left(world));
  world.expect_clean();
}

TEST_P(HostileDeath, ADeathIsToldWithoutTheDaemon) {
  World world(options());
  Actor peer = honest(world, [](Line& line, Interface&, Terminus&) { return line.take<char>() ? 0 : 1; });
  EXPECT_TRUE(peer.line().take<char>());
  world.kill_daemon();
  world.expect_goes_on();
  peer.signal(SIGKILL);
  EXPECT_TRUE(eventually([&] { return world.report().ended == 1; }));
  world.expect_goes_on();
}

// Nobody but the kernel can tell then.
TEST_P(HostileDeath, ADeathIsToldWithoutTheDaemonThoughAChildHasTheSocket) {
  World world(options());
  world.expect_goes_on();  // the neighbour has its link, and all that it maps
  const std::uint64_t before = world.report().mappings;
  Actor peer = world.rogue([&](Line& line, Rogue& self) -> int {
    const RogueLink link = self.connect(world.victim());
    line.put('.');
    line.take<char>();
    if (::fork() != 0) ::_exit(7);
    while (!line.gone()) pause_briefly();
    ::_exit(0);
  });
  ASSERT_TRUE(peer.line().take<char>());
  EXPECT_GT(world.report().mappings, before);
  world.kill_daemon();
  peer.line().put('.');
  EXPECT_EQ(peer.wait(), 7);
  EXPECT_TRUE(eventually([&] { return world.report().mappings == before; }))
      << before << " -> " << world.report().mappings;
  world.expect_goes_on();
}

}  // namespace
}  // namespace hamlyn::test
