// The short ways in for a whole message in one packet (shm::Message, CachedBlock) against the long one:
// whatever comes, both do the same. Bob is asked by the long way, carol by the short one, by packets that
// differ only in what their tickets differ in.
#include <algorithm>

#include "test/conformance/short_ways.h"

namespace hamlyn::test {
namespace {

using interface::Operation;
using interface::Packet;
using interface::Terminus;

constexpr std::size_t kArea = 512;
constexpr std::uint32_t kEntries = 4;
constexpr std::uint32_t kPlaces = 32;  // of the first slot: a run needs some

// What one of the two has: slots of every kind on two queues.
struct Receiver {
  explicit Receiver(Party& owner) : party(owner) {
    slots.push_back(make(queue, {.entries = kEntries, .places = kPlaces}));
    slots.push_back(make(queue, {.entries = kEntries, .fast = false}));
    slots.push_back(make(queue, {.mode = Mode::paranoid, .entries = kEntries}));
    slots.push_back(make(queue, {.access = Access::read_only, .entries = kEntries}));
    slots.push_back(make(other, {.entries = kEntries, .places = 4}));
    slots.push_back(make(queue, {.entries = kEntries, .places = 4}));
    slots.back()->notify_after(3);
    slots.push_back(make(queue, {.entries = kEntries}));
    slots.push_back(make(queue, {.entries = kEntries, .places = kPlaces}));
    for (std::uint32_t e = 0; e < kEntries; ++e) {
      EXPECT_EQ(slots[2]->arm(e), Status::ok);
      EXPECT_EQ(slots[kGroups]->disarm(e), Status::ok);
      EXPECT_EQ(arm(kGroups, e), Status::ok);
    }
  }
  std::unique_ptr<TestSlot> make(interface::Queue* of, const Slot::Options& options) {
    areas.push_back(std::make_unique<Area>(kArea));
    return std::make_unique<TestSlot>(party, *areas.back(), of, options);
  }
  Status arm(std::size_t slot, std::uint32_t entry) {
    return slot == kGroups ? party.core.arm_group(slots[slot]->index(), entry, {}) : slots[slot]->arm(entry);
  }
  std::vector<Notification> told() {
    std::vector<Notification> all;
    for (const auto& each : party.core.queues()) {
      while (const std::optional<Notification> next = take(party, each.get())) all.push_back(*next);
    }
    return all;
  }

  static constexpr std::size_t kGroups = 6;  // whose entries are filled by groups
  static constexpr std::size_t kOther = 4;   // told of elsewhere
  static constexpr std::size_t kSecond = 7;  // like the first, and no plan is for it

  Party& party;
  interface::Queue* queue = party.core.make_queue(64);
  interface::Queue* other = party.core.make_queue(64);
  std::vector<std::unique_ptr<Area>> areas;
  std::vector<std::unique_ptr<TestSlot>> slots;
};

class ShmShort : public ShortWays {
 protected:
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
    p.slot = random.one_in(2) ? 0 : random.below(7);
    constexpr std::size_t kLengths[] = {0, 1, 8, 15, 16, 17, 63, 64, 200, kArea};
    p.length = kLengths[random.below(std::size(kLengths))];
    p.metadata = random.one_in(3) ? random.below(61) : 0;
    p.entry = random.one_in(3) ? Ticket::kFast : static_cast<std::uint32_t>(random.below(kEntries + 1));
    p.delta = random.one_in(4) ? static_cast<std::uint32_t>(random.below(4)) - 2 : 0;
    // Shares that are honest, none at all, or more than is left.
    constexpr std::uint32_t kShares[] = {0xFFFFFFFFu, 0x80000000u, 0x7FFFFFFFu, 0x40000000u, 3, 0};
    if (p.slot == Receiver::kGroups) p.delta = kShares[random.below(std::size(kShares))];
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
        if (a.state == interface::EntryState::gathering) {
          EXPECT_EQ(a.accumulator, b.accumulator);
        }
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

  // As the owner of the queue does in an open run, for what is there.
  void take_in_run(Receiver& at, std::vector<Notification>& heard) {
    shm::ShortWay way(at.party.core);
    way.open(link_of(at.party), *at.queue, link_of(at.party).until_settled() - 1);
    Notification n;
    while (way.open_for(*at.queue)) {
      if (way.take_run(*at.queue, {&n, 1}, 0) == 0) {
        if (!way.take_block(*at.queue, n)) break;
        ++blocks;
      }
      heard.push_back(n);
    }
    way.close();
  }
  int blocks = 0;
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
    forget_guilt();
    inject(packet_for(long_way, p), alice, bob);
    inject(packet_for(short_way, p), alice, carol);
    std::vector<Notification> heard;
    Notification n;
    if (random.one_in(2)) {
      take_in_run(short_way, heard);
    } else if (take_message(carol, link_of(carol), *short_way.queue, n)) {
      heard.push_back(n);
    }
    taken += !heard.empty();
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
        EXPECT_EQ(long_way.arm(s, e), short_way.arm(s, e));
      }
    }
  }
  EXPECT_GT(taken, 60) << "the short way was hardly taken";
  EXPECT_LT(taken, 1000);
}

// The same of blocks alone, whose slot is the one before: right, or wrong in one place.
TEST_P(ShmShort, does_what_the_long_way_does_with_a_block_in_a_run) {
  carol.core.make_queue(64);  // bob has one
  Receiver long_way(bob), short_way(carol);
  Terminus terminus{alice.core, 63};
  for (Receiver* each : {&long_way, &short_way}) {
    for (const std::size_t slot : {std::size_t{0}, Receiver::kSecond, Receiver::kOther})
      ASSERT_EQ(send_fast(terminus, each->slots[slot]->ticket(), {}), Status::ok);
  }
  rest();
  long_way.told(), short_way.told();
  for (std::uint64_t seed = 0; seed < 1200; ++seed) {
    random = sim::Generator(seed);
    forget_guilt();
    Plan p{};
    for (std::uint64_t packets = 1 + random.below(6); packets != 0; --packets) {
      p = plan();
      const bool blocks_alone = seed >= 600;  // of another slot than the short ones before
      const bool second = blocks_alone || random.one_in(3);
      p.slot = second ? Receiver::kSecond : 0, p.entry = Ticket::kFast;
      p.delta = second;  // the name of its places
      if (random.one_in(6)) p.slot = Receiver::kOther, p.delta = 2;
      p.operation = Operation::write;
      p.length = 1 + random.below(random.one_in(8) ? kArea : 150);
      if (blocks_alone) p.length = std::max<std::size_t>(p.length, 17);
      if (!random.one_in(8)) p.metadata = 0, p.offset = random.below(kArea + 1 - p.length);
      inject(packet_for(long_way, p), alice, bob);
      inject(packet_for(short_way, p), alice, carol);
    }
    std::vector<Notification> heard;
    take_in_run(short_way, heard);
    rest();
    for (const Notification& each : short_way.told()) heard.push_back(each);
    std::vector<Notification> wanted = long_way.told();
    // Those of each queue are in their order; of errors hears another.
    for (std::vector<Notification>* told : {&wanted, &heard})
      std::ranges::stable_partition(
          *told, [](const Notification& each) { return each.kind == Notification::Kind::message; });
    EXPECT_TRUE(std::ranges::equal(wanted, heard, alike)) << written(wanted) << "by the long way, in a run\n"
                                                          << written(heard);
    expect_same(p, long_way, short_way);
    rest();  // what was taken is told of
    for (const interface::ReceiveCredit& each : carol.core.places())
      EXPECT_FALSE(each.queue != nullptr && each.credit_due()) << "places that were freed are not told of";
    ASSERT_FALSE(HasFailure()) << "seed " << seed;
  }
  EXPECT_GT(blocks, 300) << "hardly a block was taken in a run";
}

// What a block is compared with does not outlive the slot, nor does it come from nowhere.
TEST_P(ShmShort, takes_no_block_in_a_run_for_a_slot_that_has_gone) {
  Receiver at(bob);
  Terminus terminus{alice.core, 63};
  const std::vector<std::byte> block = pattern(64, 1);
  ASSERT_EQ(send_fast(terminus, at.slots[0]->ticket(), block), Status::ok);
  rest();
  at.told();
  Packet packet = hand_made(at.slots[0]->ticket(), 64);
  set_lead(packet, Operation::write, 64, 0);
  set_entry(packet, Ticket::kFast, 0);
  shm::ShortWay way(bob.core);
  way.open(link_of(bob), *at.queue, 8);
  const shm::ShortRun& run = way.run();
  ASSERT_EQ(run.queue, at.queue);
  at.slots[0].reset();
  EXPECT_EQ(run.queue, nullptr) << "what it rests on has changed";
  rest();
  way.open(link_of(bob), *at.queue, 8);
  inject(packet, alice, bob);
  Notification n;
  EXPECT_FALSE(run.queue != nullptr && way.take_block(*at.queue, n));
  Packet zeros{};
  set_lead(zeros, Operation::write, 64, 0);
  rest();
  inject(zeros, alice, bob);
  EXPECT_FALSE(run.queue != nullptr && way.take_block(*at.queue, n)) << "nothing remembered is no slot";
  rest();
}

TEST_P(ShmShort, takes_no_more_in_fast_mode_than_the_places_that_were_granted) {
  Receiver at(bob);
  Terminus terminus{alice.core, 63};
  ASSERT_EQ(send_fast(terminus, at.slots[0]->ticket(), {}), Status::ok);
  rest();
  at.told();
  Packet packet = hand_made(at.slots[0]->ticket(), 64);
  packet.delta = 0;  // the first place record
  for (std::uint32_t i = 0; i < kPlaces; ++i) inject(packet);
  rest();  // all of them stand in the queue now
  inject(packet);
  Notification n;
  EXPECT_FALSE(take_message(bob, link_of(bob), *at.queue, n));
  rest();
  EXPECT_EQ(bob.refused(Refusal::no_place), 1u);
}

TEST_P(ShmShort, takes_nothing_for_a_slot_that_has_gone) {
  Receiver at(bob);
  for (const Ticket& ticket : {at.slots[0]->ticket(0), at.slots[0]->ticket()}) {
    if (ticket.fast()) at.slots[0]->drop();
    inject(hand_made(ticket, 64));
    Notification n;
    EXPECT_EQ(take_message(bob, link_of(bob), *at.queue, n), !ticket.fast());
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
  EXPECT_FALSE(take_message(bob, link_of(bob), *at.queue, n));
  EXPECT_FALSE(take_request(bob, link_of(bob)));
  rest();
  at.told();
  EXPECT_EQ(at.slots[0]->arm(0), Status::ok);
  Packet reply{};
  reply.lead.operation = Operation::credit;
  inject(packet);
  ASSERT_EQ(link->put_reply(reply, junk), Status::ok);
  EXPECT_FALSE(take_message(bob, link_of(bob), *at.queue, n));
  rest();
  at.told();
  EXPECT_EQ(at.slots[0]->arm(0), Status::ok);
  inject(packet);
  link_of(bob).broken = true;
  EXPECT_FALSE(take_message(bob, link_of(bob), *at.queue, n));
  EXPECT_FALSE(take_request(bob, link_of(bob)));
}

// A short message would find room for ever where a long one waits for more of it.
TEST_P(ShmShort, goes_ahead_of_nobody_who_waits_for_room) {
  Area area(kMtu);
  TestSlot slot(bob, area, queue, {.entries = 1, .places = 56});
  const Ticket ticket = slot.ticket();
  Terminus longer{alice.core, 63}, shorter{alice.core, 63};
  ASSERT_EQ(send_fast(shorter, ticket, {}), Status::ok);
  rest();
  shm::ShmLink& link = *alice.core.find_link(bob.id)->local();
  while (link.has_room(Priority::normal) || !link.cached_room())
    ASSERT_EQ(shorter.send_fast(ticket, {}, 0, 0), Status::ok) << "there is no room at all";
  SendHandle handle;
  const SendOptions longest{.metadata = {junk, interface::kMetadataLimit}};
  ASSERT_EQ(longer.send(slot.ticket(0), {junk, kMtu}, longest, &handle), Status::pending);
  shm::ShmLink* asleep = nullptr;
  const FastMessage row[2]{};
  EXPECT_FALSE(shm::ShortWay::send(shorter, ticket, {}, 0, 0, asleep));
  EXPECT_EQ(shm::ShortWay::send_row(shorter, ticket, row), 0u);
  EXPECT_EQ(shorter.send_fast(ticket, {}, 0, 0), Status::queue_full);
  while (longer.status(handle) == Status::pending) {
    ASSERT_FALSE(shm::ShortWay::send(shorter, ticket, {}, 0, 0, asleep)) << "the long one still waits";
    turn();
  }
  EXPECT_EQ(send_fast(shorter, ticket, {}), Status::ok);
  // The short way is open again, once no cell of the lap can hold data.
  EXPECT_TRUE(until([&] {
    while (take(bob, queue)) {
    }
    if (shm::ShortWay::send(shorter, ticket, {}, 0, 0, asleep)) return true;
    static_cast<void>(shorter.send_fast(ticket, {}, 0, 0));
    return false;
  }));
}

INSTANTIATE_TEST_SUITE_P(fabric, ShmShort, testing::Values(FabricKind{"shm", make_shm_fabric}), fabric_name);

}  // namespace
}  // namespace hamlyn::test
