// A client over datagrams, packet by packet: what it sends, and what it passes over.
#include "rpc/blast/client_machine.h"

#include <gtest/gtest.h>

#include "fabric/sim/generator.h"
#include "test/rpc/blast_letters.h"

namespace hamlyn::test {
namespace {

using internal_::rpc::Landing;
using internal_::rpc::Procedure;
using internal_::rpc::ReplyWord;
using rpc::CallId;
using rpc::Cause;
using rpc::Fate;
using wire::Answer;
using wire::ClientLimits;
using wire::ClientMachine;
using wire::Data;
using wire::Greeting;
using wire::PacketKind;
using wire::Peer;
using wire::Time;

constexpr Peer kServer = 3;
constexpr std::uint64_t kSession = 77;

class BlastClientMachine : public testing::Test {
 protected:
  void SetUp() override {
    start();
    open();
  }
  void start() {
    client = std::make_unique<ClientMachine>(
        port, kServer,
        ClientLimits{.lines = 2, .result = 1500, .packet = 100, .unit = 4, .dead = 1'000'000'000}, procedures,
        [this] { return chance.next(); });
    client->run(now);
  }
  void hear(std::span<const std::byte> packet, Peer from = kServer) {
    client->hear(from, packet, now);
    client->run(now);
  }
  Greeting greeting(PacketKind kind, std::uint64_t incarnation, std::uint64_t session = kSession) {
    Greeting out;
    out.head = {.kind = kind, .session = session};
    out.incarnation = incarnation;
    if (kind != PacketKind::welcome) return out;
    out.lines = 2;
    out.bytes = 2000;
    out.silence = 60'000;
    return out;
  }
  void open() {
    const auto hello = port.take().at(0).as<Greeting>();
    hear(packet_of(greeting(PacketKind::welcome, hello.incarnation)));
    EXPECT_EQ(port.take().at(0).kind(), PacketKind::confirm);
    hear(packet_of(greeting(PacketKind::confirmed, 0)));
    const auto bind = port.take().at(0).as<Data>();
    EXPECT_EQ(bind.procedure, static_cast<std::uint16_t>(internal_::rpc::Own::bind));
    const std::uint16_t number = 0;
    hear(packet_of(result(bind, 2), std::as_bytes(std::span{&number, 1})));
    EXPECT_EQ(client->opened(), Status::ok);
    EXPECT_TRUE(port.take().empty());
  }
  static Data result(const Data& call, std::uint32_t length, std::uint32_t packet = 0) {
    Data out;
    out.head = {.kind = PacketKind::result, .sequence = call.head.sequence, .session = call.head.session};
    out.line = call.line;
    out.length = length;
    out.packet = packet;
    out.sent = packet + 1;
    out.flags = Data::kBegun;
    out.pause = internal_::rpc::time_word(std::chrono::microseconds{100});
    return out;
  }
  // Starts one, and returns its first packet.
  Data call(std::size_t bytes = 10) {
    EXPECT_EQ(client->start(0, std::vector<std::byte>(bytes), 0, 0, false, now, id), Status::ok);
    return port.sent.at(0).as<Data>();
  }
  void pass(Time time) { client->run(now += time); }
  std::size_t packets(PacketKind kind) {
    const auto all = port.take();
    return static_cast<std::size_t>(
        std::ranges::count_if(all, [&](const auto& each) { return each.kind() == kind; }));
  }

  LetterPort port;
  sim::Generator chance{5};
  const std::vector<Procedure> procedures{{"one", "one", 1, 2}};
  std::unique_ptr<ClientMachine> client;
  CallId id;
  Time now = 1'000'000;
};

TEST_F(BlastClientMachine, sends_two_units_and_then_what_answers_allow) {
  const Data first = call(1450);  // 15 packets
  EXPECT_EQ(packets(PacketKind::call), 8u);
  Answer said;
  said.head = {.kind = PacketKind::answer, .sequence = first.head.sequence, .session = kSession};
  said.line = first.line;
  said.unit = 1;
  said.sent = 4;
  hear(packet_of(said));
  EXPECT_EQ(packets(PacketKind::call), 4u) << "one unit more";
  said.late = 1;
  said.sent = 12;
  said.mask = 0b1101;
  said.ahead = 0b1111;
  hear(packet_of(said));
  ASSERT_EQ(port.sent.size(), 1u);
  EXPECT_EQ(port.take()[0].as<Data>().packet, 5u) << "the one that is missing";
  EXPECT_EQ(client->sent_again(), 1u);
}

TEST_F(BlastClientMachine, asks_less_and_less_often) {
  call();
  port.take();
  for (int i = 0; i != 100'000; ++i) pass(1'000'000);
  const std::size_t asked = packets(PacketKind::call);
  EXPECT_GT(asked, 90u);
  EXPECT_LT(asked, 130u) << "in 100 s";
}

TEST_F(BlastClientMachine, takes_a_result_in_any_order_and_says_what_is_missing) {
  const Data first = call();
  port.take();
  const auto part = [&](std::uint32_t packet) {
    hear(packet_of(result(first, 350, packet), std::vector<std::byte>(packet == 3 ? 50 : 100)));
  };
  part(3), part(0), part(0), part(1);
  EXPECT_EQ(client->look(id), ClientMachine::Look::out);
  pass(1'000'000);
  const auto said = port.take().at(0).as<Answer>();
  EXPECT_EQ(said.mask, 0b1011u);
  EXPECT_EQ(said.late, 1u);
  part(2);
  EXPECT_EQ(client->look(id), ClientMachine::Look::done);
  Landing landing;
  ReplyWord reply;
  EXPECT_TRUE(client->take(id, landing, reply));
  EXPECT_EQ(landing.bytes.size(), 350u);
  EXPECT_EQ(client->look(id), ClientMachine::Look::none);
}

TEST_F(BlastClientMachine, passes_over_results_for_no_call) {
  const Data first = call();
  const auto wrong = [&](const Data& what, std::size_t bytes, Peer from = kServer) {
    const std::uint64_t before = client->refused();
    hear(packet_of(what, std::vector<std::byte>(bytes)), from);
    EXPECT_EQ(client->refused(), before + 1);
    EXPECT_EQ(client->look(id), ClientMachine::Look::out);
  };
  Data other = result(first, 5);
  wrong(other, 5, 9);  // of another port
  wrong(other, 5, LetterPort::kNobody);
  other.head.session = kSession + 1;  // of another life
  wrong(other, 5);
  other = result(first, 5);
  other.head.sequence += 1;
  wrong(other, 5);
  other = result(first, 5);
  other.line = 9;
  wrong(other, 5);
  wrong(result(first, 1501), 100);    // longer than announced
  wrong(result(first, 250, 3), 100);  // an offset that is none
  wrong(result(first, 250, 1), 99);
  wrong(result(first, 1500, 8), 100);  // a unit that nobody may send yet
  hear(packet_of(result(first, 5), std::vector<std::byte>(5)));
  EXPECT_EQ(client->look(id), ClientMachine::Look::done);
  const std::uint64_t before = client->refused();
  hear(packet_of(result(first, 5), std::vector<std::byte>(5)));
  EXPECT_EQ(client->refused(), before + 1) << "twice";
}

TEST_F(BlastClientMachine, passes_over_masks_of_no_unit_and_greetings_of_others) {
  const Data first = call(250);
  port.take();
  const auto wrong = [&](std::uint32_t unit, std::uint64_t mask, std::uint32_t sent) {
    Answer said;
    said.head = {.kind = PacketKind::answer, .sequence = first.head.sequence, .session = kSession};
    said.line = first.line;
    said.late = 1;
    said.unit = unit;
    said.mask = mask;
    said.sent = sent;
    const std::uint64_t before = client->refused();
    hear(packet_of(said));
    EXPECT_EQ(client->refused(), before + 1);
  };
  wrong(0, 0b1000, 3);
  wrong(0, 0b0111, 3);
  wrong(2, 0, 3);
  wrong(0, 0b0001, 4);
  EXPECT_TRUE(port.take().empty());
  Greeting said = greeting(PacketKind::refused, 0, kSession + 1);
  said.why = Greeting::Why::no_session;
  const std::uint64_t before = client->refused();
  hear(packet_of(said));
  hear(packet_of(greeting(PacketKind::welcome, 4, 99)));
  hear(packet_of(greeting(PacketKind::confirmed, 0, 99)));
  EXPECT_EQ(client->refused(), before + 3);
  EXPECT_EQ(client->look(id), ClientMachine::Look::out);
}

TEST_F(BlastClientMachine, knows_nothing_of_calls_whose_server_was_started_again_and_greets_it) {
  call();
  port.take();
  Greeting said = greeting(PacketKind::refused, 0);
  said.why = Greeting::Why::no_session;
  hear(packet_of(said));
  EXPECT_EQ(client->look(id), ClientMachine::Look::none);
  EXPECT_EQ(client->fate(id), Fate::unknown);
  open();
  EXPECT_EQ(client->free_lines(), 2u);
}

TEST_F(BlastClientMachine, learns_how_a_call_ended_that_was_given_up) {
  const Data first = call();
  EXPECT_FALSE(client->silent(id, now + 999'000'000));
  EXPECT_TRUE(client->silent(id, now + 1'000'000'000));
  client->cancel(id, now);
  client->forget(id);
  EXPECT_EQ(packets(PacketKind::cancel), 1u);
  EXPECT_EQ(client->look(id), ClientMachine::Look::none);
  EXPECT_TRUE(client->is_out(id));
  EXPECT_EQ(client->fate(id), Fate::unknown);
  pass(1'000'000'000);
  EXPECT_EQ(packets(PacketKind::cancel), 1u) << "asks again";
  Data reply = result(first, 0);
  reply.flags = 0;
  reply.cause = Cause::cancelled;
  hear(packet_of(reply));
  EXPECT_EQ(client->fate(id), Fate::not_done);
  EXPECT_EQ(client->free_lines(), 2u);
}

TEST_F(BlastClientMachine, asks_for_the_rest_of_a_result_each_second_at_least) {
  const Data first = call();
  Data one = result(first, 350);
  one.pause = internal_::rpc::time_word(std::chrono::milliseconds{50});
  hear(packet_of(one, std::vector<std::byte>(100)));
  for (int i = 0; i != 20; ++i) {
    EXPECT_LE(client->next(), now + 1'000'000'000);
    client->run(now = client->next());
  }
}

TEST_F(BlastClientMachine, looks_when_its_server_is_dead_and_not_all_the_time) {
  call();
  const Time begun = now;
  bool woke = false;
  for (int i = 0; i != 100; ++i) {
    const Time next = client->next();
    ASSERT_GT(next, now);
    woke = woke || next == begun + 1'000'000'000;
    client->run(now = next);
    EXPECT_EQ(client->silent(id, now), now >= begun + 1'000'000'000);
  }
  EXPECT_TRUE(woke);
}

TEST_F(BlastClientMachine, takes_a_cause_that_has_no_name_yet_as_a_failure) {
  Data reply = result(call(), 0);
  reply.cause = Cause::count;
  hear(packet_of(reply));
  ASSERT_EQ(client->look(id), ClientMachine::Look::failed);
  Landing landing;
  ReplyWord word;
  EXPECT_TRUE(client->take(id, landing, word));
  EXPECT_EQ(name(word.cause), std::string("unknown"));
}

TEST_F(BlastClientMachine, waits_before_it_greets_again_who_has_no_offer_for_it) {
  start();
  const auto refuse = [&] {
    hear(packet_of(greeting(PacketKind::welcome, port.take().at(0).as<Greeting>().incarnation)));
    EXPECT_EQ(port.take().at(0).kind(), PacketKind::confirm);
    Greeting said = greeting(PacketKind::refused, 0);
    said.why = Greeting::Why::no_session;
    hear(packet_of(said));
  };
  for (int i = 0; i != 3; ++i) {
    refuse();
    EXPECT_TRUE(port.take().empty());
    EXPECT_GT(client->next(), now);
    client->run(now = client->next());
  }
  open();
}

TEST_F(BlastClientMachine, says_its_address_to_a_server_that_does_not_answer) {
  call();
  for (int i = 0; i != 3; ++i) pass(1'000'000'000);
  EXPECT_EQ(packets(PacketKind::hello), 1u);
  EXPECT_EQ(client->look(id), ClientMachine::Look::out);
}

TEST_F(BlastClientMachine, says_what_does_not_fit) {
  EXPECT_EQ(client->start(0, std::vector<std::byte>(2001), 0, 0, false, now, id), Status::too_long);
  EXPECT_EQ(client->start(1, {}, 0, 0, false, now, id), Status::refused);
  call(), call();
  EXPECT_EQ(client->start(0, {}, 0, 0, false, now, id), Status::queue_full);
}

TEST_F(BlastClientMachine, greets_anew_before_a_server_has_forgotten_it) {
  now += 40'000'000'000;
  EXPECT_EQ(client->start(0, {}, 0, 0, false, now, id), Status::connecting);
  client->run(now);
  EXPECT_EQ(port.sent.at(0).kind(), PacketKind::hello);
  open();
}

TEST_F(BlastClientMachine, is_turned_away_by_name) {
  start();
  Greeting said = greeting(PacketKind::refused, port.take().at(0).as<Greeting>().incarnation, 0);
  said.why = Greeting::Why::full;
  Greeting other = said;
  other.incarnation += 1;
  hear(packet_of(other));
  EXPECT_EQ(client->opened(), Status::pending);
  hear(packet_of(said));
  EXPECT_EQ(client->opened(), Status::refused);
}

}  // namespace
}  // namespace hamlyn::test
