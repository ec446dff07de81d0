// The first message to a new peer on another node: from asking for a terminus to it until the message is
// there. Both processes have the way to other hosts open; the link, and what lies below it, is made for this
// message.
#include <array>
#include <chrono>
#include <memory>

#include "tool/perf/clock.h"
#include "tool/perf/far_nodes.h"
#include "tool/perf/our_party.h"
#include "tool/perf/ours.h"
#include "tool/perf/timing.h"

namespace hamlyn::tool::perf {
namespace {

using std::chrono::seconds;

constexpr std::size_t kPeers = 12;
constexpr std::size_t kMessage = 16;

struct Peer {
  explicit Peer(int side) : interface(options(side)) {}
  static Interface::Options options(int side) {
    Interface::Options options;
    options.node = at_far_node(side);
    return options;
  }
  Interface interface;
  MessageArea area{interface, 4096};
  NotificationQueue queue{interface};
  Slot slot{area, queue, {.places = 4}};
  Terminus terminus{interface};
};

void ask(Party& party, Room& room) {
  Peer other{0};  // by a link with it the peers have their way open, and none with the party's interface
  const Ticket its = other.slot.ticket();
  party.hand_over({&its, 1});
  const std::vector<Ticket> peers = party.take_tickets(kPeers);
  Terminus terminus{party.interface()};
  const std::array<std::byte, kMessage> message{};
  std::vector<double> took;
  for (const Ticket& peer : peers) {
    const std::uint64_t start = hamlyn_ticks();
    Status status = terminus.connect(peer, seconds{10});
    expect(status == Status::ok, name(status));
    while ((status = terminus.send_fast(peer, message, 0)) != Status::ok) {
      expect(status == Status::no_place || status == Status::queue_full, name(status));
      party.interface().run();
    }
    took.push_back(static_cast<double>(party.next_asleep().word - start) * ns_per_tick());
  }
  room.report(took);
  party.send_fast({}, 0);  // goodbye
}

void answer(Party& party) {
  const Ticket other = party.take_tickets(1).front();
  std::vector<std::unique_ptr<Peer>> peers;
  std::vector<Ticket> tickets;
  while (peers.size() < kPeers) {
    peers.push_back(std::make_unique<Peer>(1));
    const Status status = peers.back()->terminus.connect(other, seconds{10});
    expect(status == Status::ok, name(status));
    tickets.push_back(peers.back()->slot.ticket());
  }
  party.hand_over(tickets);
  for (const auto& peer : peers) {
    Notification arrival;
    const Status status = peer->queue.receive(arrival, seconds{10});
    const std::uint64_t now = hamlyn_ticks();
    expect(status == Status::ok && arrival.kind == Notification::Kind::message, "no message comes");
    party.send_fast({}, now);
  }
  party.next_asleep();  // the ends of the peers' links are not to come between the answers
}

}  // namespace

Meter first_latency() {
  const auto round = [](Cores cores, int) {
    const PartyOptions options{.bytes = 64, .place = Place::ofi};
    const std::string meeting = new_meeting();
    far_node(0);  // here, once for all rounds
    return run_pair(
        cores, {.results = kPeers},
        [&](Room& room) {
          Party party{options, meeting, 0};
          ask(party, room);
        },
        [&](Room&) {
          Party party{options, meeting, 1};
          answer(party);
        });
  };
  return {.name = "ofi.first.16.oneway", .round = round, .single_operations = true};
}

}  // namespace hamlyn::tool::perf
