#include <array>
#include <deque>
#include <numeric>
#include <span>
#include <string>

#include "hamlyn/rpc/local_call.h"
#include "tool/perf/clock.h"
#include "tool/perf/measured.h"
#include "tool/perf/our_party.h"
#include "tool/perf/ours.h"
#include "tool/perf/sleeping.h"
#include "tool/perf/timing.h"
#include "tool/perf/touch.h"
#include "tool/perf/volume.h"

namespace hamlyn::tool::perf {

namespace {

using Client = rpc::Client<Measured>;

constexpr std::uint64_t kWarmUp = 5000;
constexpr std::uint64_t kTimed = 50000;
constexpr std::uint32_t kUnderWay = 64;
constexpr std::uint64_t kWarmUpRate = 100000;
constexpr std::uint64_t kTimedRate = 1000000;

constexpr std::uint64_t kBlockedWarmUp = 50;
constexpr std::uint64_t kBlocked = 1000;
constexpr std::chrono::seconds kTakes{10};

// Serves so many calls. The client is told where by a ticket.
void serve(Party& party, std::uint64_t calls, rpc::Waits waits = rpc::Waits::spin) {
  const std::string name = "perf-rpc-" + std::to_string(party.interface().id());
  Measured measured;
  rpc::Server<Measured> server(party.interface(), name, measured, {.stacks = kUnderWay, .waits = waits});
  const Ticket door = party.interface().lookup(name);
  party.hand_over({&door, 1});
  for (std::uint64_t i = 0; i < calls; ++i)
    expect(server.serve_one(std::chrono::nanoseconds::max()) == Status::ok, "a call was not served");
  // The client goes first: a farewell to one that has gone would be trouble at the other side.
  while (server.clients() != 0) static_cast<void>(server.serve_one(std::chrono::milliseconds{1}));
  party.finish();
}

template <class Call>
void time_calls(Party& party, Room& room, Call call) {
  const Ticket door = party.take_tickets(1).front();
  {
    Client client(party.interface(), door, {.waits = rpc::Waits::spin}, kBegin);
    expect(client.opened(std::chrono::seconds{10}) == Status::ok, "the client is not let in");
    std::vector<std::uint64_t> moments(kTimed + 1);
    for (std::uint64_t i = 1; i <= kWarmUp + kTimed; ++i) {
      call(client, static_cast<std::int32_t>(i));
      if (i >= kWarmUp) moments[i - kWarmUp] = hamlyn_ticks();
    }
    std::vector<double> times = half_round_trips(moments);
    for (double& each : times) each *= 2;
    room.report(times);
  }
  party.finish();
}

template <class Call>
Meter round_trip(Place place, const std::string& what, Call call) {
  const auto round = [place, call](Cores cores, int) {
    const PartyOptions options{.place = place};
    // One call more binds the procedures.
    return run_parties(
        cores, kTimed, options, [&](Party& party, Room& room) { time_calls(party, room, call); }, options,
        [&](Party& party, Room&) { serve(party, kWarmUp + kTimed + 1); });
  };
  return {
      .name = (place == Place::shm ? "" : prefix(place)) + what, .round = round, .single_operations = true};
}

// Each side sleeps as the options have it when nothing is said: after it has looked as long as has paid
// lately.
void time_blocked(Party& party, Room& room) {
  const Ticket door = party.take_tickets(1).front();
  {
    Client client(party.interface(), door, kBegin);
    expect(client.opened(std::chrono::seconds{10}) == Status::ok, "the client is not let in");
    std::vector<double> times;
    for (std::uint64_t i = 0; i != kBlockedWarmUp + kBlocked; ++i) {
      pause_before_message(kLongPauseNs);
      const std::uint64_t start = hamlyn_ticks();
      expect(client.call<&Measured::null>().status() == Status::ok, "a call has failed");
      if (i >= kBlockedWarmUp) times.push_back(static_cast<double>(hamlyn_ticks() - start) * ns_per_tick());
    }
    room.report(times);
  }
  party.finish();
}

void time_rate(Party& party, Room& room) {
  const Ticket door = party.take_tickets(1).front();
  {
    Client client(party.interface(), door, {.stacks = kUnderWay, .waits = rpc::Waits::spin}, kBegin);
    expect(client.opened(std::chrono::seconds{10}) == Status::ok, "the client is not let in");
    using Pending = rpc::Pending<std::int32_t>;
    std::vector<Pending> under_way;
    under_way.reserve(kUnderWay);
    std::uint64_t started = 0, start = 0;
    const auto next = [&] {
      const auto number = static_cast<std::int32_t>(started++);
      for (;;) {
        Pending call = client.start<&Measured::minus>(number, 1);
        if (call.status() != Status::queue_full) return call;
        party.interface().run();  // the link has no room
      }
    };
    for (std::uint32_t i = 0; i < kUnderWay; ++i) under_way.push_back(next());
    for (std::uint64_t i = 0; i < kWarmUpRate + kTimedRate; ++i) {
      if (i == kWarmUpRate) start = hamlyn_ticks();
      Pending& oldest = under_way[i % kUnderWay];
      rpc::Result<std::int32_t> result = oldest.wait();
      expect(result && *result == static_cast<std::int32_t>(i) - 1, "another result");
      if (started < kWarmUpRate + kTimedRate) oldest = next();
    }
    const double ns = static_cast<double>(hamlyn_ticks() - start) * ns_per_tick();
    room.report(static_cast<double>(kTimedRate) * 1e9 / ns);
  }
  party.finish();
}

// As loans that are touched: each part is filled, and read by the server where it stands, kWindow at a time.
void time_references(Party& party, Room& room, std::size_t bytes) {
  const Ticket door = party.take_tickets(1).front();
  {
    Client client(party.interface(), door, {.waits = rpc::Waits::spin}, kBegin);
    expect(client.opened(std::chrono::seconds{10}) == Status::ok, "the client is not let in");
    rpc::Lendable memory(party.interface(), kWindow * bytes, {.shown = true});
    std::vector<rpc::Lent<rpc::Readable>> parts;
    std::vector<rpc::Pending<std::uint64_t>> under_way;
    for (std::uint64_t i = 0; i != kWindow; ++i) parts.push_back(memory.readable(i * bytes, bytes));
    std::uint64_t start = 0;
    const auto take = [&](std::uint64_t i) {
      rpc::Result<std::uint64_t> sum = under_way[i % kWindow].wait();
      expect(sum && *sum == hamlyn_filled_sum(bytes, i), "another sum");
    };
    const std::uint64_t all = all_messages(bytes);
    for (std::uint64_t i = 0; i != all; ++i) {
      if (i == warm_up_messages(bytes)) start = hamlyn_ticks();
      if (i >= kWindow) take(i - kWindow);
      hamlyn_fill(memory.bytes().data() + i % kWindow * bytes, bytes, i);
      rpc::Pending<std::uint64_t> call = client.start<&Measured::look>(parts[i % kWindow]);
      expect(call.status() == Status::pending, "a call was not started");
      if (i < kWindow)
        under_way.push_back(std::move(call));
      else
        under_way[i % kWindow] = std::move(call);
    }
    for (std::uint64_t i = all - kWindow; i != all; ++i) take(i);
    room.report(gigabytes_per_second(bytes, hamlyn_ticks() - start));
  }
  party.finish();
}

}  // namespace

Meter rpc_reference(std::size_t bytes) {
  const auto round = [bytes](Cores cores, int) {
    return run_parties(
        cores, 1, {}, [bytes](Party& party, Room& room) { time_references(party, room, bytes); }, {},
        [bytes](Party& party, Room&) { serve(party, all_messages(bytes) + 1); });
  };
  return {.name = "rpc." + std::to_string(bytes) + ".reference.bandwidth", .round = round};
}
Meter rpc_null(Place place) {
  return round_trip(place, "rpc.null.roundtrip", [](Client& client, std::int32_t) {
    expect(client.call<&Measured::null>().status() == Status::ok, "a call has failed");
  });
}
Meter rpc_minus(Place place) {
  return round_trip(place, "rpc.minus.roundtrip", [](Client& client, std::int32_t number) {
    rpc::Result<std::int32_t> result = client.call<&Measured::minus>(number, 1);
    expect(result && *result == number - 1, "another result");
  });
}
Meter rpc_longest(Place place) {
  return round_trip(place, "rpc.maxarg.1500.roundtrip",
                    [bytes = std::array<std::byte, 1500>{}](Client& client, std::int32_t) {
                      rpc::Result<std::int32_t> result =
                          client.call<&Measured::longest>(std::span<const std::byte>(bytes));
                      expect(result && *result == 1500, "another result");
                    });
}
Meter rpc_blocked() {
  const auto round = [](Cores cores, int) {
    return run_parties(cores, kBlocked, {}, time_blocked, {}, [](Party& party, Room&) {
      const SleepCount sleeps;
      serve(party, kBlockedWarmUp + kBlocked + 1, rpc::Waits::lately);
      sleeps.check(kBlocked);
    });
  };
  return {.name = "rpc.null.blocked.roundtrip", .round = round, .single_operations = true};
}
Meter rpc_local() {
  const auto serve_locally = [](Party& party, Room&) {
    LocalService service(party.interface(), "perf-local-" + std::to_string(party.interface().id()));
    Ticket own;
    own.interface = party.interface().id();
    party.hand_over({&own, 1});
    LocalCall call;
    for (std::uint64_t i = 0; i != kWarmUp + kTimed; ++i) {
      expect(service.take(call, kTakes) == Status::ok, "a local call was not taken");
      expect(service.answer(call, call.request.first(4)) == Status::ok, "a local call was not answered");
    }
    while (service.clients() != 0) static_cast<void>(service.take(call, std::chrono::milliseconds{1}));
    party.finish();
  };
  const auto call_locally = [](Party& party, Room& room) {
    const Ticket clerk = party.take_tickets(1).front();
    {
      LocalClient client(party.interface(), "perf-local-" + std::to_string(clerk.interface));
      std::vector<std::uint64_t> moments(kTimed + 1);
      for (std::uint64_t i = 1; i <= kWarmUp + kTimed; ++i) {
        std::uint32_t reply = 0;
        expect(client.call(i, reply, kTakes) == Status::ok && reply == static_cast<std::uint32_t>(i),
               "another reply");
        if (i >= kWarmUp) moments[i - kWarmUp] = hamlyn_ticks();
      }
      std::vector<double> times = half_round_trips(moments);
      for (double& each : times) each *= 2;
      room.report(times);
    }
    party.finish();
  };
  const auto round = [=](Cores cores, int) {
    return run_parties(cores, kTimed, {}, call_locally, {}, serve_locally);
  };
  return {.name = "rpc.local.roundtrip", .round = round, .single_operations = true};
}
Meter rpc_rate() {
  const auto round = [](Cores cores, int) {
    return run_parties(cores, 1, {}, time_rate, {},
                       [](Party& party, Room&) { serve(party, kWarmUpRate + kTimedRate + 1); });
  };
  return {.name = "rpc.minus.rate", .round = round};
}

}  // namespace hamlyn::tool::perf
