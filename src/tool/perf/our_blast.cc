// Calls over datagrams of UDP on loopback (hamlyn/rpc/blast.h), and what the datagrams alone cost.
#include <array>
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include "hamlyn/rpc/blast.h"
#include "rpc/blast/blast_wire.h"
#include "rpc/blast/port.h"
#include "tool/perf/clock.h"
#include "tool/perf/measured.h"
#include "tool/perf/our_party.h"
#include "tool/perf/ours.h"
#include "tool/perf/pair.h"

namespace hamlyn::tool::perf {
namespace {

using fabric::DatagramPort;
using internal_::rpc::BlastClientCore;
using internal_::rpc::BlastPort;
using internal_::rpc::BlastServerCore;
namespace blast = internal_::rpc::blast;
using Calls = internal_::rpc::BlastCalls<Measured>;

constexpr std::uint64_t kWarmUp = 1000;
constexpr std::uint64_t kTimed = 10000;
constexpr std::size_t kLong = 1048576;
constexpr std::uint64_t kLongWarmUp = 20;
constexpr std::uint64_t kLongTimed = 100;
constexpr std::uint64_t kLostOneIn = 100;

// One in so many of the datagrams that leave here is lost.
class LosingPort final : public DatagramPort {
 public:
  LosingPort(BlastPort real, std::uint64_t one_in) : real_(std::move(real.port)), one_in_(one_in) {}
  std::size_t limit() const noexcept override { return real_->limit(); }
  std::span<const std::byte> address() const noexcept override { return real_->address(); }
  Peer insert(std::span<const std::byte> address) override { return real_->insert(address); }
  void forget(Peer peer) noexcept override { real_->forget(peer); }
  void take_strangers() noexcept override { real_->take_strangers(); }
  Status send(Peer to, std::span<const std::byte> data) noexcept override {
    random_ = random_ * 6364136223846793005u + 1442695040888963407u;
    if ((random_ >> 33) % one_in_ != 0) return real_->send(to, data);
    ++lost_;
    return Status::ok;
  }
  std::optional<Arrival> receive(std::span<std::byte> into) noexcept override { return real_->receive(into); }
  int descriptor() const noexcept override { return real_->descriptor(); }
  bool may_sleep() noexcept override { return real_->may_sleep(); }
  std::uint64_t refused() const noexcept override { return real_->refused(); }
  std::uint64_t lost() const noexcept { return lost_; }

 private:
  const std::unique_ptr<DatagramPort> real_;
  const std::uint64_t one_in_;
  std::uint64_t random_ = 1, lost_ = 0;
};

// The other side's address, in memory that both see.
std::span<std::byte> place_of(Room& room, std::size_t side) { return room.memory().subspan(256 * side, 256); }
void put(std::span<std::byte> at, std::span<const std::byte> address) {
  at[0] = static_cast<std::byte>(address.size());
  std::memcpy(at.data() + 1, address.data(), address.size());
}
std::span<const std::byte> got(std::span<const std::byte> at) {
  return at.subspan(1, static_cast<std::size_t>(at[0]));
}

BlastPort own_port() { return blast::port_at({"127.0.0.1", {}}); }

void serve(Room& room, std::uint64_t calls) {
  Measured measured;
  BlastPort port = own_port();
  put(place_of(room, 0), port.port->address());
  BlastServerCore server(std::move(port),
                         internal_::rpc::offered<Measured, rpc::NoHooks>(internal_::rpc::listing<Measured>()),
                         &measured, {.frame = 2 * kLong, .waits = rpc::Waits::spin});
  room.meet();
  for (std::uint64_t i = 0; i != calls + 1; ++i)  // one more binds the procedures
    expect(server.serve_one(std::chrono::seconds{20}) == Status::ok, "a call was not served");
  // The last result may have to be sent again.
  while (server.clients() != 0) static_cast<void>(server.serve_one(std::chrono::milliseconds{1}));
}

// A client of that server, with a port of its own.
class Caller {
 public:
  Caller(Room& room, BlastPort port)
      : core_(std::move(port), got(place_of(room, 0)),
              internal_::rpc::wanted(internal_::rpc::listing<Measured>()), {.waits = rpc::Waits::spin}) {}
  Calls calls() { return {core_, {std::chrono::seconds{20}, Priority::normal}, {}}; }
  void call_long(std::span<const std::byte> bytes) {
    rpc::Result<std::int32_t> result = calls().call<&Measured::longest>(bytes);
    expect(result && *result == static_cast<std::int32_t>(bytes.size()), "a call has failed");
  }
  std::uint64_t sent_again() const { return core_.sent_again(); }

 private:
  BlastClientCore core_;
};

template <class Call>
Meter round_trip(const std::string& what, Call call) {
  const auto asks = [call](Room& room) {
    room.meet();
    Caller caller(room, own_port());
    std::vector<std::uint64_t> moments(kTimed + 1);
    for (std::uint64_t i = 1; i <= kWarmUp + kTimed; ++i) {
      call(caller.calls(), static_cast<std::int32_t>(i));
      if (i >= kWarmUp) moments[i - kWarmUp] = hamlyn_ticks();
    }
    std::vector<double> times = half_round_trips(moments);
    for (double& each : times) each *= 2;
    room.report(times);
  };
  return {.name = "blast.rpc." + what,
          .round =
              [asks](Cores cores, int) {
                return run_pair(cores, {.results = kTimed}, asks,
                                [](Room& room) { serve(room, kWarmUp + kTimed); });
              },
          .single_operations = true};
}

// Times calls with 1 MiB; `port` is what they leave by.
std::vector<double> time_long(Caller& caller) {
  const std::vector<std::byte> bytes(kLong);
  std::vector<double> out;
  for (std::uint64_t i = 0; i != kLongWarmUp + kLongTimed; ++i) {
    const std::uint64_t start = hamlyn_ticks();
    caller.call_long(bytes);
    const double ns = static_cast<double>(hamlyn_ticks() - start) * ns_per_tick();
    if (i >= kLongWarmUp) out.push_back(static_cast<double>(kLong) / ns);
  }
  return out;
}

std::vector<double> measure_long(Cores cores, const Side& asks) {
  return run_pair(cores, {.results = kLongTimed}, asks,
                  [](Room& room) { serve(room, kLongWarmUp + kLongTimed); });
}

// --- the datagrams alone

constexpr int kQuiet = 100'000;  // looks in vain, and nothing more comes

std::uint64_t datagrams_of(const DatagramPort& port) {
  const std::size_t bytes = port.limit() - sizeof(blast::Data);
  return (kLong + bytes - 1) / bytes;
}

// Says at the end of a round how many of its datagrams have come.
struct Came {
  std::uint64_t round, count;
};

// The answer to that round, if it is there.
bool answered(DatagramPort& port, std::span<std::byte> into, std::uint64_t round, std::uint64_t& count) {
  Came came{};
  if (!port.receive(into)) return false;
  std::memcpy(&came, into.data(), sizeof came);
  count = came.count;
  return came.round == round;
}

// Sends as many as 1 MiB of a call takes, of the same length, round by round, and is told when all have come.
void send_bare(Room& room) {
  const BlastPort own = own_port();
  DatagramPort& port = *own.port;
  put(place_of(room, 1), port.address());
  room.meet();
  const auto to = port.insert(got(place_of(room, 0)));
  const std::uint64_t all = datagrams_of(port);
  std::vector<std::byte> data(port.limit()), into(port.limit());
  std::vector<double> out;
  for (std::uint64_t round = 1; out.size() != kLongTimed && round != 10 * kLongTimed; ++round) {
    std::memcpy(data.data(), &round, sizeof round);
    std::uint64_t count = 0;
    bool over = false;
    const std::uint64_t start = hamlyn_ticks();
    for (std::uint64_t left = all; left != 0 && !over;) {
      if (port.send(to, data) == Status::ok)
        --left;
      else
        over = answered(port, into, round, count);
    }
    while (!over) over = answered(port, into, round, count);
    const double ns = static_cast<double>(hamlyn_ticks() - start) * ns_per_tick();
    if (count == all) out.push_back(static_cast<double>(kLong) / ns);
  }
  while (port.send(to, std::span(data).first(1)) != Status::ok) static_cast<void>(port.receive(into));
  expect(!out.empty(), "each time some were lost");
  room.report(out);
}

void receive_bare(Room& room) {
  const BlastPort own = own_port();
  DatagramPort& port = *own.port;
  put(place_of(room, 0), port.address());
  room.meet();
  const auto to = port.insert(got(place_of(room, 1)));
  const std::uint64_t all = datagrams_of(port);
  std::vector<std::byte> into(port.limit());
  Came came{1, 0};
  for (int quiet = 0;;) {
    if (const auto arrival = port.receive(into)) {
      if (arrival->length == 1) return;
      std::uint64_t round;
      std::memcpy(&round, into.data(), sizeof round);
      if (round < came.round) continue;
      came.count = round == came.round ? came.count + 1 : 1;
      came.round = round;
      quiet = 0;
    } else if (came.count != 0) {
      ++quiet;
    }
    if (came.count != all && quiet != kQuiet) continue;
    while (port.send(to, std::as_bytes(std::span{&came, 1})) != Status::ok)
      static_cast<void>(port.receive(into));
    came = {came.round + 1, 0};
    quiet = 0;
  }
}

}  // namespace

Meter blast_null() {
  return round_trip("null.roundtrip", [](Calls calls, std::int32_t) {
    expect(calls.call<&Measured::null>().status() == Status::ok, "a call has failed");
  });
}
Meter blast_minus() {
  return round_trip("minus.roundtrip", [](Calls calls, std::int32_t number) {
    rpc::Result<std::int32_t> result = calls.call<&Measured::minus>(number, 1);
    expect(result && *result == number - 1, "another result");
  });
}
Meter blast_longest() {
  return round_trip(
      "maxarg.1500.roundtrip", [bytes = std::array<std::byte, 1500>{}](Calls calls, std::int32_t) {
        rpc::Result<std::int32_t> result = calls.call<&Measured::longest>(std::span<const std::byte>(bytes));
        expect(result && *result == 1500, "another result");
      });
}

Meter blast_bandwidth() {
  return {.name = "blast.rpc.1048576.bandwidth", .round = [](Cores cores, int) {
            return measure_long(cores, [](Room& room) {
              room.meet();
              Caller caller(room, own_port());
              room.report(time_long(caller));
            });
          }};
}
Meter blast_lossy_bandwidth() {
  return {.name = "blast.rpc.lossy.1048576.bandwidth", .round = [](Cores cores, int) {
            return measure_long(cores, [](Room& room) {
              room.meet();
              Caller caller(room, {std::make_unique<LosingPort>(own_port(), kLostOneIn)});
              room.report(time_long(caller));
            });
          }};
}
Meter blast_again() {
  return {.name = "blast.rpc.lossy.1048576.again", .round = [](Cores cores, int) {
            return measure_long(cores, [](Room& room) {
              room.meet();
              auto port = std::make_unique<LosingPort>(own_port(), kLostOneIn);
              const LosingPort& losing = *port;
              Caller caller(room, {std::move(port)});
              static_cast<void>(time_long(caller));
              room.report(static_cast<double>(caller.sent_again()) / static_cast<double>(losing.lost()));
            });
          }};
}
Meter blast_bare() {
  return {.name = "blast.bare.1048576.bandwidth", .round = [](Cores cores, int) {
            return run_pair(cores, {.results = kLongTimed}, send_bare, receive_bare);
          }};
}

}  // namespace hamlyn::tool::perf
