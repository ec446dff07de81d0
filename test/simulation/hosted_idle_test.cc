// A process that is blocked in a call, whatever it waits for, sleeps until something happens. In each
// blocking call of the public interface its threads wake no more than once a second, which virtual time
// counts for nothing.
#include <functional>
#include <memory>

#include "hamlyn/core/multicast.h"
#include "hamlyn/core/send_buffer_area.h"
#include "hamlyn/protocols/datagram.h"
#include "hamlyn/protocols/loan.h"
#include "hamlyn/protocols/stream.h"
#include "hamlyn/protocols/tagged_write.h"
#include "hamlyn/rpc/local_call.h"
#include "hamlyn/segment/segment.h"
#include "test/simulation/idle.h"

namespace hamlyn::test {
namespace {

using namespace std::chrono_literals;

constexpr auto kIdleWait = IdleWatch::kWait;  // of the call, which times out
constexpr std::uint64_t kIdleSecond = IdleWatch::kSecond;
std::function<void()> peer_is_stopped;  // waits for that

// The process at the other side: it shows one of everything, and then does nothing.
void show_everything(Hosted& all) {
  Manager manager;
  StreamReceiver stream(manager, {.first = 4096, .most = 4096, .parcels = 4});
  TaggedReceiver tagged(manager, 4096, {.places = 1});
  DatagramReceiver datagram(manager, 64);
  LoanReceiver loan(manager);
  Segment segment(manager.interface(), {.bytes = 4096});
  const Segment mapped(manager.interface(),
                       {.name = "mapped-segment", .bytes = 4096, .sharing = Sharing::mapped_read_write});
  LocalService service(manager.interface(), "service");
  manager.publish("stream", stream.make_seed());
  manager.publish("tagged", tagged.make_seed());
  manager.publish("datagram", datagram.make_seed());
  manager.publish("loan", loan.make_seed());
  manager.interface().publish("segment", segment.ticket());
  Borrowed borrowed;
  LocalCall call;
  static_cast<void>(manager.wait(100ms));            // opens the stream, of which nothing is taken
  static_cast<void>(loan.receive(borrowed, 100ms));  // lets the sender in, and keeps what it has sent
  static_cast<void>(service.take(call, 100ms));      // lets the client in, and does not answer
  all.host.pause(60 * kIdleSecond);
}

using IdleCall = std::function<Status(Manager&)>;

// `call` waits in vain in one process; the other does nothing, or is stopped.
void expect_idle(const IdleCall& call, bool peer_stops = false) {
  Hosted hosted;
  IdleWatch watch(hosted, 1);
  hosted.add([&](Hosted&) {
    Manager manager;
    const Status status = call(manager);
    EXPECT_EQ(status, Status::timed_out) << name(status);
    watch.returned();
  });
  hosted.add(show_everything);
  peer_is_stopped = [&] { hosted.host.pause(2 * kIdleSecond); };
  if (peer_stops) {
    hosted.host.after(kIdleSecond, [&] { hosted.host.stop(hosted.host.inhabitant(2)); });
    hosted.host.after(IdleWatch::kTo + 20 * kIdleSecond,
                      [&] { hosted.host.go_on(hosted.host.inhabitant(2)); });
  }
  hosted.run();
  watch.expect_idle();
}
void expect_idle_while_peer_is_stopped(const IdleCall& call) { expect_idle(call, true); }

// --- what comes

TEST(HostedIdle, who_receives) {
  expect_idle([](Manager& manager) {
    NotificationQueue queue(manager.interface());
    Notification next;
    return queue.receive(next, kIdleWait);
  });
  expect_idle([](Manager& manager) {
    DatagramReceiver receiver(manager, 64);
    Datagram datagram;
    return receiver.receive(datagram, kIdleWait);
  });
  expect_idle([](Manager& manager) {
    StreamReceiver receiver(manager);
    static_cast<void>(receiver.make_seed());
    Record record;
    return receiver.receive(record, kIdleWait);
  });
  expect_idle([](Manager& manager) {
    LoanReceiver receiver(manager);
    Borrowed borrowed;
    return receiver.receive(borrowed, kIdleWait);
  });
  expect_idle([](Manager& manager) { return manager.wait(kIdleWait); });
  expect_idle([](Manager& manager) { return manager.wait_beyond(manager.happened(), kIdleWait); });
  expect_idle([](Manager& manager) { return manager.interface().wait_attached(false, kIdleWait); });
}

TEST(HostedIdle, who_waits_for_any_of_several) {
  for (const bool told_by_descriptor : {false, true}) {
    expect_idle([=](Manager& manager) {
      StreamReceiver stream(manager);
      static_cast<void>(stream.make_seed());
      TaggedReceiver tags(manager, 64);
      if (told_by_descriptor) {
        static_cast<void>(manager.interface().descriptor());
        static_cast<void>(manager.interface().wait_any([] { return false; }, 0s));
      }
      Record record;
      Tagged tagged;
      const auto any = [&] {
        return stream.receive(record, 0s) != Status::timed_out || tags.get_tag(tagged, 0s) == Status::ok;
      };
      return manager.interface().wait_any(any, kIdleWait);
    });
  }
}

TEST(HostedIdle, who_takes_tags) {
  expect_idle([](Manager& manager) {
    TaggedReceiver receiver(manager, 64);
    Tagged tagged;
    return receiver.get_tag(tagged, kIdleWait);
  });
  expect_idle([](Manager& manager) {
    TaggedReceiver receiver(manager, 64);
    Tagged tagged;
    return receiver.get_specific_tag(7, tagged, kIdleWait);
  });
}

TEST(HostedIdle, who_has_a_segment) {
  expect_idle([](Manager& manager) {
    Segment segment(manager.interface(), {.bytes = 64});
    SegmentRecord record;
    return segment.wait(record, kIdleWait);
  });
  expect_idle([](Manager& manager) {
    Segment segment(manager.interface(), {.bytes = 64});
    return segment.wait_until(
        0, [](std::uint64_t word) { return word != 0; }, kIdleWait);
  });
  expect_idle([](Manager& manager) {
    Segment segment(manager.interface(), {.bytes = 4096, .sharing = Sharing::mapped_read_write});
    return segment.wait_until(
        0, [](std::uint64_t word) { return word != 0; }, kIdleWait);
  });
}

TEST(HostedIdle, who_waits_for_a_word_of_another) {
  for (const char* name : {"segment", "mapped-segment"}) {
    expect_idle([name](Manager& manager) {
      Import import(manager.interface(), name);
      return import.wait_until(
          0, [](std::uint64_t word) { return word != 0; }, kIdleWait);
    });
  }
}

TEST(HostedIdle, who_serves_and_calls) {
  expect_idle([](Manager& manager) {
    LocalService service(manager.interface(), "another");
    LocalCall call;
    return service.take(call, kIdleWait);
  });
  expect_idle([](Manager& manager) {
    LocalClient client(manager.interface(), "service");
    std::span<const std::byte> reply;
    return client.call("question", reply, kIdleWait);
  });
}

// --- room

TEST(HostedIdle, who_sends_a_stream_that_nobody_reads) {
  const auto full = [](StreamSender& sender) {
    Status status = Status::ok;
    while (status == Status::ok) status = sender.send(std::vector<std::byte>(1000), 10ms);
    EXPECT_EQ(status, Status::timed_out);
  };
  for (const bool stops : {false, true}) {
    expect_idle(
        [&](Manager& manager) {
          StreamSender sender(manager, manager.lookup("stream", 1s));
          full(sender);
          return sender.send(std::vector<std::byte>(2000), kIdleWait);
        },
        stops);
    expect_idle(
        [&](Manager& manager) {
          StreamSender sender(manager, manager.lookup("stream", 1s));
          full(sender);
          return sender.flush(kIdleWait);
        },
        stops);
    expect_idle(
        [&](Manager& manager) {
          StreamSender sender(manager, manager.lookup("stream", 1s));
          EXPECT_EQ(sender.send("record"), Status::ok);
          return sender.close(kIdleWait);
        },
        stops);
  }
}

// Openings at a program that does not look, or is stopped.
TEST(HostedIdle, who_waits_for_a_sender_to_open) {
  for (const bool stops : {false, true}) {
    expect_idle(
        [](Manager& manager) {
          const Seed seed = manager.lookup("stream", 1s);
          peer_is_stopped();
          StreamSender sender(manager, seed, kBegin);
          return sender.opened(kIdleWait);
        },
        stops);
    expect_idle(
        [](Manager& manager) {
          const Seed seed = manager.lookup("loan", 1s);
          peer_is_stopped();
          LoanPool pool(manager, {{64, 1}});
          LoanSender sender(pool, seed, kBegin);
          return sender.opened(kIdleWait);
        },
        stops);
    // Nor do those that are opening wake who waits for something else.
    expect_idle(
        [](Manager& manager) {
          const Seed seed = manager.lookup("stream", 1s), lent = manager.lookup("loan", 1s);
          const Seed tag = manager.lookup("tagged", 1s);
          peer_is_stopped();
          LoanPool pool(manager, {{64, 1}});
          const StreamSender stream(manager, seed, kBegin);
          const LoanSender loan(pool, lent, kBegin);
          const TaggedSender tagged(manager, tag, kBegin);
          DatagramReceiver receiver(manager, 64);
          Datagram datagram;
          return receiver.receive(datagram, kIdleWait);
        },
        stops);
  }
  expect_idle_while_peer_is_stopped([](Manager& manager) {
    const Seed tag = manager.lookup("tagged", 1s);
    peer_is_stopped();
    TaggedSender sender(manager, tag, kBegin);
    return sender.opened(kIdleWait);
  });
}

TEST(HostedIdle, who_waits_for_a_piece) {
  expect_idle_while_peer_is_stopped([](Manager& manager) {
    StreamSender sender(manager, manager.lookup("stream", 1s));
    SendBufferArea area(manager.interface(), 4096);
    EXPECT_EQ(sender.bind(1, area), Status::ok);
    SendHandle handle;
    peer_is_stopped();
    Status status = Status::ok;
    while (status == Status::ok) status = sender.send(Piece{1, 0, 512}, handle, 10ms);
    return sender.send(Piece{1, 0, 512}, handle, kIdleWait);
  });
}

TEST(HostedIdle, who_writes_a_tag_without_a_place) {
  for (const bool stops : {false, true}) {
    expect_idle(
        [](Manager& manager) {
          TaggedSender sender(manager, manager.lookup("tagged", 1s));
          EXPECT_EQ(sender.send({}, 0, 1, 1s), Status::ok);
          return sender.send({}, 0, 2, kIdleWait);
        },
        stops);
  }
}

TEST(HostedIdle, who_lends) {
  for (const bool stops : {false, true}) {
    expect_idle(
        [](Manager& manager) {
          LoanPool pool(manager, {{64, 1}});
          LoanSender sender(pool, manager.lookup("loan", 1s));
          Loan loan, another;
          EXPECT_EQ(pool.take(64, loan), Status::ok);
          EXPECT_EQ(sender.send(loan), Status::ok);
          loan = {};
          return pool.take(64, another, kIdleWait);
        },
        stops);
    expect_idle(
        [](Manager& manager) {
          LoanPool pool(manager, {{64, 2}});
          LoanSender sender(pool, manager.lookup("loan", 1s), {.most = 1});
          Loan loan, another;
          EXPECT_EQ(pool.take(64, loan), Status::ok);
          EXPECT_EQ(pool.take(64, another), Status::ok);
          EXPECT_EQ(sender.send(loan), Status::ok);
          return sender.send(another, 64, kIdleWait);
        },
        stops);
  }
}

// --- answers

TEST(HostedIdle, who_delivers) {
  expect_idle_while_peer_is_stopped([](Manager& manager) {
    DatagramSender sender(manager, manager.lookup("datagram", 1s));
    peer_is_stopped();
    return sender.deliver(bytes_of("datagram"), kIdleWait);
  });
  expect_idle_while_peer_is_stopped([](Manager& manager) {
    Multicast multicast(manager.interface());
    const Ticket ticket = manager.lookup("datagram", 1s).ticket;
    peer_is_stopped();
    EXPECT_EQ(multicast.send({&ticket, 1}, bytes_of("datagram")), Status::ok);
    return multicast.wait(kIdleWait);
  });
}

TEST(HostedIdle, who_asks_for_what_is_elsewhere) {
  const auto once_stopped = [](auto call) {
    expect_idle_while_peer_is_stopped([=](Manager& manager) {
      Import import(manager.interface(), "segment");
      std::array<std::byte, 64> bytes{};
      EXPECT_EQ(import.read(0, bytes, 1s), Status::ok);
      peer_is_stopped();
      return call(import, bytes);
    });
  };
  once_stopped([](Import& import, auto& bytes) { return import.read(0, bytes, kIdleWait); });
  once_stopped([](Import& import, auto& bytes) {
    static_cast<void>(import.write(0, bytes, 1s));
    return import.flush(kIdleWait);
  });
  once_stopped([](Import& import, auto&) {
    return import.fetch(0, {.op = FetchOp::add, .operand = 1}, kIdleWait).status;
  });
}

TEST(HostedIdle, who_waits_at_a_terminus) {
  expect_idle([](Manager& manager) {
    Terminus terminus(manager.interface());
    const Ticket ticket = manager.lookup("tagged", 1s).ticket;
    EXPECT_EQ(terminus.connect(ticket, 1s), Status::ok);
    while (terminus.send_fast(ticket, {}) == Status::ok) {
    }
    return terminus.wait_for_place(ticket, kIdleWait);
  });
}

}  // namespace
}  // namespace hamlyn::test
