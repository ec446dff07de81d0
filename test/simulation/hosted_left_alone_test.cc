// Accepted messages, and what a process owes its peers, leave while its program does something else, for
// as long as it likes.
#include <array>
#include <cstring>

#include "hamlyn/core/message_area.h"
#include "hamlyn/core/slot.h"
#include "hamlyn/core/terminus.h"
#include "hamlyn/protocols/datagram.h"
#include "hamlyn/protocols/stream.h"
#include "library/engine.h"
#include "test/simulation/hosted.h"

namespace hamlyn::test {
namespace {

using namespace std::chrono_literals;

constexpr std::uint64_t kElsewhere = 200 * kMillisecond;  // what the sender's program does then
constexpr std::uint64_t kLeast = 4;                       // records

void receive_all(Hosted& all, std::uint64_t records, std::uint64_t& last_at, const StreamOptions& room = {}) {
  Manager manager;
  StreamReceiver receiver(manager, room);
  manager.publish("s", receiver.make_seed());
  for (std::uint64_t i = 1; i <= records; ++i) {
    Record record;
    const Status received = receiver.receive(record, 1s);
    if (all.alive()) all.host.demand(received == Status::ok, name(received));
    all.expect(record.number() == i, "a record is lost");
    all.expect(receiver.release(record) == Status::ok, "it cannot be released");
    last_at = all.host.time();
  }
  static_cast<void>(manager.wait(1s));  // a sender hears of what was released, while this one lives
}

// Receives `before` records, then does something else for a while. `elsewhere`: it has begun with that.
void receive_some_and_look_elsewhere(Hosted& all, std::uint64_t before, bool& elsewhere) {
  Manager manager;
  StreamReceiver receiver(manager);
  manager.publish("s", receiver.make_seed());
  Record record;
  for (std::uint64_t i = 0; i != before; ++i) {
    all.expect(receiver.receive(record, 1s) == Status::ok, "a record is lost");
    all.expect(receiver.release(record) == Status::ok, "it cannot be released");
  }
  elsewhere = true;
  all.host.pause(kElsewhere);
}

// However many records were taken before, so that any number of places is free and not told of yet.
TEST(HostedStreams, have_their_messages_unreleased_though_the_receiver_looks_elsewhere) {
  for (std::uint64_t before = 1; before < 140 && !testing::Test::HasFailure(); before += 3) {
    SCOPED_TRACE(before);
    bool elsewhere = false;
    std::uint64_t sent = 0;
    Hosted hosted;
    hosted.add([&](Hosted& all) { receive_some_and_look_elsewhere(all, before, elsewhere); });
    hosted.add([&](Hosted& all) {
      Manager manager;
      StreamSender sender(manager, manager.lookup("s", 1s));
      const auto sends = [&] {
        return sender.send("a record", 1ms) == Status::ok && sender.flush(1ms) == Status::ok;
      };
      for (std::uint64_t i = 0; i != before; ++i) all.expect(sends(), "it is not sent");
      while (!elsewhere) all.host.pause(kMillisecond);
      while (sent != StreamOptions{}.parcels && sends()) ++sent;
    });
    hosted.run();
    // Parcels are told of as released by quarters, and one is for the end.
    EXPECT_GE(sent, StreamOptions{}.parcels * 3 / 4 - 1);
  }
}

std::uint64_t wakeups(Manager& manager) { return manager.interface().engine().counters().wakeups; }

TEST(HostedStreams, deliver_what_was_put_together_while_their_sender_does_something_else) {
  for (std::uint64_t seed = 0; seed < kRoughSeeds && !testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    const std::uint64_t records = kLeast + seed * 7;
    std::uint64_t sent_at = 0, last_at = 0;
    Hosted hosted(rough_rules(seed), seed);
    hosted.add([&](Hosted& all) { receive_all(all, records, last_at); });
    hosted.add([&](Hosted& all) {
      Manager manager;
      StreamSender sender(manager, manager.lookup("s", 1s));
      for (std::uint64_t i = 0; i != records; ++i) {
        all.expect(sender.send(std::vector<std::byte>(64)) == Status::ok, "it is not sent");
        if (seed % 2 != 0) all.host.pause(all.host.chance().below(20'000));
      }
      sent_at = all.host.time();
      all.host.pause(kElsewhere);
      all.expect(last_at != 0 && last_at < sent_at + kElsewhere / 2, "records wait for their sender");
    });
    hosted.run();
  }
}

// One that leaves at once needs no thread, and others wake it no more than once for a batch.
TEST(HostedStreams, wake_the_interface_thread_once_for_a_batch_at_most) {
  constexpr std::uint64_t kRecords = 2000, kAlone = 8;
  std::uint64_t last_at = 0;
  Hosted hosted;
  hosted.add([&](Hosted& all) { receive_all(all, kRecords + kAlone, last_at); });
  hosted.add([&](Hosted& all) {
    Manager manager;
    StreamSender sender(manager, manager.lookup("s", 1s));
    all.host.pause(kElsewhere);
    std::uint64_t before = wakeups(manager);
    for (std::uint64_t i = 0; i != kRecords; ++i)
      all.expect(sender.send(std::vector<std::byte>(56)) == Status::ok, "it is not sent");
    all.host.pause(kElsewhere);
    constexpr std::uint64_t kBatches = kRecords * 64 / 8192 + 1;
    all.expect(wakeups(manager) - before <= kBatches, "the interface thread wakes for more than batches");
    before = wakeups(manager);
    for (std::uint64_t i = 0; i != kAlone; ++i) {
      all.host.pause(100'000);
      all.expect(sender.send(std::vector<std::byte>(56)) == Status::ok, "it is not sent");
      all.host.pause(50'000);
      all.expect(last_at + 50'000 > all.host.time(), "a record has not left at once");
    }
    // Once it is told of what was released.
    all.expect(wakeups(manager) <= before + 1, "it wakes for what has left");
  });
  hosted.run();
}

// The receiver's program looks elsewhere: small records that come one by one are put together then, and do
// not use up the messages that may be unreleased.
TEST(HostedStreams, run_ahead_of_a_receiver_that_does_not_look) {
  constexpr std::uint64_t kRecords = 600;
  Hosted hosted;
  hosted.add([](Hosted& all) {
    Manager manager;
    StreamReceiver receiver(manager);
    manager.publish("s", receiver.make_seed());
    Record record;
    all.expect(receiver.receive(record, 1s) == Status::ok, "none comes");
    all.host.pause(10 * kElsewhere);
    for (std::uint64_t i = 2; i <= kRecords; ++i) {
      all.expect(receiver.receive(record, 1s) == Status::ok && record.number() == i, "a record is lost");
      all.expect(receiver.release(record) == Status::ok, "it cannot be released");
    }
  });
  hosted.add([](Hosted& all) {
    Manager manager;
    StreamSender sender(manager, manager.lookup("s", 1s));
    for (std::uint64_t i = 0; i != kRecords; ++i) {
      all.expect(sender.send(std::vector<std::byte>(64), 1ms) == Status::ok, "it has no room");
      all.host.pause(10'000);
    }
    all.host.pause(20 * kElsewhere);
  });
  hosted.run();
}

// The receiver had no room when the last were accepted, and nobody runs the sender's manager any more.
TEST(HostedStreams, deliver_what_found_no_room_while_their_sender_does_something_else) {
  constexpr std::uint64_t kRecords = 17;
  for (std::uint64_t seed = 0; seed < kRoughSeeds && !testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    std::uint64_t last_at = 0, sent_at = 0;
    Hosted hosted(rough_rules(seed), seed);
    hosted.add([&](Hosted& all) { receive_all(all, kRecords, last_at, {.first = 16384, .most = 16384}); });
    hosted.add([&](Hosted& all) {
      Manager manager;
      StreamSender sender(manager, manager.lookup("s", 1s));
      for (std::uint64_t i = 0; i != kRecords; ++i)
        all.expect(sender.send(std::vector<std::byte>(1000)) == Status::ok, "it is not sent");
      sent_at = all.host.time();
      all.host.pause(kElsewhere);
      all.expect(last_at != 0 && last_at < sent_at + kElsewhere / 2, "records wait for their sender");
    });
    hosted.run();
  }
}

// A notification that the program gives to a receiver may be what the rest has waited for: the interface
// thread looks again, though nothing has come since it looked.
TEST(HostedStreams, that_wait_for_room_are_looked_at_when_the_program_gives_something_to_a_receiver) {
  Hosted hosted;
  hosted.add([](Hosted& all) {
    Manager manager;
    StreamReceiver receiver(manager, {.first = 16384, .most = 16384});
    manager.publish("s", receiver.make_seed());
    Record record;
    all.expect(receiver.receive(record, 1s) == Status::ok, "none comes");
    DatagramSender sender(manager, manager.lookup("d", 1s));
    all.host.pause(kElsewhere);
    all.expect(sender.send({}) == Status::ok, "no datagram is sent");
    all.host.pause(3 * kElsewhere);
  });
  hosted.add([](Hosted& all) {
    Manager manager;
    DatagramReceiver receiver(manager, 64);
    manager.publish("d", receiver.make_seed());
    StreamSender sender(manager, manager.lookup("s", 1s));
    for (int i = 0; i != 17; ++i)
      all.expect(sender.send(std::vector<std::byte>(1000)) == Status::ok, "it is not sent");
    all.host.pause(2 * kElsewhere);
    const std::uint64_t before = wakeups(manager);
    all.expect(manager.poll(), "the datagram does not stand in the queue");
    all.host.pause(kElsewhere);
    all.expect(wakeups(manager) != before, "nobody looks again");
  });
  hosted.run();
}

// The interface thread has put them into the queue; the program takes them all in one call, and no more.
TEST(HostedReceivers, give_places_back_while_they_do_something_else) {
  constexpr std::uint32_t kPlaces = 4;
  for (std::uint64_t seed = 0; seed < kRoughSeeds && !testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    Hosted hosted(rough_rules(seed), seed);
    hosted.add([](Hosted& all) {
      Interface interface;
      MessageArea area(interface, 64);
      NotificationQueue queue(interface);
      Slot slot(area, queue, {.places = kPlaces});
      interface.publish("there", slot.ticket());
      all.host.pause(kElsewhere);
      std::array<Notification, 2 * kPlaces> taken;
      all.expect(queue.poll(taken) == kPlaces, "not all have come");
      all.host.pause(3 * kElsewhere);
    });
    hosted.add([](Hosted& all) {
      Interface interface;
      Terminus terminus(interface);
      const Ticket there = interface.lookup("there", 1s);
      all.expect(terminus.connect(there, 1s) == Status::ok, "no link");
      for (std::uint32_t i = 0; i != kPlaces; ++i)
        all.expect(terminus.send_fast(there, {}, i) == Status::ok, "no place");
      all.expect(terminus.send_fast(there, {}, kPlaces) == Status::no_place, "too many places");
      const Status status = terminus.wait_for_place(there, std::chrono::nanoseconds{2 * kElsewhere});
      all.expect(status == Status::ok, "places are kept");
    });
    hosted.run();
  }
}

// Two in a row to another host: the second waits for company, and nobody may come.
TEST(HostedSenders, have_what_waits_for_company_leave_while_they_do_something_else) {
  std::uint64_t sent_at = 0;
  simulation::Host::Rules rules = rough_rules(2);
  rules.wire = {.least_delay = 1000, .most_delay = 1000};
  Hosted hosted(rules, 2);
  hosted.add([&](Hosted& all) {
    Interface interface;
    MessageArea area(interface, 64);
    NotificationQueue queue(interface);
    Slot slot(area, queue, {});
    interface.publish("there", slot.ticket());
    Notification next;
    for (int i = 0; i != 2; ++i) all.expect(queue.receive(next, 1s) == Status::ok, "it does not come");
    all.expect(all.host.time() < sent_at + kMillisecond, "it has waited for its sender");
  });
  hosted.add([&](Hosted& all) {
    Interface interface;
    Terminus terminus(interface);
    const Ticket there = interface.lookup("there", 1s);
    all.expect(terminus.connect(there, 1s) == Status::ok, "no link");
    all.host.pause(kElsewhere);
    sent_at = all.host.time();
    for (std::uint64_t i = 0; i != 2; ++i)
      all.expect(terminus.send_fast(there, {}, i) == Status::ok, "it is not sent");
    all.host.pause(kElsewhere);
  });
  hosted.run();
}

}  // namespace
}  // namespace hamlyn::test
