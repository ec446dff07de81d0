// Hooks on both sides of calls, traces, counts and times, the caller's user, the procedures in words.
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <thread>

#include "hamlyn/rpc/coroutine.h"
#include "interface/counters.h"
#include "library/engine.h"
#include "test/process/on_nodes.h"
#include "test/rpc/calculator.h"

namespace hamlyn::test {
namespace {

using namespace std::chrono_literals;
using interface::CallCounters;
using interface::CallEnd;
using interface::CallSide;

constexpr rpc::Trace kTrace{std::byte{1}, std::byte{2}, std::byte{3}};

// Calls the calculator from its own handler, too.
class Relay {
 public:
  explicit Relay(rpc::Client<Calculator>& next) : next_(next) {}
  std::vector<std::byte> traced(rpc::Call& call) {
    const rpc::Trace trace = call.trace();
    return {trace.begin(), trace.end()};
  }
  std::int32_t minus(std::int32_t a, std::int32_t b) { return next_.call<&Calculator::minus>(a, b).value(); }

 private:
  rpc::Client<Calculator>& next_;
};
HAMLYN_RPC(Relay, traced, minus)

// Notes what it is told.
struct ServerHooks {
  template <auto kFunction, class... Arguments>
  void before(rpc::Call& call, const Arguments&... arguments) {
    ++befores;
    last_trace = call.trace();
    if constexpr (std::is_same_v<decltype(kFunction), decltype(&Calculator::minus)>) {
      if ((... + arguments) == 100) throw std::runtime_error("not that one");
    }
  }
  template <auto kFunction, class Returned>
  void after(rpc::Call&, const Returned* result) noexcept {
    ++afters;
    if (result == nullptr) ++failed;
    if constexpr (std::is_same_v<Returned, std::int32_t>) last = result == nullptr ? 0 : *result;
  }
  std::atomic<int> befores{0}, afters{0}, failed{0};
  std::atomic<std::int32_t> last{0};
  rpc::Trace last_trace{};
};
struct ClientHooks {
  template <auto kFunction, class... Arguments>
  void before(const Arguments&...) {
    ++befores;
  }
  template <auto kFunction, class Returned>
  void after(const rpc::Result<Returned>& result) noexcept {
    ++afters;
    last = result.status();
  }
  int befores = 0, afters = 0;
  Status last = Status::invalid;
};
static_assert(sizeof(rpc::Pending<int>) <= sizeof(void*) + sizeof(internal_::rpc::Ending) + alignof(void*));

class RpcObserved : public OnNodes {
 protected:
  static CallCounters row(Interface& interface, CallSide side, std::string_view name) {
    for (const CallCounters& each : interface.engine().counters().call)
      if (each.side == side && name == each.name) return each;
    return {};
  }
  static std::uint64_t timed(const CallCounters& row) {
    std::uint64_t out = 0;
    for (const std::uint32_t count : row.times) out += count;
    return out;
  }
};

TEST_F(RpcObserved, by_hooks_on_both_sides) {
  with_two([](Interface& there, Interface& here) {
    Calculator calculator;
    ServerHooks seen;
    rpc::Server<Calculator, ServerHooks> server(there, "calculator", calculator, {}, seen);
    std::thread serving([&] { EXPECT_EQ(server.run(), Status::ok); });
    ClientHooks own;
    rpc::Client<Calculator, ClientHooks> client(here, "calculator", {}, own);
    EXPECT_EQ(client.call<&Calculator::minus>(7, 2).value(), 5);
    EXPECT_EQ(seen.befores, 1);
    EXPECT_EQ(seen.afters, 1);
    EXPECT_EQ(seen.last, 5);
    EXPECT_EQ(own.befores, 1);
    EXPECT_EQ(own.afters, 1);
    EXPECT_EQ(own.last, Status::ok);
    const auto refused = client.call<&Calculator::minus>(60, 40);
    EXPECT_EQ(refused.cause(), rpc::Cause::threw);
    EXPECT_EQ(refused.text(), "not that one");
    EXPECT_EQ(seen.failed, 1);
    EXPECT_EQ(own.last, Status::refused);
    {
      auto pending = client.start<&Calculator::nothing>();
      EXPECT_EQ(own.befores, 3);
      EXPECT_EQ(own.afters, 2) << "it goes on";
      EXPECT_EQ(pending.wait().status(), Status::ok);
      EXPECT_EQ(own.afters, 3);
    }
    rpc::Row row(client);
    auto one = row.add<&Calculator::minus>(3, 2);
    while (row.leave() == Status::queue_full) here.run();
    EXPECT_EQ(one.wait().value(), 1);
    EXPECT_EQ(own.afters, 4);
    EXPECT_EQ(client.call<&Calculator::fails>("x").cause(), rpc::Cause::threw);
    EXPECT_EQ(seen.failed, 2);
    server.stop();
    serving.join();
    EXPECT_EQ(seen.befores, seen.afters);
  });
}

TEST_F(RpcObserved, by_traces_that_travel_into_the_calls_of_handlers) {
  with_two([](Interface& there, Interface& here) {
    Calculator calculator;
    ServerHooks seen;
    rpc::Server<Calculator, ServerHooks> last(there, "calculator", calculator, {}, seen);
    std::thread serving_last([&] { EXPECT_EQ(last.run(), Status::ok); });
    rpc::Client<Calculator> to_last(there, "calculator");
    Relay relay(to_last);
    rpc::Server<Relay> server(there, "relay", relay);
    std::thread serving([&] { EXPECT_EQ(server.run(), Status::ok); });
    rpc::Client<Relay> client(here, "relay");
    const std::vector<std::byte> wanted(kTrace.begin(), kTrace.end()), none(kTrace.size());
    EXPECT_EQ(client.call<&Relay::traced>().value(), none);
    EXPECT_EQ(client.traced(kTrace).call<&Relay::traced>().value(), wanted);
    EXPECT_EQ(client.within(10s).traced(kTrace).urgent().call<&Relay::traced>().value(), wanted);
    EXPECT_EQ(client.traced(kTrace).call<&Relay::minus>(5, 3).value(), 2);
    EXPECT_EQ(seen.last_trace, kTrace);
    EXPECT_EQ(client.call<&Relay::minus>(5, 3).value(), 2);
    EXPECT_EQ(seen.last_trace, rpc::Trace{});
    constexpr rpc::Trace kNone{};
    EXPECT_EQ(client.traced(kNone).call<&Relay::traced>().value(), none);
    rpc::Client<Calculator> direct(here, "calculator");
    for (const std::size_t bytes : {0u, 8u, 30u, 44u, 45u, 60u, 500u, 2028u, 2029u, 2044u, 2045u, 30'000u}) {
      EXPECT_EQ(
          direct.traced(kTrace).call<&Calculator::bytes>(std::vector<std::byte>(bytes, std::byte{1})).value(),
          bytes);
      EXPECT_EQ(seen.last_trace, kTrace) << bytes;
    }
    EXPECT_EQ(direct.traced(kTrace).call<&Calculator::bytes>(std::vector<std::byte>(65'530)).status(),
              Status::too_long);
    for (auto* const each : {&last}) each->stop();
    server.stop();
    serving.join();
    serving_last.join();
  });
}

TEST_F(RpcObserved, by_counts_and_times_of_each_procedure_and_client) {
  with_two([](Interface& there, Interface& here) {
    Calculator calculator;
    rpc::Server<Calculator> server(there, "calculator", calculator);
    std::thread serving([&] { EXPECT_EQ(server.run(), Status::ok); });
    {
      rpc::Client<Calculator> client(here, "calculator", {.stacks = 2});
      for (int i = 0; i != 40; ++i) EXPECT_EQ(client.call<&Calculator::minus>(i, i).value(), 0);
      EXPECT_EQ(client.call<&Calculator::fails>("no").cause(), rpc::Cause::threw);
      EXPECT_EQ(client.urgent().call<&Calculator::bytes>(std::vector<std::byte>(400)).status(),
                Status::too_long);
      {
        auto one = client.start<&Calculator::nothing>(), two = client.start<&Calculator::nothing>();
        EXPECT_EQ(client.start<&Calculator::nothing>().status(), Status::queue_full);
        EXPECT_TRUE(one.wait() && two.wait());
      }
      server.stop();
      serving.join();
      static_cast<void>(client.start<&Calculator::square>(3u));  // dropped
      const CallCounters made = row(here, CallSide::caller, "calculator.minus");
      EXPECT_EQ(made.calls, 40u);
      EXPECT_GE(timed(made), 2u);
      EXPECT_LE(timed(made), 5u) << "one in sixteen";
      EXPECT_EQ(row(here, CallSide::caller, "calculator.fails").failed[static_cast<int>(rpc::Cause::threw)],
                1u);
      EXPECT_EQ(row(here, CallSide::caller, "calculator.bytes").failed[static_cast<int>(CallEnd::not_sent)],
                1u);
      EXPECT_EQ(row(here, CallSide::caller, "calculator.square").failed[static_cast<int>(CallEnd::given_up)],
                1u);
      EXPECT_GE(row(here, CallSide::caller, "calculator.nothing").retries, 1u);
      const CallCounters served = row(there, CallSide::procedure, "calculator.minus");
      EXPECT_EQ(served.calls, 40u);
      EXPECT_GE(timed(served), 2u);
      const CallCounters whose = row(there, CallSide::client, "calculator");
      EXPECT_EQ(whose.peer, here.id());
      EXPECT_EQ(whose.calls, 43u);
      EXPECT_EQ(whose.failed[static_cast<int>(rpc::Cause::threw)], 1u);
    }
    EXPECT_EQ(row(here, CallSide::caller, "calculator.minus").side, CallSide::none) << "its row is free";
    // More procedures than there are rows: nobody sees the others, and nothing fails.
    std::vector<std::unique_ptr<rpc::Server<Calculator>>> many;
    for (int i = 0; i != 14; ++i)
      many.push_back(
          std::make_unique<rpc::Server<Calculator>>(there, "another" + std::to_string(i), calculator));
    EXPECT_EQ(row(there, CallSide::procedure, "another13.minus").side, CallSide::none);
    many.erase(many.begin());
    rpc::Server<Calculator> again(there, "again", calculator);
    EXPECT_EQ(row(there, CallSide::procedure, "again.minus").side, CallSide::procedure);
  });
}

TEST_F(RpcObserved, by_the_words_of_its_procedures) {
  with_two([](Interface& there, Interface& here) {
    Calculator calculator;
    rpc::Server<Calculator> server(there, "calculator", calculator, {.clients = 1});
    std::thread serving([&] { EXPECT_EQ(server.run(), Status::ok); });
    const std::vector<std::string> all = rpc::procedures(here, "calculator", kPatience);
    ASSERT_EQ(all.size(), 11u);
    EXPECT_EQ(all[0], "nothing()->nothing");
    EXPECT_EQ(all[1], "minus(i32,i32)->i32");
    EXPECT_EQ(all[10], "bytes(list byte)->u64");
    server.stop();
    serving.join();
    EXPECT_THROW(static_cast<void>(rpc::procedures(here, "nobody", 1ms)), Error);
  });
}

// --- who calls

class Who {
 public:
  std::uint32_t user(rpc::Call& call) { return call.user(); }
};
HAMLYN_RPC(Who, user)

TEST_F(RpcObserved, by_the_user_that_calls) {
  with_two([](Interface& there, Interface& here) {
    Who who;
    rpc::Server<Who> server(there, "who", who);
    std::thread serving([&] { EXPECT_EQ(server.run(), Status::ok); });
    {
      rpc::Client<Who> client(here, "who");
      EXPECT_EQ(client.call<&Who::user>().value(), ::geteuid());
    }
    server.stop();
    serving.join();
  });
}

TEST(RpcOfUsers, tells_each_handler_which_user_calls) {
  if (::geteuid() != 0) GTEST_SKIP() << "SKIPPED: other users can only be tried as root";
  constexpr int kAnna = 41001, kBert = 41002;
  const Folder folder{0755};
  const std::string socket = folder.file("service");
  const Daemon daemon(socket, {"--service"});
  const Interface::Options options{.node = socket, .start_node = false};
  Actor server([&](Line& line) {
    Interface interface(options);
    Who who;
    rpc::Server<Who> own(interface, "who", who, {.rights = {.everyone = true}});
    line.put('r');
    while (!line.take<char>(0ms)) static_cast<void>(own.serve_one(10ms));
    return 0;
  });
  ASSERT_TRUE(server.line().take<char>());
  const auto ask = [&](Line& line) {
    Interface interface(options);
    rpc::Client<Who> client(interface, "who");
    line.put(client.call<&Who::user>().value());
    return 0;
  };
  Actor anna(ask, kAnna), bert(ask, kBert), root(ask);
  EXPECT_EQ(anna.line().take<std::uint32_t>(), kAnna);
  EXPECT_EQ(bert.line().take<std::uint32_t>(), kBert);
  EXPECT_EQ(root.line().take<std::uint32_t>(), 0u);
  for (Actor* const each : {&anna, &bert, &root}) EXPECT_EQ(each->wait(), 0);
  server.line().put('e');
  EXPECT_EQ(server.wait(), 0);
}

}  // namespace
}  // namespace hamlyn::test
