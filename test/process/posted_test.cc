// Posted buffers between two interfaces, in C++ and C: landed by the interface's own thread while the program
// computes, waited for asleep, and told of to senders in their queues.
#include <array>
#include <atomic>
#include <span>
#include <thread>
#include <vector>

#include "hamlyn/hamlyn.h"
#include "test/process/segments.h"

namespace hamlyn::test {
namespace {

using namespace std::chrono_literals;

class PostedSlots : public WithSegments {};

TEST_F(PostedSlots, take_messages_while_their_owner_computes) {
  with_two([](Interface& receiver, Interface& sender) {
    NotificationQueue arrivals(receiver);
    PostedSlot slot(arrivals, {.buffers = 8});
    std::vector<std::byte> memory(8 << 16);
    for (std::uint64_t i = 0; i < 8; ++i)
      ASSERT_EQ(slot.post(std::span(memory).subspan(i << 16, 1 << 16), i), Status::ok);
    Terminus terminus(sender);
    for (std::uint64_t i = 0; i < 8; ++i) {
      const auto data = numbers(i % 2 == 0 ? 40 : 60'000, static_cast<int>(i));
      SendHandle handle;
      ASSERT_EQ(terminus.send_posted(slot.ticket(), data, 100 + i, {.acknowledged = true}, &handle),
                Status::pending);
      ASSERT_EQ(terminus.wait(handle, kPatience), Status::ok) << "nobody has asked the receiver to run";
      EXPECT_TRUE(same(std::span(memory).subspan(i << 16, data.size()), data));
    }
    EXPECT_EQ(slot.posted(), 0u);
    for (std::uint64_t i = 0; i < 8; ++i) {
      Notification n;
      ASSERT_EQ(arrivals.receive(n, kPatience), Status::ok);
      EXPECT_EQ(n.offset, i);
      EXPECT_EQ(n.word, 100 + i);
      EXPECT_EQ(n.peer, sender.id());
    }
  });
}

TEST_F(PostedSlots, wake_who_sleeps_on_their_queue) {
  with_two([](Interface& receiver, Interface& sender) {
    NotificationQueue arrivals(receiver);
    PostedSlot slot(arrivals, {.buffers = 2});
    std::array<std::byte, 64> memory{};
    const Ticket ticket = slot.ticket();
    const auto data = numbers(16);
    std::thread sends([&] {
      Terminus terminus(sender);
      for (std::uint64_t i = 0; i < 200;) {
        SendHandle handle;
        Status status = terminus.send_posted(ticket, data, i, {.acknowledged = true}, &handle);
        if (status == Status::pending) status = terminus.wait(handle, kPatience);
        if (status == Status::ok) ++i;
        ASSERT_TRUE(status == Status::ok || terminus.refusal(handle) == Refusal::no_buffer);
      }
    });
    for (std::uint64_t i = 0; i < 200; ++i) {
      ASSERT_EQ(slot.post(memory, i), Status::ok);
      Notification n;
      do ASSERT_EQ(arrivals.receive(n, kPatience), Status::ok);
      while (n.kind != Notification::Kind::message);  // the others came when there was no buffer
      EXPECT_EQ(n.word, i);
      EXPECT_EQ(n.offset, i);
    }
    sends.join();
  });
}

// One polls as a NIC of VIs does, in runs; another sleeps on a queue of its own, whose messages come by the
// same link; a third changes what runs rest on. Each message is told of once, in its order.
TEST_F(PostedSlots, are_polled_in_runs_while_others_sleep_and_slots_come_and_go) {
  with_two([](Interface& receiver, Interface& sender) {
    constexpr std::uint64_t kMessages = 3000;
    NotificationQueue polled(receiver, 1024), slept(receiver, 1024);
    PostedSlot one(polled, {.buffers = 64}), two(slept, {.buffers = 64});
    std::vector<std::byte> memory(64 * 64), other(64 * 64);
    const auto post = [](PostedSlot& slot, std::vector<std::byte>& of, std::uint64_t number) {
      ASSERT_EQ(slot.post(std::span(of).subspan(number % 64 * 64, 64), number), Status::ok);
    };
    for (std::uint64_t i = 0; i != 64; ++i) post(one, memory, i), post(two, other, i);
    const auto send = [](Terminus& by, const Ticket& to, const std::vector<std::byte>& data,
                         std::uint64_t word) {
      SendHandle handle;
      Status status = Status::queue_full;
      while (status == Status::queue_full) status = by.send_posted(to, data, word, {}, &handle);
      if (status == Status::pending) status = by.wait(handle, kPatience);
      ASSERT_EQ(status, Status::ok);
    };
    std::atomic<std::uint64_t> taken{0}, heard{0};  // messages, of each slot
    std::thread sends([&, first = one.ticket(), second = two.ticket()] {
      Terminus terminus(sender), beside(sender);
      for (std::uint64_t i = 0; i != kMessages; ++i) {
        while (taken + 60 < i || 5 * (heard + 60) < i) std::this_thread::yield();
        const auto data = numbers(i % 7 == 0 ? 40 : 8, static_cast<int>(i));
        send(terminus, first, data, i);
        if (i % 5 == 0) send(beside, second, data, i);
      }
    });
    std::thread sleeps([&] {
      for (std::uint64_t i = 0; i < kMessages; i += 5) {
        Notification n;
        ASSERT_EQ(slept.receive(n, kPatience), Status::ok);
        EXPECT_EQ(n.word, i);
        post(two, other, n.offset);
        ++heard;
      }
    });
    std::atomic<bool> over{false};
    std::thread changes([&] {
      while (!over) {
        PostedSlot short_lived(slept, {.buffers = 1});
        short_lived.change_key();
        std::this_thread::yield();
      }
    });
    for (std::uint64_t i = 0; i != kMessages;) {
      Notification n;
      if (polled.poll_posted(n) == 0) continue;
      ASSERT_EQ(n.kind, Notification::Kind::message);
      ASSERT_EQ(n.word, i);
      ASSERT_EQ(n.offset, i % 64);
      const auto data = numbers(i % 7 == 0 ? 40 : 8, static_cast<int>(i));
      ASSERT_TRUE(same(std::span(memory).subspan(n.offset * 64, data.size()), data)) << i;
      post(one, memory, n.offset);
      taken = ++i;
    }
    sends.join(), sleeps.join();
    over = true;
    changes.join();
    EXPECT_EQ(one.posted(), 64u);
  });
}

TEST_F(PostedSlots, tell_the_ends_of_sends_in_a_queue) {
  with_two([](Interface& receiver, Interface& sender) {
    NotificationQueue arrivals(receiver), ends(sender, 64);
    PostedSlot slot(arrivals, {.buffers = 2, .halts = true});
    Terminus terminus(sender);
    std::array<std::byte, 64> memory{};
    const auto data = numbers(64);
    const auto end_of_send = [&](std::uint64_t word) {
      EXPECT_EQ(
          terminus.send_posted(slot.ticket(), data, 0, {.acknowledged = true, .queue = &ends, .word = word}),
          Status::pending);
      Notification end;
      EXPECT_EQ(ends.receive(end, kPatience), Status::ok);
      EXPECT_EQ(end.word, word);
      return end;
    };
    Notification end = end_of_send(5);
    EXPECT_EQ(end.kind, Notification::Kind::send_failed);
    EXPECT_EQ(end.cause, Refusal::no_buffer);
    ASSERT_EQ(slot.post(memory, 1), Status::ok);
    EXPECT_EQ(end_of_send(6).kind, Notification::Kind::send_failed) << "it is halted";
    slot.resume();
    EXPECT_EQ(end_of_send(7).kind, Notification::Kind::sent);
    EXPECT_TRUE(same(memory, data));
    EXPECT_EQ(terminus.send_posted(slot.ticket(), data, 0, {.queue = &arrivals}), Status::invalid)
        << "a queue of another interface";
    std::uint64_t number;
    EXPECT_EQ(slot.take_back(number), Status::not_ready);
  });
}

TEST_F(PostedSlots, have_one_buffer_at_least_and_a_key_that_changes) {
  with_two([](Interface& receiver, Interface& sender) {
    NotificationQueue arrivals(receiver);
    for (const std::uint32_t buffers : {0u, 65537u})
      EXPECT_EQ(error_of([&] { PostedSlot(arrivals, {.buffers = buffers}); }), ErrorCode::invalid_argument);
    PostedSlot slot(arrivals, {.buffers = 65536});
    std::array<std::byte, 64> memory{};
    ASSERT_EQ(slot.post(memory, 1), Status::ok);
    const Ticket old = slot.ticket();
    slot.change_key();
    const auto data = numbers(8);
    Terminus terminus(sender);
    for (const bool good : {false, true}) {
      SendHandle handle;
      ASSERT_EQ(terminus.send_posted(good ? slot.ticket() : old, data, 0, {.acknowledged = true}, &handle),
                Status::pending);
      EXPECT_EQ(terminus.wait(handle, kPatience), good ? Status::ok : Status::refused);
    }
  });
}

}  // namespace
}  // namespace hamlyn::test
