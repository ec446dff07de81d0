// The protocols, as programs use them: through a manager each, polled.
#include <cstring>
#include <string>
#include <vector>

#include "tool/perf/our_short.h"
#include "tool/perf/ours.h"
#include "tool/perf/timing.h"
#include "tool/perf/volume.h"

namespace hamlyn::tool::perf {
namespace {

using namespace std::chrono_literals;

constexpr std::uint64_t kWarmUp = 5000;
constexpr std::uint64_t kExchanges = 50000;

Seed exchange(Party& party, const Seed& own) {
  party.hand_over(std::span{&own.ticket, 1});
  return {party.take_tickets(1).front()};
}

// To and fro: `Ends` has send(number) and receive(number) of one side.
template <class Ends>
Meter to_and_fro(const std::string& name, std::size_t bytes) {
  const auto ask = [bytes](Party& party, Room& room) {
    Manager manager;
    Ends ends(party, manager, bytes);
    std::vector<std::uint64_t> moments(kExchanges + 1);
    for (std::uint64_t i = 1; i <= kWarmUp + kExchanges; ++i) {
      ends.send(i);
      ends.receive(i);
      if (i >= kWarmUp) moments[i - kWarmUp] = hamlyn_ticks();
    }
    ends.finish();
    room.report(half_round_trips(moments));
  };
  const auto answer = [bytes](Party& party, Room&) {
    Manager manager;
    Ends ends(party, manager, bytes);
    for (std::uint64_t i = 1; i <= kWarmUp + kExchanges; ++i) {
      ends.receive(i);
      ends.send(i);
    }
    ends.finish();
  };
  const auto round = [ask, answer](Cores cores, int) {
    const PartyOptions options{.bytes = 64, .entries = 1};
    return run_parties(cores, kExchanges, options, ask, options, answer);
  };
  return {.name = "shm." + name + "." + std::to_string(bytes) + ".oneway",
          .round = round,
          .single_operations = true};
}

class TaggedEnds {
 public:
  TaggedEnds(Party& party, Manager& manager, std::size_t bytes)
      : receiver_(manager, bytes), sender_(manager, exchange(party, receiver_.make_seed())) {}
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
  TaggedReceiver receiver_;
  TaggedSender sender_;
};

// What a message of any length holds: its number, at both ends.
class Numbered {
 public:
  explicit Numbered(std::size_t bytes) : bytes_(bytes) {}
  std::span<const std::byte> with(std::uint64_t number) {
    std::memcpy(bytes_.data(), &number, sizeof number);
    std::memcpy(bytes_.data() + bytes_.size() - sizeof number, &number, sizeof number);
    return bytes_;
  }
  void check(std::span<const std::byte> found, std::uint64_t number) const {
    expect(found.size() == bytes_.size() && std::memcmp(found.data(), &number, sizeof number) == 0 &&
               std::memcmp(found.data() + found.size() - sizeof number, &number, sizeof number) == 0,
           "a message was read that is not the one sent");
  }

 private:
  std::vector<std::byte> bytes_;
};

class DatagramEnds {
 public:
  DatagramEnds(Party& party, Manager& manager, std::size_t bytes)
      : data_(bytes), receiver_(manager, bytes), sender_(manager, exchange(party, receiver_.make_seed())) {}
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
  Numbered data_;
  DatagramReceiver receiver_;
  DatagramSender sender_;
};

class StreamEnds {
 public:
  StreamEnds(Party& party, Manager& manager, std::size_t bytes)
      : data_(bytes), receiver_(manager), sender_(manager, exchange(party, receiver_.make_seed())) {}
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

Meter tagged_latency() { return to_and_fro<TaggedEnds>("tagged", 16); }
Meter datagram_latency(std::size_t bytes) { return to_and_fro<DatagramEnds>("datagram", bytes); }
Meter stream_latency(std::size_t bytes) { return to_and_fro<StreamEnds>("stream", bytes); }

Meter stream_bandwidth(std::size_t bytes) {
  const auto round = [bytes](Cores cores, int) {
    const PartyOptions options{.bytes = 64, .entries = 1};
    return run_parties(
        cores, 1, options, [&](Party& party, Room&) { send_all(party, bytes); }, options,
        [&](Party& party, Room& room) { receive_all(party, room, bytes); });
  };
  return {.name = "shm.stream." + std::to_string(bytes) + ".bandwidth", .round = round};
}

}  // namespace hamlyn::tool::perf
