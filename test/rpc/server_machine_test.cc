// A server's state by itself: what any client, honest or not, may have it do.
#include "rpc/server_machine.h"

#include <gtest/gtest.h>

#include "test/rpc/noted_port.h"

namespace hamlyn::test {
namespace {

using namespace internal_::rpc;

constexpr std::uint64_t kPeer = 77, kOther = 78;

class RpcServerMachine : public testing::Test {
 protected:
  using Machine = ServerMachine<NotedPort>;

  Notification word_at_door(std::uint64_t peer, std::uint64_t word) {
    Notification out;
    out.fast = true;
    out.slot = port.door();
    out.peer = peer;
    out.word = word;
    return out;
  }
  // Each has a landing of its own.
  Greeting greeting(std::uint32_t stacks = 4, std::size_t stride = 2048, std::uint32_t length = 65536) {
    return {5, ++landings, 7, 8, shape_of(stacks, stride), length, 9};
  }
  // Another link may be there when it is heard.
  void end_link(std::uint64_t peer, std::uint64_t now = 0, std::uint64_t told = 0) {
    port.links[peer] = now;
    Notification end;
    end.kind = Notification::Kind::link_ended;
    end.peer = told == 0 ? peer : told;
    hear(end);
  }
  void greet(std::uint64_t peer, const Greeting& with, std::uint32_t mark = 1) {
    const auto words = std::bit_cast<std::array<std::uint32_t, kGreetingWords>>(with);
    for (std::size_t i = kGreetingWords; i-- != 0;)
      EXPECT_EQ(hear(word_at_door(peer, greeting_word(mark, i, words[i]))), Machine::Heard::nothing);
  }
  Machine::Heard hear(const Notification& next) { return machine.hear(next, taken); }
  // A call at the place of that number.
  Notification call(std::uint64_t peer, std::uint32_t number, std::uint64_t stack, const CallWord& word,
                    std::uint64_t length = 8) {
    Notification out;
    out.fast = true;
    out.slot = number;
    out.peer = peer;
    out.word = word_of(word);
    out.offset = port.places[number]->first + stack * 2048;
    out.length = length;
    return out;
  }
  std::uint64_t refused(rpc::Refused cause) { return machine.refused(cause); }
  void expect_refused(const Notification& next, rpc::Refused cause) {
    const std::uint64_t before = refused(cause), sent = port.sent.size();
    EXPECT_EQ(hear(next), Machine::Heard::nothing);
    EXPECT_EQ(refused(cause), before + 1);
    EXPECT_EQ(port.sent.size(), sent);
  }

  std::vector<Procedure> procedures = {{"minus", "minus(i32,i32)->i32", hash_of("minus"), hash_of("minus()")},
                                       {"plus", "plus()->i32", hash_of("plus"), hash_of("plus()")}};
  std::uint32_t landings = 0;
  NotedPort port;
  Machine machine{port, {.clients = 3, .of_one = 2, .stacks = 4, .frame = 2048}, procedures};
  Machine::Taken taken;
};

TEST_F(RpcServerMachine, admits_a_client_and_takes_its_calls_each_once) {
  greet(kPeer, greeting());
  ASSERT_EQ(port.sent.size(), 1u);
  const auto admission = protocols::copy_of<Admission>(port.sent[0].data);
  ASSERT_TRUE(admission && good(*admission, 4));
  EXPECT_EQ(port.sent[0].ticket.interface, kPeer);
  EXPECT_EQ(port.sent[0].ticket.key, 7u | std::uint64_t{8} << 32);
  EXPECT_EQ(machine.clients(), 1u);

  ASSERT_EQ(hear(call(kPeer, 10, 2, {.procedure = 1, .sequence = 1})), Machine::Heard::call);
  EXPECT_EQ(taken.stack, 2u);
  EXPECT_EQ(taken.word.procedure(), 1u);
  const Machine::Taken first = taken;
  expect_refused(call(kPeer, 10, 2, {.sequence = 2}), rpc::Refused::busy);
  machine.finish(first, Cause::none, true, std::as_bytes(std::span("abc", 3)));
  ASSERT_EQ(port.sent.size(), 2u);
  const ReplyWord reply = reply_of(port.sent[1].word);
  EXPECT_TRUE(reply.good && reply.sequence == 1 && reply.kind == Kind::result && reply.begun);
  EXPECT_EQ(port.sent[1].offset, 2 * 2048u);
  expect_refused(call(kPeer, 10, 2, {.sequence = 1}), rpc::Refused::sequence);
  ASSERT_EQ(hear(call(kPeer, 10, 2, {.sequence = 7})), Machine::Heard::call);
  machine.finish(taken, Cause::none, true, {});
  expect_refused(call(kPeer, 10, 2, {.sequence = 6}), rpc::Refused::sequence);
}

TEST_F(RpcServerMachine, refuses_calls_that_cannot_be) {
  greet(kPeer, greeting());
  Notification odd = call(kPeer, 10, 0, {.sequence = 1});
  odd.offset += 64;
  expect_refused(odd, rpc::Refused::stack);
  odd.offset = 0;  // among the flags
  expect_refused(odd, rpc::Refused::stack);
  expect_refused(call(kPeer, 10, 4, {.sequence = 1}), rpc::Refused::stack);
  expect_refused(call(kPeer, 10, 0, {.sequence = 1}, 2049), rpc::Refused::length);
  expect_refused(call(kPeer, 10, 0, {.sequence = 0}), rpc::Refused::sequence);
  expect_refused(call(kPeer, 10, 0, {.sequence = 0x8000}), rpc::Refused::sequence);
  Notification strange = call(kPeer, 10, 0, {.sequence = 1});
  for (const std::uint64_t bit : {std::uint64_t{1} << 53, std::uint64_t{1} << 58, std::uint64_t{1} << 63}) {
    Notification wrong = strange;
    wrong.word ^= bit;
    expect_refused(wrong, rpc::Refused::kind);
  }
  expect_refused(call(kOther, 10, 0, {.sequence = 1}), rpc::Refused::key);
  Notification leaving = call(kOther, 10, 0, {.procedure = static_cast<std::uint16_t>(Own::leave)});
  expect_refused(leaving, rpc::Refused::key);
  EXPECT_EQ(machine.clients(), 1u);
}

TEST_F(RpcServerMachine, turns_away_who_is_one_too_many_and_who_cannot_be) {
  greet(kPeer, greeting(), 1);
  greet(kPeer, greeting(), 2);
  EXPECT_EQ(machine.clients(), 2u);
  greet(kPeer, greeting(), 3);  // of one interface
  EXPECT_EQ(machine.clients(), 2u);
  EXPECT_EQ(reply_of(port.sent.back().word).kind, Kind::full);
  EXPECT_EQ(port.sent.back().word >> 40, 3u);
  greet(kOther, greeting(), 1);
  EXPECT_EQ(machine.clients(), 3u);
  greet(79, greeting(), 1);  // of all
  EXPECT_EQ(machine.clients(), 3u);
  const std::size_t sent = port.sent.size();
  Greeting wrong = greeting();
  wrong.shape += 1u << 14;  // another version
  greet(79, wrong);
  wrong = greeting(4, 64);  // a stride too short
  greet(79, wrong);
  wrong = greeting(4, 16384);
  greet(79, wrong);
  wrong = greeting(4, 2048, 0xFFFFFFFF);
  greet(79, wrong);
  EXPECT_EQ(machine.clients(), 3u);
  EXPECT_EQ(port.sent.size(), sent);
  EXPECT_EQ(refused(rpc::Refused::greeting), 6u);
}

TEST_F(RpcServerMachine, puts_greetings_together_that_come_mixed) {
  using Words = std::array<std::uint32_t, kGreetingWords>;
  const Words words[] = {std::bit_cast<Words>(greeting()), std::bit_cast<Words>(greeting())};
  for (std::size_t i = 0; i != kGreetingWords; ++i) {
    for (const std::uint32_t mark : {0u, 1u})
      hear(word_at_door(kPeer, greeting_word(mark, i, words[mark][i])));
    hear(word_at_door(kPeer, greeting_word(3, kGreetingWords + i, 5)));  // no place of a word
  }
  EXPECT_EQ(machine.clients(), 2u);
}

TEST_F(RpcServerMachine, holds_little_of_greetings_that_never_end) {
  for (std::uint32_t mark = 0; mark != 10'000; ++mark) hear(word_at_door(kPeer, greeting_word(mark, 0, 1)));
  for (std::uint64_t peer = 100; peer != 10'000; ++peer) hear(word_at_door(peer, greeting_word(1, 0, 1)));
  EXPECT_EQ(machine.clients(), 0u);
  greet(kPeer, greeting());
  EXPECT_EQ(machine.clients(), 1u);
}

TEST_F(RpcServerMachine, keeps_replies_that_find_no_room) {
  greet(kPeer, greeting());
  ASSERT_EQ(hear(call(kPeer, 10, 1, {.sequence = 1})), Machine::Heard::call);
  port.answer = Status::queue_full;
  machine.finish(taken, Cause::none, true, std::as_bytes(std::span("abc", 3)));
  EXPECT_TRUE(machine.owes());
  EXPECT_FALSE(machine.settle_owed());
  expect_refused(call(kPeer, 10, 1, {.sequence = 2}), rpc::Refused::busy);  // nobody has told it to
  port.answer = Status::ok;
  EXPECT_TRUE(machine.settle_owed());
  ASSERT_EQ(port.sent.size(), 2u);
  EXPECT_EQ(port.sent[1].data.size(), 3u);
  EXPECT_EQ(hear(call(kPeer, 10, 1, {.sequence = 2})), Machine::Heard::call);
  machine.finish(taken, Cause::none, true, {});
}

TEST_F(RpcServerMachine, sends_long_replies_to_the_entry_of_their_stack) {
  greet(kPeer, greeting());
  ASSERT_EQ(hear(call(kPeer, 10, 3, {.sequence = 1})), Machine::Heard::call);
  EXPECT_EQ(machine.room(*taken.client), 65536u);
  const std::vector<std::byte> data(5000);
  machine.finish(taken, Cause::none, true, data);
  ASSERT_EQ(port.sent.size(), 2u);
  EXPECT_EQ(port.sent[1].ticket.entry, 3u);
  EXPECT_EQ(port.sent[1].ticket.incarnation, 9u);
  EXPECT_EQ(port.sent[1].offset, 4 * 2048u + 3 * 65536u);
  EXPECT_TRUE(machine.owes());  // the interface reads it
  port.under_way = Status::ok;
  EXPECT_TRUE(machine.settle_owed());
  EXPECT_EQ(hear(call(kPeer, 10, 3, {.sequence = 2})), Machine::Heard::call);
  machine.finish(taken, Cause::none, true, data);
  port.under_way = Status::pending;
  EXPECT_TRUE(machine.owes());
  end_link(kPeer);
  EXPECT_EQ(port.cancelled, 1);
  EXPECT_FALSE(machine.owes());
}

// The client has it whole, or would not call there again.
TEST_F(RpcServerMachine, takes_the_next_call_of_a_stack_whose_long_reply_it_has_not_heard_of) {
  greet(kPeer, greeting());
  ASSERT_EQ(hear(call(kPeer, 10, 3, {.sequence = 1})), Machine::Heard::call);
  machine.finish(taken, Cause::none, true, std::vector<std::byte>(5000));
  EXPECT_TRUE(machine.owes());
  expect_refused(call(kPeer, 10, 3, {.sequence = 1}), rpc::Refused::busy);  // it does not follow
  EXPECT_EQ(hear(call(kPeer, 10, 3, {.sequence = 2})), Machine::Heard::call);
  EXPECT_FALSE(machine.owes());
  EXPECT_EQ(port.cancelled, 1);
  machine.finish(taken, Cause::none, true, {});
}

TEST_F(RpcServerMachine, forgets_what_was_cancelled_when_the_next_call_comes) {
  greet(kPeer, greeting());
  const std::size_t stack = 1;
  ASSERT_EQ(hear(call(kPeer, 10, stack, {.sequence = 1})), Machine::Heard::call);
  taken.client->place->flags[stack] = 1;
  EXPECT_TRUE(machine.cancelled(taken));
  machine.finish(taken, Cause::cancelled, false, {});
  ASSERT_EQ(hear(call(kPeer, 10, stack, {.sequence = 2})), Machine::Heard::call);
  EXPECT_FALSE(machine.cancelled(taken));
  EXPECT_EQ(taken.client->place->flags[stack], 0u) << "the number 1 comes again";
  machine.finish(taken, Cause::none, true, {});
}

TEST_F(RpcServerMachine, says_when_nobody_may_wait_any_more_for_what_is_under_way) {
  greet(kPeer, greeting());
  Notification put;
  put.kind = Notification::Kind::put;
  put.slot = 10;
  put.peer = kPeer;
  EXPECT_EQ(hear(put), Machine::Heard::nothing) << "nothing is under way";
  ASSERT_EQ(hear(call(kPeer, 10, 1, {.sequence = 1})), Machine::Heard::call);
  const Machine::Taken running = taken;
  EXPECT_EQ(hear(put), Machine::Heard::given_up);
  put.slot = 12;
  EXPECT_EQ(hear(put), Machine::Heard::nothing) << "of nobody's slot";
  greet(kOther, greeting());
  EXPECT_EQ(hear(put), Machine::Heard::nothing) << "that client has called nothing";
  const CallWord leave{.procedure = static_cast<std::uint16_t>(Own::leave)};
  EXPECT_EQ(hear(call(kOther, 12, 0, leave)), Machine::Heard::nothing);
  EXPECT_EQ(hear(call(kPeer, 10, 0, leave)), Machine::Heard::given_up);
  EXPECT_TRUE(machine.cancelled(running));
  machine.finish(running, Cause::none, true, {});

  greet(kPeer, greeting(), 2);
  ASSERT_EQ(hear(call(kPeer, 14, 1, {.sequence = 1})), Machine::Heard::call);
  port.links[kPeer] = 1000;
  Notification end;
  end.kind = Notification::Kind::link_ended;
  end.peer = kOther;
  EXPECT_EQ(hear(end), Machine::Heard::nothing);
  end.peer = kPeer;
  EXPECT_EQ(hear(end), Machine::Heard::given_up);
  EXPECT_EQ(hear(end), Machine::Heard::nothing) << "that was said";
  machine.finish(taken, Cause::none, true, {});
}

TEST_F(RpcServerMachine, takes_long_frames_and_arms_their_entry_after_the_reply_alone) {
  greet(kPeer, greeting());
  port.long_metadata = {word_of(CallWord{.procedure = 1, .sequence = 1}), 2};
  Notification next;
  next.slot = 11;
  next.peer = kPeer;
  next.length = 3000;
  ASSERT_EQ(hear(next), Machine::Heard::call);
  EXPECT_TRUE(taken.longer);
  EXPECT_EQ(taken.frame.size(), 3000u);
  EXPECT_EQ(port.places[10]->armed, 0);
  machine.finish(taken, Cause::none, true, {});
  EXPECT_EQ(port.places[10]->armed, 1);
  // An entry whose message cannot be is armed at once: that costs its sender the message.
  port.long_metadata.stack = 4;
  expect_refused(next, rpc::Refused::stack);
  port.long_metadata = {word_of(CallWord{.sequence = 1}), 2};
  expect_refused(next, rpc::Refused::sequence);
  port.long_good = false;
  expect_refused(next, rpc::Refused::kind);
  EXPECT_EQ(port.places[10]->armed, 4);
}

TEST_F(RpcServerMachine, remembers_how_the_last_calls_of_a_client_ended) {
  greet(kPeer, greeting());
  const auto run = [&](std::uint32_t stack, std::uint16_t sequence, Cause cause, bool begun) {
    ASSERT_EQ(hear(call(kPeer, 10, stack, {.sequence = sequence})), Machine::Heard::call);
    machine.finish(taken, cause, begun, {});
  };
  run(0, 1, Cause::none, true);
  run(1, 1, Cause::too_deep, false);
  ASSERT_EQ(hear(call(kPeer, 10, 2, {.sequence = 3})), Machine::Heard::call);
  const Machine::Taken running = taken;
  end_link(kPeer, 1000);
  EXPECT_TRUE(machine.cancelled(running));
  expect_refused(call(kPeer, 10, 3, {.sequence = 1}), rpc::Refused::key);  // it is not done any more

  greet(kPeer, greeting(), 2);
  const auto ask = [&](FateQuestion question, std::uint64_t peer = kPeer, std::uint32_t number = 12) {
    static std::uint16_t sequence = 0;
    EXPECT_EQ(hear(call(peer, number, 0,
                        {.procedure = static_cast<std::uint16_t>(Own::settle), .sequence = ++sequence})),
              Machine::Heard::call);
    std::array<std::byte, 64> room;
    Writer reply(room);
    const Cause cause = machine.administer(taken, std::as_writable_bytes(std::span{&question, 1}), reply);
    machine.finish(taken, cause, true, {});
    return cause == Cause::none ? static_cast<int>(room[0]) : -1;
  };
  EXPECT_EQ(ask({1, 0, 1}), static_cast<int>(Fate::done));
  EXPECT_EQ(ask({1, 1, 1}), static_cast<int>(Fate::not_done));
  EXPECT_EQ(ask({1, 2, 3}), static_cast<int>(kStillRunning));
  EXPECT_EQ(ask({1, 3, 1}), static_cast<int>(Fate::not_done));
  EXPECT_EQ(ask({1, 0, 2}), static_cast<int>(Fate::not_done));
  EXPECT_EQ(ask({1, 9, 1}), static_cast<int>(Fate::unknown));
  EXPECT_EQ(ask({5, 0, 1}), static_cast<int>(Fate::unknown));
  EXPECT_EQ(ask({2, 0, 1}), -1);  // its own session goes on
  const std::size_t sent = port.sent.size();
  machine.finish(running, Cause::none, true, {});
  EXPECT_EQ(port.sent.size(), sent);  // nobody waits
  EXPECT_EQ(ask({1, 2, 3}), static_cast<int>(Fate::done));
  greet(kOther, greeting());
  EXPECT_EQ(ask({1, 0, 1}, kOther, 14), static_cast<int>(Fate::unknown));  // another's
}

TEST_F(RpcServerMachine, tells_numbers_and_signatures) {
  greet(kPeer, greeting());
  const auto ask = [&](Own own, std::vector<std::uint64_t> words) {
    static std::uint16_t sequence = 0;
    EXPECT_EQ(
        hear(call(kPeer, 10, 0, {.procedure = static_cast<std::uint16_t>(own), .sequence = ++sequence})),
        Machine::Heard::call);
    std::array<std::byte, 64> room;
    Writer reply(room);
    const Cause cause = machine.administer(taken, std::as_writable_bytes(std::span{words}), reply);
    machine.finish(taken, cause, true, {});
    const auto written = reply.written();
    return cause == Cause::none ? std::string(reinterpret_cast<const char*>(written.data()), written.size())
                                : std::string("refused");
  };
  std::vector<std::uint64_t> many(2 * (kMostPairs + 1), 5);
  EXPECT_EQ(ask(Own::bind, many), "refused") << "each is looked for";
  many.resize(2 * kMostPairs);
  EXPECT_EQ(ask(Own::bind, many).size(), 2 * kMostPairs);
  const std::string numbers = ask(Own::bind, {hash_of("plus"), hash_of("plus()"), hash_of("minus"), 5, 6, 7});
  EXPECT_EQ(numbers, std::string("\x01\x00\xFE\xFF\xFF\xFF", 6));
  EXPECT_EQ(ask(Own::bind, {1}), "refused");
  EXPECT_EQ(ask(Own::tell, {hash_of("minus")}), "minus(i32,i32)->i32");
  EXPECT_EQ(ask(Own::tell, {5}), "refused");
  EXPECT_EQ(ask(Own::settle, {}), "refused");
  EXPECT_EQ(ask(static_cast<Own>(0xFFF9), {}), "refused");
}

TEST_F(RpcServerMachine, lets_go_whoever_leaves_once_its_calls_are_over) {
  greet(kPeer, greeting());
  ASSERT_EQ(hear(call(kPeer, 10, 1, {.sequence = 1})), Machine::Heard::call);
  hear(call(kPeer, 10, 1, {.procedure = static_cast<std::uint16_t>(Own::leave)}));
  EXPECT_EQ(machine.clients(), 1u);
  const Notification late = call(kPeer, 10, 1, {.sequence = 2});
  machine.finish(taken, Cause::none, true, {});
  EXPECT_EQ(machine.clients(), 0u);
  EXPECT_EQ(hear(late), Machine::Heard::nothing);
}

TEST_F(RpcServerMachine, ends_the_clients_of_links_that_have_ended_alone) {
  greet(kPeer, greeting());
  greet(kOther, greeting());
  ASSERT_EQ(machine.clients(), 2u);
  end_link(kPeer, kPeer);  // of a link before
  EXPECT_EQ(machine.clients(), 2u);
  port.links[kPeer] = 1000;
  end_link(kOther, kOther, ~0ull);  // of somebody else
  EXPECT_EQ(machine.clients(), 2u);
  Notification many;
  many.kind = Notification::Kind::link_ended;  // of peer 0: of any
  hear(many);
  EXPECT_EQ(machine.clients(), 1u);
  expect_refused(call(kPeer, 12, 0, {.sequence = 1}), rpc::Refused::key);
  EXPECT_EQ(hear(call(kOther, 12, 0, {.sequence = 1})), Machine::Heard::call);
  machine.finish(taken, Cause::none, true, {});
}

TEST_F(RpcServerMachine, hears_no_greeting_in_two_halves_of_two_links) {
  const auto words = std::bit_cast<std::array<std::uint32_t, kGreetingWords>>(greeting());
  hear(word_at_door(kPeer, greeting_word(1, 0, words[0])));
  end_link(kPeer, 1000);
  for (std::size_t i = 1; i != kGreetingWords; ++i) hear(word_at_door(kPeer, greeting_word(1, i, words[i])));
  EXPECT_EQ(machine.clients(), 0u);
}

TEST_F(RpcServerMachine, has_one_place_for_a_landing_however_often_it_greets) {
  const Greeting same = greeting();
  for (std::uint32_t mark = 1; mark != 6; ++mark) greet(kPeer, same, mark);
  EXPECT_EQ(machine.clients(), 1u);
  greet(kPeer, greeting());
  EXPECT_EQ(machine.clients(), 2u);
  Greeting others = same;
  greet(kOther, others);
  EXPECT_EQ(machine.clients(), 3u) << "another interface's has that number, too";
}

TEST_F(RpcServerMachine, counts_who_has_gone_with_calls_that_are_not_over) {
  std::vector<Machine::Taken> under_way;
  for (std::uint64_t link = 1000; link != 1002; ++link) {
    greet(kPeer, greeting());
    ASSERT_EQ(hear(call(kPeer, port.next_number - 2, 0, {.sequence = 1})), Machine::Heard::call);
    under_way.push_back(taken);
    end_link(kPeer, link);
  }
  greet(kPeer, greeting());
  EXPECT_EQ(machine.clients(), 2u) << "who comes and goes holds no more places than who stays";
  EXPECT_EQ(reply_of(port.sent.back().word).kind, Kind::full);
  greet(kOther, greeting());
  EXPECT_EQ(machine.clients(), 3u);
  for (const Machine::Taken& each : under_way) machine.finish(each, Cause::none, true, {});
  EXPECT_EQ(machine.clients(), 1u);
  greet(kPeer, greeting());
  EXPECT_EQ(machine.clients(), 2u);
}

TEST_F(RpcServerMachine, holds_few_of_those_that_it_turns_away) {
  greet(kPeer, greeting(), 1);
  greet(kPeer, greeting(), 2);
  port.answer = Status::connecting;
  for (std::uint32_t mark = 3; mark != 100; ++mark) greet(kPeer, greeting(), mark);
  EXPECT_FALSE(machine.settle_owed());
  port.answer = Status::ok;
  port.sent.clear();
  EXPECT_TRUE(machine.settle_owed());
  EXPECT_EQ(port.sent.size(), kMostTurnedAway);
}

TEST_F(RpcServerMachine, forgets_the_calls_of_who_comes_and_goes_before_those_of_others) {
  greet(kPeer, greeting());
  ASSERT_EQ(hear(call(kPeer, 10, 0, {.sequence = 1})), Machine::Heard::call);
  machine.finish(taken, Cause::none, true, {});
  end_link(kPeer, 1000);
  for (std::uint64_t link = 2000; link != 2010; ++link) {
    greet(kOther, greeting());
    end_link(kOther, link);
  }
  greet(kPeer, greeting());
  const std::uint32_t number = port.next_number - 2;
  FateQuestion question{1, 0, 1};
  ASSERT_EQ(
      hear(call(kPeer, number, 0, {.procedure = static_cast<std::uint16_t>(Own::settle), .sequence = 1})),
      Machine::Heard::call);
  std::array<std::byte, 64> room;
  Writer reply(room);
  EXPECT_EQ(machine.administer(taken, std::as_writable_bytes(std::span{&question, 1}), reply), Cause::none);
  EXPECT_EQ(static_cast<Fate>(room[0]), Fate::done);
  machine.finish(taken, Cause::none, true, {});
}

TEST_F(RpcServerMachine, answers_for_no_call_whose_number_in_words_has_come_again) {
  greet(kPeer, greeting());
  const std::uint64_t calls = 0x1'0003;
  for (std::uint64_t at = 1; at <= calls; at = next_sequence(at)) {
    ASSERT_EQ(hear(call(kPeer, 10, 0, {.sequence = in_word(at)})), Machine::Heard::call);
    machine.finish(taken, Cause::none, at % 2 == 0, {});
  }
  end_link(kPeer, 1000);
  greet(kPeer, greeting());
  std::uint16_t asked = 0;
  const auto ask = [&](std::uint64_t sequence) {
    FateQuestion question{1, 0, sequence};
    EXPECT_EQ(
        hear(call(kPeer, 12, 0, {.procedure = static_cast<std::uint16_t>(Own::settle), .sequence = ++asked})),
        Machine::Heard::call);
    std::array<std::byte, 64> room;
    Writer reply(room);
    EXPECT_EQ(machine.administer(taken, std::as_writable_bytes(std::span{&question, 1}), reply), Cause::none);
    machine.finish(taken, Cause::none, true, {});
    return static_cast<Fate>(room[0]);
  };
  EXPECT_EQ(ask(calls), Fate::not_done);  // it was odd
  EXPECT_EQ(ask(3), Fate::unknown) << "it has the same number in words";
  EXPECT_EQ(ask(0x8004), Fate::unknown) << "half the numbers ago";
  EXPECT_EQ(ask(calls + 1), Fate::not_done);
  EXPECT_EQ(ask(calls + 0x1'0000), Fate::not_done);
}

TEST_F(RpcServerMachine, lists_its_procedures_as_many_as_fit) {
  greet(kPeer, greeting());
  std::uint16_t sequence = 0;
  const auto list = [&](std::uint32_t first, std::span<std::byte> room) {
    EXPECT_EQ(hear(call(kPeer, 10, 0,
                        {.procedure = static_cast<std::uint16_t>(Own::list), .sequence = ++sequence})),
              Machine::Heard::call);
    Writer reply(room);
    const Cause cause = machine.administer(taken, std::as_writable_bytes(std::span{&first, 1}), reply);
    machine.finish(taken, cause, true, {});
    EXPECT_TRUE(reply.fits());
    if (cause != Cause::none) return std::string("refused");
    Reader from(room.first(reply.size()));
    std::string out = std::to_string(from.number<std::uint32_t>());
    while (from.left() != 0) {
      std::string each;
      Layout<std::string>::get(from, each);
      out += " " + each;
    }
    EXPECT_TRUE(from.whole());
    return out;
  };
  alignas(8) std::array<std::byte, 64> room;
  EXPECT_EQ(list(0, room), "2 minus(i32,i32)->i32 plus()->i32");
  EXPECT_EQ(list(1, room), "2 plus()->i32");
  EXPECT_EQ(list(2, room), "2");
  EXPECT_EQ(list(3, room), "refused");
  EXPECT_EQ(list(0, std::span(room).first(40)), "2 minus(i32,i32)->i32");
  EXPECT_EQ(list(0, std::span(room).first(8)), "2");
}

}  // namespace
}  // namespace hamlyn::test
