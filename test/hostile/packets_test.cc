// Packets that a sender who keeps to the links' protocol may send, and that the interface must refuse, each
// for its own cause, without a byte landing.
#include <gtest/gtest.h>

#include <cstring>

#include "test/hostile/world.h"

namespace hamlyn::test {
namespace {

HAMLYN_HOSTILE(Packets)

using interface::Operation;
using interface::Packet;

struct Case {
  Packet packet;
  Refusal cause;
  bool placed = false;  // in fast mode: with a place that was really granted
};

class Cases {
 public:
  explicit Cases(const Tickets& tickets) : tickets_(tickets) {}

  std::vector<Case> all() {
    wrong_slots();
    wrong_keys();
    out_of_bounds();
    wrong_entries();
    wrong_operations();
    return std::move(cases_);
  }

 private:
  void add(const Packet& packet, Refusal cause) {
    cases_.push_back({packet, cause, packet.entry == interface::kNoEntry});
  }
  template <class Change>
  void add(const Ticket& ticket, std::size_t length, Refusal cause, Change change) {
    Packet packet = packet_for(ticket, length);
    change(packet);
    add(packet, cause);
  }

  void wrong_slots() {
    for (const Ticket& ticket : {tickets_.fast, tickets_.counted[0], tickets_.paranoid[0]}) {
      for (const std::uint32_t slot : {9u, 40u, 63u, 64u, 4096u, 0x10000u, 0x7FFFFFFFu, 0xFFFFFFFFu})
        add(ticket, 16, Refusal::bad_slot, [&](Packet& packet) { packet.slot = slot; });
      for (const std::uint32_t by : {1u, 0x80000000u, 0xFFFFFFFFu})
        add(ticket, 16, Refusal::stale_generation, [&](Packet& packet) { packet.generation += by; });
    }
  }

  void wrong_keys() {
    for (const Ticket& ticket :
         {tickets_.fast, tickets_.counted[1], tickets_.paranoid[1], tickets_.one_shot[1]}) {
      for (unsigned bit = 0; bit < 64; ++bit)
        add(ticket, 16, Refusal::bad_key, [&](Packet& packet) { packet.key ^= std::uint64_t{1} << bit; });
      add(ticket, 16, Refusal::bad_key, [](Packet& packet) { packet.key = 0; });
    }
    // The key of another slot, and of another entry.
    add(tickets_.paranoid[0], 16, Refusal::bad_key, [&](Packet& packet) { packet.key = tickets_.fast.key; });
    add(tickets_.paranoid[0], 16, Refusal::bad_key,
        [&](Packet& packet) { packet.key = tickets_.paranoid[1].key; });
    add(tickets_.fast, 16, Refusal::bad_key, [&](Packet& packet) { packet.key = tickets_.paranoid[1].key; });
  }

  void out_of_bounds() {
    constexpr std::uint64_t kEnd = kSlotBytes;
    for (const Ticket& ticket : {tickets_.fast, tickets_.counted[2]}) {
      for (const std::uint64_t length : {1u, 15u, 16u, 17u, 64u, 1024u}) {
        for (const std::uint64_t offset :
             {kEnd - length + 1, kEnd, kEnd + 1, 2 * kEnd, std::uint64_t{1} << 32, std::uint64_t{1} << 63,
              ~std::uint64_t{0} - length, ~std::uint64_t{0} - length + 1, ~std::uint64_t{0}})
          add(ticket, length, Refusal::out_of_bounds, [&](Packet& packet) { packet.offset = offset; });
      }
    }
    add(tickets_.fast, 0, Refusal::out_of_bounds, [](Packet& packet) { packet.offset = kEnd + 1; });
    for (const Ticket& ticket : {tickets_.paranoid[2], tickets_.one_shot[2]}) {
      for (const std::uint64_t offset :
           {std::uint64_t{0}, kLimits.base - 1, kLimits.base - 16, kLimits.base + kLimits.bound - 15,
            kLimits.base + kLimits.bound, kEnd - 16, kEnd, ~std::uint64_t{0} - 15})
        add(ticket, 16, Refusal::out_of_bounds, [&](Packet& packet) { packet.offset = offset; });
      add(ticket, 513, Refusal::out_of_bounds, [](Packet&) {});
    }
  }

  void wrong_entries() {
    for (const std::uint32_t entry : {kEntries, kEntries + 1, 0x10000u, 0x80000000u, 0xFFFFFFFEu}) {
      add(tickets_.counted[3], 16, Refusal::bad_entry, [&](Packet& packet) { packet.entry = entry; });
      add(tickets_.paranoid[3], 16, Refusal::bad_entry, [&](Packet& packet) { packet.entry = entry; });
    }
    add(tickets_.counted[3], 16, Refusal::stale_message,
        [](Packet& packet) { packet.word += std::uint64_t{1} << 32; });
    add(tickets_.counted[3], 16, Refusal::stale_message, [](Packet& packet) { packet.word = 0; });
    // Fast mode with metadata, and at a slot that has none.
    add(tickets_.fast, 16, Refusal::mode_forbids, [](Packet& packet) { packet.lead.metadata_length = 60; });
    // Places nobody has granted.
    for (const std::uint32_t record : {1u, 255u, 0x80000000u, 0xFFFFFFFFu}) {
      Packet packet = packet_for(tickets_.fast, 16, record);
      cases_.push_back({packet, Refusal::no_place, false});
    }
  }

  void wrong_operations() {
    Packet packet = packet_for(tickets_.fast, 0);
    for (const Operation operation : {Operation::grant, Operation::credit}) {
      packet.lead.operation = operation;
      for (const std::uint64_t credit : {std::uint64_t{0}, std::uint64_t{255}, ~std::uint64_t{0}}) {
        packet.word = credit;
        add(packet, Refusal::malformed);
      }
    }
    packet.lead.operation = Operation::open;
    packet.word = std::uint64_t{1} << 32;
    cases_.push_back({packet, Refusal::over_budget, false});
    packet.word = 7;
    packet.key ^= 1;
    cases_.push_back({packet, Refusal::bad_key, false});
    packet.generation += 1;
    cases_.push_back({packet, Refusal::stale_generation, false});
    packet.slot = 50;
    cases_.push_back({packet, Refusal::bad_slot, false});
  }

  const Tickets& tickets_;
  std::vector<Case> cases_;
};

TEST_P(HostilePackets, RefusesEachWrongPacketForItsCause) {
  World world(options());
  const std::vector<Case> cases = Cases(world.tickets()).all();
  std::array<std::uint64_t, kCauses> expected{};
  for (const Case& one : cases) ++expected[static_cast<std::size_t>(one.cause)];
  Actor rogue = world.rogue([&](Line& line, Rogue& self) {
    RogueLink link = self.connect(world.victim());
    const auto record = link.open(world.tickets().fast);
    if (!record) return 1;
    const std::string bytes(2048, '\xEE');
    for (Case one : cases) {
      std::memset(one.packet.data, 0xEE, sizeof one.packet.data);
      if (one.placed) one.packet.delta = *record;
      if (!link.put(one.packet, bytes.data(), bytes.data())) return 2;
    }
    line.put('.');
    return line.take<char>() ? 0 : 3;
  });
  ASSERT_TRUE(rogue.line().take<char>()) << "the link ended: " << rogue.wait();
  world.expect_errors(expected);
  const Report report = world.report();
  EXPECT_EQ(report.touched, 0u) << "not a byte of what is refused lands";
  EXPECT_EQ(report.fast + report.counted, 0u);
  EXPECT_EQ(world.counters().links_broken, 0u) << "none of these breaks the link's protocol";
  rogue.line().put('.');
  EXPECT_EQ(rogue.wait(), 0);
  world.expect_clean();
}

// The same packets at the last place where they are right.
TEST_P(HostilePackets, TakesWhatTouchesTheEdges) {
  World world(options());
  Actor rogue = world.rogue([&](Line& line, Rogue& self) {
    RogueLink link = self.connect(world.victim());
    const auto record = link.open(world.tickets().fast);
    if (!record) return 1;
    Packet packet = packet_for(world.tickets().fast, 16, *record);
    packet.offset = kSlotBytes - 16;
    std::memset(packet.data, 0x11, 16);
    if (!link.put(packet)) return 2;
    packet.lead.length = 0;
    packet.offset = kSlotBytes;
    if (!link.put(packet)) return 2;
    packet = packet_for(world.tickets().paranoid[0], 16);
    packet.offset = kLimits.base + kLimits.bound - 16;
    if (!link.put(packet)) return 2;
    line.put('.');
    return line.take<char>() ? 0 : 3;
  });
  ASSERT_TRUE(rogue.line().take<char>());
  EXPECT_TRUE(eventually([&] {
    const Report report = world.report();
    return report.fast == 2 && report.counted == 1;
  }));
  world.expect_errors({});
  rogue.line().put('.');
  EXPECT_EQ(rogue.wait(), 0);
  world.expect_clean();
}

// What is told of a message never reaches beyond the slot, however often its bytes were written.
TEST_P(HostilePackets, WritesTheSameBytesAgainAndAgain) {
  World world(options());
  Actor rogue = world.rogue([&](Line& line, Rogue& self) {
    RogueLink link = self.connect(world.victim());
    const std::string bytes(1024, '\xEE');
    interface::Packet packet = packet_for(world.tickets().counted[0], bytes.size());
    packet.offset = kSlotBytes - bytes.size();
    for (packet.delta = 1; packet.delta <= 100; ++packet.delta) {
      if (!link.put(packet, bytes.data())) return 1;
    }
    packet.delta = 0;
    return link.put(packet, bytes.data()) && line.take<char>() ? 0 : 2;
  });
  EXPECT_TRUE(eventually([&] { return world.report().counted == 1; }));
  rogue.line().put('.');
  EXPECT_EQ(rogue.wait(), 0);
  world.expect_clean();
}

TEST_P(HostilePackets, AnEntryTakesOneMessagePerArming) {
  World::Options stage = options();
  stage.rearm = false;
  World world(stage);
  Actor rogue = world.rogue([&](Line& line, Rogue& self) {
    RogueLink link = self.connect(world.victim());
    for (const Ticket& ticket : {world.tickets().counted[0], world.tickets().one_shot[0]}) {
      const Packet packet = packet_for(ticket, 16);
      for (int i = 0; i < 3; ++i) {
        if (!link.put(packet)) return 1;
      }
    }
    // Another message into an entry that one is filling; a delta that never comes to zero.
    Packet packet = packet_for(world.tickets().counted[1], 16);
    packet.delta = 5;
    if (!link.put(packet)) return 1;
    packet.word += 1;
    if (!link.put(packet)) return 1;
    line.put('.');
    return line.take<char>() ? 0 : 2;
  });
  ASSERT_TRUE(rogue.line().take<char>());
  std::array<std::uint64_t, kCauses> expected{};
  expected[static_cast<std::size_t>(Refusal::entry_not_armed)] = 4;
  expected[static_cast<std::size_t>(Refusal::entry_busy)] = 1;
  world.expect_errors(expected);
  EXPECT_EQ(world.report().counted, 2u);
  rogue.line().put('.');
  EXPECT_EQ(rogue.wait(), 0);
  EXPECT_TRUE(eventually([&] { return world.report().failed == 1; })) << "what it was filling fails";
  world.expect_clean();
}

}  // namespace
}  // namespace hamlyn::test
