// Local calls of clients on a clerk where packets are lost, late and repeated, links are cut, and anybody
// dies at any time.
#include <array>

#include "hamlyn/rpc.h"
#include "hamlyn/rpc/local_call.h"
#include "hamlyn/segment/segment.h"
#include "test/simulation/hosted.h"

namespace hamlyn::test {

// Calls of another kind.
struct OtherCalls {
  void call() {}
};
HAMLYN_RPC(OtherCalls, call)

namespace {

using namespace std::chrono_literals;
using simulation::Host;

constexpr std::uint64_t kClients = 3;
constexpr std::uint64_t kCalls = 20;

std::uint64_t number_in(std::span<const std::byte> bytes) {
  std::uint64_t out = 0;
  if (bytes.size() == sizeof out) std::memcpy(&out, bytes.data(), sizeof out);
  return out;
}

// Squares, until nobody has called for a while. What is taken is not always answered in its order.
void square(Hosted& all, std::chrono::nanoseconds idle = 2s) {
  Interface interface;
  LocalService service(interface, "square", {.clients = 8});
  std::vector<LocalCall> calls;
  for (;;) {
    LocalCall call;
    const Status status = service.take(call, calls.empty() ? idle : 0ns);
    if (status == Status::ok) calls.push_back(call);
    if (calls.empty()) return;
    if (status == Status::ok && all.host.chance().one_in(2)) continue;
    while (!calls.empty()) {
      const std::uint64_t number = number_in(calls.back().request), answer = number * number;
      static_cast<void>(service.answer(calls.back(), std::as_bytes(std::span(&answer, 1))));
      calls.pop_back();
    }
  }
}

// Whoever is cut off makes a new client.
void call(Hosted& all, std::uint64_t calls) {
  Interface interface;
  std::optional<LocalClient> client;
  for (std::uint64_t number = 1; number <= calls && all.alive() && all.alive(1);) {
    try {
      if (!client) client.emplace(interface, "square", LocalClient::Options{.timeout = 100ms});
    } catch (const Error&) {
      all.host.pause(kMillisecond / 10);
      continue;
    }
    std::uint64_t answer = 0;
    const Status status = client->call(number, answer, 1s);
    if (status == Status::link_ended || status == Status::stale) {
      client.reset();
      continue;
    }
    all.expect(status == Status::ok, (std::string("a call was not answered: ") + name(status)).c_str());
    all.expect(answer == number * number, "another call's answer");
    ++number;
  }
}

TEST(HostedCalls, are_answered_each_its_own_though_links_are_cut) {
  for (std::uint64_t seed = 1; seed <= kRoughSeeds && !testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    Hosted hosted(rough_rules(seed), seed);
    Host& host = hosted.host;
    hosted.add([](Hosted& all) { square(all); });
    for (std::uint64_t i = 0; i < kClients; ++i) hosted.add([](Hosted& all) { call(all, kCalls); });
    for (int i = 0; i < 4; ++i) {
      const std::uint64_t who = 2 + host.chance().below(kClients), packets = host.chance().below(4);
      host.after(host.chance().below(5 * kMillisecond),
                 [&host, who, packets] { host.cut(host.inhabitant(who), host.inhabitant(1), packets); });
    }
    hosted.run();
  }
}

TEST(HostedCalls, of_others_go_on_when_a_client_dies_and_end_when_the_clerk_does) {
  for (const std::uint64_t victim : {1u, 2u}) {
    SCOPED_TRACE(victim);
    with_a_death_at_any_time(victim, [](Hosted& hosted) {
      hosted.add([](Hosted& all) { square(all, 10ms); });
      for (std::uint64_t i = 0; i < 2; ++i) hosted.add([](Hosted& all) { call(all, 5); });
    });
  }
}

TEST(HostedCalls, end_at_once_when_a_clerk_dies_that_has_said_nothing_yet) {
  Hosted hosted;
  hosted.add([](Hosted& all) {
    Interface interface;
    const LocalService service(interface, "desk");
    all.host.pause(500 * kMillisecond);
  });
  hosted.add([](Hosted& all) {
    Interface interface;
    const ErrorCode code = code_of([&] { LocalClient(interface, "desk"); });
    all.expect(code == ErrorCode::peer_died, "it is told otherwise");
    all.expect(all.host.time() < 40 * kMillisecond, "it is told late");
  });
  hosted.kill(1, 20 * kMillisecond);
  hosted.run();
}

TEST(HostedCalls, that_cannot_be_are_refused_by_name) {
  Hosted hosted;
  hosted.add([](Hosted& all) {
    Interface interface;
    LocalService service(interface, "desk", {.request = 16, .reply = 200, .clients = 1});
    LocalCall call, other;
    all.expect(service.take(call, 1s) == Status::ok && call.request.size() == 16, "no call");
    all.expect(service.clients() == 1, "there are others");
    const std::array<std::byte, 201> more{};
    all.expect(service.answer(call, more) == Status::too_long, "the reply fits");
    all.expect(service.answer(call, std::span(more).first(129)) == Status::too_long, "the client has room");
    other = call;
    ++other.number;
    all.expect(service.answer(other, {}) == Status::invalid, "there was no such call");
    other.record = 7;
    all.expect(service.answer(other, {}) == Status::invalid, "there is no such record");
    all.expect(service.take(other, 1s) == Status::ok, "it may not call again before it is answered");
    all.expect(service.answer(call, {}) == Status::ok, "it is not answered");
    all.expect(service.answer(call, {}) == Status::invalid, "it is answered twice");
    all.expect(service.answer(other, {}) == Status::ok, "the second one is not answered");
    all.expect(service.take(call, 1s) == Status::ok && service.answer(call, {}) == Status::ok,
               "no call after that");
    all.expect(service.clients() == 1, "it has two places");
    all.expect(service.take(call, 200ms) == Status::timed_out, "there is more");
  });
  hosted.add([](Hosted& all) {
    Interface interface;
    Segment segment(interface, {.name = "segment", .bytes = 64, .control = Control::never});
    OtherCalls other;
    rpc::Server<OtherCalls> others(interface, "others", other);
    all.host.pause(60 * kMillisecond);  // the other has waited for what is not there, and has come
    all.expect(code_of([&] { LocalClient(interface, "desk"); }) == ErrorCode::peer_refused, "there is room");
    while (others.serve_one(500ms) == Status::ok) {
    }
  });
  hosted.add([](Hosted& all) {
    Interface interface;
    const auto enter = [&](const char* name) { LocalClient(interface, name, {.timeout = 50ms}); };
    all.expect(code_of([&] { enter("nothing"); }) == ErrorCode::timed_out, "it is there");
    all.expect(code_of([&] { enter("segment"); }) == ErrorCode::seed_wrong_kind, "a segment takes calls");
    LocalClient client(interface, "desk", {.reply = 8});
    std::span<const std::byte> reply;
    const std::array<std::byte, 17> request{};
    all.expect(client.call(request, reply, 1s) == Status::too_long, "the request fits");
    const std::array<std::byte, 129> longer{};
    all.expect(client.call(longer, reply, 1s) == Status::too_long, "so does what fits no frame");
    const auto fits = std::span(request).first(16);
    all.expect(client.call(fits, reply, 1ms) == Status::timed_out, "it is answered");
    all.expect(client.call(fits, reply, 1s) == Status::ok && reply.empty(), "one at a time");
    all.expect(code_of([&] { enter("desk"); }) == ErrorCode::peer_refused, "it has two places");
    std::uint64_t value = 0;
    all.expect(client.call(fits, value, 1s) == Status::broken, "the reply has another length");
    all.expect(code_of([&] { LocalClient(interface, "others"); }) == ErrorCode::seed_wrong_kind,
               "other calls are local calls");
  });
  hosted.run();
}

}  // namespace
}  // namespace hamlyn::test
