// Calls over datagrams that are lost, repeated and overtaken, while the net is cut and either side is started
// again: each is done once or not at all, as its caller was told.
#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <memory>
#include <vector>

#include "fabric/sim/sim_datagrams.h"
#include "rpc/blast/client_machine.h"
#include "rpc/blast/server_machine.h"
#include "test/rpc/seeds.h"

namespace hamlyn::test {
namespace {

using internal_::rpc::Catalogue;
using internal_::rpc::Cause;
using internal_::rpc::kReserved;
using internal_::rpc::Landing;
using internal_::rpc::Procedure;
using internal_::rpc::procedure_of;
using internal_::rpc::ReplyWord;
using internal_::rpc::Writer;
using internal_::rpc::blast::ClientMachine;
using internal_::rpc::blast::ServerMachine;
using internal_::rpc::blast::Time;
using rpc::CallId;
using rpc::Fate;

constexpr Time kTick = 20'000;
constexpr Time kMillisecond = 1'000'000;
constexpr std::uint64_t kCalls = 24;  // of each client
constexpr std::size_t kClients = 3;

sim::SimDatagramNet::Weather weather_of(std::uint64_t seed) {
  switch (seed % 4) {
    case 0:  // in order, and nothing is lost
      return {10'000, 10'000, 0, 0, 256, 64, 512};
    case 1:  // overtaken
      return {1000, 200'000, 0, 0, 1408, 64, 512};
    case 2:
      return {1000, 200'000, 10, 8, 256, 32, 64};
    default:
      return {1000, 400'000, 4, 4, 512, 16, 32};
  }
}

// Arguments and result of a call follow from its number.
std::vector<std::byte> letter(std::uint64_t number, std::size_t length) {
  std::vector<std::byte> out(sizeof number + length);
  std::memcpy(out.data(), &number, sizeof number);
  for (std::size_t i = sizeof number; i != out.size(); ++i) out[i] = static_cast<std::byte>(number * 31 + i);
  return out;
}
std::vector<std::byte> asked(std::uint64_t number) {
  return letter(number, number * 37 % (number % 2 == 0 ? 30 : 3000));
}
std::vector<std::byte> returned(std::uint64_t number) {
  return letter(number, number * 53 % (number % 4 < 2 ? 20 : 2500));
}

// Packets that have come to one side: any may come again, as late as it likes, also in another life.
class Late {
 public:
  explicit Late(sim::Generator& chance) : chance_(chance) {}
  template <class Machine>
  void hear(fabric::DatagramPort& port, Machine& machine, Time now) {
    std::vector<std::byte> room(port.limit());
    while (const auto came = port.receive(room)) {
      const auto packet = std::span(room).first(came->length);
      machine.hear(came->from, packet, now);
      if (chance_.one_in(3)) kept_[next_++ % kept_.size()] = {came->from, {packet.begin(), packet.end()}};
    }
    if (!chance_.one_in(5)) return;
    const auto& [from, packet] = kept_[chance_.below(kept_.size())];
    if (!packet.empty()) machine.hear(from, packet, now);
  }

 private:
  sim::Generator& chance_;
  std::array<std::pair<fabric::DatagramPort::Peer, std::vector<std::byte>>, 40> kept_;
  std::size_t next_ = 0;
};

class Storm {
 public:
  explicit Storm(std::uint64_t seed)
      : seed_(seed), chance_(seed), net_(seed, weather_of(seed)), server_port_(net_.make_port()) {
    start_server();
    for (std::size_t i = 0; i != kClients; ++i) {
      clients_.emplace_back();
      clients_[i].number = i;
      clients_[i].port = net_.make_port();
      clients_[i].late = std::make_unique<Late>(chance_);
      start(clients_[i]);
    }
    faults_ = seed % 3 != 0;
    restarts_ = seed % 6 == 1;
  }

  void run() {
    for (; net_.now() < 120'000 * kMillisecond && !over(); net_.pass(kTick)) {
      if (faults_) trouble();
      serve();
      for (Client& each : clients_) step(each);
    }
    ASSERT_TRUE(over()) << "it never comes to its end";
    judge();
  }
  const std::map<std::uint64_t, Fate>& told() const { return told_; }
  std::uint64_t sent_again() const {
    std::uint64_t out = server_->sent_again();
    for (const Client& each : clients_) out += each.machine->sent_again();
    return out;
  }

 private:
  struct Out {
    std::uint64_t number;
    CallId call;
  };
  struct Client {
    std::size_t number = 0;
    std::unique_ptr<sim::SimDatagramPort> port;
    std::unique_ptr<ClientMachine> machine;
    std::unique_ptr<Late> late;
    std::vector<Out> out, asked;  // waited for; given up, and its fate is asked for
    std::uint64_t begun = 0;
  };
  struct Running {
    ServerMachine::Taken call;
    Time until;
  };

  Time now() const { return net_.now() + 1; }
  std::function<std::uint64_t()> some() {
    return [this] { return chance_.next(); };
  }

  void start_server() {
    running_.clear();
    for (std::size_t i = 0; i != kClients; ++i) server_port_->forget(i);  // it knows nobody
    server_ = std::make_unique<ServerMachine>(
        *server_port_, internal_::rpc::blast::ServerLimits{.clients = kClients, .lines = 4}, some());
  }
  void start(Client& client) {
    static constexpr std::uint8_t kUnits[] = {1, 6, 16, 64};
    const auto server = client.port->insert(server_port_->address());
    const std::uint32_t packet = seed_ % 5 == 0 ? 40 : 0;
    client.machine = std::make_unique<ClientMachine>(
        *client.port, server,
        internal_::rpc::blast::ClientLimits{
            .lines = 4, .packet = packet, .unit = kUnits[seed_ / 4 % 4], .dead = 50 * kMillisecond},
        procedures_, some());
  }

  void trouble() {
    const bool early = net_.now() < 200 * kMillisecond;
    if (cut_until_ != 0 && net_.now() >= cut_until_) {
      net_.mend();
      cut_until_ = 0;
    }
    if (early && cut_until_ == 0 && chance_.one_in(1000)) {
      net_.cut();
      cut_until_ = net_.now() + chance_.below(80 * kMillisecond);
    }
    if (!early || !restarts_ || !chance_.one_in(2000)) return;
    if (chance_.one_in(2)) return start_server();
    Client& client = clients_[chance_.below(kClients)];
    for (const auto* list : {&client.out, &client.asked}) {
      for (const Out& each : *list) told_[each.number] = Fate::unknown;
    }
    client.out.clear();
    client.asked.clear();
    start(client);
  }

  // --- the server

  void serve() {
    late_.hear(*server_port_, *server_, now());
    ServerMachine::Taken call;
    while (running_.size() < 2 && server_->take(call, now())) begin(call);
    std::erase_if(running_, [&](const Running& each) {
      if (each.until > now()) return false;
      std::uint64_t number;
      std::memcpy(&number, each.call.frame.data(), sizeof number);
      server_->finish(each.call, Cause::none, true, returned(number), now());
      return true;
    });
    server_->run(now());
  }
  void begin(const ServerMachine::Taken& call) {
    if (call.line->first.procedure >= kReserved) {
      alignas(8) std::byte room[256];
      Writer reply(room);
      const Cause cause = Catalogue(procedures_).answer(call.line->first.procedure, call.frame, reply);
      static_cast<void>(server_->finish(call, cause, cause == Cause::none, reply.written(), now()));
      return;
    }
    std::uint64_t number = 0;
    ASSERT_GE(call.frame.size(), sizeof number);
    std::memcpy(&number, call.frame.data(), sizeof number);
    const auto wanted = asked(number);
    ASSERT_TRUE(std::ranges::equal(wanted, call.frame)) << number;
    ++done_[number];
    running_.push_back({call, now() + chance_.below(number % 7 == 0 ? 5 * kMillisecond : 50'000)});
  }

  // --- a client

  void step(Client& client) {
    ClientMachine& machine = *client.machine;
    client.late->hear(*client.port, machine, now());
    machine.run(now());
    if (client.begun != kCalls && chance_.one_in(3)) begin(client);
    std::erase_if(client.out, [&](const Out& each) { return look(client, each); });
    std::erase_if(client.asked, [&](const Out& each) {
      const Fate fate = machine.fate(each.call);
      if (fate == Fate::unknown && machine.is_out(each.call)) return false;
      told_[each.number] = fate;
      return true;
    });
  }
  void begin(Client& client) {
    const std::uint64_t number = 1 + client.number * 1000 + client.begun;
    CallId call;
    const Status status = client.machine->start(0, asked(number), 0, 0, number % 9 == 0, now(), call);
    if (status == Status::ok) {
      client.out.push_back({number, call});
    } else if (status != Status::queue_full && status != Status::connecting) {
      ADD_FAILURE() << name(status);
    } else if (!chance_.one_in(50)) {
      return;
    } else {
      told_[number] = Fate::not_done;  // its caller waits no longer
    }
    ++client.begun;
  }
  // True: nobody waits for it any more.
  bool look(Client& client, const Out& each) {
    ClientMachine& machine = *client.machine;
    switch (machine.look(each.call)) {
      case ClientMachine::Look::done:
      case ClientMachine::Look::failed: {
        Landing landing;
        ReplyWord reply;
        machine.take(each.call, landing, reply);
        told_[each.number] = reply.begun ? Fate::done : Fate::not_done;
        if (reply.cause == Cause::none) {
          EXPECT_TRUE(std::ranges::equal(landing.bytes, returned(each.number))) << each.number;
        }
        return true;
      }
      case ClientMachine::Look::none:
        told_[each.number] = machine.fate(each.call);
        return true;
      case ClientMachine::Look::out:
        break;
    }
    if (!machine.silent(each.call, now()) && !chance_.one_in(500)) return false;
    if (chance_.one_in(2)) machine.cancel(each.call, now());
    machine.forget(each.call);
    client.asked.push_back(each);
    return true;
  }

  bool over() const {
    return std::ranges::all_of(clients_, [](const Client& each) {
      return each.begun == kCalls && each.out.empty() && each.asked.empty();
    });
  }
  void judge() {
    for (const auto& [number, fate] : told_) {
      const int done = done_.contains(number) ? done_.at(number) : 0;
      EXPECT_LE(done, 1) << number;
      if (fate == Fate::unknown)
        EXPECT_TRUE(restarts_) << number << " is unknown, and the server lives";
      else
        EXPECT_EQ(done, fate == Fate::done ? 1 : 0) << number;
    }
    EXPECT_EQ(told_.size(), kCalls * kClients);
  }

  const std::uint64_t seed_;
  sim::Generator chance_;
  sim::SimDatagramNet net_;
  const std::unique_ptr<sim::SimDatagramPort> server_port_;
  const std::vector<Procedure> procedures_{procedure_of("letter", "letter")};
  std::unique_ptr<ServerMachine> server_;
  Late late_{chance_};
  std::vector<Running> running_;
  std::vector<Client> clients_;
  bool faults_ = false, restarts_ = false;
  Time cut_until_ = 0;
  std::map<std::uint64_t, int> done_;
  std::map<std::uint64_t, Fate> told_;
};

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr std::uint64_t kSeeds = 60;
#else
constexpr std::uint64_t kSeeds = 300;
#endif

// Calls with 1 MiB there and back over a wire that loses one datagram in a hundred.
struct Traffic {
  std::uint64_t lost = 0, sent_again = 0;
  Time time = 0;  // of a call
};
Traffic traffic(const sim::SimDatagramNet::Weather& weather, std::uint64_t seed) {
  constexpr std::size_t kBytes = 1 << 20;
  constexpr std::uint64_t kLong = 20;
  sim::SimDatagramNet net(seed, weather);
  sim::Generator chance(seed);
  const auto some = [&] { return chance.next(); };
  const auto server_port = net.make_port(), client_port = net.make_port();
  const std::vector<Procedure> procedures{{"long", "long", 1, 1}};
  ServerMachine server(*server_port, {.frame = kBytes, .result = kBytes}, some);
  ClientMachine client(*client_port, client_port->insert(server_port->address()), {.result = kBytes},
                       procedures, some);
  std::vector<std::byte> room(server_port->limit());
  const std::vector<std::byte> bytes(kBytes);
  CallId call;
  std::uint64_t begun = 0, ended = 0;
  Time start = 0;
  for (Time now = 1; ended != kLong && now < 100'000 * kMillisecond; net.pass(2000), now += 2000) {
    while (const auto came = server_port->receive(room))
      server.hear(came->from, std::span(room).first(came->length), now);
    ServerMachine::Taken taken;
    while (server.take(taken, now)) {
      const bool binds = taken.line->first.procedure >= kReserved;
      const std::uint16_t number = 0;
      const auto numbers = std::as_bytes(std::span{&number, 1});
      server.finish(taken, Cause::none, true, binds ? numbers : std::span(bytes), now);
    }
    server.run(now);
    while (const auto came = client_port->receive(room))
      client.hear(came->from, std::span(room).first(came->length), now);
    client.run(now);
    if (begun == ended && client.start(0, bytes, 0, 0, 0, now, call) == Status::ok) {
      if (begun++ == 0) start = now;
    }
    if (begun == ended || client.look(call) != ClientMachine::Look::done) continue;
    Landing landing;
    ReplyWord reply;
    client.take(call, landing, reply);
    EXPECT_EQ(landing.bytes.size(), kBytes);
    if (++ended == kLong)
      return {net.lost(), client.sent_again() + server.sent_again(), (now - start) / kLong};
  }
  ADD_FAILURE() << "it never comes to its end";
  return {};
}

TEST(BlastStorm, sends_hardly_more_again_than_was_lost) {
  const auto weather = [](Time least, Time most, std::uint64_t lost_one_in) {
    return sim::SimDatagramNet::Weather{least, most, lost_one_in, 0, 1408, 32, 512};
  };
  const Traffic quiet = traffic(weather(10'000, 10'000, 0), 1);
  EXPECT_EQ(quiet.sent_again, 0u);
  const Traffic in_order = traffic(weather(10'000, 10'000, 100), 2);
  EXPECT_GT(in_order.lost, 200u);
  EXPECT_LE(in_order.sent_again, in_order.lost * 11 / 10);
  EXPECT_LE(in_order.time, 2 * quiet.time);
  const Traffic overtaken = traffic(weather(5'000, 15'000, 0), 3);
  EXPECT_EQ(overtaken.lost, 0u);
  EXPECT_EQ(overtaken.sent_again, 0u);
  const Traffic both = traffic(weather(5'000, 15'000, 100), 4);
  EXPECT_LE(both.sent_again, both.lost * 11 / 10);
}

TEST(BlastStorm, is_done_once_or_not_at_all_as_its_caller_was_told) {
  std::map<Fate, int> fates;
  std::uint64_t again = 0;
  for_each_seed(kSeeds, [&](std::uint64_t seed) {
    Storm storm(seed);
    storm.run();
    for (const auto& [number, fate] : storm.told()) ++fates[fate];
    again += storm.sent_again();
  });
  EXPECT_GT(fates[Fate::done], fates[Fate::not_done]);
  EXPECT_GT(fates[Fate::not_done], 0) << "none was cancelled in time";
  EXPECT_GT(fates[Fate::unknown], 0) << "no server was started again while calls were under way";
  EXPECT_GT(again, 0u);
  RecordProperty("done", fates[Fate::done]);
  RecordProperty("not_done", fates[Fate::not_done]);
  RecordProperty("unknown", fates[Fate::unknown]);
}

}  // namespace
}  // namespace hamlyn::test
