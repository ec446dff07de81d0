// The end of a send, told in the queue that the sender waits on anyway; and a wait for bytes that land.
#include <atomic>
#include <memory>
#include <thread>

#include "hamlyn/hamlyn.h"
#include "test/process/segments.h"

namespace hamlyn::test {
namespace {

using namespace std::chrono_literals;

class SendsTold : public WithSegments {};

TEST_F(SendsTold, in_a_queue_that_a_thread_sleeps_on) {
  with_two([](Interface& receiver, Interface& sender) {
    MessageArea area(receiver, std::size_t{1} << 20);
    NotificationQueue arrivals(receiver), ends(sender, 64);
    Slot slot(area, arrivals, {.entries = 1, .fast = false});
    Terminus terminus(sender);
    const std::vector<std::byte> data = numbers(std::size_t{1} << 20);
    for (std::uint64_t word = 1; word <= 20; ++word) {
      const auto bytes = std::span(data).first(word % 2 == 0 ? data.size() : 100);
      SendHandle handle;
      ASSERT_EQ(
          terminus.send(slot.ticket(0), bytes, {.acknowledged = true, .queue = &ends, .word = word}, &handle),
          Status::pending);
      Notification end;
      ASSERT_EQ(ends.receive(end, kPatience), Status::ok);
      EXPECT_EQ(end.kind, Notification::Kind::sent);
      EXPECT_EQ(end.word, word);
      EXPECT_EQ(end.length, bytes.size());
      EXPECT_EQ(end.peer, receiver.id());
      EXPECT_EQ(terminus.status(handle), Status::ok);
      Notification arrived;
      ASSERT_EQ(arrivals.receive(arrived, kPatience), Status::ok);
      EXPECT_TRUE(same(slot.bytes(arrived), bytes));
      ASSERT_EQ(slot.arm(0), Status::ok);
    }
    EXPECT_EQ(terminus.send(slot.ticket(0), data, {.queue = &arrivals}), Status::invalid)
        << "a queue of another interface";
  });
}

// By a thread that only waits, and another that cancels.
TEST_F(SendsTold, of_what_was_cancelled_wakes_who_waits) {
  with_two([](Interface& receiver, Interface& sender) {
    MessageArea area(receiver, std::size_t{64} << 20);
    NotificationQueue arrivals(receiver), ends(sender, 64);
    Slot slot(area, arrivals, {.entries = 2, .fast = false});
    const std::vector<std::byte> data(std::size_t{64} << 20);
    for (const bool by_hand : {true, false}) {
      Terminus terminus(sender);
      auto goes = std::make_unique<Terminus>(sender);
      Terminus& of = by_hand ? terminus : *goes;
      ASSERT_EQ(of.connect(slot.ticket(0), kPatience), Status::ok);
      SendHandle handle;
      ASSERT_EQ(of.send(slot.ticket(0), data, {.acknowledged = true, .queue = &ends, .word = 5}, &handle),
                Status::pending);
      Notification end;
      std::thread waits([&] { EXPECT_EQ(ends.receive(end, kPatience), Status::ok); });
      if (by_hand) {
        static_cast<void>(terminus.cancel(handle));  // it may have been sent
      } else {
        goes.reset();
      }
      waits.join();
      EXPECT_TRUE(end.kind == Notification::Kind::send_failed || end.kind == Notification::Kind::sent);
      EXPECT_EQ(end.word, 5u);
      // The entry takes the next message when what is left of this one was told of.
      Notification of_receiver;
      ASSERT_EQ(arrivals.receive(of_receiver, kPatience), Status::ok);
      ASSERT_EQ(slot.arm(0), Status::ok);
    }
  });
}

TEST_F(SendsTold, bytes_that_land_are_waited_for) {
  with_two([](Interface& receiver, Interface& sender) {
    MessageArea area(receiver, 65536);
    NotificationQueue arrivals(receiver);
    Slot slot(area, arrivals, {.fast = false, .gets = 65536, .puts = true});
    EXPECT_EQ(slot.landed(), 0u);
    EXPECT_EQ(slot.wait_landed(0, 0ns), Status::ok);
    EXPECT_EQ(slot.wait_landed(1, 1ms), Status::timed_out);
    const Ticket ticket = slot.ticket();
    std::thread puts([&] {
      Terminus terminus(sender);
      for (int i = 0; i != 100; ++i)
        EXPECT_EQ(terminus.put(ticket, numbers(3000), {.offset = 64}, kPatience), Status::ok);
      EXPECT_EQ(terminus.flush(ticket, kPatience).status, Status::ok);
    });
    EXPECT_EQ(slot.wait_landed(300'000, kPatience), Status::ok);
    puts.join();
    EXPECT_EQ(slot.landed(), 300'000u);
    std::atomic<bool> over{false};
    std::thread cancels([&] {
      while (!over.load()) receiver.cancel();
    });
    EXPECT_EQ(slot.wait_landed(300'001, kPatience), Status::cancelled);
    over.store(true);
    cancels.join();
    Terminus terminus(sender);
    EXPECT_EQ(terminus.put(ticket, numbers(1), {}, kPatience), Status::ok);
    EXPECT_EQ(slot.wait_landed(300'001, kPatience), Status::ok);
  });
}

}  // namespace
}  // namespace hamlyn::test
