// Nothing that arrives ever waits for something that leaves (paper 0, section 2.8; docs/architecture.md,
// section 4). Each rule that this rests on is shown twice over all orders of a small case: with the rule
// every order comes to its end, and without it some order does not.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>

#include "interface/terminus.h"
#include "test/simulation/double_link.h"
#include "test/simulation/exploration.h"
#include "test/support/receiving.h"

namespace hamlyn::test {
namespace {

using interface::Terminus;

constexpr std::size_t kMostStates = 40000;  // beyond, a case is not small
constexpr std::uint32_t kLongGet = 300;     // its answer takes two packets

// What both nodes do, each to the other.
struct Plan {
  enum class Kind { counted, acknowledged, fast, remote, long_gets };
  Kind kind = Kind::counted;
  std::uint32_t messages = 2;
  std::size_t window = 1;               // of a link
  std::size_t places = 2;               // of a queue
  bool read_when_all_has_left = false;  // a program that sends everything before it looks at what has come
  bool one_reply_at_a_time = false;
};

class Digest {
 public:
  void add(std::uint64_t value) noexcept { digest_ = (digest_ ^ value) * 0x100000001B3u; }
  std::uint64_t value() const noexcept { return digest_; }

 private:
  std::uint64_t digest_ = 0xCBF29CE484222325u;
};

// A node and what its program has done so far.
class Node {
 public:
  Node(std::uint64_t number, const Plan& plan)
      : party(number),
        queue(party.core.make_queue(plan.places)),
        slot(party, area, queue, {.entries = plan.messages, .places = 1, .fetches = true, .gets = kLongGet}),
        terminus(party.core, plan.messages),
        handles(plan.messages),
        asked(plan.messages),
        plan_(plan) {}

  void send(Node& to) {
    if (sent == plan_.messages) return;
    Status status;
    if (asks()) {
      status = ask(to.slot.ticket());
    } else if (plan_.kind == Plan::Kind::fast) {
      status = terminus.send_fast(to.slot.ticket(), {}, sent, 0);
    } else {
      const SendOptions options{.acknowledged = plan_.kind == Plan::Kind::acknowledged};
      status = terminus.send(to.slot.ticket(sent), {}, options, &handles[sent]);
    }
    if (status == Status::ok || status == Status::pending) ++sent;
  }
  Status ask(const Ticket& ticket) {
    interface::Requests& requests = terminus.requests();
    if (plan_.kind == Plan::Kind::long_gets)
      return requests.get(ticket, {slot.index(), 0, kLongGet}, {}, nullptr, &asked[sent]);
    if (sent % 2 == 0) return requests.fetch(ticket, {.operand = 1}, {}, nullptr, &asked[sent]);
    return requests.get(ticket, {slot.index(), 16, 16}, {}, nullptr, &asked[sent]);
  }
  bool asks() const { return plan_.kind == Plan::Kind::remote || plan_.kind == Plan::Kind::long_gets; }
  void read() {
    if (plan_.read_when_all_has_left && (sent < plan_.messages || party.core.departures_wait())) return;
    const std::optional<Notification> n = take(party, queue);
    if (n && n->kind == Notification::Kind::message) ++received;
  }
  // Everything is sent, has come, and is known to have come.
  bool done() {
    for (const SendHandle handle : handles) {
      if (terminus.status(handle) == Status::pending) return false;
    }
    if (asks()) {
      return std::all_of(asked.begin(), asked.end(), [&](RemoteHandle handle) {
        return terminus.requests().outcome(handle).status == Status::ok;
      });
    }
    return sent == plan_.messages && received == plan_.messages;
  }
  void describe(Digest& digest) {
    for (const std::uint64_t value :
         {std::uint64_t{sent}, std::uint64_t{received}, std::uint64_t{queue->common_used()},
          std::uint64_t{queue->empty()}, std::uint64_t{party.core.departures_wait()}})
      digest.add(value);
    for (std::uint32_t i = 0; i < plan_.messages; ++i) {
      digest.add(static_cast<std::uint64_t>(slot.entry(i).state));
      digest.add(static_cast<std::uint64_t>(terminus.status(handles[i])));
      digest.add(static_cast<std::uint64_t>(terminus.requests().outcome(asked[i]).status));
    }
    for (const interface::ReceiveCredit& places : party.core.places()) {
      digest.add(places.standing);
      digest.add(places.freed);
      digest.add(places.told);
    }
    for (const auto& credit : link->credits) {
      digest.add(credit->asked);
      digest.add(credit->granted);
      digest.add(credit->left);
      digest.add(credit->freed);
    }
    digest.add(link->replies_due);
    digest.add(link->acknowledgements.due_count);
    digest.add(link->acknowledgements.awaited_count);
    for (const Priority level : {Priority::urgent, Priority::normal}) {
      digest.add(link->remote.asking(level));
      digest.add(link->remote.busy(level));
    }
    digest.add(link->remote.busy_long());
    digest.add(link->remote.held());
    for (const interface::Owed& owed : link->remote.owed) digest.add(owed.sent);
    for (const interface::Asked& each : link->remote.asked) digest.add(each.landed);
  }

  Party party;
  Area area{512};
  interface::Queue* queue;
  TestSlot slot;
  Terminus terminus;
  std::unique_ptr<DoubleLink> link;
  std::vector<SendHandle> handles;
  std::vector<RemoteHandle> asked;
  std::uint32_t sent = 0;
  std::uint32_t received = 0;

 private:
  Plan plan_;
};

class TwoNodes {
 public:
  TwoNodes(const Plan& plan, Broken broken)
      : nodes_{Node(1, plan), Node(2, plan)}, wires_{Wire{{plan.window}, {1}}, Wire{{plan.window}, {1}}} {
    for (std::size_t i = 0; i < 2; ++i) {
      Node& node = nodes_[i];
      interface::Queue& queue = *node.queue;
      node.link = std::make_unique<DoubleLink>(
          nodes_[1 - i].party.id, wires_[i], wires_[1 - i], broken,
          [&queue] { return queue.common_used() + queue.reserved() < queue.capacity(); });
      node.link->one_reply_at_a_time = plan.one_reply_at_a_time;
      node.party.core.add_link(*node.link);
    }
  }
  ~TwoNodes() {
    for (Node& node : nodes_) node.party.core.end_link(*node.link);
  }
  TwoNodes(const TwoNodes&) = delete;
  TwoNodes& operator=(const TwoNodes&) = delete;

  std::size_t moves() const { return 6 + under_way(); }
  void move(std::size_t which) {
    switch (which) {
      case 0:
      case 1:
        nodes_[which].send(nodes_[1 - which]);
        return;
      case 2:
      case 3:
        nodes_[which - 2].party.core.run();
        return;
      case 4:
      case 5:
        nodes_[which - 4].read();
        return;
      default:
        deliver(which - 6);
    }
  }
  bool done() { return nodes_[0].done() && nodes_[1].done(); }
  std::uint64_t state() {
    Digest digest;
    for (Node& node : nodes_) node.describe(digest);
    for (const Wire& wire : wires_) {
      for (const Channel* channel : {&wire.packets, &wire.replies}) {
        for (const auto& parcel : channel->under_way) describe(digest, parcel.packet);
        digest.add(99);
        for (const auto& parcel : channel->arrived) describe(digest, parcel.packet);
        digest.add(98);
      }
    }
    return digest.value();
  }

 private:
  static void describe(Digest& digest, const interface::Packet& packet) {
    digest.add(static_cast<std::uint64_t>(packet.lead.operation));
    digest.add(packet.entry);
    digest.add(packet.delta);
    digest.add(packet.word);
  }
  std::size_t under_way() const {
    std::size_t count = 0;
    for (const Wire& wire : wires_) count += wire.packets.under_way.size() + wire.replies.under_way.size();
    return count;
  }
  void deliver(std::size_t which) {
    for (Wire& wire : wires_) {
      for (Channel* channel : {&wire.packets, &wire.replies}) {
        if (which < channel->under_way.size()) return channel->deliver(which);
        which -= channel->under_way.size();
      }
    }
  }

  Node nodes_[2];
  Wire wires_[2];
};

Explored explore_plan(const Plan& plan, const Broken& broken) {
  return explore([&] { return std::make_unique<TwoNodes>(plan, broken); }, kMostStates);
}

void expect_that_all_orders_end(const Plan& plan) {
  const Explored explored = explore_plan(plan, {});
  EXPECT_EQ(explored.stuck, 0u);
  EXPECT_GE(explored.ends, 1u);
  EXPECT_LT(explored.states, kMostStates) << "not all orders were looked at";
  EXPECT_GT(explored.states, 100u) << "nothing much was looked at";
}

// A completion stands in its entry: a program that does not read holds up nobody. Without the rule, two
// programs that send everything before they read wait for each other.
TEST(Rules, completions_wait_in_their_entries_and_not_in_the_link) {
  const Plan plan{.messages = 3, .window = 1, .places = 1, .read_when_all_has_left = true};
  expect_that_all_orders_end(plan);
  EXPECT_GT(explore_plan(plan, {.arrivals_wait_for_places = true}).stuck, 0u);
}

// Fast-mode messages have places reserved for them, and a sender without one is told so. Without the rule, a
// message that was accepted is lost.
TEST(Rules, places_are_reserved_before_they_are_granted) {
  const Plan plan{.kind = Plan::Kind::fast, .messages = 2, .window = 2, .places = 2};
  expect_that_all_orders_end(plan);
  EXPECT_GT(explore_plan(plan, {.grants_are_not_reserved = true}).stuck, 0u);
}

// Replies have a way of their own. Without the rule, two interfaces that have room for one reply only wait
// for each other's requests to move on.
TEST(Rules, replies_do_not_stand_behind_requests) {
  const Plan plan{.kind = Plan::Kind::acknowledged, .messages = 2, .window = 1, .one_reply_at_a_time = true};
  expect_that_all_orders_end(plan);
  EXPECT_GT(explore_plan(plan, {.replies_share_the_ring = true}).stuck, 0u);
}

// A request has its work entry at the target before it is asked. Without the rule, one that comes while there
// is no room for its answer is lost.
TEST(Rules, requests_have_their_work_entries_reserved) {
  const Plan plan{.kind = Plan::Kind::remote, .messages = 2, .window = 1};
  expect_that_all_orders_end(plan);
  EXPECT_GT(explore_plan(plan, {.work_is_not_reserved = true}).stuck, 0u);
}

// What cannot be answered yet waits in its work entry, and answers go on landing where that was reserved.
// Without the rule, two interfaces that owe each other answers wait for each other's to be taken.
TEST(Rules, answers_are_taken_whatever_is_still_to_be_answered) {
  const Plan plan{.kind = Plan::Kind::remote, .messages = 2, .window = 1};
  expect_that_all_orders_end(plan);
  EXPECT_GT(explore_plan(plan, {.answers_come_first = true}).stuck, 0u);
}

// Long answers stand among the messages: what keeps them from holding up anybody is that they land at once,
// too.
TEST(Rules, long_answers_are_taken_whatever_is_still_to_be_answered) {
  const Plan plan{.kind = Plan::Kind::long_gets, .messages = 2, .window = 1};
  expect_that_all_orders_end(plan);
  EXPECT_GT(explore_plan(plan, {.answers_come_first = true}).stuck, 0u);
}

// Arriving before departing. Without the rule, two interfaces with more to send than their links hold wait
// for each other to take it.
TEST(Rules, what_arrives_is_taken_before_what_departs_has_left) {
  const Plan plan{.messages = 2, .window = 1};
  expect_that_all_orders_end(plan);
  EXPECT_GT(explore_plan(plan, {.departing_comes_first = true}).stuck, 0u);
}

// Packets that a flooding link hands over before a neighbour's only one has its turn.
std::size_t taken_before_the_neighbour(bool flood_is_first, std::size_t already_there, const Broken& broken) {
  Party party(1);
  Area area(64);
  interface::Queue* queue = party.core.make_queue(4096);
  TestSlot slot(party, area, queue, {.entries = 1});
  Wire flood_in{{1u << 20}, {1}}, neighbour_in{{16}, {1}}, out{{16}, {16}};
  DoubleLink flood(2, out, flood_in, broken, {}), neighbour(3, out, neighbour_in, broken, {});
  interface::Packet nonsense {};
  interface::set_lead(nonsense, interface::Operation::write, 0, 0);
  nonsense.slot = 1000;
  std::size_t taken = 0;
  const auto feed = [&] { flood_in.packets.arrived.push_back({nonsense, false}); };
  for (std::size_t i = 0; i < already_there; ++i) feed();
  // A peer that writes as fast as it is read, but not for ever: a test has an end.
  flood.taken = [&] {
    if (++taken < 5000) feed();
  };
  std::size_t before = 0;
  neighbour.taken = [&] { before = taken; };
  interface::Packet message {};
  interface::set_lead(message, interface::Operation::write, 0, 0);
  interface::set_slot(message, slot.ticket(0));
  message.entry = 0;
  message.word = interface::message_word(1, slot.ticket(0).incarnation);
  neighbour_in.packets.arrived.push_back({message, false});
  party.core.add_link(flood_is_first ? flood : neighbour);
  party.core.add_link(flood_is_first ? neighbour : flood);
  party.core.run();
  EXPECT_TRUE(neighbour_in.packets.arrived.empty());
  party.core.end_link(flood);
  party.core.end_link(neighbour);
  return before;
}

// Links are served in turn, each with a budget.
TEST(Rules, a_link_that_floods_delays_its_neighbour_by_its_budget_and_no_more) {
  for (const std::size_t there : {1u, 31u, 32u, 33u, 1000u}) {
    for (const bool first : {false, true}) {
      EXPECT_LE(taken_before_the_neighbour(first, there, {}), interface::Core::kSweepBudget);
    }
    EXPECT_GT(taken_before_the_neighbour(true, there, {.budget_is_ignored = true}), 1000u);
  }
}

// A sender is told at once what it cannot have, and its program never waits.
TEST(Rules, back_pressure_reaches_the_sender_as_a_status) {
  const Plan plan{.kind = Plan::Kind::fast, .messages = 8, .window = 8, .places = 2};
  Node sender(3, plan), receiver(4, plan);
  Wire there{{2}, {1}}, back{{2}, {1}};
  sender.link = std::make_unique<DoubleLink>(4, there, back, Broken{}, nullptr);
  receiver.link = std::make_unique<DoubleLink>(3, back, there, Broken{}, nullptr);
  sender.party.core.add_link(*sender.link);
  receiver.party.core.add_link(*receiver.link);
  const auto deliver_all = [&] {
    for (Wire* wire : {&there, &back}) {
      while (!wire->packets.under_way.empty()) wire->packets.deliver(0);
      while (!wire->replies.under_way.empty()) wire->replies.deliver(0);
    }
    receiver.party.core.run();
    sender.party.core.run();
  };
  const Ticket ticket = receiver.slot.ticket();
  EXPECT_EQ(sender.terminus.send_fast(ticket, {}, 0, 0), Status::connecting);
  for (int i = 0; i < 3; ++i) deliver_all();
  EXPECT_EQ(sender.terminus.send_fast(ticket, {}, 0, 0), Status::ok);
  EXPECT_EQ(sender.terminus.send_fast(ticket, {}, 0, 0), Status::no_place);
  // The link is full before all entries of the terminus are: then they fill, and then it says so.
  std::uint32_t taken = 0;
  Status status;
  while ((status = sender.terminus.send(receiver.slot.ticket(taken % plan.messages), {}, {}, nullptr)) !=
         Status::queue_full)
    ASSERT_LT(++taken, 20u);
  EXPECT_GE(taken, 8u);
  for (int i = 0; i < 20; ++i) deliver_all();
  receiver.read();
  for (int i = 0; i < 3; ++i) deliver_all();
  EXPECT_EQ(sender.terminus.send_fast(ticket, {}, 0, 0), Status::ok)
      << "the place is free again, and it was told";
  sender.party.core.end_link(*sender.link);
  receiver.party.core.end_link(*receiver.link);
}

}  // namespace
}  // namespace hamlyn::test
