// VIs with the whole library on simulated hosts, where packets are lost, late and repeated, links are cut,
// and anybody dies at any time.
#include <array>
#include <cstring>
#include <memory>

#include "hamlyn/vi.h"
#include "test/simulation/idle.h"

namespace hamlyn::test {
namespace {

using namespace std::chrono_literals;
using vi::Result;

constexpr std::size_t kWindow = 8;       // receives that are posted
constexpr std::uint32_t kRow = 48;       // sends that are posted at once: more than may await an answer
constexpr std::uint32_t kLength = 3000;  // bytes of a message: some packets between hosts

// A VI and what it needs, in one process.
class End {
 public:
  explicit End(Hosted& all, vi::Reliability level) : all_(all), nic_(interface_) {
    std::uint32_t queue = 0, number = 0;
    vi::MemoryHandle handle = 0;
    const auto room = std::as_writable_bytes(std::span(room_.get(), 1));
    good(nic_.create_tag(tag_), "a tag");
    good(nic_.register_memory(room, {.tag = tag_, .rdma_write = true, .rdma_read = true}, handle), "memory");
    memory_ = vi::Memory{nic_, room, handle};
    good(nic_.create_queue(1, queue), "a completion queue");
    queue_ = vi::CompletionQueue{nic_, queue};
    good(queue_.resize(2 * kRow), "room for all that can be over");
    good(nic_.create_vi({.reliability = level, .tag = tag_, .rdma_write = true, .rdma_read = true}, 0, queue,
                        number),
         "a VI");
    vi_ = vi::Vi{nic_, number};
  }
  ~End() {
    static_cast<void>(vi_.disconnect());
    while (vi_.receive_done().descriptor != nullptr || vi_.send_done().descriptor != nullptr) {
    }
    vi_ = {}, queue_ = {}, memory_ = {};
    good(nic_.destroy_tag(tag_), "a VI that has everything back goes, and so does its memory");
  }
  End(const End&) = delete;
  End& operator=(const End&) = delete;

  bool accept(std::chrono::nanoseconds time) {
    vi::Incoming request;
    return nic_.connect_wait(address(), time, request) == Result::success &&
           vi_.accept(request) == Result::success;
  }
  bool connect(std::chrono::nanoseconds time) {
    const auto until = vi::Nic::Time{time};
    for (vi::Nic::Time waited{0}; waited < until; waited += 100us) {
      vi::Address asked = address();
      asked.host = server_host_ != 0 ? server_host_ : nic_.host();
      const Result result = vi_.request({}, asked, time);
      if (result == Result::success) return true;
      all_.host.pause(kMillisecond / 10);
    }
    return false;
  }
  void server_is_on(std::uint64_t host) { server_host_ = host; }
  void post_receive(std::size_t place) {
    vi::Descriptor& descriptor = room_->receives[place];
    describe(descriptor, room_->received[place]);
    descriptor.next = place;
    good(vi_.post_receive(&descriptor, memory_.handle()), "a receive");
  }
  Result post_send(std::uint64_t number) {
    fill(number);
    describe(room_->send, room_->sent);
    return vi_.post_send(&room_->send, memory_.handle());
  }
  // Posts number `i` of a row: each fifth is of several packets.
  void post_in_row(std::uint32_t i) {
    const std::span<std::byte> bytes(room_->of_row[i]);
    std::memcpy(bytes.data(), &i, sizeof i);
    describe(room_->row[i], i % 5 == 4 ? bytes : bytes.first(16));
    good(vi_.post_send(&room_->row[i], memory_.handle()), "a send of a row");
  }
  std::uint32_t number_in_row(const vi::Descriptor& receive) {
    std::uint32_t out = 0;
    std::memcpy(&out, room_->received[receive.next].data(), sizeof out);
    all_.expect(receive.length == (out % 5 == 4 ? kLength : 16), "its length is its own");
    return out;
  }
  vi::Completed sent(std::chrono::nanoseconds time) { return vi_.send_wait(time); }
  vi::Completed received(std::chrono::nanoseconds time) {
    const vi::Completion event = queue_.wait(time);
    if (event.result != Result::success) return {event.result, nullptr};
    all_.expect(event.receive && event.vi == vi_.number(), "an entry is of this receive queue");
    return vi_.receive_done();
  }
  std::uint64_t number(const vi::Descriptor& receive) {
    std::uint64_t first = 0, last = 0;
    std::memcpy(&first, room_->received[receive.next].data(), sizeof first);
    std::memcpy(&last, room_->received[receive.next].data() + kLength - sizeof last, sizeof last);
    all_.expect(first == last, "a message is whole");
    return first;
  }
  // Writes the number to both ends of `there`, memory of the other side, and tells of it.
  Result write(std::uint64_t number, const vi::Segment& there) {
    fill(number);
    describe(room_->send, room_->sent);
    room_->send.segments[1] = room_->send.segments[0];
    room_->send.segments[0] = there;
    room_->send.segment_count = 2;
    room_->send.control = vi::kRdmaWrite | vi::kImmediate;
    room_->send.immediate = static_cast<std::uint32_t>(number);
    return vi_.post_send(&room_->send, memory_.handle());
  }
  vi::Segment memory() {
    return {reinterpret_cast<std::uintptr_t>(room_->sent.data()), memory_.handle(), kLength};
  }
  bool holds(std::uint64_t number) {
    std::uint64_t first = 0, last = 0;
    std::memcpy(&first, room_->sent.data(), sizeof first);
    std::memcpy(&last, room_->sent.data() + kLength - sizeof last, sizeof last);
    return first == number && last == number;
  }
  void good(Result result, const char* what) { all_.expect(result == Result::success, what); }

 private:
  struct Room {
    std::array<vi::Descriptor, kRow> receives, row;
    vi::Descriptor send;
    std::array<std::array<std::byte, kLength>, kRow> received, of_row;
    std::array<std::byte, kLength> sent;
  };

  void fill(std::uint64_t number) {
    std::memcpy(room_->sent.data(), &number, sizeof number);
    std::memcpy(room_->sent.data() + kLength - sizeof number, &number, sizeof number);
  }
  static vi::Address address() { return vi::Address::of(0, bytes_of("hosted")); }
  void describe(vi::Descriptor& descriptor, std::span<std::byte> bytes) {
    descriptor = {};
    descriptor.segment_count = 1;
    descriptor.length = static_cast<std::uint32_t>(bytes.size());
    descriptor.segments[0] = {reinterpret_cast<std::uintptr_t>(bytes.data()), memory_.handle(),
                              descriptor.length};
  }

  Hosted& all_;
  Interface interface_;
  std::unique_ptr<Room> room_ = std::make_unique<Room>();
  vi::Nic nic_;
  vi::Tag tag_ = 0;
  vi::Memory memory_;
  vi::CompletionQueue queue_;
  vi::Vi vi_;
  std::uint64_t server_host_ = 0;
};

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
  End end(all, level);
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
  End end(all, level);
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
      End end(all, GetParam());
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
      End end(all, GetParam());
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
  End end(all, level);
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
      End end(all, GetParam());
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
  using Call = std::function<Result(End&)>;
  const Call calls[] = {
      [](End& end) { return end.received(IdleWatch::kWait).result; },
      [](End& end) { return end.accept(IdleWatch::kWait) ? Result::success : Result::timeout; },
  };
  for (const Call& call : calls) {
    Hosted hosted;
    IdleWatch watch(hosted, 1);
    Books books;
    hosted.add([&](Hosted& all) {
      find_host(books);
      End end(all, GetParam());
      end.post_receive(0);
      all.expect(end.accept(5s), "the other side connects");
      EXPECT_EQ(call(end), Result::timeout);
      watch.returned();
    });
    hosted.add([&](Hosted& all) {
      while (!books.known) all.host.pause(kMillisecond);
      End end(all, GetParam());
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
