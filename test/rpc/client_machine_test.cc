// A client's state by itself: what any server, honest or not, may have it believe.
#include "rpc/client_machine.h"

#include <gtest/gtest.h>

#include "library/no_link.h"

namespace hamlyn::test {
namespace {

using namespace internal_::rpc;

constexpr std::uint64_t kServer = 5;

// Notes all that a machine sends, and has memory where results land.
class AnsweringPort {
 public:
  struct Sent {
    Ticket ticket;
    std::vector<std::byte> data;
    std::uint64_t word;
    std::uint64_t offset;
  };
  void make_landing(std::size_t stacks, std::size_t stride, std::size_t longest) {
    memory.assign(stacks * (stride + longest), std::byte{0});
    stride_ = stride;
    longest_ = longest;
    long_at_ = stacks * stride;
    ++number_;
  }
  std::uint32_t number() const noexcept { return number_; }
  Ticket ticket() const { return {.interface = 1, .slot = number_, .key = 0x1234}; }
  std::uint32_t incarnation() const { return 3; }
  std::size_t stride() const noexcept { return stride_; }
  std::uint64_t long_offset(std::uint64_t stack) const noexcept { return long_at_ + stack * longest_; }
  const std::byte* bytes(bool longer, std::size_t stack) const noexcept {
    return memory.data() + (longer ? long_offset(stack) : stack * stride_);
  }
  std::span<const std::byte> landed(const Notification& next) const noexcept {
    return std::span(memory).subspan(next.offset, next.length);
  }
  std::uint64_t word(const Notification&) const noexcept { return long_word; }
  void arm(std::uint32_t entry) noexcept { armed.push_back(entry); }
  Status connect(const Ticket&) noexcept { return Status::ok; }
  bool watch(std::uint64_t) noexcept { return true; }
  library::LinkNow link(std::uint64_t) noexcept { return {serial, 0}; }
  Status send_fast(const Ticket& ticket, std::span<const std::byte> data, std::uint64_t word,
                   std::uint64_t offset, bool) noexcept {
    if (answer == Status::ok) sent.push_back({ticket, {data.begin(), data.end()}, word, offset});
    return answer;
  }
  Status send(const Ticket& ticket, std::span<const std::byte> data, std::span<const std::byte>,
              SendHandle& handle) noexcept {
    sent.push_back({ticket, {data.begin(), data.end()}, 0, 0});
    handle.sequence = 77;
    return Status::pending;
  }
  void cancel(SendHandle handle) noexcept { cancelled.push_back(handle.sequence); }
  Status put(const Ticket& ticket, std::span<const std::byte> data, std::uint64_t offset) noexcept {
    if (put_answer == Status::ok) puts.push_back({ticket, {data.begin(), data.end()}, 0, offset});
    return put_answer;
  }

  Status answer = Status::ok, put_answer = Status::ok;
  std::uint64_t serial = 1;  // of the link with the server
  std::vector<Sent> sent, puts;
  std::vector<std::uint32_t> armed;
  std::vector<std::uint64_t> cancelled;
  std::vector<std::byte> memory;
  std::uint64_t long_word = 0;

 private:
  std::uint32_t number_ = 20;
  std::size_t stride_ = 0, longest_ = 0, long_at_ = 0;
};

class RpcClientMachine : public testing::Test {
 protected:
  using Machine = ClientMachine<AnsweringPort>;

  RpcClientMachine() { machine.open({.interface = kServer, .slot = 2}); }

  // A message of the server's, into the landing.
  Notification message(std::uint64_t offset, std::uint64_t word, std::span<const std::byte> data) {
    if (offset + data.size() <= port.memory.size() && !data.empty())
      std::memcpy(port.memory.data() + offset, data.data(), data.size());
    Notification out;
    out.fast = true;
    out.slot = port.number();
    out.peer = kServer;
    out.offset = offset;
    out.length = data.size();
    out.word = word;
    return out;
  }
  Admission admission() {
    Admission out;
    out.session = 9;
    out.stacks = 4;
    out.stride = 2048;
    out.frame = 2000;
    out.slot = 30;
    out.key = 31;
    out.mark = 0x1235;
    out.long_bound = 10'000;
    return out;
  }
  void hear_admission(const Admission& one) {
    ReplyWord word;
    word.kind = Kind::admitted;
    static_cast<void>(machine.hear(message(0, word_of(word), std::as_bytes(std::span{&one, 1}))));
  }
  Notification result(std::uint64_t stack, std::uint64_t sequence, std::string_view data = "") {
    return message(stack * 2048, word_of(ReplyWord{in_word(sequence), Kind::result, Cause::none, true}),
                   std::as_bytes(std::span(data)));
  }
  void open() {
    EXPECT_EQ(machine.advance(), Status::pending);
    hear_admission(admission());
    EXPECT_EQ(machine.advance(), Status::pending);  // binds
    const std::array<std::uint16_t, 2> numbers{7, kNoSuchName};
    static_cast<void>(
        machine.hear(result(0, 1, {reinterpret_cast<const char*>(numbers.data()), sizeof numbers})));
    ASSERT_EQ(machine.advance(), Status::ok);
    port.sent.clear();
  }
  // Another link is there when it is heard.
  Notification end_of_link(std::uint64_t peer = kServer) {
    ++port.serial;
    return told_end(peer);
  }
  static Notification told_end(std::uint64_t peer) {
    Notification out;
    out.kind = Notification::Kind::link_ended;
    out.peer = peer;
    return out;
  }
  CallId start(std::size_t place = 0) {
    CallId call;
    EXPECT_EQ(machine.start(place, {}, {}, call), Status::ok);
    return call;
  }
  // Whether that changes nothing, and is counted.
  void expect_passed_over(const Notification& next, CallId call) {
    const std::uint64_t before = machine.refused();
    static_cast<void>(machine.hear(next));
    EXPECT_EQ(machine.refused(), before + 1);
    EXPECT_EQ(machine.look(call), Machine::Look::out);
  }

  std::vector<Procedure> procedures = {{"a", "a()->nothing", 1, 2}, {"b", "b()->nothing", 3, 4}};
  AnsweringPort port;
  Machine machine{port, {.stacks = 4, .frame = 2048, .result = 4096}, procedures};
};

// The server has ended, and its process has not: that is neither a full server nor another procedure.
TEST_F(RpcClientMachine, says_that_the_server_has_ended_whose_door_has_gone) {
  for (const Status gone : {Status::refused, Status::stale}) {
    port.answer = gone;
    machine.open({.interface = kServer, .slot = 2});
    EXPECT_EQ(machine.advance(), Status::link_ended);
    EXPECT_TRUE(machine.ended());
  }
  port.answer = Status::ok;
  machine.open({.interface = kServer, .slot = 2});
  open();
}

TEST_F(RpcClientMachine, greets_binds_and_calls) {
  open();
  EXPECT_TRUE(machine.has(0));
  EXPECT_FALSE(machine.has(1));
  CallId call;
  EXPECT_EQ(machine.start(1, {}, {}, call), Status::refused);
  call = start();
  ASSERT_EQ(port.sent.size(), 1u);
  const CallBits word(port.sent[0].word);
  EXPECT_TRUE(word.good() && word.procedure() == 7 && word.sequence() == call.sequence);
  EXPECT_EQ(port.sent[0].ticket.slot, 30u);
  EXPECT_EQ(port.sent[0].offset, machine.place_of(call.stack));
  EXPECT_EQ(machine.look(call), Machine::Look::out);
  static_cast<void>(machine.hear(result(call.stack, call.sequence, "abc")));
  ASSERT_EQ(machine.look(call), Machine::Look::done);
  Landing landing;
  ReplyWord reply;
  ASSERT_TRUE(machine.take(call, landing, reply));
  EXPECT_EQ(landing.bytes.size(), 3u);
  EXPECT_EQ(machine.look(call), Machine::Look::none);
  EXPECT_EQ(machine.free_stacks(), 4u);
}

TEST_F(RpcClientMachine, passes_over_results_of_no_call) {
  open();
  const CallId call = start();
  expect_passed_over(result(call.stack, call.sequence + 1), call);
  expect_passed_over(result(call.stack, call.sequence - 1), call);
  expect_passed_over(result((call.stack + 1) % 4u, call.sequence), call);
  expect_passed_over(result(4, call.sequence), call);
  Notification odd = result(call.stack, call.sequence);
  odd.offset += 8;
  expect_passed_over(odd, call);
  odd = result(call.stack, call.sequence);
  odd.length = 2049;
  expect_passed_over(odd, call);
  odd = result(call.stack, call.sequence);
  odd.word |= std::uint64_t{1} << 50;
  expect_passed_over(odd, call);
  odd = result(call.stack, call.sequence);
  odd.word |= std::uint64_t{5} << 24;  // a result with a cause
  expect_passed_over(odd, call);
  odd = result(call.stack, call.sequence);
  odd.peer = 6;
  expect_passed_over(odd, call);
  odd = result(call.stack, call.sequence);
  odd.slot = 77;
  expect_passed_over(odd, call);
  hear_admission(admission());  // once more
  EXPECT_EQ(machine.look(call), Machine::Look::out);
  static_cast<void>(machine.hear(result(call.stack, call.sequence)));
  EXPECT_EQ(machine.look(call), Machine::Look::done);
  const std::uint64_t before = machine.refused();
  static_cast<void>(machine.hear(result(call.stack, call.sequence)));  // twice
  EXPECT_EQ(machine.refused(), before + 1);
}

TEST_F(RpcClientMachine, takes_no_admission_that_cannot_be) {
  EXPECT_EQ(machine.advance(), Status::pending);
  const auto wrong = [&](auto spoil) {
    Admission one = admission();
    spoil(one);
    const std::uint64_t before = machine.refused();
    hear_admission(one);
    EXPECT_EQ(machine.refused(), before + 1);
    EXPECT_EQ(machine.step(), Machine::Step::admission);
  };
  wrong([](Admission& one) { one.magic = 0; });
  wrong([](Admission& one) { one.version = 1; });
  wrong([](Admission& one) { one.session = 0; });
  wrong([](Admission& one) { one.stacks = 5; });
  wrong([](Admission& one) { one.stacks = 0; });
  wrong([](Admission& one) { one.stride = 2047; });
  wrong([](Admission& one) { one.stride = 64; });
  wrong([](Admission& one) { one.stride = 1u << 31; });
  wrong([](Admission& one) { one.frame = 2049; });
  wrong([](Admission& one) { one.frame = 0; });
  wrong([](Admission& one) { one.long_bound = ~0ull; });
  wrong([](Admission& one) { one.mark = 5; });
  hear_admission(admission());
  EXPECT_EQ(machine.step(), Machine::Step::binding);
}

TEST_F(RpcClientMachine, believes_no_numbers_that_cannot_be) {
  for (const std::vector<std::uint16_t>& numbers :
       {std::vector<std::uint16_t>{}, {kReserved}, {1, 2, 3}, {static_cast<std::uint16_t>(Own::leave)}}) {
    machine.open({.interface = kServer, .slot = 2});
    EXPECT_EQ(machine.advance(), Status::pending);
    hear_admission(admission());
    EXPECT_EQ(machine.advance(), Status::pending);
    static_cast<void>(
        machine.hear(result(0, 1, {reinterpret_cast<const char*>(numbers.data()), 2 * numbers.size()})));
    EXPECT_EQ(machine.advance(), Status::broken);
  }
}

TEST_F(RpcClientMachine, asks_for_the_words_of_what_differs) {
  EXPECT_EQ(machine.advance(), Status::pending);
  hear_admission(admission());
  EXPECT_EQ(machine.advance(), Status::pending);
  const std::array<std::uint16_t, 1> numbers{kOtherSignature};
  static_cast<void>(machine.hear(result(0, 1, {reinterpret_cast<const char*>(numbers.data()), 2})));
  EXPECT_EQ(machine.advance(), Status::pending);
  static_cast<void>(machine.hear(result(0, 2, "a(i32)->\n\x01nothing")));
  EXPECT_EQ(machine.advance(), Status::stale);
  EXPECT_EQ(machine.wrong(), "this program calls a()->nothing, the server has a(i32)->??nothing");
}

TEST_F(RpcClientMachine, says_when_all_stacks_are_in_use_and_keeps_those_that_were_forgotten) {
  open();
  std::vector<CallId> calls;
  for (int i = 0; i != 4; ++i) calls.push_back(start());
  CallId more;
  EXPECT_EQ(machine.start(0, {}, {}, more), Status::queue_full);
  machine.forget(calls[2]);
  EXPECT_EQ(machine.start(0, {}, {}, more), Status::queue_full);  // the server has it still
  EXPECT_EQ(machine.fate(calls[2]), Fate::unknown);
  static_cast<void>(machine.hear(result(calls[2].stack, calls[2].sequence)));
  EXPECT_EQ(machine.fate(calls[2]), Fate::done);
  EXPECT_EQ(machine.start(0, {}, {}, more), Status::ok);
  EXPECT_EQ(more.stack, calls[2].stack);
  EXPECT_EQ(machine.look(calls[2]), Machine::Look::none);
}

TEST_F(RpcClientMachine, has_one_long_frame_under_way) {
  open();
  const std::vector<std::byte> frame(5000), longest(10'001);
  CallId call, other;
  EXPECT_EQ(machine.start(0, longest, {}, call), Status::too_long);
  EXPECT_EQ(machine.start(0, frame, {.urgent = true}, call), Status::too_long);  // urgent
  ASSERT_EQ(machine.start(0, frame, {}, call), Status::ok);
  EXPECT_EQ(machine.start(0, frame, {}, other), Status::queue_full);
  ASSERT_EQ(machine.start(0, {}, {}, other), Status::ok);
  static_cast<void>(machine.hear(result(call.stack, call.sequence)));
  Landing landing;
  ReplyWord reply;
  EXPECT_TRUE(port.cancelled.empty());
  ASSERT_TRUE(machine.take(call, landing, reply));
  EXPECT_EQ(port.cancelled.size(), 1u);  // whoever answers early may not have had all of it
  EXPECT_EQ(machine.start(0, frame, {}, call), Status::ok);
}

TEST_F(RpcClientMachine, takes_long_results_and_arms_their_entry_again) {
  open();
  const CallId call = start();
  port.long_word = word_of(ReplyWord{in_word(call.sequence), Kind::result, Cause::none, true});
  Notification next = message(port.long_offset(call.stack), 0, std::vector<std::byte>(4000));
  next.fast = false;
  next.entry = call.stack;
  Notification other = next;
  other.entry = (call.stack + 1) % 4u;
  expect_passed_over(other, call);
  EXPECT_EQ(port.armed, std::vector<std::uint32_t>{other.entry});
  static_cast<void>(machine.hear(next));
  ASSERT_EQ(machine.look(call), Machine::Look::done);
  Landing landing;
  ReplyWord reply;
  ASSERT_TRUE(machine.take(call, landing, reply));
  EXPECT_EQ(landing.bytes.size(), 4000u);
  EXPECT_EQ(port.armed.back(), call.stack);
}

TEST_F(RpcClientMachine, leaves_the_fate_open_of_what_was_out_when_the_link_ended) {
  open();
  const CallId out = start(), done = start();
  static_cast<void>(machine.hear(result(done.stack, done.sequence)));
  EXPECT_TRUE(machine.hear(end_of_link()));
  EXPECT_TRUE(machine.ended());
  EXPECT_EQ(machine.look(done), Machine::Look::done);  // its result is here
  EXPECT_EQ(machine.look(out), Machine::Look::out);
  EXPECT_EQ(machine.fate(out), Fate::unknown);
  CallId call;
  EXPECT_EQ(machine.start(0, {}, {}, call), Status::link_ended);
  static_cast<void>(machine.hear(result(out.stack, out.sequence)));  // of a link that has ended
  EXPECT_EQ(machine.look(out), Machine::Look::out);
  machine.open({.interface = kServer, .slot = 2});
  open();
  EXPECT_EQ(machine.look(out), Machine::Look::none);
}

TEST_F(RpcClientMachine, ends_when_its_server_says_that_it_goes_and_for_no_other_session) {
  open();
  const CallId out = start();
  const auto goes = [&](std::uint32_t session) {
    return message(
        0, word_of(ReplyWord{.sequence = static_cast<std::uint16_t>(session), .kind = Kind::closed}), {});
  };
  EXPECT_FALSE(machine.hear(goes(out.session + 1)));
  EXPECT_FALSE(machine.ended());
  EXPECT_TRUE(machine.hear(goes(out.session)));
  EXPECT_TRUE(machine.ended());
  EXPECT_EQ(machine.fate(out), Fate::unknown);
}

// One that left would be done in the new session, and the old one be asked about it.
TEST_F(RpcClientMachine, lets_no_reserved_call_leave_when_its_session_has_ended) {
  open();
  CallId call;
  std::uint64_t word = 0;
  EXPECT_EQ(machine.reserve(0, 1 << 20, {}, call, word), Status::too_long);
  ASSERT_EQ(machine.reserve(0, 8, {}, call, word), Status::ok);
  EXPECT_TRUE(machine.may_leave(call));
  EXPECT_TRUE(machine.hear(end_of_link()));
  EXPECT_FALSE(machine.may_leave(call));
  machine.open({.interface = kServer, .slot = 2});
  open();
  EXPECT_FALSE(machine.may_leave(call));
  machine.take_back(call);
  EXPECT_EQ(machine.fate(call), Fate::not_done);
  EXPECT_EQ(machine.free_stacks(), machine.stacks());
}

TEST_F(RpcClientMachine, cancels_by_a_word_at_the_flag_of_its_stack) {
  open();
  const CallId call = start();
  machine.cancel(call);
  ASSERT_EQ(port.puts.size(), 1u);
  EXPECT_EQ(port.puts[0].offset, call.stack * kFlag);
  EXPECT_EQ(base::load_little<std::uint64_t>(port.puts[0].data.data()), call.sequence);
  static_cast<void>(machine.hear(result(call.stack, call.sequence)));
  machine.cancel(call);
  EXPECT_EQ(port.puts.size(), 1u);
}

TEST_F(RpcClientMachine, tells_of_a_cancel_once_there_is_room_for_it) {
  open();
  const CallId call = start(), other = start();
  port.put_answer = Status::queue_full;
  machine.cancel(call);
  machine.cancel(other);
  machine.settle_owed();
  EXPECT_TRUE(port.puts.empty());
  static_cast<void>(machine.hear(result(other.stack, other.sequence)));
  machine.forget(other);  // it has ended: there is nothing to cancel
  port.put_answer = Status::ok;
  machine.settle_owed();
  machine.settle_owed();
  ASSERT_EQ(port.puts.size(), 1u);
  EXPECT_EQ(port.puts[0].offset, call.stack * kFlag);
  port.put_answer = Status::queue_full;
  const CallId third = start();
  machine.cancel(third);
  EXPECT_TRUE(machine.hear(end_of_link()));
  port.put_answer = Status::ok;
  machine.settle_owed();
  EXPECT_EQ(port.puts.size(), 1u) << "of a session that has ended";
}

TEST_F(RpcClientMachine, ends_with_the_link_that_it_has_greeted_by_alone) {
  open();
  EXPECT_TRUE(machine.hear(told_end(kServer)));  // of a link before
  EXPECT_TRUE(machine.hear(told_end(0)));        // of others
  EXPECT_FALSE(machine.ended());
  EXPECT_FALSE(machine.hear(told_end(kServer + 1)));
  EXPECT_TRUE(machine.hear(end_of_link(0)));
  EXPECT_TRUE(machine.ended()) << "though there is another link";
}

TEST_F(RpcClientMachine, takes_no_answer_to_a_greeting_before_the_last) {
  EXPECT_EQ(machine.advance(), Status::pending);
  EXPECT_TRUE(machine.hear(end_of_link()));
  EXPECT_EQ(machine.advance(), Status::pending);  // greets anew
  hear_admission(admission());
  EXPECT_EQ(machine.step(), Machine::Step::admission);
  Admission second = admission();
  ++second.mark;
  hear_admission(second);
  EXPECT_EQ(machine.step(), Machine::Step::binding);
}

TEST_F(RpcClientMachine, takes_no_call_for_another_whose_number_in_words_comes_again) {
  open();
  const CallId first = start();
  static_cast<void>(machine.hear(result(first.stack, first.sequence)));
  machine.forget(first);
  CallId last;
  for (int i = 0; i != 0xFFFF; ++i) {
    last = start();
    if (i != 0xFFFE) static_cast<void>(machine.hear(result(last.stack, last.sequence)));
    if (i != 0xFFFE) machine.forget(last);
  }
  ASSERT_EQ(last.stack, first.stack);
  ASSERT_EQ(in_word(last.sequence), in_word(first.sequence));
  EXPECT_EQ(machine.look(first), Machine::Look::none);
  EXPECT_FALSE(machine.is_out(first));
  EXPECT_TRUE(machine.is_out(last));
  EXPECT_EQ(machine.fate(first), Fate::unknown);
}

}  // namespace
}  // namespace hamlyn::test
