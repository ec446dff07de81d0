// Each way in of a packet within a host against Core::deposit: a packet of each kind, right or with any of
// its bits turned over, does the same. Bob's link remembers nothing, so that deposit takes each packet that
// he gets; carol gets one like it, behind one that was right, and takes both by the way that is compared.
#include <algorithm>
#include <functional>

#include "test/conformance/short_ways.h"

namespace hamlyn::test {
namespace {

using interface::Operation;
using interface::Packet;
using interface::Terminus;

constexpr std::size_t kWaysBytes = 512;  // of an area
constexpr std::uint32_t kWaysEntries = 2;
constexpr std::size_t kDataBits = 8 * sizeof(std::uint64_t) * interface::kDataWord;  // behind them only data
constexpr std::uint32_t kPutName = 1;                                                // of the second opening

// Slots of the kinds that short ways know, and of one that none takes.
struct Sides {
  explicit Sides(Party& owner) : party(owner) {
    slots.push_back(make({.entries = kWaysEntries, .places = 32}));
    slots.push_back(
        make({.entries = kWaysEntries, .places = 32, .fetches = true, .gets = 128, .puts = true}));
    slots.push_back(make({.entries = kWaysEntries}));
    slots.push_back(make({.mode = Mode::paranoid, .entries = kWaysEntries, .gets = 128}));
    for (std::uint32_t e = 0; e < kWaysEntries; ++e) EXPECT_EQ(slots[kGroup]->disarm(e), Status::ok);
    arm();
  }
  std::unique_ptr<TestSlot> make(const Slot::Options& options) {
    areas.push_back(std::make_unique<Area>(kWaysBytes));
    return std::make_unique<TestSlot>(party, *areas.back(), queue, options);
  }
  // Each entry takes the next message. Returns the statuses.
  std::vector<Status> arm() {
    std::vector<Status> all;
    for (std::size_t s = 0; s < slots.size(); ++s) {
      for (std::uint32_t e = 0; e < kWaysEntries; ++e)
        all.push_back(s == kGroup ? party.core.arm_group(slots[s]->index(), e, {}) : slots[s]->arm(e));
    }
    return all;
  }
  std::vector<Notification> told() {
    std::vector<Notification> all;
    for (const auto& each : party.core.queues()) {
      while (const std::optional<Notification> next = take(party, each.get())) all.push_back(*next);
    }
    // Errors stand in the first queue, behind or before what the short way has handed over.
    std::ranges::stable_partition(
        all, [](const Notification& each) { return each.kind == Notification::Kind::message; });
    return all;
  }

  static constexpr std::size_t kGroup = 2;  // whose entries are filled by groups

  Party& party;
  interface::Queue* queue = party.core.make_queue(64);
  std::vector<std::unique_ptr<Area>> areas;
  std::vector<std::unique_ptr<TestSlot>> slots;
};

// One that is right, for the slots of that side.
struct Kind {
  const char* name;
  std::function<Packet(Sides&)> make;
};

enum class WayIn { arrive, run, message, serve };

class ShmWays : public ShortWays {
 protected:
  static Packet fast(Sides& at, std::size_t length) {
    Packet packet = hand_made(at.slots[0]->ticket(), length);
    interface::set_entry(packet, Ticket::kFast, 0);  // the name of the first opening
    packet.offset = 128;
    return packet;
  }
  static Packet counted(Sides& at, std::size_t slot, std::size_t length, std::size_t metadata,
                        std::uint32_t delta) {
    const Ticket ticket = at.slots[slot]->ticket(0);
    Packet packet = hand_made(ticket, length);
    interface::set_lead(packet, Operation::write, length, metadata);
    interface::set_entry(packet, 0, delta);
    packet.offset = 128;
    return packet;
  }
  static Packet put(std::size_t length, std::uint64_t offset) {
    Packet packet{};
    interface::set_lead(packet, Operation::put, interface::kInlineData, 0);
    std::byte data[interface::kPutInline];
    std::fill(std::begin(data), std::end(data), std::byte{0x5A});
    interface::set_tight_data(packet, data, sizeof data);
    interface::set_word(
        packet, interface::kSlotWord,
        interface::put_word(interface::opening_word(kPutName, kPutName), length, false, offset));
    return packet;
  }
  // By the first opening.
  static Packet opened(std::size_t length, std::uint64_t offset) {
    Packet packet{};
    interface::set_word(packet, interface::kLeadWord, interface::opened_lead());
    for (std::size_t i = interface::kKeyWord; i != interface::kOpenedUserWord; ++i)
      interface::set_word(packet, i, 0x5A5A5A5A5A5A5A5Au);
    interface::set_word(packet, interface::kOpenedUserWord, 7);
    interface::set_word(packet, interface::kSlotWord,
                        interface::put_word(interface::opening_word(0, 0), length, false, offset));
    return packet;
  }
  static Packet request(Sides& at, Operation operation, std::uint32_t delta) {
    Packet packet = hand_made(at.slots[1]->ticket(), 0);
    interface::set_lead(packet, operation, operation == Operation::fetch ? interface::kInlineData : 0, 0);
    interface::set_entry(packet, interface::kNoEntry, delta);
    packet.offset = 128;
    packet.word = 5;
    const std::uint64_t operands[2] = {3, 0};
    std::memcpy(packet.data, operands, sizeof operands);
    return packet;
  }

  static std::vector<Kind> kinds() {
    const auto add = static_cast<std::uint32_t>(FetchOp::add);
    return {{"fast of 16", [](Sides& at) { return fast(at, 16); }},
            {"fast of 5", [](Sides& at) { return fast(at, 5); }},
            {"fast of 64", [](Sides& at) { return fast(at, 64); }},
            {"one by an opening", [](Sides&) { return opened(40, 64); }},
            {"one of 23 by an opening", [](Sides&) { return opened(23, 5); }},
            {"a message", [](Sides& at) { return counted(at, 0, 16, 0, 0); }},
            {"a long message", [](Sides& at) { return counted(at, 0, 100, 9, 0); }},
            {"a group's", [](Sides& at) { return counted(at, Sides::kGroup, 16, 0, 0x40000000); }},
            {"a paranoid one", [](Sides& at) { return counted(at, 3, 16, 0, 0); }},
            {"a put", [](Sides&) { return put(48, 64); }},
            {"a put of 9", [](Sides&) { return put(9, 3); }},
            {"a get", [](Sides& at) { return request(at, Operation::get, 40); }},
            {"a fetch",
             [=](Sides& at) { return request(at, Operation::fetch, interface::fetch_delta(add, 8, true)); }},
            {"a fence", [](Sides& at) { return request(at, Operation::fence, interface::kNoOpening); }}};
  }

  // As it is, with its data in its cell, or with junk behind it.
  void send(const Packet& packet, Party& to) {
    const std::byte* const data = packet.lead.length <= interface::kInlineData ? packet.data : junk;
    ASSERT_EQ(alice.core.find_link(to.id)->put(packet, data, junk), Status::ok);
  }
  // Carol takes what is there. Returns whether the way that is compared has taken any.
  bool take_by(WayIn by, Sides& at, std::vector<Notification>& heard) {
    shm::ShmLink& link = link_of(at.party);
    Notification n;
    switch (by) {
      case WayIn::arrive:
        return link.arrive(at.party.core, 1) != 0;
      case WayIn::run: {
        shm::ShortWay way(at.party.core);
        way.open(link, *at.queue, link.until_settled() - 1);
        if (!way.open_for(*at.queue)) return false;
        if (way.take_run(*at.queue, {&n, 1}, 0) == 0 && !way.take_block(*at.queue, n)) return false;
        way.close();
        break;
      }
      case WayIn::message:
        if (!take_message(at.party, link, *at.queue, n)) return false;
        break;
      case WayIn::serve:
        return link.take(shm::Put{}) == shm::ShmLink::Taken::taken || take_request(at.party, link);
    }
    heard.push_back(n);
    return true;
  }
  // The packet goes to both, and does the same. Returns whether the way has taken it.
  bool compare(const Packet& to_bob, const Packet& to_carol, WayIn by, Sides& one, Sides& two) {
    forget_guilt();
    send(to_bob, bob);
    send(to_carol, carol);
    std::vector<Notification> heard;
    link_of(bob).cached.forget();
    const bool taken = take_by(by, two, heard);
    turns(2);  // the packet, and what answers it
    for (const Notification& each : two.told()) heard.push_back(each);
    const std::vector<Notification> wanted = one.told();
    EXPECT_TRUE(std::ranges::equal(wanted, heard, alike)) << written(wanted) << "by deposit, by the way\n"
                                                          << written(heard);
    expect_same_state(one, two);
    EXPECT_EQ(one.arm(), two.arm());
    turn();  // places that were taken are told of
    return taken;
  }
  void expect_same_state(Sides& one, Sides& two) {
    for (std::size_t i = 0; i < static_cast<std::size_t>(Refusal::count); ++i) {
      const auto cause = static_cast<Refusal>(i);
      EXPECT_EQ(one.party.refused(cause), two.party.refused(cause)) << name(cause);
    }
    // Alice has asked for nothing, so she refuses each answer. (Of credits one may tell what two would.)
    constexpr auto kAnswers = static_cast<std::size_t>(Refusal::unasked_reply);
    EXPECT_EQ(alice.core.find_link(bob.id)->counters->refused[kAnswers],
              alice.core.find_link(carol.id)->counters->refused[kAnswers]);
    for (std::size_t s = 0; s < one.slots.size(); ++s) {
      EXPECT_TRUE(same(one.areas[s]->bytes(), two.areas[s]->bytes())) << "slot " << s;
      EXPECT_EQ(one.slots[s]->record().counters->messages, two.slots[s]->record().counters->messages);
      EXPECT_EQ(one.slots[s]->record().counters->bytes, two.slots[s]->record().counters->bytes);
      for (std::uint32_t e = 0; e < kWaysEntries; ++e) {
        const interface::MetadataEntry& a = one.slots[s]->entry(e);
        const interface::MetadataEntry& b = two.slots[s]->entry(e);
        EXPECT_EQ(a.state, b.state) << "slot " << s << " entry " << e;
        EXPECT_EQ(a.incarnation, b.incarnation) << "slot " << s << " entry " << e;
        EXPECT_TRUE(same(one.slots[s]->metadata(e), two.slots[s]->metadata(e)));
      }
    }
    EXPECT_EQ(link_of(one.party).counters->packets_in, link_of(two.party).counters->packets_in);
    EXPECT_EQ(link_of(one.party).counters->bytes_in, link_of(two.party).counters->bytes_in);
    EXPECT_EQ(link_of(one.party).broken, link_of(two.party).broken);
  }

  // A lead that no peer writes ends the link by any way: HostilePackets has them.
  static bool may_stand(const Packet& packet) {
    return interface::invalid(packet.lead, kMtu) == nullptr &&
           packet.lead.operation != Operation::continue_ring &&
           interface::cells_of(packet.lead) < shm::kHomeCells - 2;
  }
  static Packet turned(Packet packet, std::size_t bit) {
    reinterpret_cast<std::byte*>(&packet)[bit / 8] ^= std::byte{1} << bit % 8;
    return packet;
  }
};

TEST_P(ShmWays, do_what_deposit_does_with_each_bit_of_each_packet) {
  carol.core.make_queue(64);  // bob has one
  Sides by_deposit(bob), by_way(carol);
  Terminus terminus{alice.core, 63};
  for (Sides* each : {&by_deposit, &by_way}) {
    for (const std::size_t slot : {0u, 1u})
      ASSERT_EQ(send_fast(terminus, each->slots[slot]->ticket(), {}), Status::ok);
  }
  rest();
  by_deposit.told(), by_way.told();
  for (const WayIn by : {WayIn::arrive, WayIn::run, WayIn::message, WayIn::serve}) {
    int taken = 0;
    for (const Kind& kind : kinds()) {
      const auto pass = [&](const std::function<Packet(Packet)>& change) {
        const Packet to_bob = change(kind.make(by_deposit)), to_carol = change(kind.make(by_way));
        return may_stand(to_bob) && compare(to_bob, to_carol, by, by_deposit, by_way);
      };
      // Behind one that was right, which the way may remember.
      const auto pass_behind_one = [&](const std::function<Packet(Packet)>& change) {
        taken += pass([](Packet packet) { return packet; });
        taken += pass(change);
      };
      for (std::size_t bit = 32; bit < 8 * interface::kCell; bit += bit < kDataBits ? 1 : 8) {
        pass_behind_one([&](const Packet& packet) { return turned(packet, bit); });
        ASSERT_FALSE(HasFailure()) << kind.name << ", bit " << bit << ", way " << static_cast<int>(by);
      }
    }
    EXPECT_GT(taken, 1000) << "way " << static_cast<int>(by) << " was hardly taken";
  }
}

INSTANTIATE_TEST_SUITE_P(fabric, ShmWays, testing::Values(FabricKind{"shm", make_shm_fabric}), fabric_name);

}  // namespace
}  // namespace hamlyn::test
