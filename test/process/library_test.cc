// Messages between real processes: whole, in order, and told of.
#include <gtest/gtest.h>
#include <sys/epoll.h>
#include <algorithm>
#include <cstring>
#include <thread>

#include "test/process/library.h"

namespace hamlyn::test {
namespace {

using namespace std::chrono_literals;

std::vector<std::byte> some_bytes(std::size_t size, unsigned seed) {
  const std::string text = noise(size, seed);
  std::vector<std::byte> out(size);
  std::copy_n(reinterpret_cast<const std::byte*>(text.data()), size, out.begin());
  return out;
}

// A stream so fast that it is taken in rows (PollRest::await_row), by polls of any size: each message once,
// in order, with its bytes, and every wrap told.
TEST_F(Library, a_stream_is_taken_in_rows_and_nothing_of_it_is_lost) {
  constexpr std::uint64_t kMessages = 60000;
  constexpr std::size_t kPlaces = 512, kLandings = 1024;
  Actor streaming = sender([](Line&, Interface& interface, Terminus& terminus, const Ticket& ticket) {
    for (std::uint64_t i = 0; i < kMessages; ++i) {
      const std::uint64_t words[] = {i, ~i};
      Status status;
      while ((status = terminus.send_fast(ticket, std::as_bytes(std::span{words}), i,
                                          i % kLandings * sizeof words)) != Status::ok) {
        if (status != Status::no_place && status != Status::queue_full && status != Status::connecting)
          return 1;
        interface.run();
      }
    }
    return 0;
  });
  Interface interface(options());
  MessageArea area(interface, kLandings * 16);
  NotificationQueue queue(interface, 2 * kPlaces);
  Slot slot(area, queue, {.places = kPlaces});
  streaming.line().put(slot.ticket());
  std::vector<Notification> out(100);
  const auto until = std::chrono::steady_clock::now() + kPatience;
  for (std::uint64_t i = 0; i < kMessages;) {
    // No more than are still to come: what follows is the end of the link.
    const std::size_t most = std::min<std::size_t>(1 + i % out.size(), kMessages - i);
    const std::size_t count = queue.poll(std::span{out}.first(most));
    for (std::size_t k = 0; k < count; ++k, ++i) {
      const Notification& n = out[k];
      ASSERT_EQ(n.kind, Notification::Kind::message) << i;
      ASSERT_EQ(n.word, i);
      ASSERT_EQ(n.length, 16u);
      ASSERT_EQ(n.wrap, i % queue.capacity() == 0) << i;
      std::uint64_t words[2];
      std::memcpy(words, area.bytes().data() + n.offset, sizeof words);
      ASSERT_TRUE(words[0] == i && words[1] == ~i) << i;
    }
    if (count == 0) {
      ASSERT_LT(std::chrono::steady_clock::now(), until) << i;
    }
  }
  EXPECT_EQ(streaming.wait(), 0);
}

TEST_F(Library, MessagesOfAllSizesArriveAsTheyWereSent) {
  constexpr std::size_t kSizes[] = {0, 1, 15, 16, 17, 64, 1023, 1024, 1025, 8191, 8192, 8193, 65536, 1000000};
  const std::string meta(60, 'm');
  Actor from = sender([&](Line& line, Interface&, Terminus& terminus, const Ticket& ticket) {
    for (const std::size_t size : kSizes) {
      const auto data = some_bytes(size, static_cast<unsigned>(size));
      SendHandle handle;
      const Status taken =
          terminus.send(ticket, data, {.metadata = std::as_bytes(std::span(meta)).first(size % 61)}, &handle);
      if (taken != Status::ok && taken != Status::pending) return 1;
      if (terminus.wait(handle, kPatience) != Status::ok || terminus.status(handle) != Status::ok) return 2;
      if (!line.take<char>()) return 3;
    }
    return 0;
  });
  in_child([&] {
    ReceivingEnd to(options());
    from.line().put(to.slot.ticket(0));
    for (const std::size_t size : kSizes) {
      Notification arrival;
      ASSERT_EQ(to.queue.receive(arrival, kPatience), Status::ok) << size;
      ASSERT_EQ(arrival.kind, Notification::Kind::message);
      EXPECT_EQ(arrival.length, size);
      const auto expected = some_bytes(size, static_cast<unsigned>(size));
      EXPECT_TRUE(std::equal(expected.begin(), expected.end(), to.slot.bytes(arrival).begin())) << size;
      EXPECT_EQ(to.slot.metadata(0).size(), size % 61);
      EXPECT_EQ(to.slot.arm(0), Status::ok);
      from.line().put('.');
    }
  });
  EXPECT_EQ(from.wait(), 0);
}

TEST_F(Library, FastMessagesComeAllAndInOrder) {
  constexpr std::uint64_t kMessages = 20000;
  Actor from = sender([&](Line&, Interface&, Terminus& terminus, const Ticket& ticket) {
    for (std::uint64_t i = 0; i < kMessages; ++i) {
      std::byte data[16]{};
      std::memcpy(data, &i, sizeof i);
      if (!send_word(terminus, ticket, i, data)) return 1;
    }
    return 0;
  });
  in_child([&] {
    ReceivingEnd to(options());
    from.line().put(to.slot.ticket());
    for (std::uint64_t i = 0; i < kMessages; ++i) {
      Notification arrival;
      ASSERT_EQ(to.queue.receive(arrival, kPatience), Status::ok);
      ASSERT_EQ(arrival.word, i);
      // In turns it reads at once and lets them heap up, so that the sender runs out of places.
      if (i % 5000 == 0) std::this_thread::sleep_for(5ms);
    }
  });
  EXPECT_EQ(from.wait(), 0);
}

TEST_F(Library, ARowOfFastMessagesComesInOrderAndStopsWhereOneCannotGo) {
  constexpr std::uint64_t kRows = 300, kRow = 20;
  Actor sending = sender([](Line& line, Interface&, Terminus& terminus, const Ticket& ticket) {
    std::array<std::byte, 64> bytes;
    const auto row_of = [&](std::uint64_t first) {
      std::array<FastMessage, kRow> row;
      for (std::uint64_t k = 0; k < kRow; ++k) {
        bytes[k] = static_cast<std::byte>(first + k);
        row[k] = {std::span{bytes}.subspan(k, k % 2 == 0 ? 1 : 16), first + k, k * 16};
      }
      return row;
    };
    // The receiver takes nothing before it is told: so many places are all there are.
    std::size_t sent = 99;
    if (terminus.send_fast_row(ticket, {}, sent) != Status::ok || sent != 0) return 1;
    std::array<FastMessage, kRow> row = row_of(0);
    if (terminus.send_fast_row(ticket, row, sent) != Status::no_place || sent != 8) return 2;
    line.put('f');
    const auto send_all = [&](std::span<const FastMessage> rest) {
      while (true) {
        const Status status = terminus.send_fast_row(ticket, rest, sent);
        if (status == Status::ok) return sent == rest.size();
        if (status != Status::no_place && status != Status::queue_full) return false;
        rest = rest.subspan(sent);
        if (terminus.wait_for_place(ticket, kPatience) != Status::ok) return false;
      }
    };
    if (!send_all(std::span{row}.subspan(8))) return 3;
    for (std::uint64_t i = 1; i < kRows; ++i) {
      if (!send_all(row_of(i * kRow))) return 4;
    }
    // One that cannot go keeps back those behind it, and nothing before it.
    line.take<char>();  // all have been taken, so that there are places
    row = row_of(kRows * kRow);
    row[3].offset = 4096;
    if (terminus.wait_for_place(ticket, kPatience) != Status::ok) return 5;
    Status status = Status::no_place;
    for (std::span<const FastMessage> rest{row}; status == Status::no_place; rest = rest.subspan(sent)) {
      status = terminus.send_fast_row(ticket, rest, sent);
    }
    if (status != Status::out_of_bounds) return 6;
    line.take<char>();
    return 0;
  });
  in_child([&] {
    ReceivingEnd receiver(options(), 4096, {.places = 8});
    sending.line().put(receiver.slot.ticket());
    ASSERT_TRUE(sending.line().take<char>());
    for (std::uint64_t i = 0; i < kRows * kRow; ++i) {
      Notification n;
      ASSERT_EQ(receiver.queue.receive(n, kPatience), Status::ok) << i;
      ASSERT_EQ(n.word, i);
      EXPECT_EQ(n.offset, i % kRow * 16);
      EXPECT_EQ(n.length, i % 2 == 0 ? 1u : 16u);
    }
    sending.line().put('t');
    for (std::uint64_t i = kRows * kRow; i < kRows * kRow + 3; ++i) {
      Notification n;
      ASSERT_EQ(receiver.queue.receive(n, kPatience), Status::ok);
      EXPECT_EQ(n.word, i);
    }
    EXPECT_FALSE(receiver.queue.poll());
    sending.line().put('g');
  });
  EXPECT_EQ(sending.wait(), 0);
}

TEST_F(Library, DataLandsWhileTheApplicationIsElsewhere) {
  Actor from = sender([&](Line&, Interface&, Terminus& terminus, const Ticket& ticket) {
    const auto data = some_bytes(100000, 3);
    SendHandle handle;
    static_cast<void>(terminus.send(ticket, data, {}, &handle));
    return terminus.wait(handle, kPatience) == Status::ok ? 0 : 1;
  });
  in_child([&] {
    ReceivingEnd to(options());
    from.line().put(to.slot.ticket(0));
    // The bytes are looked at; the library is not called.
    const auto expected = some_bytes(100000, 3);
    const volatile std::byte* last = to.slot.bytes().data() + expected.size() - 1;
    EXPECT_TRUE(eventually([&] { return *last == expected.back(); }));
    Notification arrival;
    ASSERT_EQ(to.queue.receive(arrival, kPatience), Status::ok);
    EXPECT_TRUE(std::equal(expected.begin(), expected.end(), to.slot.bytes().begin()));
  });
  EXPECT_EQ(from.wait(), 0);
}

TEST_F(Library, ADescriptorTellsWhatPollFinds) {
  constexpr std::uint64_t kMessages = 300;
  Actor from = sender([&](Line& line, Interface&, Terminus& terminus, const Ticket& ticket) {
    for (std::uint64_t i = 0; i < kMessages; ++i) {
      if (!send_word(terminus, ticket, i)) return 1;
      if (!line.take<char>()) return 2;
    }
    return 0;
  });
  in_child([&] {
    ReceivingEnd to(options());
    const base::FileDescriptor set(::epoll_create1(EPOLL_CLOEXEC));
    epoll_event event{};
    event.events = EPOLLIN;
    ASSERT_EQ(::epoll_ctl(set.get(), EPOLL_CTL_ADD, to.queue.descriptor(), &event), 0);
    from.line().put(to.slot.ticket());
    for (std::uint64_t got = 0; got < kMessages;) {
      while (got < kMessages) {
        const auto next = to.queue.poll();
        if (!next) break;
        ASSERT_EQ(next->word, got++);
        from.line().put('.');
      }
      if (got < kMessages) {
        ASSERT_EQ(::epoll_wait(set.get(), &event, 1, 30000), 1) << got;
      }
    }
  });
  EXPECT_EQ(from.wait(), 0);
}

TEST_F(Library, ManyThreadsShareAnInterface) {
  constexpr int kThreads = 4;
  constexpr std::uint64_t kEach = 2000;
  Actor from = sender([&](Line& line, Interface& interface, Terminus&, const Ticket& ticket) {
    std::atomic<int> failed{0};
    std::vector<std::thread> threads;
    for (int t = 0; t < kThreads; ++t) {
      threads.emplace_back([&] {
        Terminus own(interface);
        for (std::uint64_t i = 0; i < kEach; ++i) {
          if (send_word(own, ticket, i)) continue;
          ++failed;
          return;
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    return failed == 0 && line.take<char>() ? 0 : 1;
  });
  in_child([&] {
    ReceivingEnd to(options());
    from.line().put(to.slot.ticket());
    std::atomic<std::uint64_t> got{0}, sum{0};
    std::vector<std::thread> threads;
    for (int t = 0; t < kThreads; ++t) {
      threads.emplace_back([&] {
        Notification arrival;
        while (got.load() < kThreads * kEach) {
          if (to.queue.receive(arrival, 5ms) != Status::ok) continue;
          sum += arrival.word;
          ++got;
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(got.load(), kThreads * kEach);
    EXPECT_EQ(sum.load(), kThreads * (kEach * (kEach - 1) / 2));
    from.line().put('.');
  });
  EXPECT_EQ(from.wait(), 0);
}

}  // namespace
}  // namespace hamlyn::test
