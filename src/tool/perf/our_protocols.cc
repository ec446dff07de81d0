// The protocols, as programs use them: through a manager each, polled.
#include <cstring>
#include <string>
#include <vector>

#include "tool/perf/our_short.h"
#include "tool/perf/ours.h"
#include "tool/perf/to_and_fro.h"
#include "tool/perf/volume.h"

namespace hamlyn::tool::perf {
namespace {

using namespace std::chrono_literals;

constexpr PartyOptions kParty{.bytes = 64, .entries = 1};

template <class Ends>
Meter meter(const std::string& name, std::size_t bytes) {
  const auto round = [bytes](Cores cores, int) { return to_and_fro<Ends>(cores, {}, kParty, bytes); };
  return {.name = "shm." + name + "." + std::to_string(bytes) + ".oneway",
          .round = round,
          .single_operations = true};
}

class TaggedEnds {
 public:
  TaggedEnds(Party& party, Room&, std::size_t bytes)
      : receiver_(manager_, bytes), sender_(manager_, exchange(party, receiver_.make_seed())) {}
  void send(std::uint64_t number) {
    while (sender_.send(ShortMessage{number}.bytes(), 0, number) != Status::ok)
      static_cast<void>(receiver_.get_tag());
  }
  void receive(std::uint64_t number) {
    std::optional<Tagged> tagged;
    do {
      tagged = receiver_.get_tag();
    } while (!tagged);
    expect(tagged->tag == number, "a tag is missing");
    if (!ShortMessage::looked_at(number)) return;
    const ShortMessage wanted{number};
    expect(std::memcmp(receiver_.bytes(*tagged).data(), wanted.bytes().data(), 16) == 0,
           "bytes were read that are not those sent");
  }
  void finish() {}

 private:
  Manager manager_;
  TaggedReceiver receiver_;
  TaggedSender sender_;
};

class DatagramEnds {
 public:
  DatagramEnds(Party& party, Room&, std::size_t bytes)
      : data_(bytes), receiver_(manager_, bytes), sender_(manager_, exchange(party, receiver_.make_seed())) {}
  void send(std::uint64_t number) {
    Status status;
    do {
      status = sender_.send(data_.with(number));
    } while (status == Status::queue_full);
    expect(status == Status::ok || status == Status::pending, "a datagram was not taken");
  }
  void receive(std::uint64_t number) {
    Datagram datagram;
    while (receiver_.receive(datagram, 0ns) != Status::ok) {
    }
    data_.check(datagram.bytes, number);
    static_cast<void>(receiver_.make_ready());
  }
  void finish() {}

 private:
  Manager manager_;
  Numbered data_;
  DatagramReceiver receiver_;
  DatagramSender sender_;
};

class StreamEnds {
 public:
  StreamEnds(Party& party, Room&, std::size_t bytes)
      : data_(bytes), receiver_(manager_), sender_(manager_, exchange(party, receiver_.make_seed())) {}
  void send(std::uint64_t number) {
    expect(sender_.send(data_.with(number)) == Status::ok && sender_.flush() == Status::ok,
           "a record was not sent");
  }
  void receive(std::uint64_t number) {
    Record record;
    while (receiver_.receive(record, 0ns) != Status::ok) {
    }
    data_.check(record.bytes(), number);
    static_cast<void>(receiver_.release(record));
  }
  void finish() { expect(sender_.close() == Status::ok, "a stream was not closed"); }

 private:
  Manager manager_;
  Numbered data_;
  StreamReceiver receiver_;
  StreamSender sender_;
};

void send_all(Party& party, std::size_t bytes) {
  Manager manager;
  StreamSender sender{manager, {party.take_tickets(1).front()}};
  Numbered data{bytes};
  for (std::uint64_t i = 0; i < all_messages(bytes); ++i)
    expect(sender.send(data.with(i)) == Status::ok, "a record was not sent");
  expect(sender.close() == Status::ok, "a stream was not closed");
}

void receive_all(Party& party, Room& room, std::size_t bytes) {
  Manager manager;
  StreamReceiver receiver{manager};
  const Seed seed = receiver.make_seed();
  party.hand_over(std::span{&seed.ticket, 1});
  Numbered data{bytes};
  Record record;
  std::uint64_t start = 0, stop = 0;
  for (std::uint64_t i = 0; i < all_messages(bytes); ++i) {
    if (i == warm_up_messages(bytes)) start = hamlyn_ticks();
    Status status;
    do {
      status = receiver.receive(record, 0ns);
    } while (status == Status::timed_out);
    expect(status == Status::ok, "a stream has ended too early");
    data.check(record.bytes(), i);
    static_cast<void>(receiver.release(record));
  }
  stop = hamlyn_ticks();
  expect(receiver.receive(record) == Status::closed, "a stream has not ended");
  room.report(gigabytes_per_second(bytes, stop - start));
}

}  // namespace

Meter tagged_latency() { return meter<TaggedEnds>("tagged", 16); }
Meter datagram_latency(std::size_t bytes) { return meter<DatagramEnds>("datagram", bytes); }
Meter stream_latency(std::size_t bytes) { return meter<StreamEnds>("stream", bytes); }

Meter stream_bandwidth(std::size_t bytes) {
  const auto round = [bytes](Cores cores, int) {
    return run_parties(
        cores, 1, kParty, [&](Party& party, Room&) { send_all(party, bytes); }, kParty,
        [&](Party& party, Room& room) { receive_all(party, room, bytes); });
  };
  return {.name = "shm.stream." + std::to_string(bytes) + ".bandwidth", .round = round};
}

}  // namespace hamlyn::tool::perf
