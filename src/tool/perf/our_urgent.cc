#include <array>
#include <new>

#include "tool/perf/clock.h"
#include "tool/perf/our_party.h"
#include "tool/perf/our_short.h"
#include "tool/perf/ours.h"
#include "tool/perf/timing.h"

namespace hamlyn::tool::perf {
namespace {

constexpr std::uint64_t kWarmUp = 2000;
constexpr std::uint64_t kExchanges = 20000;
constexpr std::size_t kBulk = 1 << 20;  // bytes of a message
constexpr std::uint64_t kLast = ~std::uint64_t{0};

// Terminus and queue of a side for the urgent level, beside its party, whose own are for bulk.
struct Urgent {
  explicit Urgent(Interface& interface)
      : area{interface, 4096}, queue{interface}, terminus{interface, {.priority = Priority::urgent}} {}

  void send(const Ticket& to, const ShortMessage& message, std::uint64_t word) {
    for (;;) {
      const Status status = terminus.send_fast(to, message.bytes(), word);
      if (status == Status::ok) return;
      expect(status == Status::no_place || status == Status::queue_full || status == Status::connecting,
             name(status));
      terminus.interface().run();
    }
  }

  MessageArea area;
  NotificationQueue queue;
  Slot slot{area, queue, {.places = 64}};
  Terminus terminus;
};

// Keeps the link full of bulk: one message is under way while its other entry is armed again.
class Bulk {
 public:
  Bulk(Party& party, std::array<Ticket, 2> tickets) : party_(party), tickets_(tickets), data_(kBulk) {}

  // `armed`: how many messages the other side has read and armed their entries again.
  void go_on(std::uint64_t armed) {
    while (sent_ < armed + 2) {
      handles_[sent_ % 2] = party_.send(tickets_[sent_ % 2], data_, sent_ % 2 * kBulk);
      ++sent_;
    }
  }
  bool under_way() { return !party_.sent(handles_[0]) || !party_.sent(handles_[1]); }
  void finish() {
    for (const SendHandle handle : handles_) party_.wait_until_sent(handle);
  }
  std::uint64_t sent() const { return sent_; }

 private:
  Party& party_;
  std::array<Ticket, 2> tickets_;
  std::vector<std::byte> data_;
  std::array<SendHandle, 2> handles_{};
  std::uint64_t sent_ = 0;
};

void ask(Party& party, Room& room) {
  Urgent urgent{party.interface()};
  const Ticket own = urgent.slot.ticket();
  party.hand_over(std::span{&own, 1});
  const std::vector<Ticket> tickets = party.take_tickets(3);
  Bulk bulk{party, {tickets[1], tickets[2]}};
  std::vector<std::uint64_t> moments(kExchanges + 1);
  std::uint64_t armed = 0, idle = 0;
  for (std::uint64_t i = 1; i <= kWarmUp + kExchanges; ++i) {
    bulk.go_on(armed);
    idle += bulk.under_way() ? 0u : 1u;
    const std::uint64_t start = hamlyn_ticks();
    urgent.send(tickets[0], ShortMessage{i}, i);
    std::optional<Notification> answer;
    while (!(answer = urgent.queue.poll())) {
    }
    if (i > kWarmUp) moments[i - kWarmUp] = hamlyn_ticks() - start;
    armed = answer->word;
  }
  expect(idle < kExchanges / 20, "the bulk did not keep the link busy");
  bulk.finish();
  urgent.send(tickets[0], ShortMessage{bulk.sent()}, kLast);
  std::vector<double> halves;
  for (std::size_t i = 1; i < moments.size(); ++i)
    halves.push_back(static_cast<double>(moments[i]) * ns_per_tick() / 2);
  room.report(halves);
  while (armed != bulk.sent()) {
    if (const auto answer = urgent.queue.poll()) armed = answer->word;
  }
}

// Answers with the number of bulk messages whose entries are armed again.
void answer(Party& party, Room&) {
  Urgent urgent{party.interface()};
  std::vector<Ticket> tickets{urgent.slot.ticket()};
  for (const Ticket& ticket : party.entry_tickets()) tickets.push_back(ticket);
  party.hand_over(tickets);
  const Ticket other = party.take_tickets(1).front();
  std::uint64_t armed = 0, wanted = kLast;
  while (armed != wanted) {
    if (const auto question = urgent.queue.poll()) {
      const std::uint64_t word = question->word;
      if (word == kLast) {
        std::memcpy(&wanted, urgent.slot.bytes(*question).data(), sizeof wanted);
      } else {
        urgent.send(other, ShortMessage{armed}, armed);
      }
    }
    if (const auto bulk = party.look()) {
      party.arm(bulk->entry);
      ++armed;
    }
  }
  urgent.send(other, ShortMessage{armed}, armed);
}

}  // namespace

Meter urgent_latency() {
  const auto round = [](Cores cores, int) {
    return run_parties(cores, kExchanges, {.bytes = 64}, ask, {.bytes = 2 * kBulk, .entries = 2}, answer);
  };
  return {.name = "shm.urgent.16.oneway", .round = round, .single_operations = true};
}

}  // namespace hamlyn::tool::perf
