// Threads that share managers: each has streams, datagrams and tags of its own, and they come and go.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <mutex>
#include <thread>
#include <vector>

#include "test/process/managers.h"

namespace hamlyn::test {
namespace {

using namespace std::chrono_literals;

class Threads : public WithManagers {};

constexpr int kThreads = 3;

std::string text(int thread, int number) { return std::to_string(thread) + "/" + std::to_string(number); }

// Slots that are made move the records of those that there are.
TEST_F(Threads, look_at_a_slot_while_others_are_made) {
  with_both([](Managers& both) {
    Interface& interface = both.receiver.interface();
    MessageArea area(interface, 4096);
    NotificationQueue queue(interface);
    Slot slot(area, queue, {.entries = 4});
    int pointed_at = 0;
    std::thread makes([&] {
      std::vector<std::unique_ptr<Slot>> more;
      for (int i = 0; i != 200; ++i)
        more.push_back(std::make_unique<Slot>(area, queue, SlotOptions{.entries = 1}));
    });
    for (int i = 0; i != 2000; ++i) {
      slot.set_pointer(1, &pointed_at);
      EXPECT_EQ(slot.pointer(1), &pointed_at);
      EXPECT_TRUE(slot.metadata(2).empty());
    }
    makes.join();
  });
}

TEST_F(Threads, have_streams_of_their_own) {
  with_both([](Managers& both) {
    std::vector<std::thread> threads;
    for (int t = 0; t < kThreads; ++t) {
      auto receiver =
          std::make_shared<StreamReceiver>(both.receiver, StreamOptions{.first = 4096, .most = 65536});
      threads.emplace_back([&both, t, seed = receiver->make_seed()] {
        StreamSender sender{both.sender, seed, {.timeout = kPatience}};
        for (int i = 0; i < 300; ++i) {
          EXPECT_EQ(sender.send(text(t, i)), Status::ok);
          if (i % 10 != 0) continue;
          EXPECT_EQ(sender.send(std::string(3000, 'x')), Status::ok);
        }
        EXPECT_EQ(sender.close(kPatience), Status::ok);
      });
      threads.emplace_back([t, receiver] {
        int next = 0;
        for (const Record& record : *receiver) {
          if (record.bytes().size() == 3000) continue;
          EXPECT_EQ(record.text(), text(t, next++));
        }
        EXPECT_EQ(next, 300);
      });
    }
    for (std::thread& thread : threads) thread.join();
  });
}

// Buffers that one thread takes and another gives back.
TEST_F(Threads, share_a_pool_of_buffers) {
  with_both([](Managers& both) {
    MessageArea area(both.receiver.interface(), 4096);
    constexpr int kTurns = 2000;
    BufferPool pool(area, {{64, 3}, {128, 2}});
    std::atomic<std::byte*> passed{nullptr};
    std::atomic<int> bad{0};
    const auto works = [&](unsigned char mark) {
      for (int i = 0; i < kTurns; ++i) {
        Buffer buffer;
        if (pool.take(i % 2 ? 64 : 100, buffer) != Status::ok) continue;
        std::memset(buffer.bytes().data(), mark, buffer.bytes().size());
        for (const std::byte each : buffer.bytes()) bad += each != std::byte{mark};
        if (i % 3 != 0) continue;
        std::byte* const other = passed.exchange(buffer.release());  // the next one gives it back
        if (other != nullptr) bad += pool.give_back(other) != Status::ok;
      }
    };
    std::thread one(works, 1), two(works, 2), three(works, 3);
    one.join();
    two.join();
    three.join();
    if (passed != nullptr) bad += pool.give_back(passed) != Status::ok;
    EXPECT_EQ(bad, 0);
    EXPECT_EQ(pool.free_buffers(), 5u);
  });
}

TEST_F(Threads, come_and_go_with_their_objects) {
  with_both([](Managers& both) {
    std::vector<std::thread> threads;
    for (int t = 0; t < kThreads; ++t) {
      threads.emplace_back([&both, t] {
        for (int i = 0; i < 10; ++i) {
          DatagramReceiver there{both.receiver, 64}, here{both.sender, 64};
          DatagramSender to{both.sender, there.make_seed()};
          Datagram datagram;
          EXPECT_EQ(to.deliver(bytes_of(text(t, i)), {.reply = &here}, kPatience), Status::ok);
          EXPECT_EQ(there.receive(datagram, kPatience), Status::ok);
          EXPECT_EQ(text_of(datagram.bytes), text(t, i));
          if (!datagram.reply) continue;
          EXPECT_EQ(DatagramSender(both.receiver, *datagram.reply).deliver(bytes_of("yes"), kPatience),
                    Status::ok);
          EXPECT_EQ(here.receive(datagram, kPatience), Status::ok);
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
  });
}

TEST_F(Threads, take_tags_from_one_board) {
  with_both([](Managers& both) {
    TaggedReceiver board{both.receiver, 64, {.places = 64}};
    std::atomic<std::uint64_t> sum = 0;
    std::vector<std::thread> threads;
    for (std::uint64_t t = 1; t <= kThreads; ++t) {
      threads.emplace_back([&both, t, seed = board.make_seed()] {
        TaggedSender sender{both.sender, seed, kPatience};
        for (int i = 0; i < 200; ++i) EXPECT_EQ(sender.send({}, 0, t, kPatience), Status::ok);
      });
      threads.emplace_back([&board, &sum, t] {
        Tagged tagged;
        for (int i = 0; i < 200; ++i) {
          EXPECT_EQ(board.get_specific_tag(t, tagged, kPatience), Status::ok);
          sum += tagged.tag;
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(sum, 200u * (1 + 2 + 3));
  });
}

// Each thread lends to all receivers out of one pool; a thread for each receiver borrows, and gives back what
// another has borrowed.
TEST_F(Threads, share_a_pool_of_loans) {
  with_both([](Managers& both) {
    constexpr int kEach = 100;
    LoanPool pool{both.sender, {{64, 4}}};
    std::vector<std::unique_ptr<LoanReceiver>> receivers;
    std::vector<std::unique_ptr<LoanSender>> senders(kThreads);
    std::vector<Seed> seeds;
    std::vector<std::thread> threads;
    std::atomic<int> grown = 0;
    std::atomic<int> read = 0;
    std::mutex others_mutex;
    Borrowed others;
    for (int t = 0; t < kThreads; ++t) {
      receivers.push_back(std::make_unique<LoanReceiver>(both.receiver));
      seeds.push_back(receivers.back()->make_seed());
      threads.emplace_back([&, receiver = receivers.back().get()] {
        Borrowed borrowed;
        for (int left = kThreads * kEach; left != 0;) {
          const Status status = receiver->receive(borrowed, kPatience);
          ASSERT_EQ(status, Status::ok);
          --left;
          EXPECT_EQ(borrowed.bytes().front(), borrowed.bytes().back());
          EXPECT_TRUE(borrowed.current());
          ++read;
          const std::lock_guard lock(others_mutex);
          std::swap(borrowed, others);
        }
      });
    }
    for (std::size_t t = 0; t < kThreads; ++t) {
      threads.emplace_back([&, t] {
        senders[t] = std::make_unique<LoanSender>(pool, seeds[t], LoanSenderOptions{.timeout = kPatience});
        ++grown;
        while (grown != kThreads) std::this_thread::yield();
        for (int i = 0; i < kEach; ++i) {
          Loan loan;
          ASSERT_EQ(pool.take(64, loan, kPatience), Status::ok);
          std::ranges::fill(loan.bytes(), static_cast<std::byte>(i));
          for (const auto& sender : senders) ASSERT_EQ(sender->send(loan, 64, kPatience), Status::ok);
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(read, kThreads * kThreads * kEach);
    others.give_back();
    EXPECT_EQ(pool.free_buffers(), 4u);
    senders.clear();
  });
}

TEST_F(Threads, that_wait_are_let_go) {
  with_both([](Managers& both) {
    for (int turn = 0; turn < 10; ++turn) {
      auto receiver = std::make_unique<StreamReceiver>(both.receiver);
      std::vector<std::thread> threads;
      std::atomic<int> cancelled = 0;
      for (int t = 0; t < kThreads; ++t) {
        threads.emplace_back([&cancelled, raw = receiver.get()] {
          Record record;
          cancelled += raw->receive(record, kPatience) == Status::cancelled;
        });
      }
      const auto all_wait = [&] {
        const protocols::Dispatcher::Guard guard(both.receiver.inside());
        return both.receiver.inside().waiters() == kThreads;
      };
      while (!all_wait()) std::this_thread::yield();
      receiver.reset();
      for (std::thread& thread : threads) thread.join();
      EXPECT_EQ(cancelled, kThreads);
    }
  });
}

}  // namespace
}  // namespace hamlyn::test
