// The short ways in for a whole message in one packet and for a request (ShmLink::take_whole, take_request)
// against the long one: whatever comes, both do the same. Bob is asked by the long way, carol by the short
// one, by packets that differ only in what their tickets differ in.
#include <algorithm>
#include <sstream>

#include "fabric/shm/shm_link.h"
#include "fabric/sim/generator.h"
#include "test/conformance/conformance.h"

namespace hamlyn::test {
namespace {

using interface::Operation;
using interface::Packet;
using interface::Requests;
using interface::Terminus;

constexpr std::size_t kArea = 512;
constexpr std::uint32_t kEntries = 4;

// What one of the two has: slots of every kind on two queues.
struct Receiver {
  explicit Receiver(Party& owner) : party(owner) {
    slots.push_back(make(queue, {.entries = kEntries, .places = 4}));
    slots.push_back(make(queue, {.entries = kEntries, .fast = false}));
    slots.push_back(make(queue, {.mode = Mode::paranoid, .entries = kEntries}));
    slots.push_back(make(queue, {.access = Access::read_only, .entries = kEntries}));
    slots.push_back(make(other, {.entries = kEntries, .places = 4}));
    slots.push_back(make(queue, {.entries = kEntries, .places = 4}));
    slots.back()->notify_after(3);
    for (std::uint32_t e = 0; e < kEntries; ++e) slots[2]->arm(e);
  }
  std::unique_ptr<TestSlot> make(interface::Queue* of, const Slot::Options& options) {
    areas.push_back(std::make_unique<Area>(kArea));
    return std::make_unique<TestSlot>(party, *areas.back(), of, options);
  }
  std::vector<Notification> told() {
    std::vector<Notification> all;
    for (const auto& each : party.core.queues()) {
      while (const std::optional<Notification> next = take(party, each.get())) all.push_back(*next);
    }
    return all;
  }

  Party& party;
  interface::Queue* queue = party.core.make_queue(64);
  interface::Queue* other = party.core.make_queue(64);
  std::vector<std::unique_ptr<Area>> areas;
  std::vector<std::unique_ptr<TestSlot>> slots;
};

bool alike(const Notification& a, const Notification& b) {
  return a.kind == b.kind && a.wrap == b.wrap && a.fast == b.fast && a.cause == b.cause && a.slot == b.slot &&
         a.entry == b.entry && a.message_id == b.message_id && a.offset == b.offset && a.length == b.length &&
         a.word == b.word && a.peer == b.peer;
}

std::string written(const std::vector<Notification>& all) {
  std::ostringstream out;
  for (const Notification& n : all) {
    out << "kind " << static_cast<int>(n.kind) << (n.wrap ? " wrap" : "") << (n.fast ? " fast" : "")
        << " cause " << name(n.cause) << " slot " << n.slot << " entry " << n.entry << " message "
        << n.message_id << " offset " << n.offset << " length " << n.length << " word " << n.word << " peer "
        << n.peer << "\n";
  }
  return out.str();
}

class ShmShort : public Conformance {
 protected:
  shm::ShmLink& link_of(Party& party) { return static_cast<shm::ShmLink&>(*party.core.find_link(alice.id)); }

  // A packet that is mostly right, and wrong in a place here and there.
  struct Plan {
    std::size_t slot, length, metadata;
    std::uint32_t entry, delta, message;
    std::uint64_t offset;
    std::uint64_t key_flip;
    bool slots_key;  // also where the entry has one of its own
    std::uint32_t slot_flip, generation_more, incarnation_more;
    Operation operation;
  };
  Plan plan() {
    Plan p{};
    p.slot = random.one_in(2) ? 0 : random.below(6);
    constexpr std::size_t kLengths[] = {0, 1, 8, 15, 16, 17, 63, 64, 200, kArea};
    p.length = kLengths[random.below(std::size(kLengths))];
    p.metadata = random.one_in(3) ? random.below(61) : 0;
    p.entry = random.one_in(3) ? Ticket::kFast : static_cast<std::uint32_t>(random.below(kEntries + 1));
    p.delta = random.one_in(4) ? static_cast<std::uint32_t>(random.below(4)) - 2 : 0;
    p.message = static_cast<std::uint32_t>(random.below(3));
    const std::uint64_t offsets[] = {0, kArea - p.length, kArea - p.length + 1, kArea, ~std::uint64_t{0}};
    p.offset = offsets[random.one_in(3) ? random.below(std::size(offsets)) : 0];
    if (random.one_in(10)) p.key_flip = std::uint64_t{1} << random.below(64);
    p.slots_key = random.one_in(6);
    if (random.one_in(20)) p.slot_flip = 1u << random.below(32);
    if (random.one_in(20)) p.generation_more = random.one_in(2) ? 1 : ~0u;
    if (random.one_in(8)) p.incarnation_more = random.one_in(2) ? 1 : ~0u;
    p.operation = random.one_in(10) ? Operation::write_acknowledged : Operation::write;
    return p;
  }
  static Packet packet_for(Receiver& at, const Plan& p) {
    TestSlot& slot = *at.slots[p.slot];
    const Ticket ticket = p.entry < kEntries ? slot.ticket(p.entry) : slot.ticket();
    Packet packet = hand_made(ticket, p.length);
    set_lead(packet, p.operation, p.length, p.metadata);
    set_entry(packet, p.entry, p.delta);
    packet.word = interface::message_word(p.message, ticket.incarnation + p.incarnation_more);
    packet.offset = p.offset;
    if (p.slots_key) packet.key = slot.ticket().key;
    packet.key ^= p.key_flip;
    packet.slot ^= p.slot_flip;
    packet.generation += p.generation_more;
    return packet;
  }

  void expect_same(const Plan& p, Receiver& one, Receiver& two) {
    for (std::size_t i = 0; i < static_cast<std::size_t>(Refusal::count); ++i)
      EXPECT_EQ(one.party.counters().refused[i], two.party.counters().refused[i])
          << name(static_cast<Refusal>(i));
    for (std::size_t s = 0; s < one.slots.size(); ++s) {
      EXPECT_TRUE(same(one.areas[s]->bytes(), two.areas[s]->bytes())) << "slot " << s;
      EXPECT_EQ(one.slots[s]->record().counters->messages, two.slots[s]->record().counters->messages);
      EXPECT_EQ(one.slots[s]->record().counters->bytes, two.slots[s]->record().counters->bytes);
      for (std::uint32_t e = 0; e < kEntries; ++e) {
        const interface::MetadataEntry& a = one.slots[s]->entry(e);
        const interface::MetadataEntry& b = two.slots[s]->entry(e);
        EXPECT_EQ(a.state, b.state) << "slot " << s << " entry " << e;
        EXPECT_EQ(a.incarnation, b.incarnation);
        EXPECT_TRUE(same(one.slots[s]->metadata(e), two.slots[s]->metadata(e)));
      }
    }
    EXPECT_EQ(link_of(one.party).counters->packets_in, link_of(two.party).counters->packets_in);
    EXPECT_EQ(link_of(one.party).counters->bytes_in, link_of(two.party).counters->bytes_in);
    if (HasFailure()) {
      FAIL() << "slot " << p.slot << " entry " << p.entry << " length " << p.length << " metadata "
             << p.metadata << " delta " << p.delta << " offset " << p.offset << " operation "
             << static_cast<int>(p.operation);
    }
  }

  sim::Generator random{0};
};

TEST_P(ShmShort, does_what_the_long_way_does_with_any_packet) {
  carol.core.make_queue(64);  // bob has one
  Receiver long_way(bob), short_way(carol);
  Terminus terminus{alice.core, 63};
  for (Receiver* each : {&long_way, &short_way}) {  // places at two slots are granted
    for (const std::size_t slot : {std::size_t{0}, std::size_t{4}})
      ASSERT_EQ(send_fast(terminus, each->slots[slot]->ticket(), {}), Status::ok);
  }
  rest();
  long_way.told(), short_way.told();
  int taken = 0;
  for (std::uint64_t seed = 0; seed < 1200; ++seed) {
    random = sim::Generator(seed);
    const Plan p = plan();
    inject(packet_for(long_way, p), alice, bob);
    inject(packet_for(short_way, p), alice, carol);
    std::vector<Notification> heard;
    Notification n;
    if (link_of(carol).take_whole(carol.core, *short_way.queue, n)) {
      heard.push_back(n);
      ++taken;
    }
    rest();
    for (const Notification& each : short_way.told()) heard.push_back(each);
    const std::vector<Notification> wanted = long_way.told();
    EXPECT_TRUE(std::ranges::equal(wanted, heard, alike))
        << written(wanted) << "by the long way, by the short one\n"
        << written(heard);
    expect_same(p, long_way, short_way);
    ASSERT_FALSE(HasFailure()) << "seed " << seed;
    for (std::size_t s = 0; s < long_way.slots.size(); ++s) {
      for (std::uint32_t e = 0; e < kEntries; ++e) {
        if (random.below(3) != 0) continue;
        EXPECT_EQ(long_way.slots[s]->arm(e), short_way.slots[s]->arm(e));
      }
    }
  }
  EXPECT_GT(taken, 60) << "the short way was hardly taken";
  EXPECT_LT(taken, 1000);
}

TEST_P(ShmShort, takes_no_more_in_fast_mode_than_the_places_that_were_granted) {
  Receiver at(bob);
  Terminus terminus{alice.core, 63};
  ASSERT_EQ(send_fast(terminus, at.slots[0]->ticket(), {}), Status::ok);
  rest();
  at.told();
  Packet packet = hand_made(at.slots[0]->ticket(), 64);
  packet.delta = 0;  // the first place record
  for (int i = 0; i < 4; ++i) inject(packet);
  rest();  // all four stand in the queue now
  inject(packet);
  Notification n;
  EXPECT_FALSE(link_of(bob).take_whole(bob.core, *at.queue, n));
  rest();
  EXPECT_EQ(bob.refused(Refusal::no_place), 1u);
}

TEST_P(ShmShort, takes_nothing_for_a_slot_that_has_gone) {
  Receiver at(bob);
  for (const Ticket& ticket : {at.slots[0]->ticket(0), at.slots[0]->ticket()}) {
    if (ticket.fast()) at.slots[0]->drop();
    inject(hand_made(ticket, 64));
    Notification n;
    EXPECT_EQ(link_of(bob).take_whole(bob.core, *at.queue, n), !ticket.fast());
    rest();
  }
  EXPECT_EQ(bob.refused(Refusal::stale_generation), 1u);
}

TEST_P(ShmShort, takes_nothing_before_replies_and_urgent_packets_or_from_a_broken_link) {
  Receiver at(bob);
  const Packet packet = hand_made(at.slots[0]->ticket(0), 64);
  Notification n;
  inject(packet);
  interface::Link* link = alice.core.find_link(bob.id);
  ASSERT_EQ(link->put(packet, junk, junk, Priority::urgent), Status::ok);
  EXPECT_FALSE(link_of(bob).take_whole(bob.core, *at.queue, n));
  EXPECT_FALSE(link_of(bob).take_request(bob.core));
  rest();
  at.told();
  at.slots[0]->arm(0);
  Packet reply{};
  reply.lead.operation = Operation::credit;
  inject(packet);
  ASSERT_EQ(link->put_reply(reply, junk), Status::ok);
  EXPECT_FALSE(link_of(bob).take_whole(bob.core, *at.queue, n));
  rest();
  at.told();
  at.slots[0]->arm(0);
  inject(packet);
  link_of(bob).broken = true;
  EXPECT_FALSE(link_of(bob).take_whole(bob.core, *at.queue, n));
  EXPECT_FALSE(link_of(bob).take_request(bob.core));
}

// One after the other, each served by the short way; more of them than the ring of replies has cells.
TEST_P(ShmShort, serves_requests_as_the_long_way_does) {
  Area area(kArea), own(kArea);
  TestSlot slot(bob, area, queue, {.access = Access::read_write, .fetches = true, .gets = 128});
  TestSlot landing(alice, own, alice.core.make_queue(16), {});
  Terminus terminus{alice.core, 63};
  Requests& asks = terminus.requests();
  const std::vector<std::byte> data = pattern(64, 1);
  std::copy(data.begin(), data.end(), area.bytes().begin() + 64);
  const auto served = [&](RemoteHandle handle) {
    EXPECT_TRUE(link_of(bob).take_request(bob.core));
    EXPECT_TRUE(until([&] { return asks.outcome(handle).status != Status::pending; }));
    return asks.outcome(handle);
  };
  for (std::uint64_t i = 0; i < 200; ++i) {
    RemoteHandle handle;
    ASSERT_EQ(asks.fetch(slot.ticket(), {.operand = 3}, {}, nullptr, &handle), Status::pending);
    EXPECT_EQ(served(handle).value, 3 * i);
    ASSERT_EQ(asks.get(slot.ticket(), {landing.index(), 64, 64}, {.offset = 64}, nullptr, &handle),
              Status::pending);
    EXPECT_EQ(served(handle).status, Status::ok);
    EXPECT_TRUE(same(own.bytes().subspan(64, 64), data));
  }
  Ticket wrong = slot.ticket();
  wrong.key ^= 1;
  RemoteHandle handle;
  ASSERT_EQ(asks.fetch(wrong, {.operand = 3}, {}, nullptr, &handle), Status::pending);
  const Outcome outcome = served(handle);
  EXPECT_EQ(outcome.status, Status::refused);
  EXPECT_EQ(outcome.cause, Refusal::bad_key);
  EXPECT_EQ(bob.refused(Refusal::bad_key), 1u);
  Ticket longer = slot.ticket();
  longer.bound += 8;
  ASSERT_EQ(asks.fetch(longer, {.operand = 1}, {.offset = kArea}, nullptr, &handle), Status::pending);
  EXPECT_EQ(served(handle).cause, Refusal::out_of_bounds);
  inject(hand_made(slot.ticket(), 16));
  EXPECT_FALSE(link_of(bob).take_request(bob.core)) << "a message is no request";
}

INSTANTIATE_TEST_SUITE_P(fabric, ShmShort, testing::Values(FabricKind{"shm", make_shm_fabric}), fabric_name);

}  // namespace
}  // namespace hamlyn::test
