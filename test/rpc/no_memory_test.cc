// Results and words for which there is no memory: the caller is told what became of the call. A program of
// its own.
#include <gtest/gtest.h>

#include "rpc/blast/server_machine.h"
#include "rpc/ending.h"
#include "test/rpc/blast_letters.h"
#include "test/rpc/noted_port.h"
#include "test/support/no_memory.h"

namespace hamlyn::test {
namespace {

TEST(RpcNoMemory, tells_what_became_of_a_call_whose_result_it_cannot_keep) {
  NotedPort port;
  ServerMachine<NotedPort> machine(port, {.stacks = 4, .frame = 2048}, {});
  ServerMachine<NotedPort>::Taken taken;
  const Greeting greeting{5, 6, 7, 8, shape_of(4, 2048), 0, 9};
  const auto words = std::bit_cast<std::array<std::uint32_t, kGreetingWords>>(greeting);
  Notification next;
  next.fast = true;
  next.peer = 77;
  next.slot = port.door();
  for (std::size_t i = 0; i != kGreetingWords; ++i) {
    next.word = greeting_word(1, i, words[i]);
    machine.hear(next, taken);
  }
  ASSERT_EQ(machine.clients(), 1u);
  next.slot = 10;
  next.word = word_of(CallWord{.sequence = 1});
  next.offset = port.places[10]->first;
  ASSERT_EQ(machine.hear(next, taken), ServerMachine<NotedPort>::Heard::call);
  port.sent.clear();
  port.answer = Status::queue_full;
  const std::vector<std::byte> data(100);
  no_memory = true;
  machine.finish(taken, Cause::none, true, data);
  no_memory = false;
  EXPECT_TRUE(machine.owes());
  port.answer = Status::ok;
  EXPECT_TRUE(machine.settle_owed());
  ASSERT_EQ(port.sent.size(), 1u);
  EXPECT_TRUE(port.sent[0].data.empty());
  const ReplyWord reply = reply_of(port.sent[0].word);
  EXPECT_TRUE(reply.good && reply.begun && reply.sequence == 1);
  EXPECT_EQ(reply.kind, Kind::failed);
  EXPECT_EQ(reply.cause, Cause::no_memory);
}

TEST(RpcNoMemory, tells_that_a_procedure_threw_without_its_words) {
  Landing came;
  came.bytes = std::span(came.here).first(40);  // longer than a string that needs no memory
  std::ranges::fill(came.bytes, std::byte{'x'});
  const ReplyWord reply{.kind = Kind::failed, .cause = Cause::threw, .begun = true};
  Ending out;
  no_memory = true;
  tell(reply, came, out);
  no_memory = false;
  EXPECT_EQ(out.status, Status::refused);
  EXPECT_EQ(out.cause, Cause::threw);
  EXPECT_EQ(out.fate, Fate::done);
  EXPECT_EQ(out.words(), "");
  tell(reply, came, out);
  EXPECT_EQ(out.words(), std::string(40, 'x'));
}

TEST(BlastNoMemory, passes_over_answers_and_words_of_which_it_cannot_take_note) {
  constexpr wire::Peer kClient = 5;
  LetterPort port;
  wire::ServerMachine machine(port, {}, [] { return std::uint64_t{77}; });
  wire::Greeting hello;
  hello.incarnation = 1;
  hello.packet = 100;
  hello.lines = 1;
  hello.unit = 4;
  machine.hear(LetterPort::kNobody, packet_of(hello, std::as_bytes(std::span{&kClient, 1})), 1);
  wire::Greeting confirm;
  confirm.head = {.kind = wire::PacketKind::confirm, .session = 77};
  machine.hear(kClient, packet_of(confirm), 1);
  ASSERT_EQ(machine.clients(), 1u);
  wire::Data call;
  call.head = {.kind = wire::PacketKind::call, .sequence = 1, .session = 77};
  call.sent = 1;
  machine.hear(kClient, packet_of(call), 1);
  wire::ServerMachine::Taken taken;
  ASSERT_TRUE(machine.take(taken, 1));
  machine.finish(taken, Cause::none, true, {}, 1);
  wire::Answer answer;
  answer.head = {.kind = wire::PacketKind::answer, .sequence = 1, .session = 77};
  answer.of_result = 1;
  wire::Word cancel;
  cancel.head = {.kind = wire::PacketKind::cancel, .sequence = 1, .session = 77};
  port.take();
  for (const auto& packet : {packet_of(answer), packet_of(cancel)}) {
    no_memory = true;
    machine.hear(kClient, packet, 1);
    no_memory = false;
  }
  machine.run(1);
  EXPECT_TRUE(port.take().empty());
  machine.hear(kClient, packet_of(cancel), 1);
  machine.run(1);
  EXPECT_EQ(port.take().size(), 1u) << "its client asks again";
}

}  // namespace
}  // namespace hamlyn::test
