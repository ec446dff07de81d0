// Servers and clients over datagrams, whole, on the simulated host: with their clocks, sleeps and threads.
#include <sys/eventfd.h>

#include <deque>
#include <map>

#include "base/file_descriptor.h"
#include "hamlyn/rpc/blast_coroutine.h"
#include "rpc/blast/port.h"
#include "test/rpc/calculator.h"
#include "test/rpc/seeds.h"
#include "test/simulation/hosted.h"

namespace hamlyn::test {
namespace {

using namespace std::chrono_literals;
using fabric::DatagramPort;
using internal_::rpc::BlastClientCore;
using internal_::rpc::BlastPort;
using internal_::rpc::BlastServerCore;

// Ports by their addresses, which are numbers; what one sends comes later, twice, or not at all.
class Net {
 public:
  struct Weather {
    std::uint64_t least = 1000, most = 1000;
    std::uint64_t lost_one_in = 0, repeated_one_in = 0;  // 0: none
  };
  class Port final : public DatagramPort {
   public:
    Port(Net& net, Peer number)
        : net_(net), number_(number), bell_(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {
      net_.ports_[number] = this;
    }
    ~Port() override { net_.ports_.erase(number_); }
    std::size_t limit() const noexcept override { return 500; }
    std::span<const std::byte> address() const noexcept override {
      return std::as_bytes(std::span{&number_, 1});
    }
    Peer insert(std::span<const std::byte> address) override {
      Peer out;
      std::memcpy(&out, address.data(), sizeof out);
      return out;
    }
    void forget(Peer) noexcept override {}
    void take_strangers() noexcept override {}
    Status send(Peer to, std::span<const std::byte> data) noexcept override {
      net_.carry(number_, to, {data.begin(), data.end()});
      return Status::ok;
    }
    std::optional<Arrival> receive(std::span<std::byte> into) noexcept override {
      if (coming_.empty()) {
        eventfd_t rings;
        static_cast<void>(::eventfd_read(bell_.get(), &rings));
        return std::nullopt;
      }
      const auto [from, bytes] = coming_.front();
      coming_.pop_front();
      std::ranges::copy(bytes, into.begin());
      return Arrival{from, bytes.size()};
    }
    int descriptor() const noexcept override { return bell_.get(); }
    std::uint64_t refused() const noexcept override { return 0; }

   private:
    friend class Net;
    Net& net_;
    const Peer number_;
    const base::FileDescriptor bell_;
    std::deque<std::pair<Peer, std::vector<std::byte>>> coming_;
  };

  Net(simulation::Host& host, const Weather& weather) : host_(host), weather_(weather) {}
  BlastPort port(DatagramPort::Peer number) { return {std::make_unique<Port>(*this, number)}; }

 private:
  void carry(DatagramPort::Peer from, DatagramPort::Peer to, const std::vector<std::byte>& bytes) {
    sim::Generator& chance = host_.chance();
    if (weather_.lost_one_in != 0 && chance.one_in(weather_.lost_one_in)) return;
    const bool twice = weather_.repeated_one_in != 0 && chance.one_in(weather_.repeated_one_in);
    for (int i = 0; i != (twice ? 2 : 1); ++i)
      host_.after(chance.between(weather_.least, weather_.most), [this, from, to, bytes] {
        const auto there = ports_.find(to);
        if (there == ports_.end()) return;
        there->second->coming_.emplace_back(from, bytes);
        static_cast<void>(::eventfd_write(there->second->bell_.get(), 1));
      });
  }

  simulation::Host& host_;
  const Weather weather_;
  std::map<DatagramPort::Peer, Port*> ports_;
};

constexpr DatagramPort::Peer kServer = 1;

template <class Type>
void serve(Net& net, Type& object, std::chrono::nanoseconds idle) {
  BlastServerCore server(net.port(kServer),
                         internal_::rpc::offered<Type, rpc::NoHooks>(internal_::rpc::listing<Type>()),
                         &object, {});
  while (server.serve_one(idle) == Status::ok) {
  }
}

template <class Type>
class Client {
 public:
  Client(Net& net, DatagramPort::Peer number, const rpc::BlastClientOptions& options = {})
      : core(net.port(number), std::as_bytes(std::span{&kServer, 1}),
             internal_::rpc::wanted(internal_::rpc::listing<Type>()), options) {}
  internal_::rpc::BlastCalls<Type> within(std::chrono::nanoseconds time) {
    return {core, {time, Priority::normal}, {}};
  }
  BlastClientCore core;
};

TEST(HostedBlast, carries_calls_of_each_length_over_a_wire_that_loses_repeats_and_delays) {
  Hosted hosted;
  Net net(hosted.host, {1000, 100'000, 10, 10});
  hosted.add([&](Hosted&) {
    Calculator calculator;
    serve(net, calculator, 2s);
  });
  hosted.add([&](Hosted& all) {
    Client<Calculator> client(net, 2);
    for (const std::uint32_t length : {0u, 100u, 5000u, 60'000u}) {
      auto bytes = client.within(10s).call<&Calculator::bytes>(std::vector<std::byte>(length, std::byte{1}));
      all.expect(bytes && *bytes == length, "an argument of that length");
      auto zeros = client.within(10s).call<&Calculator::zeros>(length);
      all.expect(zeros && zeros->size() == length, "a result of that length");
    }
  });
  hosted.run();
}

class Ledger {
 public:
  explicit Ledger(simulation::Host& host) : host_(host) {}
  std::uint64_t note(std::uint64_t number, std::span<const std::byte> data) {
    ++done[number];
    if (number % 5 == 0) host_.pause(number % 7 * 50'000);
    return number + data.size();
  }
  std::map<std::uint64_t, int> done;

 private:
  simulation::Host& host_;
};
HAMLYN_RPC(Ledger, note)

using Told = std::map<std::uint64_t, rpc::Fate>;

void call_ledger(Hosted& all, Net& net, DatagramPort::Peer own, Told& told, std::uint64_t server) {
  std::optional<Client<Ledger>> client;
  for (std::uint64_t number = 1000 * own; number != 1000 * own + 20 && all.alive() && all.alive(server);) {
    try {
      if (!client) client.emplace(net, own, rpc::BlastClientOptions{.unit = 6, .timeout = 1s, .dead = 100ms});
    } catch (const Error&) {
      continue;
    }
    const std::vector<std::byte> data(number * 97 % 6000);
    auto call = client->within(1s).start<&Ledger::note>(number, data);
    auto result = call.wait(number % 3 == 0 ? 100us : 1s);
    if (result.status() == Status::timed_out) {
      if (number % 2 == 0) call.cancel();
      result = call.wait(1s);
    }
    if (result) all.expect(*result == number + data.size(), "another call's result");
    rpc::Fate fate = result.fate();
    if (fate == rpc::Fate::unknown) fate = client->core.settle(result.call(), 1s);
    if (all.alive()) told[number++] = fate;
  }
}

void judge(const Ledger& ledger, const Told& told) {
  for (const auto& [number, fate] : told) {
    const int done = ledger.done.contains(number) ? ledger.done.at(number) : 0;
    EXPECT_LE(done, 1) << number;
    if (fate != rpc::Fate::unknown) {
      EXPECT_EQ(done, fate == rpc::Fate::done ? 1 : 0) << number;
    }
  }
}

TEST(HostedBlast, is_done_once_or_not_at_all_as_its_caller_was_told) {
  for_each_seed(kRoughSeeds, [&](std::uint64_t seed) {
    Hosted hosted(simulation::Host::Rules{}, seed);
    Net net(hosted.host, {1000, seed % 2 == 0 ? 1000u : 200'000u, seed % 3 * 5, seed % 4 * 3});
    Ledger ledger(hosted.host);
    Told told;
    hosted.add([&](Hosted&) { serve(net, ledger, 3s); });
    for (const DatagramPort::Peer own : {2u, 3u, 4u})
      hosted.add([&, own](Hosted& all) { call_ledger(all, net, own, told, 1); });
    hosted.run();
    judge(ledger, told);
    EXPECT_EQ(told.size(), 60u);
    for (const auto& [number, fate] : told) EXPECT_NE(fate, rpc::Fate::unknown) << number;
  });
}

TEST(HostedBlast, is_done_once_at_most_when_the_server_dies_and_another_takes_its_place) {
  for_each_seed(kRoughSeeds, [&](std::uint64_t seed) {
    Hosted hosted(simulation::Host::Rules{}, seed);
    Net net(hosted.host, {1000, 200'000, 8, 8});
    Ledger ledger(hosted.host);
    Told told;
    hosted.add([&](Hosted&) { serve(net, ledger, 3s); });
    hosted.add([&](Hosted& all) {
      all.host.pause(5 * kMillisecond);
      serve(net, ledger, 5s);
    });
    for (const DatagramPort::Peer own : {2u, 3u})
      hosted.add([&, own](Hosted& all) { call_ledger(all, net, own, told, 2); });
    hosted.kill(1, 4 * kMillisecond);
    hosted.run();
    judge(ledger, told);
    EXPECT_EQ(told.size(), 40u);
  });
}

using Waiting = internal_::rpc::BlastCalls<Ledger>;

// Two calls of each task: awaited from their beginning, and started before.
Task note(rpc::BlastLoop& loop, const Waiting& calls, std::uint64_t number, int& awaited) {
  using Started = Waiting::Started<&Ledger::note>;
  const std::vector<std::byte> data(number * 97 % 6000);
  auto first = co_await internal_::rpc::await_call<&Ledger::note, Started>(loop, calls, number, data);
  awaited += first && *first == number + data.size();
  Started pending = calls.start<&Ledger::note>(number + 1, data);
  if (pending.status() != Status::pending) co_return;  // as many are under way as may be
  auto second = co_await rpc::result(loop, pending);
  awaited += second && *second == number + 1 + data.size();
}

TEST(HostedBlast, is_awaited_by_more_tasks_than_may_call) {
  for_each_seed(kRoughSeeds, [&](std::uint64_t seed) {
    Hosted hosted(simulation::Host::Rules{}, seed);
    Net net(hosted.host, {1000, seed % 2 == 0 ? 1000u : 200'000u, seed % 3 * 5, seed % 4 * 3});
    Ledger ledger(hosted.host);
    int awaited = 0;
    hosted.add([&](Hosted&) { serve(net, ledger, 3s); });
    hosted.add([&](Hosted&) {
      Client<Ledger> client(net, 2, {.calls = 3});
      const Waiting calls = client.within(10s);
      rpc::BlastLoop loop(client.core);
      for (std::uint64_t i = 0; i != 12; ++i) loop.start(note(loop, calls, 10 * i, awaited));
      loop.run();
    });
    hosted.run();
    EXPECT_GE(awaited, 12);
    EXPECT_EQ(ledger.done.size(), static_cast<std::size_t>(awaited));
    for (const auto& [number, times] : ledger.done) EXPECT_EQ(times, 1) << number;
  });
}

// A task whose call nobody answers: the server has gone.
TEST(HostedBlast, sleeps_while_a_task_waits) {
  Hosted hosted;
  Net net(hosted.host, {});
  Ledger ledger(hosted.host);
  std::uint64_t turns = 0;
  hosted.add([&](Hosted&) { serve(net, ledger, 500ms); });
  hosted.add([&](Hosted& all) {
    Client<Ledger> client(net, 2, {.dead = 8000ms});
    all.host.pause(1000 * kMillisecond);
    const Waiting calls = client.within(1h);
    rpc::BlastLoop loop(client.core);
    int awaited = 0;
    loop.start(note(loop, calls, 1, awaited));
    const std::uint64_t before = all.host.turns();
    loop.run();
    turns = all.host.turns() - before;
    all.expect(awaited == 0, "it was answered");
  });
  hosted.run();
  EXPECT_LT(turns, 300u) << "somebody looks again and again";
}

TEST(HostedBlast, sleeps_while_nothing_comes) {
  Hosted hosted;
  Net net(hosted.host, {});
  hosted.add([&](Hosted&) {
    Calculator calculator;
    serve(net, calculator, 30s);
  });
  hosted.add([&](Hosted& all) {
    Client<Calculator> client(net, 2);
    const std::uint64_t before = all.host.turns();
    all.host.pause(10'000 * kMillisecond);
    all.expect(all.host.turns() - before < 50, "somebody looks again and again");
    all.expect(client.within(1s).call<&Calculator::minus>(3, 1).status() == Status::ok, "a call after that");
  });
  hosted.run();
}

}  // namespace
}  // namespace hamlyn::test
