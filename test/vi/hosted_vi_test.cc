// VIs with the whole library on simulated hosts, where packets are lost, late and repeated, links are cut,
// and anybody dies at any time.
#include "test/simulation/idle.h"
#include "test/vi/hosted_end.h"

namespace hamlyn::test {
namespace {

using namespace std::chrono_literals;

// Books of one connection.
struct Books {
  std::uint64_t host = 0;  // of the server; good once it is known
  bool known = false;
  std::uint64_t sent = 0;  // that were said to be over
  std::uint64_t received = 0;
  int connections = 0;
};

void find_host(Books& books) {
  Interface interface;
  books.host = interface.id() >> 48;
  books.known = true;
}

// Takes what comes by one connection: numbers from 1 on, none left out.
void receive_all(Hosted& all, Books& books, vi::Reliability level, std::chrono::nanoseconds patience) {
  HostedEnd end(all, level);
  for (std::size_t i = 0; i != kWindow; ++i) end.post_receive(i);
  if (!end.accept(patience)) return;
  ++books.connections;
  for (std::uint64_t wanted = 1;; ++wanted) {
    const vi::Completed done = end.received(patience);
    if (done.result != Result::success) return;
    const std::uint64_t number = end.number(*done.descriptor);
    if (level == vi::Reliability::unreliable)
      all.expect(number >= wanted, "the order is kept");
    else
      all.expect(number == wanted, "nothing is lost, and nothing comes twice");
    wanted = number;
    books.received = number;
    end.post_receive(done.descriptor->next);
  }
}

void send_all(Hosted& all, Books& books, vi::Reliability level, std::uint64_t count,
              std::chrono::nanoseconds patience) {
  HostedEnd end(all, level);
  end.server_is_on(books.host);
  if (!end.connect(patience)) return;
  for (std::uint64_t number = 1; number <= count; ++number) {
    if (end.post_send(number) != Result::success) return;
    const vi::Completed done = end.sent(patience);
    if (done.result != Result::success) return;
    books.sent = number;
    // A receive for each: nobody is faster than the other side.
    if (level != vi::Reliability::reception) all.host.pause(kMillisecond);
  }
}

class HostedVis : public testing::TestWithParam<vi::Reliability> {};

TEST_P(HostedVis, keep_their_promise_on_rough_hosts) {
  int connections = 0;
  for (std::uint64_t seed = 1; seed <= kRoughSeeds && !HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    Hosted hosted(rough_rules(seed), seed);
    Books books;
    hosted.add([&](Hosted& all) {
      find_host(books);
      receive_all(all, books, GetParam(), 5s);
    });
    hosted.add([&](Hosted& all) {
      while (!books.known) all.host.pause(kMillisecond);
      send_all(all, books, GetParam(), 30, 5s);
    });
    if (seed % 2 == 0) {
      simulation::Host& host = hosted.host;
      const std::uint64_t packets = host.chance().below(4);
      host.after(host.chance().below(20 * kMillisecond),
                 [&host, packets] { host.cut(host.inhabitant(2), host.inhabitant(1), packets); });
    }
    hosted.run();
    connections += books.connections;
    if (GetParam() == vi::Reliability::reception) {
      EXPECT_LE(books.sent, books.received) << "it was said to stand there";
    }
  }
  EXPECT_GT(connections, static_cast<int>(kRoughSeeds) / 2);
}

TEST_P(HostedVis, have_everything_back_when_the_other_side_dies_at_any_time) {
  for (const std::uint64_t victim : {1u, 2u}) {
    SCOPED_TRACE(victim);
    Books books;
    with_a_death_at_any_time(victim, [&](Hosted& hosted) {
      books = {};
      hosted.add([&](Hosted& all) {
        find_host(books);
        receive_all(all, books, GetParam(), 20ms);
      });
      hosted.add([&](Hosted& all) {
        for (int i = 0; i != 20 && !books.known; ++i) all.host.pause(kMillisecond / 20);
        send_all(all, books, GetParam(), 5, 20ms);
      });
    });
  }
}

TEST_P(HostedVis, keep_the_order_of_sends_that_are_posted_at_once) {
  for (std::uint64_t seed = 1; seed <= kRoughSeeds && !HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    Hosted hosted(rough_rules(seed), seed);
    Books books;
    hosted.add([&](Hosted& all) {
      find_host(books);
      HostedEnd end(all, GetParam());
      for (std::size_t i = 0; i != kRow; ++i) end.post_receive(i);
      if (!end.accept(5s)) return;
      for (; books.received != kRow; ++books.received) {
        const vi::Completed done = end.received(5s);
        if (done.result != Result::success) return;
        all.expect(end.number_in_row(*done.descriptor) == books.received, "none overtakes another");
      }
      while (books.sent != kRow) all.host.pause(kMillisecond);  // every send has its answer
    });
    hosted.add([&](Hosted& all) {
      while (!books.known) all.host.pause(kMillisecond);
      HostedEnd end(all, GetParam());
      end.server_is_on(books.host);
      if (!end.connect(5s)) return;
      for (std::uint32_t i = 0; i != kRow; ++i) end.post_in_row(i);
      for (; books.sent != kRow; ++books.sent) end.good(end.sent(5s).result, "the end of a send");
      for (int i = 0; i != 5000 && books.received != kRow; ++i) all.host.pause(kMillisecond);
    });
    hosted.run();
    EXPECT_EQ(books.received, kRow);
  }
}

// Each write is told of when it stands there, and the next one waits for an answer.
void take_writes(Hosted& all, Books& books, vi::Reliability level, vi::Segment& where) {
  HostedEnd end(all, level);
  for (std::size_t i = 0; i != kWindow; ++i) end.post_receive(i);
  where = end.memory();
  if (!end.accept(5s)) return;
  for (;;) {
    const vi::Completed done = end.received(5s);
    if (done.result != Result::success) return;
    all.expect(end.holds(done.descriptor->immediate), "what is told of stands there");
    books.received = done.descriptor->immediate;
    end.post_receive(done.descriptor->next);
  }
}

TEST_P(HostedVis, tell_of_writes_that_stand_there) {
  std::uint64_t told = 0;
  for (std::uint64_t seed = 1; seed <= kRoughSeeds && !HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    Hosted hosted(rough_rules(seed), seed);
    Books books;
    vi::Segment where;
    hosted.add([&](Hosted& all) {
      find_host(books);
      take_writes(all, books, GetParam(), where);
    });
    hosted.add([&](Hosted& all) {
      while (!books.known || where.handle == 0) all.host.pause(kMillisecond);
      HostedEnd end(all, GetParam());
      end.server_is_on(books.host);
      if (!end.connect(5s)) return;
      for (std::uint64_t number = 1; number != 20; ++number) {
        if (end.write(number, where) != Result::success || end.sent(5s).result != Result::success) return;
        for (int i = 0; i != 100 && books.received != number; ++i) all.host.pause(kMillisecond);
      }
    });
    hosted.run();
    told += books.received;
  }
  EXPECT_GT(told, kRoughSeeds * 10);
}

// A row of writes that tell, into memory that is the other side's no more at some time.
struct Ending {
  vi::Segment where;
  bool known = false, over = false;
  std::uint64_t told = 0;
};

constexpr std::uint32_t kWritten = 1600;  // bytes of each: more than a packet within a host

void end_the_right(Hosted& all, Books& books, Ending& ending, vi::Reliability level, std::uint64_t after) {
  find_host(books);
  std::vector<std::byte> target(kRow * kWritten, std::byte{0xEE});
  HostedEnd end(all, level);
  for (std::size_t i = 0; i != kRow; ++i) end.post_receive(i);
  vi::MemoryHandle handle = 0;
  end.good(end.nic().register_memory(target, {.tag = end.tag(), .rdma_write = true}, handle), "a target");
  ending.where = {reinterpret_cast<std::uintptr_t>(target.data()), handle, kWritten};
  ending.known = true;
  bool ended = false;
  const auto stop = [&] {
    end.good(end.nic().deregister_memory(target.data(), handle), "it ends");
    ended = true;
  };
  if (end.accept(5s)) {
    for (; ending.told != kRow; ++ending.told) {
      if (!ended && ending.told == after) stop();
      const vi::Completed done = end.received(500ms);
      if (done.result != Result::success) break;
      const std::uint32_t i = done.descriptor->immediate;
      all.expect((done.descriptor->status & vi::kOfRemoteWrite) == vi::kOfRemoteWrite && i < kRow, "a write");
      const auto written = std::span(target).subspan(std::size_t{i} * kWritten, kWritten);
      all.expect(std::ranges::all_of(written, [&](std::byte each) { return each == std::byte(i); }),
                 "what is told of stands there, whole");
    }
  }
  if (!ended) stop();
  ending.over = true;
}

TEST_P(HostedVis, tell_of_no_write_whose_right_has_ended) {
  std::uint64_t told = 0, all_told = 0;
  for (std::uint64_t seed = 1; seed <= kRoughSeeds && !HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    Hosted hosted(rough_rules(seed), seed);
    Books books;
    Ending ending;
    hosted.add([&](Hosted& all) { end_the_right(all, books, ending, GetParam(), seed % (kRow + 8)); });
    hosted.add([&](Hosted& all) {
      while (!ending.known) all.host.pause(kMillisecond / 10);
      HostedEnd end(all, GetParam());
      end.server_is_on(books.host);
      if (!end.connect(5s)) return;
      for (std::uint32_t i = 0; i != kRow; ++i) {
        vi::Segment there = ending.where;
        there.address += std::uint64_t{i} * kWritten;
        end.write_in_row(i, there);
      }
      while (!ending.over) {  // in calls of which they leave
        static_cast<void>(end.sent(1ms));
        all.host.pause(kMillisecond / 10);
      }
    });
    hosted.run();
    told += ending.told;
    all_told += ending.told == kRow;
  }
  EXPECT_GT(told, kRoughSeeds * 5);
  EXPECT_LT(all_told, kRoughSeeds) << "no right has ended before its last write";
}

TEST(HostedVi, closes_while_its_handlers_sleep) {
  Hosted hosted(rough_rules(1), 1);
  bool closed = false;
  hosted.add([&](Hosted& all) {
    {
      Interface interface;
      vi::Nic nic(interface);
      all.expect(nic.on_error([](const vi::ErrorEvent&) {}) == Result::success, "a handler");
      all.host.pause(1000 * kMillisecond);
    }
    closed = true;
  });
  hosted.run();
  EXPECT_TRUE(closed);
}

// Blocked calls of the first process, whose peer does nothing once they are connected.
TEST_P(HostedVis, sleep_while_nothing_comes) {
  using Call = std::function<Result(HostedEnd&)>;
  const Call calls[] = {
      [](HostedEnd& end) { return end.received(IdleWatch::kWait).result; },
      [](HostedEnd& end) { return end.accept(IdleWatch::kWait) ? Result::success : Result::timeout; },
  };
  for (const Call& call : calls) {
    Hosted hosted;
    IdleWatch watch(hosted, 1);
    Books books;
    hosted.add([&](Hosted& all) {
      find_host(books);
      HostedEnd end(all, GetParam());
      end.post_receive(0);
      all.expect(end.accept(5s), "the other side connects");
      EXPECT_EQ(call(end), Result::timeout);
      watch.returned();
    });
    hosted.add([&](Hosted& all) {
      while (!books.known) all.host.pause(kMillisecond);
      HostedEnd end(all, GetParam());
      end.server_is_on(books.host);
      all.expect(end.connect(5s), "the server accepts");
      all.host.pause(60 * IdleWatch::kSecond);
    });
    hosted.run();
    watch.expect_idle();
  }
}

INSTANTIATE_TEST_SUITE_P(all, HostedVis,
                         testing::Values(vi::Reliability::unreliable, vi::Reliability::delivery,
                                         vi::Reliability::reception));

}  // namespace
}  // namespace hamlyn::test
