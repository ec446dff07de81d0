// Rogues that ask for remote operations they may not have, or answer what nobody has asked.
#include <gtest/gtest.h>

#include <cstring>

#include "interface/remote/remote.h"
#include "test/hostile/world.h"

namespace hamlyn::test {
namespace {

HAMLYN_HOSTILE(Remote)

using interface::Operation;
using interface::Packet;

Packet request(Operation operation, const Ticket& ticket, std::uint32_t delta) {
  Packet packet = packet_for(ticket, 0);
  interface::set_lead(packet, operation, operation == Operation::fetch ? 16 : 0, 0);
  packet.delta = delta;
  packet.word = interface::message_word(3, ticket.incarnation);
  std::memset(packet.data, 0xEE, sizeof packet.data);
  return packet;
}
Packet fetch(const Ticket& ticket) {
  return request(Operation::fetch, ticket, interface::fetch_delta(1, 8, true));
}
Packet get(const Ticket& ticket, std::uint32_t bytes) { return request(Operation::get, ticket, bytes); }

struct RemoteCase {
  Packet packet;
  Refusal cause;
};

std::vector<RemoteCase> wrong_requests(const Tickets& tickets) {
  std::vector<RemoteCase> cases;
  for (const Ticket& ticket : {tickets.fast, tickets.counted[0], tickets.paranoid[0]}) {
    for (const Packet& right : {fetch(ticket), get(ticket, 16)}) {
      const auto add = [&](Refusal cause, auto change) {
        cases.push_back({right, cause});
        change(cases.back().packet);
      };
      for (int bit = 0; bit < 64; bit += 3)
        add(Refusal::bad_key, [&](Packet& packet) { packet.key ^= std::uint64_t{1} << bit; });
      for (const std::uint32_t slot : {9u, 64u, 0x10000u, 0xFFFFFFFFu})
        add(Refusal::bad_slot, [&](Packet& packet) { packet.slot = slot; });
      add(Refusal::stale_generation, [](Packet& packet) { ++packet.generation; });
      for (const std::uint64_t offset :
           {kSlotBytes - 7, kSlotBytes, std::size_t{1} << 63, ~std::size_t{0} - 7})
        add(Refusal::out_of_bounds, [&](Packet& packet) { packet.offset = offset; });
    }
    for (std::uint64_t by = 1; by < 8; ++by) {
      cases.push_back({fetch(ticket), Refusal::misaligned});
      cases.back().packet.offset += by;
    }
    for (const std::uint32_t delta :
         {0u, 1u, 11u << 0 | 8u << 8, 1u | 3u << 8, 1u | 8u << 8 | 1u << 20, ~interface::kUnanswered})
      cases.push_back({request(Operation::fetch, ticket, delta), Refusal::malformed});
    cases.push_back({get(ticket, 0), Refusal::malformed});
    cases.push_back({get(ticket, kMostGet + 1), Refusal::too_long});
    cases.push_back({get(ticket, ~0u), Refusal::out_of_bounds});
  }
  for (const Packet& packet : {fetch(tickets.one_shot[0]), get(tickets.one_shot[0], 16)})
    cases.push_back({packet, Refusal::mode_forbids});
  return cases;
}

// Each is answered with its cause, and with the number that it came with.
TEST_P(HostileRemote, RefusesWrongRequests) {
  World world(options());
  const std::vector<RemoteCase> cases = wrong_requests(world.tickets());
  std::array<std::uint64_t, kCauses> expected{};
  for (const RemoteCase& one : cases) ++expected[static_cast<std::size_t>(one.cause)];
  Actor rogue = world.rogue([&](Line& line, Rogue& self) {
    RogueLink link = self.connect(world.victim());
    for (const RemoteCase& one : cases) {
      if (!link.put(one.packet)) return 1;
      const auto answer = link.reply();
      if (!answer || answer->lead.operation != Operation::refused_request || answer->word != 3) return 2;
      if (answer->delta != static_cast<std::uint32_t>(one.cause)) return 3;
    }
    line.put('.');
    return line.take<char>() ? 0 : 4;
  });
  ASSERT_TRUE(rogue.line().take<char>()) << "the link ended: " << rogue.wait();
  world.expect_errors(expected);
  EXPECT_EQ(world.report().touched, 0u) << "nothing of what is refused is done";
  EXPECT_EQ(world.counters().links_broken, 0u);
  rogue.line().put('.');
  EXPECT_EQ(rogue.wait(), 0);
  world.expect_clean();
}

// It takes no answers either: the victim has work entries for sixteen, and serves others.
TEST_P(HostileRemote, AsksForMoreThanItMay) {
  constexpr std::uint64_t kAsked = 200;
  World world(options());
  Actor rogue = world.rogue([&](Line& line, Rogue& self) {
    RogueLink link = self.connect(world.victim());
    for (std::uint64_t i = 0; i < kAsked; ++i) {
      if (!link.put(get(world.tickets().fast, kMostGet))) return 1;
    }
    line.put('.');
    return line.take<char>() ? 0 : 2;
  });
  ASSERT_TRUE(rogue.line().take<char>());
  std::array<std::uint64_t, kCauses> expected{};
  // Two at the most were answered whole before the ring of replies was full.
  const auto refused = [&] {
    return world.counters().refused[static_cast<std::size_t>(Refusal::over_budget)];
  };
  EXPECT_TRUE(eventually([&] { return refused() >= kAsked - interface::kOutstanding - 2; }));
  expected[static_cast<std::size_t>(Refusal::over_budget)] = refused();
  world.expect_errors(expected);
  world.expect_goes_on();
  EXPECT_EQ(world.counters().links_broken, 0u);
  rogue.line().put('.');
  EXPECT_EQ(rogue.wait(), 0);
  world.expect_clean();
}

TEST_P(HostileRemote, ForgesReplies) {
  constexpr std::uint64_t kForged = 300;
  World world(options());
  Actor rogue = world.rogue([&](Line& line, Rogue& self) {
    RogueLink link = self.connect(world.victim());
    shm::RingWriter<> replies;
    replies.reset(link.mine().replies, shm::kReplyCells, 0);
    const std::vector<std::byte> bytes(interface::kReplyPayload, std::byte{0xEE});
    for (std::uint64_t i = 0; i < kForged; ++i) {
      Packet packet{};
      const Operation kinds[] = {Operation::get_data, Operation::fetched, Operation::refused_request};
      const std::size_t lengths[] = {i % 2 == 0 ? 16u : interface::kReplyPayload, 8, 0};
      interface::set_lead(packet, kinds[i % 3], lengths[i % 3], 0);
      packet.word = i < 100 ? i : std::uint64_t{1} << (i % 64);
      packet.delta = static_cast<std::uint32_t>(i);
      const bool room = eventually([&] {
        return replies.credit(base::RealMemory::load_acquire(link.theirs().credits.replies_taken)) &&
               replies.has_room(interface::cells_of(packet.lead));
      });
      if (!room) return 1;
      replies.put(packet, bytes.data(), nullptr);
      link.ring();
    }
    line.put('.');
    return line.take<char>() ? 0 : 2;
  });
  ASSERT_TRUE(rogue.line().take<char>()) << rogue.wait();
  std::array<std::uint64_t, kCauses> expected{};
  expected[static_cast<std::size_t>(Refusal::unasked_reply)] = kForged;
  world.expect_errors(expected);
  EXPECT_EQ(world.report().touched, 0u);
  rogue.line().put('.');
  EXPECT_EQ(rogue.wait(), 0);
  world.expect_clean();
}

}  // namespace
}  // namespace hamlyn::test
