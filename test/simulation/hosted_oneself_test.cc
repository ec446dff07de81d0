// Processes of simulated hosts that send to themselves, by one thread, in any weather.
#include <cstring>

#include "hamlyn/protocols/datagram.h"
#include "hamlyn/protocols/stream.h"
#include "hamlyn/protocols/tagged_write.h"
#include "hamlyn/segment/segment.h"
#include "test/simulation/hosted.h"

namespace hamlyn::test {
namespace {

using namespace std::chrono_literals;

void deliver_to_oneself(Hosted& all, Manager& manager) {
  DatagramReceiver receiver(manager, 256);
  DatagramSender sender(manager, receiver.make_seed());
  all.expect(sender.deliver(bytes_of("to myself"), 1s) == Status::ok, "a datagram does not land");
  all.expect(sender.deliver(bytes_of("again"), 1s) == Status::not_ready, "another one lands on it");
  Datagram datagram;
  all.expect(receiver.receive(datagram, 0s) == Status::ok && text_of(datagram.bytes) == "to myself",
             "another datagram");
  all.expect(datagram.sender == manager.interface().id(), "somebody else's");
}

void tag_oneself(Hosted& all, Manager& manager) {
  TaggedReceiver receiver(manager, 64, {.places = 8});
  TaggedSender sender(manager, receiver.make_seed());
  std::uint64_t sent = 0, taken = 0;
  for (int lap = 0; lap != 4; ++lap) {
    while (sender.send(bytes_of("tag"), 0, 1) == Status::ok) ++sent;
    Tagged tagged;
    while (taken != sent) {
      if (receiver.get_tag(tagged, 1s) != Status::ok) break;
      ++taken;
    }
    all.expect(taken == sent, "tags are lost");
  }
  all.expect(sent >= 8, "too few find a place");
}

void stream_to_oneself(Hosted& all, Manager& manager) {
  StreamReceiver receiver(manager, {.first = 4096, .most = 16384});
  StreamSender sender(manager, receiver.make_seed());
  std::uint64_t sent = 0, received = 0;
  const auto take_all = [&](std::chrono::nanoseconds time) {
    Record record;
    while (receiver.receive(record, time) == Status::ok) {
      all.expect(record.number() == ++received, "records are lost");
      all.expect(receiver.release(record) == Status::ok, "it cannot be released");
    }
  };
  for (int lap = 0; lap != 6 && all.alive(); ++lap) {
    const std::vector<std::byte> data(lap % 2 == 0 ? 100 : 3000);
    while (sender.send(data, 0s) == Status::ok && ++sent % 100 != 0) {
    }
    take_all(lap % 3 == 0 ? 1ms : 0ms);
  }
  all.expect(sender.end() == Status::ok, "it has ended");
  Status closed;
  while ((closed = sender.close(0s)) == Status::timed_out) take_all(10us);
  all.expect(closed == Status::ok, "it is not closed");
  take_all(0s);
  all.expect(received == sent && sent != 0, "records are lost");
}

void import_from_oneself(Hosted& all, Manager& manager, const std::string& name) {
  for (const Sharing sharing : {Sharing::guarded, Sharing::mapped_read_write}) {
    Segment segment(manager.interface(), {.name = name, .bytes = 4096, .sharing = sharing});
    Import import(manager.interface(), name);
    const std::string text(2000, 'x');
    all.expect(import.write(8, bytes_of(text), 1s) == Status::ok, "it cannot be written");
    all.expect(import.flush(1s) == Status::ok, "it does not land");
    std::string read(2000, ' ');
    all.expect(import.read(8, std::as_writable_bytes(std::span{read}), 1s) == Status::ok && read == text,
               "it cannot be read");
    all.expect(import.fetch(0, {.op = FetchOp::add, .operand = 5}, 1s).status == Status::ok, "nor added to");
    all.expect(segment.at<std::uint64_t>(0).load() == 5, "another sum");
  }
}

TEST(HostedOneself, sends_by_every_protocol_in_any_weather) {
  for (std::uint64_t seed = 0; seed < kRoughSeeds && !testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    Hosted hosted(rough_rules(seed), seed);
    for (const char* name : {"one", "other"}) {
      hosted.add([name](Hosted& all) {
        Manager manager;
        deliver_to_oneself(all, manager);
        tag_oneself(all, manager);
        stream_to_oneself(all, manager);
        import_from_oneself(all, manager, name);
      });
    }
    hosted.run();
  }
}

TEST(HostedOneself, may_die_at_any_time) {
  const auto program = [](Hosted& hosted) {
    hosted.add([](Hosted& all) {
      try {
        Manager manager;
        TaggedReceiver receiver(manager, 64);
        TaggedSender sender(manager, receiver.make_seed());
        for (std::uint64_t i = 0; i != 200 && all.alive(); ++i) {
          static_cast<void>(sender.send(bytes_of("tag"), 0, i, 1ms));
          Tagged tagged;
          static_cast<void>(receiver.get_tag(tagged, 1ms));
        }
      } catch (const Error&) {
        all.expect(false, "it could not be made");
      }
    });
  };
  with_a_death_at_any_time(1, program);
}

}  // namespace
}  // namespace hamlyn::test
