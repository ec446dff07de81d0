#include <array>
#include <chrono>
#include <string>
#include <vector>

#include "hamlyn/vi.h"
#include "tool/perf/clock.h"
#include "tool/perf/our_party.h"
#include "tool/perf/ours.h"
#include "tool/perf/timing.h"

namespace hamlyn::tool::perf {

namespace {

constexpr std::uint64_t kWarmUp = 5000;
constexpr std::uint64_t kTimed = 50000;
constexpr std::uint32_t kBytes = 16;
constexpr std::size_t kReceives = 64;
constexpr std::chrono::seconds kPatience{10};

vi::Address address_of(std::uint64_t interface) {
  const std::string name = "perf." + std::to_string(interface);
  return vi::Address::of(interface >> 48, std::as_bytes(std::span(name)));
}

void good(vi::Result result, const char* what) { expect(result == vi::Result::success, what); }

// A connected VI whose receives end in a completion queue, and memory for both ways.
class ViEnd {
 public:
  explicit ViEnd(Interface& interface) : nic_(interface) {
    good(nic_.create_tag(tag_), "no tag");
    good(nic_.register_memory(std::as_writable_bytes(std::span(&shared_, 1)), {.tag = tag_}, handle_),
         "no memory");
    good(nic_.create_queue(4 * kReceives, queue_), "no completion queue");
    good(nic_.create_vi({.reliability = vi::Reliability::delivery, .tag = tag_}, 0, queue_, vi_), "no VI");
    for (std::size_t i = 0; i != kReceives; ++i) {
      describe(shared_.receives[i], shared_.received[i]);
      post(&shared_.receives[i]);
    }
    describe(shared_.send, shared_.sent);
  }
  ~ViEnd() { static_cast<void>(nic_.disconnect(vi_)); }
  ViEnd(const ViEnd&) = delete;
  ViEnd& operator=(const ViEnd&) = delete;

  void accept(const vi::Address& local) {
    vi::Incoming request;
    good(nic_.connect_wait(local, kPatience, request), "nobody asks for a connection");
    good(nic_.accept(request.number, vi_), "the connection is not accepted");
  }
  void request(const vi::Address& asked) {
    vi::Result result = vi::Result::no_match;
    while (result == vi::Result::no_match) result = nic_.request(vi_, {}, asked, kPatience);
    good(result, "no connection");
  }
  // Bytes to the other side; what is behind that does not hold them up.
  void send() {
    good(nic_.post_send(vi_, &shared_.send, handle_), "nothing is sent");
    vi::Completed done;
    while ((done = nic_.send_done(vi_)).result == vi::Result::not_done) {
    }
    good(done.result, "a send has failed");
    shared_.send.length = kBytes;
  }
  vi::Descriptor* receive() {
    vi::Taken taken;
    while ((taken = nic_.queue_take(queue_)).result == vi::Result::not_done) {
    }
    good(taken.result, "a receive has failed");
    return taken.descriptor;
  }
  void post(vi::Descriptor* descriptor) {
    good(nic_.post_receive(vi_, descriptor, handle_), "no receive is posted");
  }

 private:
  struct Shared {
    std::array<vi::Descriptor, kReceives> receives;
    vi::Descriptor send;
    std::array<std::array<std::byte, 64>, kReceives> received;
    std::array<std::byte, 64> sent;
  };

  void describe(vi::Descriptor& descriptor, std::span<std::byte> bytes) {
    descriptor.segment_count = 1;
    descriptor.length = kBytes;
    descriptor.segments[0] = {reinterpret_cast<std::uintptr_t>(bytes.data()), handle_, kBytes};
  }

  vi::Nic nic_;
  vi::Tag tag_ = 0;
  vi::MemoryHandle handle_ = 0;
  std::uint32_t queue_ = 0, vi_ = 0;
  Shared shared_{};
};

void answer(Party& party) {
  {
    ViEnd end(party.interface());
    const Ticket who{.interface = party.interface().id()};
    party.hand_over({&who, 1});
    end.accept(address_of(who.interface));
    for (std::uint64_t i = 0; i != kWarmUp + kTimed; ++i) {
      vi::Descriptor* const free = end.receive();
      end.send();
      end.post(free);
    }
  }
  party.finish();
}

void time_sends(Party& party, Room& room) {
  {
    ViEnd end(party.interface());
    end.request(address_of(party.take_tickets(1).front().interface));
    std::vector<std::uint64_t> moments(kTimed + 1);
    for (std::uint64_t i = 0; i <= kWarmUp + kTimed; ++i) {
      vi::Descriptor* const free = i != 0 ? end.receive() : nullptr;
      if (i >= kWarmUp) moments[i - kWarmUp] = hamlyn_ticks();
      if (i != kWarmUp + kTimed) end.send();
      if (free != nullptr) end.post(free);
    }
    room.report(half_round_trips(moments));
  }
  party.finish();
}

}  // namespace

Meter vi_send() {
  const auto round = [](Cores cores, int) {
    return run_parties(cores, kTimed, {}, time_sends, {}, [](Party& party, Room&) { answer(party); });
  };
  return {.name = prefix(Place::shm) + "vi.send.16.oneway", .round = round, .single_operations = true};
}

}  // namespace hamlyn::tool::perf
