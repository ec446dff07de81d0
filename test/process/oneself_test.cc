// A process sends to itself: all of the library over a link of which one interface is both ends.
#include <gtest/gtest.h>
#include <signal.h>

#include <array>
#include <atomic>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "hamlyn/rpc/local_call.h"
#include "hamlyn/segment/segment.h"
#include "test/process/managers.h"

namespace hamlyn::test {
namespace {

using namespace std::chrono_literals;

class Oneself : public OnNodes {
 protected:
  void with_manager(const std::function<void(Manager&)>& work) {
    in_child([&] {
      Manager manager({.interface = options()});
      work(manager);
    });
  }
};

// --- the interface

struct Target {
  explicit Target(Interface& interface, std::size_t bytes, const Slot::Options& options)
      : area(interface, bytes), queue(interface), slot(area, queue, options) {}
  MessageArea area;
  NotificationQueue queue;
  Slot slot;
};

TEST_F(Oneself, takes_fast_messages_and_has_no_place_for_more_than_it_takes) {
  with_manager([](Manager& manager) {
    constexpr unsigned kPlaces = 16;
    Target target(manager.interface(), 64, {.places = kPlaces});
    Terminus terminus(manager.interface());
    const Ticket ticket = target.slot.ticket();
    ASSERT_EQ(terminus.connect(ticket, kPatience), Status::ok);
    std::uint64_t sent = 0, taken = 0;
    for (int lap = 0; lap != 200; ++lap) {
      Status status;
      while ((status = terminus.send_fast(ticket, bytes_of("0123456789abcdef"), sent)) == Status::ok) ++sent;
      ASSERT_TRUE(status == Status::no_place || status == Status::queue_full) << name(status);
      // Room can be made by this thread alone: a wait for it says so and does not hang.
      if (lap == 0) {
        EXPECT_EQ(terminus.wait_for_place(ticket, 1ms), Status::timed_out);
      }
      Notification next;
      while (target.queue.poll({&next, 1}) != 0) {
        EXPECT_EQ(next.word, taken++);
        EXPECT_EQ(next.peer, manager.interface().id());
      }
      ASSERT_EQ(terminus.wait_for_place(ticket, kPatience), Status::ok);
    }
    EXPECT_EQ(taken, sent);
    EXPECT_GE(sent, 200u);
  });
}

TEST_F(Oneself, takes_messages_of_any_length) {
  with_manager([](Manager& manager) {
    const std::string text = noise(std::size_t{4} << 20, 1);
    Target target(manager.interface(), text.size(), {.entries = 1});
    Terminus terminus(manager.interface());
    for (const std::size_t bytes : {std::size_t{1}, std::size_t{5000}, std::size_t{100'000}, text.size()}) {
      SendHandle handle;
      const auto data = bytes_of(text).first(bytes);
      ASSERT_EQ(terminus.send(target.slot.ticket(0), data, {.acknowledged = true}, &handle), Status::pending);
      EXPECT_EQ(terminus.wait(handle, kPatience), Status::ok);
      Notification arrived;
      ASSERT_EQ(target.queue.poll({&arrived, 1}), 1u);
      EXPECT_EQ(arrived.kind, Notification::Kind::message);
      EXPECT_EQ(text_of(target.slot.bytes(arrived)), text.substr(0, bytes));
      ASSERT_EQ(target.slot.arm(0), Status::ok);
    }
  });
}

// Data that stands in an area is copied once, as from any sender of this host.
TEST_F(Oneself, takes_messages_out_of_an_area) {
  with_manager([](Manager& manager) {
    constexpr std::size_t kBytes = std::size_t{1} << 20;
    SendBufferArea area(manager.interface(), kBytes);
    const std::string text = noise(kBytes, 2);
    std::memcpy(area.bytes(0, kBytes).data(), text.data(), kBytes);
    Target target(manager.interface(), kBytes, {.entries = 1});
    Terminus terminus(manager.interface());
    ASSERT_EQ(terminus.bind(0, area), Status::ok);
    const Piece all{0, 0, kBytes};
    const auto shown = [&] {
      library::Engine& engine = manager.interface().engine();
      const base::RunLockGuard guard(engine.lock());
      const interface::Link* const link = engine.core().find_link(manager.interface().id());
      return link != nullptr && link->areas_shown != 0;
    };
    for (int after = 0; after != 2;) {
      after += shown();
      SendHandle handle;
      ASSERT_EQ(terminus.send_gathered(target.slot.ticket(0), {&all, 1}, {}, &handle), Status::pending);
      EXPECT_EQ(terminus.wait(handle, kPatience), Status::ok);
      Notification arrived;
      ASSERT_EQ(target.queue.poll({&arrived, 1}), 1u);
      EXPECT_EQ(text_of(target.slot.bytes(arrived)), text);
      ASSERT_EQ(target.slot.arm(0), Status::ok);
    }
  });
}

TEST_F(Oneself, gets_fetches_and_puts) {
  with_manager([](Manager& manager) {
    constexpr std::size_t kBytes = 65536;
    Target target(manager.interface(), kBytes,
                  {.fast = false, .fetches = true, .gets = kBytes, .puts = true});
    Target landing(manager.interface(), kBytes, {});
    Terminus terminus(manager.interface());
    const Ticket ticket = target.slot.ticket();
    for (std::uint64_t i = 0; i != 100; ++i) {
      const Outcome added = terminus.fetch(ticket, {.op = FetchOp::add, .operand = 1}, {}, kPatience);
      ASSERT_EQ(added.status, Status::ok);
      EXPECT_EQ(added.value, i);
    }
    const std::string text = noise(kBytes - 8, 3);
    ASSERT_EQ(terminus.put(ticket, bytes_of(text), {.offset = 8}, kPatience), Status::ok);
    ASSERT_EQ(terminus.flush(ticket, kPatience).status, Status::ok);
    ASSERT_EQ(terminus.get(ticket, landing.slot, 0, kBytes, {}, kPatience).status, Status::ok);
    EXPECT_EQ(text_of(landing.slot.bytes().subspan(8)), text);
  });
}

// One's own packets are checked and counted as everybody's.
TEST_F(Oneself, refuses_a_wrong_key) {
  with_manager([](Manager& manager) {
    Target target(manager.interface(), 64, {.entries = 1});
    Terminus terminus(manager.interface());
    Ticket forged = target.slot.ticket(0);
    forged.key ^= 1;
    SendHandle handle;
    ASSERT_EQ(terminus.send(forged, bytes_of("x"), {.acknowledged = true}, &handle), Status::pending);
    EXPECT_EQ(terminus.wait(handle, kPatience), Status::refused);
    EXPECT_EQ(terminus.refusal(handle), Refusal::bad_key);
    Ticket fast = target.slot.ticket();
    fast.key ^= 1;
    EXPECT_EQ(terminus.connect(fast, kPatience), Status::refused);
    Ticket outside = target.slot.ticket(0);
    outside.bound += 64;
    ASSERT_EQ(terminus.send(outside, bytes_of("x"), {.offset = 64, .acknowledged = true}, &handle),
              Status::pending);
    EXPECT_EQ(terminus.wait(handle, kPatience), Status::refused);
    EXPECT_EQ(terminus.refusal(handle), Refusal::out_of_bounds);
    library::Engine& engine = manager.interface().engine();
    const base::RunLockGuard guard(engine.lock());
    const interface::Link& link = *engine.core().find_link(manager.interface().id());
    EXPECT_GE(link.counters->refused[static_cast<std::size_t>(Refusal::bad_key)], 1u);
    EXPECT_EQ(link.counters->refused[static_cast<std::size_t>(Refusal::out_of_bounds)], 1u);
    EXPECT_FALSE(link.broken);
  });
}

TEST_F(Oneself, needs_no_daemon_for_that) {
  with_manager([this](Manager& manager) {
    ASSERT_EQ(kill(daemon_.command().pid(), SIGKILL), 0);
    Target target(manager.interface(), 64, {});
    Terminus terminus(manager.interface());
    ASSERT_EQ(terminus.connect(target.slot.ticket(), kPatience), Status::ok);
    ASSERT_EQ(terminus.send_fast(target.slot.ticket(), {}, 7), Status::ok);
    Notification arrived;
    EXPECT_EQ(target.queue.receive(arrived, kPatience), Status::ok);
    EXPECT_EQ(arrived.word, 7u);
  });
}

// --- the protocols, by one thread

TEST_F(Oneself, delivers_datagrams) {
  with_manager([](Manager& manager) {
    DatagramReceiver receiver(manager, 256);
    DatagramSender sender(manager, receiver.make_seed());
    for (int i = 0; i != 3; ++i) {
      ASSERT_EQ(sender.deliver(bytes_of("to myself"), kPatience), Status::ok);
      EXPECT_EQ(sender.deliver(bytes_of("again"), kPatience), Status::not_ready);
      Datagram datagram;
      ASSERT_EQ(receiver.receive(datagram, 0ns), Status::ok);
      EXPECT_EQ(text_of(datagram.bytes), "to myself");
      EXPECT_EQ(datagram.sender, manager.interface().id());
      ASSERT_EQ(receiver.make_ready(), Status::ok);
    }
  });
}

TEST_F(Oneself, writes_tags) {
  with_manager([](Manager& manager) {
    TaggedReceiver receiver(manager, 256, {.places = 16});
    TaggedSender sender(manager, receiver.make_seed());
    std::uint64_t sent = 0, taken = 0;
    for (int lap = 0; lap != 20; ++lap) {
      while (sender.send(bytes_of("tagged"), 8, sent) == Status::ok) ++sent;
      EXPECT_EQ(sender.send(bytes_of("tagged"), 8, sent, 0ns), Status::timed_out);
      Tagged tagged;
      while (receiver.get_tag(tagged, 0ns) == Status::ok) {
        EXPECT_EQ(tagged.tag, taken++);
      }
    }
    EXPECT_EQ(taken, sent);
    EXPECT_EQ(text_of(receiver.bytes().subspan(8, 6)), "tagged");
  });
}

// One thread is both sides: it sends as far as the receiver has room, and takes then.
TEST_F(Oneself, streams) {
  with_manager([](Manager& manager) {
    StreamReceiver receiver(manager, {.first = 8192, .most = 65536});
    StreamSender sender(manager, receiver.make_seed());
    unsigned sent = 0, received = 0;
    const auto take_all = [&] {
      Record record;
      while (receiver.receive(record, 0ns) == Status::ok) {
        EXPECT_EQ(text_of(record.bytes()), noise(record.bytes().size(), received++));
        EXPECT_EQ(receiver.release(record), Status::ok);
      }
    };
    for (int lap = 0; lap != 30; ++lap) {
      const std::size_t bytes = lap % 3 == 0 ? 10 : lap % 3 == 1 ? 700 : 30'000;
      while (sender.send(bytes_of(noise(bytes, sent)), 0ns) == Status::ok && ++sent % 500 != 0) {
      }
      EXPECT_EQ(sender.end(), Status::ok);
      take_all();
    }
    while (sender.close(0ns) == Status::timed_out) take_all();
    take_all();
    EXPECT_EQ(received, sent);
    EXPECT_GE(sent, 100u);
    Record record;
    EXPECT_EQ(receiver.receive(record, 0ns), Status::closed);
  });
}

TEST_F(Oneself, lends) {
  with_manager([](Manager& manager) {
    LoanPool pool(manager, {{.bytes = 4096, .count = 4}});
    LoanReceiver receiver(manager);
    const Seed seed = receiver.make_seed();
    std::atomic<bool> open = false;
    std::thread takes([&] {
      Borrowed none;
      while (!open) EXPECT_EQ(receiver.receive(none, 1ms), Status::timed_out);
    });
    std::unique_ptr<LoanSender> sender;
    try {
      sender = std::make_unique<LoanSender>(pool, seed);
    } catch (const Error& error) {
      ADD_FAILURE() << error.what();
    }
    open = true;
    takes.join();
    if (sender == nullptr) return;
    for (int i = 0; i != 20; ++i) {
      Loan loan;
      ASSERT_EQ(pool.take(4096, loan, kPatience), Status::ok);
      std::memcpy(loan.bytes().data(), "lent", 4);
      ASSERT_EQ(sender->send(loan, 4), Status::ok);
      loan.let_go();
      Borrowed borrowed;
      ASSERT_EQ(receiver.receive(borrowed, kPatience), Status::ok);
      EXPECT_EQ(text_of(borrowed.bytes()), "lent");
      EXPECT_TRUE(borrowed.current());
    }
  });
}

TEST_F(Oneself, imports_its_own_segments_by_name) {
  with_manager([](Manager& manager) {
    for (const Sharing sharing : {Sharing::guarded, Sharing::mapped_read_only, Sharing::mapped_read_write}) {
      SCOPED_TRACE(static_cast<int>(sharing));
      Segment segment(manager.interface(), {.name = "mine", .bytes = 8192, .sharing = sharing});
      Import import(manager.interface(), "mine");
      EXPECT_EQ(import.reads_by_loads(), sharing != Sharing::guarded);
      EXPECT_EQ(import.writes_by_stores(), sharing == Sharing::mapped_read_write);
      const std::string text = noise(5000, 4);
      ASSERT_EQ(import.write(100, bytes_of(text), kPatience, {.notify = true}), Status::ok);
      ASSERT_EQ(import.flush(kPatience), Status::ok);
      EXPECT_EQ(text_of(segment.bytes().subspan(100, 5000)), text);
      SegmentRecord record;
      EXPECT_EQ(segment.wait(record, kPatience), Status::ok);
      std::string read(5000, ' ');
      ASSERT_EQ(import.read(100, std::as_writable_bytes(std::span{read}), kPatience), Status::ok);
      EXPECT_EQ(read, text);
      EXPECT_EQ(import.fetch(0, {.op = FetchOp::add, .operand = 3}, kPatience).status, Status::ok);
      EXPECT_EQ(segment.at<std::uint64_t>(0).load(), 3u);
      segment.revoke();
      EXPECT_EQ(import.read(0, std::as_writable_bytes(std::span{read}), kPatience), Status::stale);
    }
  });
}

// Puts, signals, waits, fetches and reads of one thread, of every kind: no second process has a part in them.
TEST_F(Oneself, signals_itself_in_its_own_segments) {
  with_manager([](Manager& manager) {
    for (const Sharing sharing : {Sharing::guarded, Sharing::mapped_read_only, Sharing::mapped_read_write}) {
      SCOPED_TRACE(static_cast<int>(sharing));
      Segment data(manager.interface(), {.name = "data", .bytes = 65536, .sharing = sharing});
      Segment words(manager.interface(), {.name = "words", .bytes = 4096});
      Import to_data(manager.interface(), "data"), to_words(manager.interface(), words.ticket());
      Import* const both[] = {&to_data, &to_words};
      for (std::uint64_t i = 1; i <= 50; ++i) {
        const std::string text = noise(i % 2 == 0 ? 40 : 20000, static_cast<unsigned>(i));
        ASSERT_EQ(to_data.write_signal(8, bytes_of(text), {.value = i, .in = &to_words}, kPatience),
                  Status::ok);
        ASSERT_EQ(words.wait_until(
                      0, [&](std::uint64_t word) { return word == i; }, kPatience),
                  Status::ok);
        EXPECT_EQ(text_of(data.bytes().subspan(8, text.size())), text);
        ASSERT_EQ(to_data.update(0, {.operand = 2}, kPatience), Status::ok);
        ASSERT_EQ(Import::flush(both, kPatience), Status::ok);
        EXPECT_EQ(data.at<std::uint64_t>(0).load(), 2 * i);
        std::string there(text.size(), ' ');
        RemoteHandle handle;
        Status status = to_data.read(8, std::as_writable_bytes(std::span{there}), &handle);
        if (status == Status::pending) status = to_data.wait(handle, kPatience).status;
        ASSERT_EQ(status, Status::ok);
        EXPECT_EQ(there, text);
      }
      Import only_read(manager.interface(), "data", {.access = Access::read_only});
      EXPECT_EQ(only_read.update(0, {.operand = 2}, kPatience), Status::refused);
    }
  });
}

// --- and by two

TEST_F(Oneself, streams_between_its_threads) {
  with_manager([](Manager& manager) {
    constexpr unsigned kRecords = 20'000;
    StreamReceiver receiver(manager);
    const Seed seed = receiver.make_seed();
    std::thread sends([&] {
      StreamSender sender(manager, seed);
      for (unsigned i = 0; i != kRecords; ++i)
        ASSERT_EQ(sender.send(std::as_bytes(std::span{&i, 1})), Status::ok);
      EXPECT_EQ(sender.close(kPatience), Status::ok);
    });
    unsigned received = 0;
    Record record;
    Status status;
    while ((status = receiver.receive(record, kPatience)) == Status::ok) {
      unsigned number = 0;
      std::memcpy(&number, record.bytes().data(), sizeof number);
      if (number != received++) break;
      EXPECT_EQ(receiver.release(record), Status::ok);
    }
    EXPECT_EQ(status, Status::closed);
    EXPECT_EQ(received, kRecords);
    sends.join();
  });
}

TEST_F(Oneself, calls_its_own_service) {
  with_manager([](Manager& manager) {
    LocalService service(manager.interface(), "desk");
    std::atomic<bool> over = false;
    std::thread serves([&] {
      LocalCall call;
      while (!over) {
        if (service.take(call, 1ms) != Status::ok) continue;
        EXPECT_EQ(call.client, manager.interface().id());
        EXPECT_EQ(service.answer(call, call.request), Status::ok);
      }
    });
    {
      LocalClient client(manager.interface(), "desk");
      for (std::uint64_t i = 0; i != 100; ++i) {
        std::uint64_t reply = 0;
        EXPECT_EQ(client.call(i, reply, kPatience), Status::ok);
        EXPECT_EQ(reply, i);
      }
    }
    over = true;
    serves.join();
  });
}

// --- and goes

TEST_F(Oneself, leaves_with_messages_to_itself_under_way) {
  with_manager([](Manager& manager) {
    for (int i = 0; i != 3; ++i) {
      auto target =
          std::make_unique<Target>(manager.interface(), std::size_t{1} << 20, Slot::Options{.entries = 4});
      const std::vector<std::byte> data(std::size_t{1} << 20);
      Terminus terminus(manager.interface());
      SendHandle handle;
      for (std::uint32_t entry = 0; entry != 4; ++entry) {
        const Status status = terminus.send(target->slot.ticket(entry), data, {}, &handle);
        EXPECT_TRUE(status == Status::ok || status == Status::pending) << name(status);
      }
      if (i != 1) target.reset();  // or the terminus goes first
    }
  });
}

}  // namespace
}  // namespace hamlyn::test
