#include <array>
#include <cstring>
#include <functional>

#include "tool/perf/clock.h"
#include "tool/perf/our_vi.h"
#include "tool/perf/vi_end.h"

namespace hamlyn::tool::perf {

namespace {

constexpr std::size_t kBatch = 16;
constexpr std::uint64_t kWarmUp = 200, kTimed = 2000;

// Content of a message of a layer above, as in the paper's Active Messages: a handler, credits, a word.
struct Said {
  std::uint32_t handler;
  std::uint32_t credits;
  std::uint64_t word;
};
static_assert(sizeof(Said) == 16);
using Handler = void (*)(std::uint64_t& sum, std::uint64_t word);
constexpr std::array<Handler, 2> kHandlers = {[](std::uint64_t& sum, std::uint64_t word) { sum += word; },
                                              [](std::uint64_t& sum, std::uint64_t word) { sum ^= word; }};

// One side of batches of messages to and fro: each call is made for all of a batch, and timed.
class Batches {
 public:
  Batches(Party& party, bool asks)
      : party_(party), end_(party.interface(), {.sends = kBatch, .sends_in_queue = true}) {
    meet(party, end_, asks);
    for (std::size_t i = 0; i != kBatch; ++i) free_[i] = end_.send_of(i);
    unused_ = kBatch;
  }
  void send() {
    std::array<vi::Descriptor*, kBatch> sends;
    time(ViCall::build_send, [&](std::size_t i) {
      vi::Descriptor& of = *(sends[i] = free_[--unused_]);
      of.control = 0;
      of.segment_count = 1;
      of.length = of.segments[0].length = sizeof(Said);
    });
    time(ViCall::credit, [&](std::size_t i) {
      const Said said{static_cast<std::uint32_t>(i & 1), given_back_, i};
      given_back_ = 0;
      --credits_;
      std::memcpy(end_.received(sends[i]).data(), &said, sizeof said);
    });
    time(ViCall::post_send, [&](std::size_t i) { end_.post_send(sends[i]); });
    time(ViCall::queue_send, [&](std::size_t) { await_entry(end_.send_queue()); });
    time(ViCall::send_done, [&](std::size_t i) {
      const vi::Completed done = end_.nic().send_done(end_.number());
      good(done.result, "a send has failed");
      sends[i] = done.descriptor;
    });
    time(ViCall::recycle_send, [&](std::size_t i) { free_[unused_++] = sends[i]; });
    party_.send_fast({}, 1);
  }
  void receive() {
    party_.next();  // behind the batch
    std::array<vi::Descriptor*, kBatch> came;
    std::array<Said, kBatch> said;
    std::array<Handler, kBatch> handlers;
    time(ViCall::queue_receive, [&](std::size_t) { await_entry(end_.queue()); });
    time(ViCall::receive_done, [&](std::size_t i) {
      const vi::Completed done = end_.nic().receive_done(end_.number());
      good(done.result, "a receive has failed");
      came[i] = done.descriptor;
    });
    time(ViCall::match, [&](std::size_t i) {
      Said head;
      std::memcpy(&head, end_.received(came[i]).data(), sizeof head);
      expect(head.handler < kHandlers.size() && came[i]->length == sizeof head, "a message says nonsense");
      handlers[i] = kHandlers[head.handler];
      credits_ += head.credits;
      ++given_back_;
    });
    time(ViCall::read,
         [&](std::size_t i) { std::memcpy(&said[i], end_.received(came[i]).data(), sizeof said[i]); });
    time(ViCall::act, [&](std::size_t i) { handlers[i](sum_, said[i].word); });
    time(ViCall::recycle_receive, [&](std::size_t i) {
      came[i]->segment_count = 1;
      came[i]->length = came[i]->segments[0].length = sizeof(Said);
    });
    time(ViCall::post_receive, [&](std::size_t i) { end_.post(came[i]); });
  }
  void await_end() { end_.await_end(); }
  double of(ViCall call) const { return ns_[static_cast<std::size_t>(call)]; }

 private:
  template <class Each>
  void time(ViCall call, Each each) {
    const std::uint64_t start = hamlyn_ticks();
    for (std::size_t i = 0; i != kBatch; ++i) each(i);
    const double ticks = static_cast<double>(hamlyn_ticks() - start) - ticks_per_reading();
    ns_[static_cast<std::size_t>(call)] = ticks * ns_per_tick() / static_cast<double>(kBatch);
  }
  void await_entry(std::uint32_t queue) {
    vi::Completion event;
    while ((event = end_.nic().queue_done(queue)).result == vi::Result::not_done) {
    }
    good(event.result, "there is no entry");
  }

  Party& party_;
  ViEnd end_;
  std::array<vi::Descriptor*, kBatch> free_{};
  std::size_t unused_ = 0;
  std::uint32_t credits_ = 64, given_back_ = 0;
  std::uint64_t sum_ = 0;
  std::array<double, static_cast<std::size_t>(ViCall::count)> ns_{};
};

// Has one process make something of an interface of its own, and report.
Meter alone(std::string name, std::size_t samples, const std::function<void(Interface&, Room&)>& what) {
  const auto round = [=](Cores cores, int) {
    return run_parties(
        cores, samples, {}, [=](Party& party, Room& room) { what(party.interface(), room); }, {},
        [](Party&, Room&) {});
  };
  return {.name = std::move(name), .round = round, .single_operations = true};
}

}  // namespace

Meter vi_call_cost(ViCall call) {
  constexpr std::array<const char*, static_cast<std::size_t>(ViCall::count)> kNames = {
      "build_send", "post_send",    "queue_done_send", "send_done", "recycle_send", "post_receive",
      "queue_done", "receive_done", "recycle_receive", "credit",    "match",        "read",
      "act"};
  const auto round = [call](Cores cores, int) {
    return run_parties(
        cores, kTimed, {},
        [call](Party& party, Room& room) {
          Batches side(party, true);
          std::vector<double> samples;
          for (std::uint64_t i = 0; i != kWarmUp + kTimed; ++i) {
            side.send();
            side.receive();
            if (i >= kWarmUp) samples.push_back(side.of(call));
          }
          room.report(samples);
        },
        {},
        [](Party& party, Room&) {
          Batches side(party, false);
          for (std::uint64_t i = 0; i != kWarmUp + kTimed; ++i) {
            side.receive();
            side.send();
          }
          side.await_end();
        });
  };
  return {.name = std::string("vi.call.") + kNames[static_cast<std::size_t>(call)] + ".cost", .round = round};
}

namespace {

// Times looks that find nothing. `look`: whether it has found something.
template <class Look>
void time_looks(Room& room, Look look) {
  std::vector<double> samples;
  for (std::uint64_t i = 0; i != kTimed; ++i) {
    const std::uint64_t start = hamlyn_ticks();
    for (std::size_t k = 0; k != kBatch; ++k) expect(!look(), "the queue is not empty");
    samples.push_back(static_cast<double>(hamlyn_ticks() - start) * ns_per_tick() /
                      static_cast<double>(kBatch));
  }
  room.report(samples);
}

}  // namespace

Meter vi_empty_cost(std::size_t vis) {
  return alone("vi.cqdone.empty." + std::to_string(vis) + ".cost", kTimed, [vis](Interface& own, Room& room) {
    ViEnd end(own, {.others = vis - 1});
    time_looks(room, [&] { return end.nic().queue_done(end.queue()).result != vi::Result::not_done; });
  });
}

Meter empty_poll_cost() {
  return alone("queue.poll.empty.cost", kTimed, [](Interface& own, Room& room) {
    NotificationQueue queue(own);
    time_looks(room, [&] {
      Notification next;
      return queue.poll({&next, 1}) != 0;
    });
  });
}

Meter vi_register_cost(bool again) {
  const std::string name = again ? "vi.register.4096.cached.cost" : "vi.register.4096.cost";
  return alone(name, kTimed, [again](Interface& own, Room& room) {
    constexpr std::size_t kBytes = 4096;
    vi::Nic nic(own);
    vi::Tag tag = 0;
    good(nic.create_tag(tag), "no tag");
    const vi::MemoryAttributes attributes{tag, true, true};
    std::vector<std::byte> memory(kBatch * kBytes);
    const auto part = [&](std::size_t k) { return std::span(memory).subspan(k * kBytes, kBytes); };
    vi::MemoryCache cache(nic, attributes);
    std::array<vi::MemoryHandle, kBatch> handles{};
    std::vector<double> samples;
    for (std::uint64_t i = 0; i != kTimed; ++i) {
      const std::uint64_t start = hamlyn_ticks();
      for (std::size_t k = 0; k != kBatch; ++k)
        good(again ? cache.find(part(k), handles[k]) : nic.register_memory(part(k), attributes, handles[k]),
             "memory is not registered");
      samples.push_back(static_cast<double>(hamlyn_ticks() - start) * ns_per_tick() /
                        static_cast<double>(kBatch));
      for (std::size_t k = 0; !again && k != kBatch; ++k)
        good(nic.deregister_memory(part(k).data(), handles[k]), "memory is still registered");
    }
    room.report(samples);
  });
}

}  // namespace hamlyn::tool::perf
