// How VIs of a machine are connected and part, and what strangers can do to that.
#include "test/vi/vi_party.h"

namespace hamlyn::test {
namespace {

TEST_F(ViMachine, connects_whoever_waits_at_that_discriminator_and_nobody_else) {
  from = here.make_vi();
  to = there.make_vi();
  const Address asked = Address::of(0, std::as_bytes(std::span{"abcdefgh", 8}));
  const Address longer = Address::of(0, std::as_bytes(std::span{"abcdefgh1234", 12}));
  const std::uint32_t waiter = there.machine().add_waiter(longer);
  ASSERT_EQ(here.machine().ask_for(from, {}, asked, there.machine().door()), Result::success);
  EXPECT_EQ(here.post_send(from, here.descriptor({})), Result::invalid_state);
  world.settle();
  EXPECT_EQ(here.machine().outcome(from), Result::no_match);
  here.machine().give_up(from);
  EXPECT_EQ(here.state(from), State::idle);
  ASSERT_EQ(here.machine().ask_for(from, {}, longer, there.machine().door()), Result::success);
  world.settle();
  const std::uint32_t request = there.machine().request_of(waiter);
  ASSERT_NE(request, 0u);
  EXPECT_EQ(there.machine().reject(request), Result::success);
  EXPECT_EQ(there.machine().reject(request), Result::invalid_parameter);
  world.settle();
  EXPECT_EQ(here.machine().outcome(from), Result::reject);
}

// Programs post their receives and ask until somebody waits.
TEST_F(ViMachine, receives_stay_posted_however_often_a_vi_asks_in_vain) {
  from = here.make_vi();
  to = there.make_vi();
  Descriptor* const one = here.descriptor({{0, 8}});
  Descriptor* const two = here.descriptor({{8, 8}, {100, 4}});
  ASSERT_EQ(here.post_receive(from, one), Result::success);
  ASSERT_EQ(here.post_receive(from, two), Result::success);
  const Address one_side = Address::of(0, std::as_bytes(std::span{"one", 3}));
  const Address other_side = Address::of(0, std::as_bytes(std::span{"two", 3}));
  for (const char* how : {"nobody waits", "refused", "given up", "no peer"}) {
    SCOPED_TRACE(how);
    const bool waits = how != std::string("nobody waits") && how != std::string("no peer");
    const std::uint32_t waiter = waits ? there.machine().add_waiter({}) : 0;
    const Result asked = how == std::string("no peer")
                             ? here.machine().peer_request(from, one_side, other_side, {})
                             : here.machine().ask_for(from, {}, {}, there.machine().door());
    ASSERT_EQ(asked, Result::success);
    world.settle();
    if (how == std::string("refused")) {
      ASSERT_EQ(there.machine().reject(there.machine().request_of(waiter)), Result::success);
    }
    world.settle();
    here.machine().give_up(from);
    there.machine().remove_waiter(waiter);
    world.settle();
    EXPECT_EQ(here.machine().take(from, Side::receive).result, Result::not_done) << "nothing has come back";
  }
  // Messages to the inbox of a request that was given up land nowhere.
  const std::uint32_t waiter = there.machine().add_waiter({});
  ASSERT_EQ(here.machine().ask_for(from, {}, {}, there.machine().door()), Result::success);
  world.settle();
  ASSERT_EQ(there.machine().accept(there.machine().request_of(waiter), to), Result::success);
  ASSERT_EQ(there.post_send(to, there.descriptor({{0, 4}})), Result::success);
  here.machine().give_up(from);
  world.settle();
  EXPECT_EQ(here.machine().take(from, Side::receive).result, Result::not_done);
  // The posted receives are there for the connection that is made.
  const std::uint32_t last = there.make_vi();
  there.write(0, "abcdefgh");
  join(world, here, from, there, last);
  for (int i = 0; i != 2; ++i) ASSERT_EQ(there.post_send(last, there.descriptor({{0, 8}})), Result::success);
  world.settle();
  Descriptor* done = nullptr;
  EXPECT_EQ(here.done(from, Side::receive, &done), kReceived);
  EXPECT_EQ(done, one);
  EXPECT_EQ(here.done(from, Side::receive, &done), kReceived);
  EXPECT_EQ(done, two);
  EXPECT_EQ(here.text(0, 16), "abcdefghabcdefgh");
}

TEST_F(ViMachine, gives_each_of_those_who_wait_at_an_address_one_request) {
  const Address address = Address::of(1, std::as_bytes(std::span{"both", 4}));
  const std::uint32_t waiters[] = {there.machine().add_waiter(address), there.machine().add_waiter(address)};
  const std::uint32_t asking[] = {here.make_vi(), here.make_vi(), here.make_vi()};
  for (const std::uint32_t vi : asking) {
    ASSERT_EQ(here.machine().ask_for(vi, {}, address, there.machine().door()), Result::success);
    world.settle();
  }
  for (const std::uint32_t waiter : waiters) {
    to = there.make_vi();
    EXPECT_EQ(there.machine().accept(there.machine().request_of(waiter), to), Result::success);
  }
  world.settle();
  EXPECT_EQ(here.state(asking[0]), State::connected);
  EXPECT_EQ(here.state(asking[1]), State::connected);
  EXPECT_EQ(here.machine().outcome(asking[2]), Result::no_match) << "nobody waits any more";
}

TEST_F(ViMachine, accepts_equal_attributes_alone) {
  from = here.make_vi();
  std::uint32_t level = there.make_vi(Reliability::reception), size = 0, quality = 0;
  to = there.make_vi();
  ASSERT_EQ(there.machine().create_vi({.max_transfer = 1000, .tag = there.tag}, 0, 0, size), Result::success);
  ASSERT_EQ(there.machine().create_vi({.qos = 3, .tag = there.tag}, 0, 0, quality), Result::success);
  const std::uint32_t waiter = there.machine().add_waiter({});
  ASSERT_EQ(here.machine().ask_for(from, {}, {}, there.machine().door()), Result::success);
  world.settle();
  const std::uint32_t request = there.machine().request_of(waiter);
  EXPECT_EQ(there.machine().accept(request, level), Result::invalid_reliability_level);
  EXPECT_EQ(there.machine().accept(request, size), Result::invalid_mtu);
  EXPECT_EQ(there.machine().accept(request, quality), Result::invalid_qos);
  EXPECT_EQ(there.machine().accept(request, to), Result::success);
  world.settle();
  EXPECT_EQ(here.state(from), State::connected);
}

TEST_F(ViMachine, who_accepts_what_was_withdrawn_is_told) {
  from = here.make_vi();
  to = there.make_vi();
  const std::uint32_t waiter = there.machine().add_waiter({});
  ASSERT_EQ(here.machine().ask_for(from, {}, {}, there.machine().door()), Result::success);
  world.settle();
  const std::uint32_t request = there.machine().request_of(waiter);
  here.machine().give_up(from);
  ASSERT_EQ(there.machine().accept(request, to), Result::success) << "it has not heard yet";
  world.settle();
  EXPECT_EQ(here.state(from), State::idle);
  EXPECT_EQ(there.state(to), State::error);
}

TEST_F(ViMachine, two_that_ask_for_each_other_are_connected_in_any_order) {
  const Address one = Address::of(0, std::as_bytes(std::span{"one", 3}));
  const Address two = Address::of(0, std::as_bytes(std::span{"two", 3}));
  for (const int who : {1, 2, 3}) {
    from = here.make_vi();
    to = there.make_vi();
    ASSERT_EQ(here.machine().peer_request(from, one, two, {}), Result::success);
    ASSERT_EQ(there.machine().peer_request(to, two, one, {}), Result::success);
    if ((who & 1) != 0) here.machine().knock(from, there.machine().door());
    if ((who & 2) != 0) there.machine().knock(to, here.machine().door());
    world.settle();
    EXPECT_EQ(here.state(from), State::connected) << who;
    EXPECT_EQ(there.state(to), State::connected) << who;
    ASSERT_EQ(there.post_receive(to, there.descriptor({{0, 8}})), Result::success);
    ASSERT_EQ(here.post_send(from, here.descriptor({{0, 4}})), Result::success);
    world.settle();
    EXPECT_EQ(there.done(to, Side::receive), kReceived);
  }
}

// A third NIC may know both addresses: it is connected in nobody's place.
TEST_F(ViMachine, who_knows_whom_it_asks_is_connected_with_no_other) {
  const Address one = Address::of(0, std::as_bytes(std::span{"one", 3}));
  const Address two = Address::of(0, std::as_bytes(std::span{"two", 3}));
  ViParty third{world, 2};
  from = here.make_vi();
  to = there.make_vi();
  const std::uint32_t poser = third.make_vi();
  ASSERT_EQ(here.machine().peer_request(from, one, two, {}), Result::success);
  ASSERT_EQ(third.machine().peer_request(poser, two, one, {}), Result::success);
  here.machine().knock_at(from, there.machine().door());
  third.machine().knock_at(poser, here.machine().door());
  world.settle();
  EXPECT_EQ(here.state(from), State::connect_pending);
  EXPECT_EQ(third.state(poser), State::connect_pending);
  ASSERT_EQ(there.machine().peer_request(to, two, one, {}), Result::success);
  there.machine().knock_at(to, here.machine().door());
  world.settle();
  EXPECT_EQ(here.state(from), State::connected);
  EXPECT_EQ(there.state(to), State::connected);
  EXPECT_EQ(third.state(poser), State::connect_pending);
}

TEST_F(ViMachine, a_vi_connects_with_another_of_the_same_nic) {
  from = here.make_vi();
  to = here.make_vi();
  join(world, here, from, here, to);
  here.write(0, "self");
  ASSERT_EQ(here.post_receive(to, here.descriptor({{100, 8}})), Result::success);
  ASSERT_EQ(here.post_send(from, here.descriptor({{0, 4}})), Result::success);
  world.settle();
  EXPECT_EQ(here.done(to, Side::receive), kReceived);
  EXPECT_EQ(here.text(100, 4), "self");
}

TEST_F(ViMachine, a_death_ends_connections_and_requests) {
  connect(Reliability::delivery);
  ASSERT_EQ(here.post_receive(from, here.descriptor({{0, 8}})), Result::success);
  const std::uint32_t asking = here.make_vi();
  there.machine().add_waiter({});
  ASSERT_EQ(here.machine().ask_for(asking, {}, {}, there.machine().door()), Result::success);
  world.kill(1);
  world.settle();
  EXPECT_EQ(here.state(from), State::error);
  EXPECT_EQ(here.done(from, Side::receive), kReceived | kFlushed);
  EXPECT_EQ(here.machine().outcome(asking), Result::not_reachable);
}

// Its process lives: no link ends.
TEST_F(ViMachine, a_nic_that_closes_tells_those_who_ask_it) {
  from = here.make_vi();
  const std::uint32_t other = here.make_vi();
  for (int i = 0; i != 2; ++i) there.machine().add_waiter({});
  ASSERT_EQ(here.machine().ask_for(from, {}, {}, there.machine().door()), Result::success);
  ASSERT_EQ(here.machine().ask_for(other, {}, {}, there.machine().door()), Result::success);
  world.settle();
  here.machine().give_up(other);
  world.settle();
  EXPECT_EQ(here.machine().outcome(from), Result::not_done);
  there.machine().close();
  world.settle();
  EXPECT_EQ(here.machine().outcome(from), Result::not_reachable);
  EXPECT_EQ(here.state(other), State::idle);
}

// An answer comes before what was sent before it.
TEST_F(ViMachine, hears_what_was_sent_before_the_other_side_closed) {
  connect(Reliability::delivery);
  for (int i = 0; i != 2; ++i) ASSERT_EQ(there.post_receive(to, there.descriptor({{0, 8}})), Result::success);
  std::byte more[64];
  MemoryHandle handle = 0;
  ASSERT_EQ(there.machine().register_memory(more, {there.tag, true, true}, handle), Result::success);
  there.machine().step();
  ASSERT_EQ(world.under_way.size(), 1u) << "news of a right";
  const std::uint64_t token = world.under_way.front().token;
  world.under_way.clear();
  ASSERT_EQ(here.post_send(from, here.descriptor({{0, 4}})), Result::success);
  there.machine().hear({.kind = Notification::Kind::send_failed,
                        .cause = Refusal::stale_generation,
                        .word = token,
                        .peer = 1});
  EXPECT_EQ(there.state(to), State::connected);
  world.settle();
  EXPECT_EQ(there.done(to, Side::receive), kReceived);
  EXPECT_EQ(there.done(to, Side::receive), kReceived | kFlushed);
  EXPECT_EQ(there.state(to), State::error);
}

TEST_F(ViMachine, ends_of_many_links_that_are_told_as_one_end_only_what_has_gone) {
  connect(Reliability::delivery);
  ViParty third{world, 2};
  const std::uint32_t other = here.make_vi(), beside = third.make_vi();
  join(world, here, other, third, beside);
  const std::uint32_t waiter = here.machine().add_waiter({}), late = there.make_vi(), later = third.make_vi();
  const std::uint32_t second = here.machine().add_waiter({});
  ASSERT_EQ(there.machine().ask_for(late, {}, {}, here.machine().door()), Result::success);
  world.settle();
  ASSERT_EQ(third.machine().ask_for(later, {}, {}, here.machine().door()), Result::success);
  world.settle();
  world.kill(1);
  world.ports[0]->notifications.back().peer = 0;
  world.settle();
  EXPECT_EQ(here.state(from), State::error);
  EXPECT_EQ(here.state(other), State::connected);
  EXPECT_TRUE(here.machine().request(here.machine().request_of(waiter))->gone);
  EXPECT_FALSE(here.machine().request(here.machine().request_of(second))->gone);
  // Another link has taken the place of the one that has ended.
  ++world.links;
  world.ports[0]->notifications.push_back({.kind = Notification::Kind::link_ended});
  world.settle();
  EXPECT_EQ(here.state(other), State::error);
  EXPECT_TRUE(here.machine().request(here.machine().request_of(second))->gone);
}

// --- somebody who speaks the wire by hand

class ViStranger : public ViMachine {
 protected:
  void say(const Message& message) {
    static_cast<void>(
        world.ports[2]->say(there.machine().door(), std::as_bytes(std::span{&message, 1}), kOutboxWord));
    world.settle();
  }
};

TEST_F(ViStranger, ends_nobodys_connection_and_gets_no_right) {
  connect(Reliability::delivery);
  const auto* const vi = there.machine().vi(to);
  Message message;
  message.to = to;
  message.to_session = vi->other.own_session;  // even if it were known
  message.from = vi->other.vi;
  message.from_session = vi->other.session;
  message.handle = there.handle;
  const std::size_t windows = vi->other.windows.size();
  for (std::uint16_t kind = 0; kind != 40; ++kind) {
    message.say = static_cast<Say>(kind);
    say(message);
    EXPECT_EQ(there.state(to), State::connected) << kind;
    EXPECT_EQ(vi->other.peer, 1u);
    EXPECT_EQ(vi->other.windows.size(), windows);
  }
}

TEST_F(ViStranger, says_anything_and_nothing_comes_of_it) {
  connect(Reliability::delivery);
  there.machine().add_waiter({});
  std::mt19937_64 chance(5);
  for (int i = 0; i != 2000; ++i) {
    std::vector<std::byte> bytes(chance() % 4 == 0 ? chance() % 400 : sizeof(Message));
    for (std::byte& each : bytes) each = static_cast<std::byte>(chance());
    if (bytes.size() >= 4) {
      bytes[0] = std::byte{kWireVersion}, bytes[1] = std::byte{0};
      bytes[2] = static_cast<std::byte>(chance() % 14), bytes[3] = std::byte{0};
    }
    static_cast<void>(world.ports[2]->say(there.machine().door(), bytes, kOutboxWord));
    world.settle();
  }
  EXPECT_EQ(there.state(to), State::connected);
  EXPECT_EQ(here.state(from), State::connected);
}

TEST_F(ViMachine, an_immediate_that_no_honest_sender_has_breaks_the_connection) {
  connect(Reliability::delivery);
  ASSERT_EQ(there.post_receive(to, there.descriptor({{0, 8}})), Result::success);
  WorldPort::Outlet outlet(*world.ports[0]);
  SendHandle handle;
  const Ticket inbox = here.machine().vi(from)->other.inbox;
  EXPECT_EQ(outlet.send(inbox, {}, std::uint64_t{1} << kWriteAt, false, 0, handle), Status::ok);
  world.settle();
  EXPECT_EQ(there.state(to), State::error);
  EXPECT_EQ(there.done(to, Side::receive), kReceived | kTransportError);
}

TEST_F(ViMachine, a_ticket_that_was_passed_on_is_worth_nothing_to_others) {
  connect(Reliability::delivery);
  ASSERT_EQ(there.post_receive(to, there.descriptor({{0, 8}})), Result::success);
  WorldPort::Outlet outlet(*world.ports[2]);
  SendHandle handle;
  EXPECT_EQ(outlet.send(here.machine().vi(from)->other.inbox, {}, 0, false, 0, handle), Status::ok);
  world.settle();
  EXPECT_EQ(there.state(to), State::error);
}

TEST_F(ViMachine, whoever_halts_an_inbox_ends_its_connection) {
  connect(Reliability::delivery);
  WorldPort::Outlet outlet(*world.ports[2]);
  SendHandle handle;
  EXPECT_EQ(outlet.send(here.machine().vi(from)->other.inbox, {}, 0, false, 0, handle), Status::ok);
  world.settle();
  EXPECT_EQ(there.state(to), State::error) << "what comes behind it would be lost in silence";
  EXPECT_EQ(here.state(from), State::error);
}

TEST_F(ViMachine, a_message_turned_away_before_the_answer_came_ends_the_connection) {
  from = here.make_vi();
  to = there.make_vi();
  const Address address = Address::of(1, std::as_bytes(std::span{"here", 4}));
  const std::uint32_t waiter = there.machine().add_waiter(address);
  ASSERT_EQ(here.machine().ask_for(from, {}, address, there.machine().door()), Result::success);
  world.settle();
  WorldPort::Outlet outlet(*world.ports[1]);
  SendHandle handle;
  EXPECT_EQ(outlet.send(here.machine().vi(from)->inbox->ticket(), {}, 0, false, 0, handle), Status::ok);
  world.settle();
  EXPECT_EQ(here.state(from), State::connect_pending);
  ASSERT_EQ(there.machine().accept(there.machine().request_of(waiter), to), Result::success);
  world.settle();
  EXPECT_EQ(here.machine().outcome(from), Result::success);
  EXPECT_EQ(here.state(from), State::error);
  EXPECT_EQ(there.state(to), State::error);
}

}  // namespace
}  // namespace hamlyn::test
