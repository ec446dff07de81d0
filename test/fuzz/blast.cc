// Packets of calls over datagrams, as any port may send them, in any order: both machines hear each other's,
// late, twice and spoilt, and others that nobody has sent.
//
// Besides not crashing: no call is taken twice, whatever is said; what is held has a bound; what a client is
// told was sent by a server is no longer than it asked for.
#include <gtest/gtest.h>

#include <deque>
#include <memory>
#include <set>
#include <tuple>
#include <vector>

#include "rpc/blast/client_machine.h"
#include "rpc/blast/server_machine.h"
#include "test/fuzz/input.h"
#include "test/fuzz/target.h"

namespace hamlyn::fuzz {
namespace {

using namespace internal_::rpc;
using namespace internal_::rpc::blast;

Goal goals[] = {
    {"sessions that were confirmed", 300}, {"calls that were taken", 200}, {"results that came", 40}};
Goal &sessions = goals[0], &taken_calls = goals[1], &results = goals[2];

constexpr std::size_t kClients = 2;
constexpr std::size_t kResult = 300;

class Port final : public fabric::DatagramPort {
 public:
  explicit Port(std::uint64_t number) : number_(number) {}
  std::size_t limit() const noexcept override { return 120; }
  std::span<const std::byte> address() const noexcept override {
    return std::as_bytes(std::span{&number_, 1});
  }
  Peer insert(std::span<const std::byte> address) override {
    Peer out = 0;
    if (address.size() != sizeof out) return kNobody;
    std::memcpy(&out, address.data(), sizeof out);
    return out;
  }
  void forget(Peer) noexcept override {}
  void take_strangers() noexcept override {}
  Status send(Peer to, std::span<const std::byte> data) noexcept override {
    if (sent.size() == 50) return Status::queue_full;
    sent.push_back({to, {data.begin(), data.end()}});
    return Status::ok;
  }
  std::optional<Arrival> receive(std::span<std::byte>) noexcept override { return std::nullopt; }
  std::uint64_t refused() const noexcept override { return 0; }

  std::deque<std::pair<Peer, std::vector<std::byte>>> sent;

 private:
  const std::uint64_t number_;
};

class World {
 public:
  explicit World(Input& input) : input_(input) {
    for (std::size_t i = 0; i != kClients; ++i) {
      Client& client = clients_[i];
      client.port = std::make_unique<Port>(i + 1);
      client.machine = std::make_unique<ClientMachine>(
          *client.port, 0,
          ClientLimits{.lines = 2, .result = kResult, .packet = 60, .unit = 3, .dead = 1'000'000'000},
          procedures_, [this] { return ++random_; });
    }
  }
  void go() {
    for (std::uint64_t i = 20 + input_.pick(200); i > 0 && !input_.empty(); --i) {
      switch (input_.pick(8)) {
        case 0:
          now_ += 1 + input_.number() % 3'000'000;
          break;
        case 1:
          begin();
          break;
        case 2:
          finish();
          break;
        case 3:
          stranger();
          break;
        default:
          carry();
          break;
      }
      run();
    }
    ASSERT_LE(server_.held(), 100'000u);
  }

 private:
  struct Client {
    std::unique_ptr<Port> port;
    std::unique_ptr<ClientMachine> machine;
    std::vector<CallId> calls;
  };

  void run() {
    server_.run(now_);
    static_cast<void>(server_.next());
    ServerMachine::Taken call;
    while (running_.size() != 3 && server_.take(call, now_)) {
      if (call.line->first.procedure < kReserved) ++taken_calls.times;
      ASSERT_TRUE(done_.insert({call.session->number(), call.line->number, call.line->last}).second)
          << "a call is taken twice";
      ASSERT_LE(call.frame.size(), 400u);
      running_.push_back(call);
    }
    for (Client& each : clients_) {
      const bool was = each.machine->opened() == Status::ok;
      each.machine->run(now_);
      if (!was && each.machine->opened() == Status::ok) ++sessions.times;
      std::erase_if(each.calls, [&](CallId id) { return look(*each.machine, id); });
    }
  }
  static bool look(ClientMachine& machine, CallId id) {
    const ClientMachine::Look look = machine.look(id);
    if (look == ClientMachine::Look::out) return false;
    if (look == ClientMachine::Look::none) return true;
    Landing landing;
    ReplyWord reply;
    machine.take(id, landing, reply);
    EXPECT_LE(landing.bytes.size(), kResult);
    ++results.times;
    return true;
  }
  void begin() {
    Client& client = clients_[input_.pick(kClients)];
    CallId id;
    if (client.machine->start(0, std::vector<std::byte>(input_.pick(500)), 0, 0, input_.pick(4) == 0, now_,
                              id) == Status::ok)
      client.calls.push_back(id);
    if (client.calls.empty() || input_.pick(6) != 0) return;
    client.machine->cancel(client.calls[0], now_);
    if (input_.pick(2) == 0) client.machine->forget(client.calls[0]);
  }
  void finish() {
    if (running_.empty()) return;
    const ServerMachine::Taken call = running_.front();
    running_.pop_front();
    std::vector<std::byte> room(400);
    Writer reply(room);
    Cause cause = Cause::none;
    if (call.line->first.procedure == static_cast<std::uint16_t>(Own::bind))
      cause = Catalogue(procedures_).answer(call.line->first.procedure, call.frame, reply);
    const std::size_t bytes = std::max(reply.size(), input_.pick(3) == 0 ? input_.pick(kResult) : 0);
    server_.finish(call, cause, input_.pick(8) != 0, std::span(room).first(bytes), now_);
  }
  // Some packet that is under way, or has been, arrives: most as they are.
  void carry() {
    const std::size_t side = input_.pick(kClients + 1);
    Port& port = side == kClients ? port_ : *clients_[side].port;
    if (port.sent.empty()) return;
    auto letter = port.sent.front();
    const std::uint64_t how = input_.pick(12);
    if (how != 0) port.sent.pop_front();
    if (how == 1) return;
    if (how == 2) input_.spoil(std::span(letter.second));
    if (how == 3) letter.second.resize(input_.pick(120));
    if (side != kClients)
      return server_.hear(how == 4 ? fabric::DatagramPort::kNobody : side + 1, letter.second, now_);
    if (letter.first == 0 || letter.first > kClients) return;
    clients_[letter.first - 1].machine->hear(how == 5 ? 7 : 0, letter.second, now_);
  }
  // Anything, from anybody.
  void stranger() {
    std::vector<std::byte> bytes(input_.pick(120));
    input_.fill(bytes);
    Head head;
    head.kind = static_cast<PacketKind>(input_.pick(12));
    head.sequence = static_cast<std::uint32_t>(input_.pick(4));
    head.session = input_.pick(2) == 0 ? 1 + input_.pick(random_ + 1) : input_.number();
    const Head in_order = protocols::in_wire_order(head);
    if (bytes.size() >= sizeof in_order) std::memcpy(bytes.data(), &in_order, sizeof in_order);
    for (std::size_t i = sizeof in_order; i < bytes.size() && input_.pick(2) == 0; ++i)
      bytes[i] = static_cast<std::byte>(input_.pick(3));
    if (input_.pick(2) == 0) return clients_[input_.pick(kClients)].machine->hear(0, bytes, now_);
    const std::uint64_t from = input_.pick(5);
    server_.hear(from == 0 ? fabric::DatagramPort::kNobody : from, bytes, now_);
  }

  Input& input_;
  Time now_ = 1;
  std::uint64_t random_ = 0;
  const std::vector<Procedure> procedures_ = {{"a", "a()->nothing", 1, 2}};
  Port port_{0};
  ServerMachine server_{
      port_, {.clients = 3, .lines = 2, .frame = 400, .result = kResult}, [this] { return ++random_; }};
  std::array<Client, kClients> clients_;
  std::deque<ServerMachine::Taken> running_;
  std::set<std::tuple<std::uint64_t, std::uint32_t, std::uint32_t>> done_;
};

}  // namespace

const RandomRuns random_runs{.runs = 800, .bytes = 900, .goals = goals};

void fuzz(std::span<const std::byte> bytes) {
  Input input{bytes};
  while (!input.empty()) World{input}.go();
}

}  // namespace hamlyn::fuzz
