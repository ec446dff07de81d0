// Managers and the ends of protocols in a forked child: they answer `forked`, and what goes there takes
// nothing from the parent's.
#include <sys/wait.h>
#include <unistd.h>

#include "test/process/streams.h"

namespace hamlyn::test {
namespace {

// Runs `work` in a forked child, which ends with what it says: 0, or which of its expectations was wrong.
int in_forked_child(const std::function<int()>& work) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(work());
  int status = -1;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

class Forked : public Streams {};

TEST_F(Forked, managers_and_datagrams_and_tagged_writes_are_nothing_to_a_child) {
  with_both([](Managers& both) {
    auto door = std::make_unique<DatagramReceiver>(both.receiver, 64);
    auto knocks = std::make_unique<DatagramSender>(both.sender, door->make_seed());
    auto board = std::make_unique<TaggedReceiver>(both.receiver, 64, TaggedReceiver::Options{.aside = 1});
    auto writes = std::make_unique<TaggedSender>(both.sender, board->make_seed(), kPatience);
    ASSERT_EQ(knocks->deliver(bytes_of("before"), kPatience), Status::ok);
    ASSERT_EQ(writes->send(bytes_of("before"), 0, 1), Status::ok);
    ASSERT_EQ(writes->send(bytes_of("before"), 0, 9), Status::ok);
    Tagged none;
    ASSERT_EQ(board->get_specific_tag(9, none, kPatience), Status::queue_full) << "the other is aside";
    const Seed seed = door->make_seed();
    const int wrong = in_forked_child([&] {
      Datagram datagram;
      Tagged tagged;
      if (both.receiver.poll() || both.receiver.wait(kPatience) != Status::forked) return 1;
      if (thrown_by([&] { both.receiver.publish("door", seed); }) != ErrorCode::forked) return 2;
      if (thrown_by([&] { static_cast<void>(both.receiver.lookup("door", 0ms)); }) != ErrorCode::forked)
        return 3;
      if (thrown_by([&] { both.receiver.descriptor(); }) != ErrorCode::forked) return 4;
      if (door->receive(datagram, kPatience) != Status::forked || door->ready()) return 5;
      if (door->make_ready() != Status::forked) return 6;
      if (knocks->deliver(bytes_of("x"), kPatience) != Status::forked) return 7;
      if (knocks->send(bytes_of("x")) != Status::forked) return 8;
      if (board->get_tag() || board->get_tag(tagged, kPatience) != Status::forked) return 9;
      for (const std::uint64_t tag : {1u, 2u})
        if (board->get_specific_tag(tag, tagged, kPatience) != Status::forked) return 10;
      if (writes->send(bytes_of("x"), 0, 1) != Status::forked) return 11;
      if (writes->send(bytes_of("x"), 0, 1, kPatience) != Status::forked) return 12;
      if (thrown_by([&] { DatagramReceiver(both.receiver, 64); }) != ErrorCode::forked) return 13;
      if (thrown_by([&] { TaggedReceiver(both.receiver, 64); }) != ErrorCode::forked) return 14;
      if (thrown_by([&] { TaggedSender(both.sender, board->make_seed(), kPatience); }) != ErrorCode::forked)
        return 15;
      both.receiver.cancel();
      writes.reset();
      board.reset();
      knocks.reset();
      door.reset();
      return 0;
    });
    EXPECT_EQ(wrong, 0);
    Datagram datagram;
    Tagged tagged;
    EXPECT_EQ(door->receive(datagram, kPatience), Status::ok) << "it is still the parent's";
    EXPECT_EQ(text_of(datagram.bytes), "before");
    for (const std::uint64_t tag : {1u, 9u}) {
      EXPECT_EQ(board->get_tag(tagged, kPatience), Status::ok);
      EXPECT_EQ(tagged.tag, tag);
    }
    EXPECT_EQ(writes->send(bytes_of("after"), 0, 2), Status::ok);
    EXPECT_EQ(board->get_tag(tagged, kPatience), Status::ok);
    EXPECT_EQ(tagged.tag, 2u);
  });
}

TEST_F(Forked, streams_are_nothing_to_a_child) {
  with_both([](Managers& both) {
    auto receiver = std::make_unique<StreamReceiver>(both.receiver);
    auto sender = grow(both, receiver->make_seed());
    ASSERT_EQ(sender->send("before"), Status::ok);
    const Seed seed = StreamReceiver(both.receiver).make_seed();
    const int wrong = in_forked_child([&] {
      Record record;
      std::byte some[8];
      std::size_t count = 1;
      if (sender->send(bytes_of("x"), kPatience) != Status::forked || sender->end() != Status::forked)
        return 1;
      if (sender->write(bytes_of("x")) != Status::forked || sender->flush(kPatience) != Status::forked)
        return 2;
      if (sender->close(kPatience) != Status::forked) return 3;
      if (receiver->receive(record, kPatience) != Status::forked || receiver->sender() != 0) return 4;
      if (receiver->release(record) != Status::forked) return 5;
      if (receiver->read(some, count, kPatience) != Status::forked || count != 0) return 6;
      if (receiver->close(kPatience) != Status::forked) return 7;
      if (thrown_by([&] { static_cast<void>(receiver->make_seed()); }) != ErrorCode::forked) return 8;
      if (thrown_by([&] { StreamReceiver{both.receiver}; }) != ErrorCode::forked) return 9;
      if (thrown_by([&] { StreamSender(both.sender, seed); }) != ErrorCode::forked) return 10;
      sender.reset();
      receiver.reset();
      return 0;
    });
    EXPECT_EQ(wrong, 0);
    Record record;
    EXPECT_EQ(sender->flush(kPatience), Status::ok) << "it is still the parent's";
    EXPECT_EQ(receiver->receive(record, kPatience), Status::ok);
    EXPECT_EQ(record.text(), "before");
    EXPECT_EQ(receiver->release(record), Status::ok);
    EXPECT_EQ(close(both, *sender), Status::ok);
    EXPECT_EQ(receiver->receive(record, kPatience), Status::closed);
  });
}

}  // namespace
}  // namespace hamlyn::test
