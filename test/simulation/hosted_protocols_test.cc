// Protocols, whole, between processes of a simulated host: what they do, what they refuse, and what the
// others see if one of the processes dies, at any time. Streams and loans have files of their own.
#include <sys/epoll.h>

#include <algorithm>
#include <array>

#include "base/file_descriptor.h"
#include "hamlyn/core/bulk.h"
#include "hamlyn/core/multicast.h"
#include "hamlyn/protocols/coroutine.h"
#include "hamlyn/protocols/datagram.h"
#include "hamlyn/protocols/tagged_write.h"
#include "test/simulation/hosted.h"

namespace hamlyn::test {
namespace {

using namespace std::chrono_literals;

// --- datagrams

TEST(HostedDatagrams, land_once_are_answered_and_refused_by_name) {
  Hosted hosted;
  hosted.add([](Hosted& all) {
    Manager manager;
    auto receiver = std::make_unique<DatagramReceiver>(manager, 4096);
    manager.publish("box", receiver->make_seed());
    Datagram datagram;
    all.expect(receiver->receive(datagram, 1s) == Status::ok, "nothing comes");
    all.expect(text_of(datagram.bytes) == "question" && datagram.offset == 16, "something else came");
    all.expect(datagram.reply.has_value(), "nobody to reply to");
    DatagramSender reply(manager, *datagram.reply);
    all.expect(reply.deliver(bytes_of("answer"), 1s) == Status::ok, "the answer does not land");
    all.host.pause(1'000'000);
    static_cast<void>(receiver->make_ready());
    all.expect(receiver->receive(datagram, 1s) == Status::ok, "nothing more comes");
    receiver.reset();
    all.host.pause(10'000'000);
  });
  hosted.add([](Hosted& all) {
    Manager manager;
    DatagramSender sender(manager, manager.lookup("box", 1s));
    DatagramReceiver answers(manager, 64);
    const DatagramOptions options{.offset = 16, .reply = &answers};
    all.expect(sender.deliver(bytes_of("question"), options, 1s) == Status::ok, "it does not land");
    Datagram answer;
    all.expect(answers.receive(answer, 1s) == Status::ok, "no answer");
    all.expect(text_of(answer.bytes) == "answer", "another answer");
    all.expect(sender.deliver(bytes_of("too early"), 1s) == Status::not_ready, "it was ready");
    all.expect(sender.deliver(bytes_of("far"), {.offset = 4094}, 1s) == Status::out_of_bounds, "it fits");
    all.host.pause(2'000'000);
    all.expect(sender.deliver(std::vector<std::byte>(4096), 1s) == Status::ok, "it is not ready again");
    all.host.pause(1'000'000);
    all.expect(sender.deliver(bytes_of("too late"), 1s) == Status::refused, "it has not gone");
  });
  hosted.run();
}

// One look of one receiver goes through what stands before in the queue, for the others of its manager.
TEST(HostedDatagrams, are_found_by_one_look_behind_those_of_other_receivers) {
  constexpr int kOthers = 100;
  Hosted hosted;
  bool all_sent = false;
  hosted.add([&](Hosted& all) {
    Manager manager;
    std::vector<std::unique_ptr<DatagramReceiver>> receivers;
    for (int i = 0; i <= kOthers; ++i) {
      receivers.push_back(std::make_unique<DatagramReceiver>(manager, 64));
      manager.publish("box." + std::to_string(i), receivers.back()->make_seed());
    }
    while (!all_sent) all.host.pause(kMillisecond);
    Datagram datagram;
    all.expect(receivers.back()->receive(datagram, 0s) == Status::ok, "it stands behind others");
  });
  hosted.add([&](Hosted& all) {
    Manager manager;
    for (int i = 0; i <= kOthers; ++i) {
      DatagramSender sender(manager, manager.lookup("box." + std::to_string(i), 1s));
      all.expect(sender.deliver(bytes_of("one"), 1s) == Status::ok, "it does not land");
    }
    all_sent = true;
    all.host.pause(10 * kMillisecond);
  });
  hosted.run();
}

// Its packets overtake one another; the receiver becomes ready at any moment of that.
TEST(HostedDatagrams, are_told_to_be_early_if_the_receiver_becomes_ready_in_their_middle) {
  unsigned landed = 0, early = 0;
  for (std::uint64_t pause = 0; pause < 600'000; pause += 3'000) {
    Hosted hosted({.least_delay = 1000, .most_delay = 100'000, .mtu = 128}, pause);
    hosted.add([=](Hosted& all) {
      Manager manager;
      DatagramReceiver receiver(manager, 4096);
      manager.publish("box", receiver.make_seed());
      Datagram datagram;
      all.expect(receiver.receive(datagram, 1s) == Status::ok, "nothing comes");
      all.host.pause(pause);
      all.expect(receiver.make_ready() == Status::ok, "it cannot be ready");
      all.host.pause(10'000'000);
    });
    hosted.add([&](Hosted& all) {
      Manager manager;
      DatagramSender sender(manager, manager.lookup("box", 1s));
      all.expect(sender.deliver(bytes_of("one"), 1s) == Status::ok, "it does not land");
      const Status status = sender.deliver(std::vector<std::byte>(1000), 1s);
      all.expect(status == Status::ok || status == Status::not_ready, "it is refused");
      ++(status == Status::ok ? landed : early);
    });
    hosted.run();
  }
  EXPECT_GT(landed, 10u);
  EXPECT_GT(early, 10u);
}

void exchange_datagrams(Hosted& hosted) {
  hosted.add([](Hosted& all) {
    Manager manager;
    DatagramReceiver receiver(manager, 4096);
    manager.publish("box", receiver.make_seed());
    for (int i = 0; i < 5; ++i) {
      Datagram datagram;
      const Status status = receiver.receive(datagram, 2ms);
      all.expect(status == Status::ok || (!all.alive(2) && status != Status::cancelled), "nothing comes");
      if (status == Status::ok) all.expect(datagram.bytes.size() == 3000, "another datagram");
      static_cast<void>(receiver.make_ready());
    }
    all.host.pause(1'000'000);
  });
  hosted.add([](Hosted& all) {
    Manager manager;
    const std::optional<Seed> seed = seed_of(manager, "box");
    if (!seed) return all.expect(!all.alive(1), "no seed");
    DatagramSender sender(manager, *seed);
    for (int i = 0; i < 5; ++i) {
      Status status = Status::not_ready;
      while (status == Status::not_ready) status = sender.deliver(std::vector<std::byte>(3000), 1s);
      all.expect(status == Status::ok || !all.alive(1), "it does not land");
      all.expect(status != Status::timed_out, "nobody tells of the death");
    }
  });
}
TEST(HostedDatagrams, tell_of_the_death_of_the_sender_at_any_time) {
  with_a_death_at_any_time(2, exchange_datagrams);
}
TEST(HostedDatagrams, tell_of_the_death_of_the_receiver_at_any_time) {
  with_a_death_at_any_time(1, exchange_datagrams);
}

// --- tagged writes

TEST(HostedTaggedWrites, land_where_they_should_wait_for_places_and_are_refused_when_the_receiver_has_gone) {
  Hosted hosted;
  hosted.add([](Hosted& all) {
    Manager manager;
    auto receiver = std::make_unique<TaggedReceiver>(manager, 4096, TaggedReceiver::Options{.places = 4});
    manager.publish("t", receiver->make_seed());
    all.host.pause(3'000'000);
    Tagged tagged;
    all.expect(receiver->get_specific_tag(3, tagged, 1s) == Status::ok && tagged.tag == 3, "no tag 3");
    for (const std::uint64_t tag : {1u, 2u, 4u, 5u, 6u, 7u, 8u}) {
      all.expect(receiver->get_tag(tagged, 1s) == Status::ok && tagged.tag == tag, "another tag");
      all.expect(text_of(receiver->bytes(tagged)) == "abc" && tagged.offset == 8 * tag, "other bytes");
    }
    receiver.reset();
    all.host.pause(9'000'000);
  });
  hosted.add([](Hosted& all) {
    Manager manager;
    TaggedSender sender(manager, manager.lookup("t", 1s));
    for (const std::uint64_t tag : {1u, 2u, 3u, 4u})
      all.expect(sender.send(bytes_of("abc"), 8 * tag, tag) == Status::ok, "there was no place");
    all.expect(sender.send(bytes_of("abc"), 0, 5) == Status::no_place, "there is a fifth place");
    for (const std::uint64_t tag : {5u, 6u, 7u, 8u})
      all.expect(sender.send(bytes_of("abc"), 8 * tag, tag, 1s) == Status::ok, "no place comes free");
    all.expect(sender.send(bytes_of("abc"), 4094, 9, 1s) == Status::out_of_bounds, "it fits");
    all.host.pause(5'000'000);
    const Status status = sender.send(bytes_of("abc"), 0, 10, 1s);
    EXPECT_EQ(status, Status::refused);
  });
  hosted.run();
}

void write_with_tags(Hosted& hosted) {
  hosted.add([](Hosted& all) {
    Manager manager;
    TaggedReceiver receiver(manager, 4096, {.places = 4});
    manager.publish("t", receiver.make_seed());
    for (std::uint64_t next = 1; next <= 30; ++next) {
      Tagged tagged;
      const Status status = receiver.get_tag(tagged, 3ms);
      if (status != Status::ok) return all.expect(!all.alive(2), "no tag");
      all.expect(tagged.tag == next, "another tag");
    }
  });
  hosted.add([](Hosted& all) {
    Manager manager;
    const std::optional<Seed> seed = seed_of(manager, "t");
    if (!seed) return all.expect(!all.alive(1), "no seed");
    try {
      TaggedSender sender(manager, *seed);
      for (std::uint64_t tag = 1; tag <= 30; ++tag) {
        const Status status = sender.send(bytes_of("abc"), 0, tag, 1s);
        if (status != Status::ok) return all.expect(!all.alive(1) && status != Status::timed_out, "not sent");
      }
      all.host.pause(1'000'000);
    } catch (const Error& error) {
      all.expect(!all.alive(1) && error.code() != ErrorCode::timed_out, "it cannot be opened");
    }
  });
}
TEST(HostedTaggedWrites, tell_of_the_death_of_the_sender_at_any_time) {
  with_a_death_at_any_time(2, write_with_tags);
}
TEST(HostedTaggedWrites, tell_of_the_death_of_the_receiver_at_any_time) {
  with_a_death_at_any_time(1, write_with_tags);
}

// --- bulk, multicast

TEST(HostedBulk, fills_a_ring_whose_receiver_frees_it_piece_by_piece) {
  Hosted hosted({.least_delay = 1000, .most_delay = 50'000});
  std::optional<BulkRingOffer> offer;
  std::optional<BulkFreed> freed;
  hosted.add([&](Hosted& all) {
    Manager manager;
    NotificationQueue queue(manager.interface());
    BulkRing ring(queue, 4096, 4);
    offer = ring.offer();
    for (std::uint8_t number = 0; number < 40;) {
      Notification arrival;
      all.expect(queue.receive(arrival, 1s) == Status::ok && ring.arrived(arrival), "no piece");
      while (const auto piece = ring.next()) {
        const auto all_same = [&](std::byte each) { return each == std::byte{number}; };
        all.expect(std::ranges::all_of(*piece, all_same), "another piece");
        ++number;
        static_cast<void>(ring.free());
        freed = ring.freed();
      }
    }
  });
  hosted.add([&](Hosted& all) {
    Manager manager;
    while (!offer) all.host.pause(1000);
    BulkRingSender sender(manager.terminus(), *offer);
    for (std::uint8_t number = 0; number < 40; ++number) {
      const std::vector<std::byte> piece(1u + 37u * number, std::byte{number});
      SendHandle handle;
      Status status = Status::no_place;
      while ((status = sender.send(piece, &handle)) == Status::no_place) {
        all.host.pause(1000);
        if (freed) all.expect(sender.freed(*freed), "more is free than was sent");
      }
      if (status == Status::pending) status = manager.terminus().wait(handle, 1s);
      all.expect(status == Status::ok, "a piece is not sent");
    }
    all.host.pause(1'000'000);
  });
  hosted.run();
}

TEST(HostedMulticast, tells_who_has_got_it_and_who_has_died) {
  Hosted hosted;
  std::vector<Ticket> tickets;
  for (int i = 0; i < 3; ++i) {
    hosted.add([&](Hosted& all) {
      Manager manager;
      MessageArea area(manager.interface(), 8192);
      NotificationQueue queue(manager.interface());
      Slot slot(area, queue, {.entries = 1, .fast = false});
      tickets.push_back(slot.ticket(0));
      Notification arrival;
      all.expect(queue.receive(arrival, 1s) == Status::ok && arrival.length == 8192, "nothing comes");
      all.host.pause(3'000'000);
    });
  }
  hosted.kill(2, 1'500'000);
  hosted.add([&](Hosted& all) {
    Manager manager;
    while (tickets.size() != 3) all.host.pause(1000);
    const std::vector<std::byte> data(8192);
    Multicast multicast(manager.interface());
    all.expect(multicast.send(tickets, data) == Status::ok && multicast.wait(1s) == Status::ok, "it waits");
    all.expect(multicast.count().delivered == 3, "not all have it");
    all.host.pause(2'000'000);
    all.expect(multicast.send(tickets, data) == Status::ok && multicast.wait(1s) == Status::ok, "it waits");
    all.expect(multicast.count().delivered == 0 && multicast.count().failed == 3, "somebody has it again");
    std::size_t dead = 0;
    for (std::size_t i = 0; i < 3; ++i) dead += tickets[i].interface == 2 ? i : 0;
    all.expect(multicast.status(dead) == Status::link_ended || multicast.status(dead) == Status::refused,
               "the dead refuse");
  });
  hosted.run();
}

// --- descriptors

constexpr std::uint64_t kEach = 30;

// Three kinds of receivers in one process, which sleeps until a descriptor of one of them says something.
void receive_by_epoll(Hosted& all) {
  Manager manager;
  DatagramReceiver one(manager, 64), other(manager, 64);
  TaggedReceiver board(manager, 64, {.places = 4});
  NotificationQueue queue(manager.interface());
  MessageArea area(manager.interface(), 64);
  Slot slot(area, queue, {.places = 4});
  const base::FileDescriptor any(::epoll_create1(EPOLL_CLOEXEC));
  for (const int each : {manager.descriptor(), board.descriptor(), queue.descriptor()}) {
    epoll_event event{};
    event.events = EPOLLIN;
    all.expect(::epoll_ctl(any.get(), EPOLL_CTL_ADD, each, &event) == 0, "it is no descriptor");
  }
  manager.publish("one", one.make_seed());
  manager.publish("other", other.make_seed());
  manager.publish("board", board.make_seed());
  manager.interface().publish("slot", slot.ticket());
  std::uint64_t datagrams = 0, tags = 0, words = 0;
  for (;;) {
    Datagram datagram;
    Tagged tagged;
    do {
      for (DatagramReceiver* const box : {&one, &other}) {
        while (box->receive(datagram, 0s) == Status::ok) {
          ++datagrams;
          static_cast<void>(box->make_ready());
        }
      }
    } while (manager.poll());
    while (board.get_tag(tagged, 0s) == Status::ok) ++tags;
    while (queue.poll()) ++words;
    if (datagrams == kEach && tags == kEach && words == kEach) break;
    all.expect(one.ready() && other.ready(), "it goes to sleep though a datagram has come");
    if (!wait_until_readable(any.get())) return;
  }
  all.host.pause(10 * kMillisecond);  // they hear that it has landed
}

// Now and then, so that the other is asleep in between.
void send_to_epoll(Hosted& all) {
  Manager manager;
  try {
    DatagramSender one(manager, manager.lookup("one", 1s));
    DatagramSender other(manager, manager.lookup("other", 1s));
    TaggedSender tags(manager, manager.lookup("board", 1s));
    const Ticket slot = manager.interface().lookup("slot", 1s);
    for (std::uint64_t i = 0; i < kEach; ++i) {
      DatagramSender& datagrams = all.host.chance().one_in(2) ? one : other;
      Status status = Status::not_ready;
      while ((status = datagrams.deliver(bytes_of("datagram"), 5s)) == Status::not_ready)
        all.host.pause(1000);
      all.expect(status == Status::ok || !all.alive(1), "a datagram does not land");
      if (all.host.chance().one_in(2)) all.host.pause(all.host.chance().below(kMillisecond));
      status = tags.send(bytes_of("tag"), 0, i, 5s);
      all.expect(status == Status::ok || !all.alive(1), "a tag is not sent");
      if (all.host.chance().one_in(2)) all.host.pause(all.host.chance().below(kMillisecond));
      while (manager.terminus().send_fast(slot, {}, i) != Status::ok) {
        if (manager.terminus().wait_for_place(slot, 5s) != Status::ok)
          return all.expect(!all.alive(1), "a message is not sent");
      }
    }
    all.host.pause(20 * kMillisecond);
  } catch (const Error&) {
    all.expect(!all.alive(1), "something cannot be opened");
  }
}

TEST(HostedDescriptors, wake_who_sleeps_on_all_of_them_for_everything_that_comes) {
  for (std::uint64_t seed = 1; seed <= kRoughSeeds && !testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    Hosted hosted(rough_rules(seed), seed);
    hosted.add(receive_by_epoll).add(send_to_epoll).run();
    if (testing::Test::HasFailure()) break;
    Hosted cut_short(rough_rules(seed), seed);  // the same, and the receiver dies at some time
    cut_short.kill(1, cut_short.host.chance().below(20 * kMillisecond));
    cut_short.add(receive_by_epoll).add(send_to_epoll).run();
  }
}

// --- coroutines

Task echo(Loop& loop, StreamReceiver& from, StreamSender& to, std::uint64_t& echoed) {
  Record record;
  while (co_await loop.receive(from, record) == Status::ok) {
    if (co_await loop.send(to, record.bytes()) != Status::ok) co_return;
    static_cast<void>(from.release(record));
    ++echoed;
  }
  co_await loop.close(to);
}

constexpr std::uint64_t kEchoes = 60;

void say_and_hear(Hosted& all, std::size_t who) {
  Manager manager;
  StreamReceiver back(manager, {.first = 1024, .most = 8192, .parcels = 4});
  manager.publish("back" + std::to_string(who), back.make_seed());
  StreamSender said(manager, manager.lookup("said" + std::to_string(who), 1s), {.timeout = 5s});
  for (std::uint64_t number = 0; number < kEchoes; ++number) {
    const std::string text(number % 10 == 9 ? 3000 : number, static_cast<char>('a' + who));
    all.expect(said.send(bytes_of(text), 5s) == Status::ok, "it is not sent");
    Record record;
    all.expect(back.receive(record, 5s) == Status::ok && record.text() == text, "another echo");
    static_cast<void>(back.release(record));
  }
  all.expect(said.close(5s) == Status::ok, "it is not closed");
  Record record;
  all.expect(back.receive(record, 5s) == Status::closed, "the echo is not closed");
}

TEST(HostedCoroutines, share_a_thread_and_sleep_while_all_of_them_wait) {
  for (std::uint64_t seed = 1; seed <= kRoughSeeds / 4 && !testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    Hosted hosted(rough_rules(seed), seed);
    hosted.add([](Hosted& all) {
      Manager manager;
      StreamReceiver one(manager, {.first = 1024, .most = 8192, .parcels = 4});
      StreamReceiver other(manager, {.first = 1024, .most = 8192, .parcels = 4});
      manager.publish("said0", one.make_seed());
      manager.publish("said1", other.make_seed());
      StreamSender to_one(manager, manager.lookup("back0", 1s), {.timeout = 5s});
      StreamSender to_other(manager, manager.lookup("back1", 1s), {.timeout = 5s});
      std::uint64_t echoed = 0;
      Loop loop(manager);
      loop.start(echo(loop, one, to_one, echoed));
      loop.start(echo(loop, other, to_other, echoed));
      loop.run();
      all.expect(echoed == 2 * kEchoes, "not everything was echoed");
    });
    for (const std::size_t who : {0u, 1u}) hosted.add([who](Hosted& all) { say_and_hear(all, who); });
    hosted.run();
  }
}

}  // namespace
}  // namespace hamlyn::test
