#include <array>
#include <chrono>
#include <cstring>
#include <memory>

#include "tool/perf/clock.h"
#include "tool/perf/our_party.h"
#include "tool/perf/our_short.h"
#include "tool/perf/ours.h"
#include "tool/perf/sleeping.h"
#include "tool/perf/statistics.h"
#include "tool/perf/timing.h"

namespace hamlyn::tool::perf {
namespace {

using std::chrono::seconds;

constexpr std::uint64_t kWarmUp = 5000;
constexpr std::uint64_t kExchanges = 50000;
constexpr std::uint64_t kSleeps = 1000;
constexpr std::uint64_t kColdMessages = 3000;
constexpr std::uint64_t kRest = 20000;  // ticks without traffic before a message on a cold link
constexpr std::uint64_t kGoodbye = ~std::uint64_t{0};

// The peers: as many interfaces of one process, of which the first is busy, and takes all answers.
class Peers {
 public:
  Peers(std::size_t count, const std::string& meeting) {
    while (peers_.size() < count) {
      peers_.push_back(std::make_unique<Peer>());
      if (peers_.size() == 1) {
        answers_ = std::make_unique<Answers>(peers_[0]->interface);
        peers_[0]->interface.publish(meeting + "-answers", answers_->slot.ticket());
        receiver_ = peers_[0]->interface.lookup(meeting, seconds{10});
      }
      const Status status = peers_.back()->terminus.connect(receiver_, seconds{10});
      expect(status == Status::ok, name(status));
    }
  }
  std::size_t size() const { return peers_.size(); }

  void send(std::size_t peer, std::uint64_t number) {
    for (;;) {
      const Status status = peers_[peer]->terminus.send_fast(receiver_, ShortMessage{number}.bytes(), number);
      if (status == Status::ok) return;
      expect(status == Status::no_place || status == Status::queue_full, name(status));
      peers_[peer]->interface.run();
    }
  }
  // So many packets that nobody can accept, by that peer's link, or as many as it takes.
  void forge(std::size_t peer, unsigned packets) {
    Ticket ticket = receiver_;
    ticket.entry = 0;
    ticket.key ^= 1;
    static constexpr std::array<std::byte, 16> kNothing{};  // may wait to be sent
    while (packets != 0 && peers_[peer]->terminus.send(ticket, kNothing) == Status::ok) --packets;
    peers_[peer]->interface.run();
  }
  // To and fro: there by that peer's link, back by the first one's.
  void exchange(std::size_t peer, std::uint64_t number) {
    send(peer, number);
    std::optional<Notification> answer;
    while (!(answer = answers_->queue.poll())) {
    }
    expect(answer->word == number, "a message is missing");
  }

 private:
  struct Peer {
    Interface interface;
    Terminus terminus{interface};
  };
  struct Answers {
    explicit Answers(Interface& interface) : area{interface, 4096}, queue{interface} {}
    MessageArea area;
    NotificationQueue queue;
    Slot slot{area, queue, {.places = 64}};
  };
  std::vector<std::unique_ptr<Peer>> peers_;
  std::unique_ptr<Answers> answers_;
  Ticket receiver_;
};

void busy(Peers& peers, std::span<std::uint64_t> moments) {
  for (std::uint64_t i = 0; i < kWarmUp + moments.size(); ++i) {
    peers.exchange(0, i);
    if (i >= kWarmUp) moments[i - kWarmUp] = hamlyn_ticks();
  }
}

void ask(Room& room, std::size_t links, const std::string& meeting) {
  Peers peers{links, meeting};
  std::vector<std::uint64_t> moments(kExchanges + 1);
  busy(peers, moments);
  room.report(half_round_trips(moments));
  peers.send(0, kGoodbye);
}

// Each time another link, that was silent for long; the way back is the busy link's, and taken off.
void ask_cold(Room& room, std::size_t links, const std::string& meeting) {
  Peers peers{links, meeting};
  std::vector<std::uint64_t> moments(kExchanges / 10);
  busy(peers, moments);
  const double back = summarize(half_round_trips(moments)).median;
  std::vector<double> there;
  std::uint64_t peer = 1;
  for (std::uint64_t i = 0; i < kColdMessages; ++i) {
    peer = 1 + (peer * 389 + 7) % (links - 1);
    const std::uint64_t until = hamlyn_ticks() + kRest;
    while (hamlyn_ticks() < until) hamlyn_rest(8);
    const std::uint64_t start = hamlyn_ticks();
    peers.exchange(peer, i);
    there.push_back(static_cast<double>(hamlyn_ticks() - start) * ns_per_tick() - back);
  }
  room.report(there);
  peers.send(0, kGoodbye);
}

// The busy link's messages beside another, which brings nothing, or nothing that can be accepted: as much as
// it can before each message. The two alternate in one process: there are two processors.
void ask_beside(Room& room, unsigned forged, const std::string& meeting) {
  constexpr std::uint64_t kBeside = kExchanges / 2;
  Peers peers{2, meeting};
  std::vector<double> there_and_back;
  for (std::uint64_t i = 0; i < kWarmUp + kBeside; ++i) {
    peers.forge(1, forged);
    const std::uint64_t start = hamlyn_ticks();
    peers.exchange(0, i);
    if (i >= kWarmUp)
      there_and_back.push_back(static_cast<double>(hamlyn_ticks() - start) * ns_per_tick() / 2);
  }
  room.report(there_and_back);
  peers.send(0, kGoodbye);
}
void ask_alone(Room& room, std::size_t, const std::string& meeting) { ask_beside(room, 0, meeting); }
void ask_beset(Room& room, std::size_t, const std::string& meeting) { ask_beside(room, 512, meeting); }

// Sends the busy link's messages, beside the other link, to a receiver that sleeps whenever it finds nothing.
void ask_asleep(Room& room, unsigned forged, const std::string& meeting) {
  Peers peers{2, meeting};
  std::vector<double> trips;
  for (std::uint64_t i = 0; i < kSleeps; ++i) {
    peers.forge(1, forged);
    pause_before_message();
    const std::uint64_t start = hamlyn_ticks();
    peers.exchange(0, i);
    trips.push_back(static_cast<double>(hamlyn_ticks() - start) * ns_per_tick());
  }
  room.report(trips);
  peers.send(0, kGoodbye);
}
void ask_asleep_alone(Room& room, std::size_t, const std::string& meeting) { ask_asleep(room, 0, meeting); }
void ask_asleep_beset(Room& room, std::size_t, const std::string& meeting) { ask_asleep(room, 512, meeting); }

enum class Waits { polling, asleep };

std::optional<Notification> take(NotificationQueue& queue, Waits waits) {
  if (waits == Waits::polling) return queue.poll();
  Notification next;
  expect(queue.receive(next, seconds{50}) == Status::ok, "no message came");
  return next;
}

void answer(std::size_t links, const std::string& meeting, Waits waits) {
  Interface interface;
  MessageArea area{interface, 4096};
  NotificationQueue queue{interface, links * 64};
  Slot slot{area, queue, {.places = 16}};
  Terminus terminus{interface};
  interface.publish(meeting, slot.ticket());
  const Ticket to = interface.lookup(meeting + "-answers", seconds{30});
  expect(terminus.connect(to, seconds{30}) == Status::ok, "no link for answers");
  // Asleep until all links are made: who polls would have the processor to himself.
  Notification first;
  expect(queue.receive(first, seconds{50}) == Status::ok, "no message came");
  for (std::optional<Notification> arrival = first;; arrival = take(queue, waits)) {
    if (!arrival || arrival->cause == Refusal::bad_key) continue;
    expect(arrival->kind == Notification::Kind::message, name(arrival->cause));
    if (arrival->word == kGoodbye) return;
    const ShortMessage message{arrival->word};
    Status status;
    while ((status = terminus.send_fast(to, message.bytes(), arrival->word)) != Status::ok) {
      expect(status == Status::no_place || status == Status::queue_full, name(status));
      interface.run();
    }
  }
}

using Asker = void (*)(Room&, std::size_t, const std::string&);

Meter meter(const std::string& name, std::size_t links, Asker asker, Waits waits = Waits::polling) {
  const auto round = [links, asker, waits](Cores cores, int) {
    const std::string meeting = new_meeting();
    return run_pair(
        cores, {.results = kExchanges}, [&](Room& room) { asker(room, links, meeting); },
        [&](Room&) { answer(links, meeting, waits); });
  };
  return {.name = "shm." + name, .round = round, .single_operations = true};
}

}  // namespace

Meter links_latency(std::size_t links) {
  return meter("links" + std::to_string(links) + ".16.oneway", links, ask);
}

Meter cold_link_latency(std::size_t links) {
  return meter("links" + std::to_string(links) + ".cold.16.oneway", links, ask_cold);
}

Meter beside_latency() { return meter("beside.16.oneway", 2, ask_alone); }

Meter beset_latency() { return meter("beset.16.oneway", 2, ask_beset); }

Meter beside_wake() { return meter("beside.asleep.16.roundtrip", 2, ask_asleep_alone, Waits::asleep); }

Meter beset_wake() { return meter("beset.asleep.16.roundtrip", 2, ask_asleep_beset, Waits::asleep); }

}  // namespace hamlyn::tool::perf
