// A server over datagrams, packet by packet: what it does, and what it refuses.
#include "rpc/blast/server_machine.h"

#include <gtest/gtest.h>

#include "fabric/sim/generator.h"
#include "test/rpc/blast_letters.h"

namespace hamlyn::test {
namespace {

using rpc::BlastRefused;
using rpc::Cause;
using wire::Answer;
using wire::Data;
using wire::Greeting;
using wire::PacketKind;
using wire::Peer;
using wire::ServerLimits;
using wire::ServerMachine;
using wire::Time;

constexpr Peer kStranger = LetterPort::kNobody;
constexpr std::uint32_t kPacket = 100;  // bytes
constexpr std::uint8_t kUnit = 4;
constexpr Time kPause = 100'000;

class BlastServerMachine : public testing::Test {
 protected:
  BlastServerMachine() { start(); }
  void start(const ServerLimits& limits = {.clients = 2, .lines = 2, .frame = 2000, .result = 2000}) {
    server = std::make_unique<ServerMachine>(port, limits, [this] { return chance.next(); });
  }

  void hear(Peer from, std::span<const std::byte> packet) {
    all.push_back({from, {packet.begin(), packet.end()}});
    server->hear(from, packet, now);
    server->run(now);
  }
  std::vector<std::byte> hello(Peer from, std::uint64_t incarnation) const {
    Greeting out;
    out.incarnation = incarnation;
    out.packet = kPacket;
    out.bytes = 1500;
    out.lines = lines;
    out.unit = kUnit;
    return packet_of(out, std::as_bytes(std::span{&from, 1}));
  }
  // The session that it is offered, or 0.
  std::uint64_t greet(Peer from, std::uint64_t incarnation = 1) {
    hear(kStranger, hello(from, incarnation));
    const auto said = port.take();
    return said.empty() ? 0 : said.back().as<Greeting>().head.session;
  }
  void confirm(Peer from, std::uint64_t session) {
    Greeting out;
    out.head = {.kind = PacketKind::confirm, .session = session};
    hear(from, packet_of(out));
  }
  std::uint64_t open(Peer from, std::uint64_t incarnation = 1) {
    const std::uint64_t session = greet(from, incarnation);
    confirm(from, session);
    EXPECT_EQ(port.take().back().kind(), PacketKind::confirmed);
    return session;
  }
  Data part(std::uint64_t session, std::uint32_t sequence, std::uint32_t length, std::uint32_t packet = 0) {
    Data out;
    out.head = {.kind = PacketKind::call, .sequence = sequence, .session = session};
    out.pause = internal_::rpc::time_word(std::chrono::nanoseconds{kPause});
    out.length = length;
    out.packet = packet;
    out.sent = packet + 1;
    return out;
  }
  void send(Peer from, const Data& what) {
    const std::size_t at = std::size_t{what.packet} * kPacket;
    hear(from, packet_of(what, std::vector<std::byte>(std::min<std::size_t>(kPacket, what.length - at),
                                                      static_cast<std::byte>(what.packet))));
  }
  void call(Peer from, std::uint64_t session, std::uint32_t sequence, std::uint32_t length = 10) {
    for (std::uint32_t i = 0; i != wire::packets_of(length, kPacket); ++i)
      send(from, part(session, sequence, length, i));
  }
  bool take() { return server->take(taken, now); }
  // Returns whether something of the result is left to be sent.
  bool finish(std::size_t bytes = 8) {
    return server->finish(taken, Cause::none, true, std::vector<std::byte>(bytes), now);
  }
  std::uint64_t refused(BlastRefused cause) const { return server->refused(cause); }
  void word(Peer from, PacketKind kind, std::uint64_t session, std::uint32_t sequence = 0,
            std::uint16_t line = 0) {
    wire::Word out;
    out.head = {.kind = kind, .sequence = sequence, .session = session};
    out.line = line;
    hear(from, packet_of(out));
  }
  Answer of_result(std::uint64_t session, std::uint32_t sequence, std::uint32_t unit, std::uint64_t mask,
                   std::uint64_t ahead, std::uint32_t sent, bool late) {
    Answer out;
    out.head = {.kind = PacketKind::answer, .sequence = sequence, .session = session};
    out.of_result = 1;
    out.late = late;
    out.unit = unit;
    out.mask = mask;
    out.ahead = ahead;
    out.sent = sent;
    return out;
  }

  std::uint16_t lines = 2;  // that clients ask for
  LetterPort port;
  sim::Generator chance{7};
  std::unique_ptr<ServerMachine> server;
  ServerMachine::Taken taken;
  Time now = 1'000'000;
  std::vector<std::pair<Peer, std::vector<std::byte>>> all;  // that it has heard
};

TEST_F(BlastServerMachine, does_a_call_once_and_answers_each_who_asks_again) {
  const std::uint64_t session = open(5);
  call(5, session, 1);
  ASSERT_TRUE(take());
  EXPECT_EQ(taken.frame.size(), 10u);
  EXPECT_TRUE(port.take().empty()) << "the result is the answer";
  call(5, session, 1);
  EXPECT_FALSE(take());
  ASSERT_EQ(port.sent.size(), 1u);
  EXPECT_EQ(port.take()[0].as<Answer>().unit, 1u) << "all of it has come";
  finish();
  EXPECT_EQ(port.take().at(0).as<Data>().cause, Cause::none);
  call(5, session, 1);
  EXPECT_FALSE(take());
  EXPECT_EQ(port.take().at(0).kind(), PacketKind::result);
  call(5, session, 2);
  EXPECT_TRUE(take());
  call(5, session, 1);
  EXPECT_FALSE(server->take(taken, now));
  EXPECT_EQ(refused(BlastRefused::sequence), 1u) << "of a call before";
}

TEST_F(BlastServerMachine, answers_when_a_unit_is_whole_and_after_a_pause) {
  const std::uint64_t session = open(5);
  for (const std::uint32_t packet : {0u, 1u, 3u, 2u}) send(5, part(session, 1, 1000, packet));
  auto said = port.take();
  ASSERT_EQ(said.size(), 1u);
  EXPECT_EQ(said[0].as<Answer>().unit, 1u);
  EXPECT_EQ(said[0].as<Answer>().late, 0u);
  send(5, part(session, 1, 1000, 6));
  EXPECT_TRUE(port.take().empty());
  EXPECT_LE(server->next(), now + kPause);
  now += kPause + 1000;
  server->run(now);
  said = port.take();
  ASSERT_EQ(said.size(), 1u);
  EXPECT_EQ(said[0].as<Answer>().mask, 4u);
  EXPECT_EQ(said[0].as<Answer>().late, 1u);
  // A client that sends nothing more is told some more times, and then left alone.
  for (int i = 0; i != 100; ++i) server->run(now += 1'000'000'000);
  EXPECT_LT(port.take().size(), 10u);
}

TEST_F(BlastServerMachine, sends_of_a_result_only_what_is_missing_and_one_unit_ahead) {
  const std::uint64_t session = open(5);
  call(5, session, 1);
  ASSERT_TRUE(take());
  finish(1450);  // 15 packets
  auto said = port.take();
  ASSERT_EQ(said.size(), 2u * kUnit);
  hear(5, packet_of(of_result(session, 1, 0, 0b1011, 0b0001, 8, false)));
  EXPECT_TRUE(port.take().empty()) << "it may have been overtaken";
  hear(5, packet_of(of_result(session, 1, 0, 0b1011, 0b1110, 8, true)));
  said = port.take();
  ASSERT_EQ(said.size(), 1u);
  EXPECT_EQ(said[0].as<Data>().packet, 2u);
  hear(5, packet_of(of_result(session, 1, 2, 0, 0, 9, false)));
  EXPECT_EQ(port.take().size(), 7u) << "the rest";
  EXPECT_EQ(server->sent_again(), 1u);
}

// --- what it refuses

TEST_F(BlastServerMachine, refuses_what_is_of_an_earlier_incarnation) {
  const std::uint64_t old = open(5, 1);
  call(5, old, 1);
  send(5, part(old, 2, 1000, 0));
  const auto early = all;
  EXPECT_TRUE(take());
  finish();
  const std::uint64_t session = open(5, 2);
  call(5, session, 1);
  EXPECT_TRUE(take());
  finish();
  EXPECT_EQ(server->clients(), 1u);
  for (int round = 0; round != 3; ++round) {
    for (const auto& [from, packet] : early) hear(from, packet);
    EXPECT_FALSE(take());
  }
  EXPECT_GT(refused(BlastRefused::session), 0u);
  port.take();
  call(5, session, 2);
  EXPECT_TRUE(take()) << "the session that there is goes on";
}

TEST_F(BlastServerMachine, refuses_a_session_that_is_anothers_or_made_up) {
  const std::uint64_t session = open(5);
  open(6);
  call(6, session, 1);
  call(kStranger, session, 1);
  call(5, session + 1, 1);
  EXPECT_FALSE(take());
  EXPECT_EQ(refused(BlastRefused::session), 3u);
  const auto said = port.take();
  ASSERT_EQ(said.size(), 2u) << "a stranger is told nothing";
  EXPECT_EQ(said[0].as<Greeting>().why, Greeting::Why::no_session);
}

TEST_F(BlastServerMachine, refuses_offsets_and_lengths_that_cannot_be) {
  const std::uint64_t session = open(5);
  const auto wrong = [&](const Data& what, std::size_t bytes, BlastRefused cause) {
    const std::uint64_t before = refused(cause);
    hear(5, packet_of(what, std::vector<std::byte>(bytes)));
    EXPECT_EQ(refused(cause), before + 1) << what.packet << " of " << what.length << ", " << bytes;
  };
  wrong(part(session, 1, 2001), 100, BlastRefused::length);
  wrong(part(session, 1, ~0u), 100, BlastRefused::kind);
  wrong(part(session, 1, 250, 3), 100, BlastRefused::packet);
  wrong(part(session, 1, 250, 2), 51, BlastRefused::packet);
  wrong(part(session, 1, 250, 1), 99, BlastRefused::packet);
  wrong(part(session, 1, 250, 1u << 31), 100, BlastRefused::packet);
  wrong(part(session, 1, 1000, 8), 100, BlastRefused::packet);  // a unit that nobody may send yet
  send(5, part(session, 1, 250, 0));
  wrong(part(session, 1, 260, 1), 100, BlastRefused::packet);  // of a message of another length
  send(5, part(session, 1, 250, 1));
  send(5, part(session, 1, 250, 2));
  EXPECT_TRUE(take()) << "the call is none the worse";
}

TEST_F(BlastServerMachine, refuses_masks_of_no_unit) {
  const std::uint64_t session = open(5);
  call(5, session, 1);
  ASSERT_TRUE(take());
  finish(1450);  // 15 packets: units of 4, 4, 4, 3
  port.take();
  const auto wrong = [&](std::uint32_t unit, std::uint64_t mask, std::uint64_t ahead, std::uint32_t sent) {
    const std::uint64_t before = refused(BlastRefused::mask);
    hear(5, packet_of(of_result(session, 1, unit, mask, ahead, sent, true)));
    EXPECT_EQ(refused(BlastRefused::mask), before + 1) << unit << ' ' << mask << ' ' << ahead;
  };
  wrong(0, 0b10000, 0, 1);  // a packet of the next unit
  wrong(0, 0b1111, 0, 4);   // it is whole
  wrong(0, 0b0111, 0b10000, 4);
  wrong(0, 0b0111, 0, 9);  // more than has left
  wrong(1, 0, 0b0001, 8);  // which has not left
  wrong(3, 0, 0, 8);
  wrong(4, 0, 0, 8);
  wrong(5, 0, 0, 8);
  wrong(~0u, ~std::uint64_t{0}, ~std::uint64_t{0}, 8);
  EXPECT_TRUE(port.take().empty());
  hear(5, packet_of(of_result(session, 1, 1, 0b0001, 0, 8, false)));
  EXPECT_EQ(port.take().size(), 4u) << "what is an answer is taken";
  hear(5, packet_of(of_result(session, 2, 0, 0, 0, 0, true)));
  EXPECT_EQ(refused(BlastRefused::sequence), 1u) << "of no call";
}

TEST_F(BlastServerMachine, refuses_a_call_in_a_line_that_is_busy_or_is_none) {
  const std::uint64_t session = open(5);
  send(5, part(session, 1, 250, 0));
  call(5, session, 2);
  EXPECT_EQ(refused(BlastRefused::busy), 1u);
  EXPECT_FALSE(take());
  Data other = part(session, 1, 10);
  other.line = 2;
  send(5, other);
  EXPECT_EQ(refused(BlastRefused::line), 1u);
  word(5, PacketKind::cancel, session, 1, 2);
  EXPECT_EQ(refused(BlastRefused::line), 2u);
}

TEST_F(BlastServerMachine, refuses_what_is_no_packet_or_only_servers_say) {
  open(5);
  const std::uint64_t before = refused(BlastRefused::kind);
  hear(5, {});
  hear(5, std::vector<std::byte>(15));
  hear(5, std::vector<std::byte>(140));
  Greeting said;
  said.head = {.kind = PacketKind::welcome, .session = 3};
  hear(5, packet_of(said));
  said.head.kind = PacketKind::confirm;
  hear(5, packet_of(said, std::vector<std::byte>(1)));  // with something behind it
  Data part_of_result = part(3, 1, 10);
  part_of_result.head.kind = PacketKind::result;
  hear(5, packet_of(part_of_result, std::vector<std::byte>(10)));
  EXPECT_EQ(refused(BlastRefused::kind), before + 6);
}

TEST_F(BlastServerMachine, refuses_a_trace_that_has_no_room_and_flags_that_mean_nothing) {
  const std::uint64_t session = open(5);
  for (const auto& [flags, length, good] : {std::tuple{Data::kTraced, 15u, false},
                                            {Data::kBegun, 40u, false},
                                            {std::uint8_t{8}, 40u, false},
                                            {Data::kTraced, 16u, true}}) {
    const std::uint64_t before = refused(BlastRefused::kind);
    Data one = part(session, 1, length);
    one.flags = flags;
    send(5, one);
    EXPECT_EQ(take(), good) << int{flags};
    EXPECT_EQ(refused(BlastRefused::kind), before + !good);
  }
}

TEST_F(BlastServerMachine, refuses_a_client_that_cannot_be_or_is_one_too_many) {
  Greeting out;
  out.incarnation = 1;
  out.packet = 101;  // longer than the port carries
  out.lines = 1;
  out.unit = 1;
  const Peer from = 9;
  hear(kStranger, packet_of(out, std::as_bytes(std::span{&from, 1})));
  EXPECT_EQ(port.take().at(0).as<Greeting>().why, Greeting::Why::cannot);
  out.packet = 100;
  hear(kStranger, packet_of(out, std::vector<std::byte>(3)));  // no address
  EXPECT_TRUE(port.take().empty());
  EXPECT_TRUE(port.named.empty());
  open(5);
  const std::uint64_t session = open(6);
  hear(kStranger, hello(7, 1));
  EXPECT_EQ(port.take().at(0).as<Greeting>().why, Greeting::Why::full);
  EXPECT_EQ(refused(BlastRefused::greeting), 3u);
  EXPECT_EQ(server->clients(), 2u);
  word(6, PacketKind::leave, session);
  EXPECT_EQ(server->clients(), 1u);
  EXPECT_FALSE(port.named.contains(6));
  open(7);
}

TEST_F(BlastServerMachine, holds_little_for_strangers_however_many_come) {
  const std::uint64_t session = open(1);
  for (Peer from = 2; from != 20'000; ++from) greet(from, from);
  const std::size_t held = server->held();
  EXPECT_LE(held, 64 * 128 + 4096u);
  EXPECT_LE(port.named.size(), ServerMachine::kOffers + 1);
  for (std::uint64_t i = 1; i != 1000; ++i) greet(5, i);
  EXPECT_LE(server->held(), held) << "one of each";
  call(1, session, 1);
  EXPECT_TRUE(take()) << "who is let in is none the worse";
}

TEST_F(BlastServerMachine, forgets_a_client_that_is_silent_and_no_other) {
  start({.clients = 1, .lines = 2, .frame = 2000, .result = 2000, .silence = 1'000'000'000});
  const std::uint64_t session = open(5);
  now += 900'000'000;
  call(5, session, 1);
  ASSERT_TRUE(take());
  now += 2'000'000'000;
  server->run(now);
  EXPECT_EQ(server->clients(), 1u) << "its call runs";
  finish();
  now += 2'000'000'000;
  server->run(now);
  EXPECT_EQ(server->clients(), 0u);
  EXPECT_TRUE(port.named.empty());
}

TEST_F(BlastServerMachine, keeps_an_offer_that_a_stranger_would_take_away) {
  hear(kStranger, hello(5, 1));  // names the port
  hear(5, hello(5, 2));
  const std::uint64_t offered = port.take().back().as<Greeting>().head.session;
  hear(kStranger, hello(5, 3));
  EXPECT_TRUE(port.take().empty());
  EXPECT_EQ(refused(BlastRefused::greeting), 1u);
  confirm(5, offered);
  EXPECT_EQ(port.take().at(0).kind(), PacketKind::confirmed);
  hear(kStranger, hello(6, 1));
  now += 1'000'000'000;
  EXPECT_NE(greet(6, 2), 0u) << "an old one goes";
}

TEST_F(BlastServerMachine, looks_for_silent_clients_now_and_then) {
  start({.clients = 1, .lines = 2, .frame = 2000, .result = 2000, .silence = 1'000'000});
  open(5);
  now += 1'000'000'000;
  hear(kStranger, {});
  EXPECT_EQ(server->clients(), 0u);
  open(5);
  now += 2'000'000;
  server->run(now);
  EXPECT_EQ(server->clients(), 1u);
  EXPECT_GT(server->next(), now) << "and sleeps until then";
  server->run(now = server->next());
  EXPECT_EQ(server->clients(), 0u);
}

// --- which is next

TEST_F(BlastServerMachine, takes_urgent_calls_in_their_order_and_one_of_the_others_in_eight) {
  start({.clients = 2, .lines = 16, .frame = 2000, .result = 2000});
  lines = 16;
  const std::uint64_t hasty = open(5), other = open(6);
  for (std::uint16_t line = 0; line != 16; ++line) {
    Data one = part(hasty, 1, 10);
    one.line = line;
    one.flags = Data::kUrgent;
    send(5, one);
  }
  for (std::uint16_t line = 0; line != 3; ++line) {
    Data one = part(other, 1, 10);
    one.line = line;
    send(6, one);
  }
  std::string order;
  while (take()) {
    order += static_cast<char>((taken.session->peer == 5 ? 'a' : 'A') + taken.line->number);
    finish();
  }
  EXPECT_EQ(order, "abcdefgAhijklmnBopC");
}

TEST_F(BlastServerMachine, does_not_begin_an_urgent_call_that_was_cancelled) {
  const std::uint64_t session = open(5);
  Data one = part(session, 1, 10);
  one.flags = Data::kUrgent;
  send(5, one);
  EXPECT_EQ(server->next(), 0u);
  word(5, PacketKind::cancel, session, 1);
  EXPECT_FALSE(take());
  one.head.sequence = 2;
  send(5, one);
  word(5, PacketKind::leave, session);
  EXPECT_FALSE(take());
}

// --- cancelled, or over

TEST_F(BlastServerMachine, does_not_begin_what_was_cancelled) {
  const std::uint64_t session = open(5);
  const auto is_cancelled = [&] {
    const auto said = port.take();
    return !said.empty() && said.back().as<Data>().cause == Cause::cancelled &&
           said.back().as<Data>().flags == 0;
  };
  word(5, PacketKind::cancel, session, 1);  // before anything has come of it
  EXPECT_TRUE(is_cancelled());
  call(5, session, 1);
  EXPECT_FALSE(take());
  send(5, part(session, 2, 250, 0));
  word(5, PacketKind::cancel, session, 2);
  EXPECT_TRUE(is_cancelled());
  send(5, part(session, 2, 250, 1));
  EXPECT_FALSE(take());
  port.take();
  call(5, session, 3);
  word(5, PacketKind::cancel, session, 3);
  EXPECT_TRUE(is_cancelled());
  EXPECT_FALSE(take());
  call(5, session, 4);
  ASSERT_TRUE(take());
  word(5, PacketKind::cancel, session, 4);
  EXPECT_TRUE(taken.line->cancelled) << "its handler is told";
  finish();
  word(5, PacketKind::cancel, session, 4);
  EXPECT_EQ(port.take().back().as<Data>().cause, Cause::none) << "it was done";
  word(5, PacketKind::cancel, session, 3);
  EXPECT_EQ(refused(BlastRefused::sequence), 1u);
}

TEST_F(BlastServerMachine, does_not_begin_what_is_over) {
  const std::uint64_t session = open(5);
  Data one = part(session, 1, 10);
  one.left = internal_::rpc::time_word(std::chrono::milliseconds{1});
  send(5, one);
  now += 1'100'000;
  EXPECT_FALSE(take());
  EXPECT_EQ(port.take().back().as<Data>().cause, Cause::cancelled);
}

TEST_F(BlastServerMachine, keeps_a_result_for_when_the_port_has_room) {
  const std::uint64_t session = open(5);
  call(5, session, 1);
  ASSERT_TRUE(take());
  port.full = true;
  EXPECT_TRUE(finish());
  EXPECT_TRUE(port.sent.empty());
  EXPECT_EQ(server->next(), 0u);
  port.full = false;
  server->run(now);
  EXPECT_EQ(port.take().size(), 1u);
}

TEST_F(BlastServerMachine, lets_a_call_of_a_client_that_has_gone_end) {
  const std::uint64_t session = open(5);
  call(5, session, 1);
  ASSERT_TRUE(take());
  word(5, PacketKind::leave, session);
  EXPECT_TRUE(taken.session->gone);
  port.take();
  finish();
  EXPECT_TRUE(port.sent.empty());
}

}  // namespace
}  // namespace hamlyn::test
