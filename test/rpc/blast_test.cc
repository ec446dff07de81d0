// Calls over datagrams of the kernel's UDP, on loopback: the classes and stubs of other calls.
#include "hamlyn/rpc/blast_coroutine.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <thread>

#include "fabric/ofi/datagrams.h"
#include "hamlyn/rpc/reference.h"
#include "hamlyn/values/error.h"
#include "rpc/blast/address.h"
#include "rpc/blast/port.h"
#include "test/rpc/calculator.h"

namespace hamlyn::test {

struct OtherMinus {
  std::int64_t minus(std::int64_t a, std::int64_t b);
  void nothing();
};
HAMLYN_RPC(OtherMinus, nothing, minus)

class Waiter {
 public:
  bool wait(rpc::Call& call) {
    began = true;
    while (!call.cancelled()) std::this_thread::yield();
    return call.client() == 0;
  }
  std::int64_t left(rpc::Call& call) { return call.left().count(); }
  std::atomic<bool> began{false};
};
HAMLYN_RPC(Waiter, wait, left)

// Reaches for what nobody can lend.
class Reacher {
 public:
  std::vector<Status> reach(rpc::Call& call, rpc::Readable data, rpc::Writable room) {
    std::array<std::byte, 8> bytes{};
    return {data.read(call, 0, bytes, std::chrono::seconds{1}),
            room.write(call, 0, bytes, std::chrono::seconds{1})};
  }
};
HAMLYN_RPC(Reacher, reach)

// Returns the trace of the call that the last of its kind serves.
class Traced {
 public:
  explicit Traced(rpc::BlastClient<Traced>* next) : next_(next) {}
  std::vector<std::byte> trace(rpc::Call& call, std::string_view text);

 private:
  rpc::BlastClient<Traced>* const next_;
};
HAMLYN_RPC(Traced, trace)
std::vector<std::byte> Traced::trace(rpc::Call& call, std::string_view text) {
  if (next_ != nullptr) return next_->call<&Traced::trace>(text).value();
  const rpc::Trace trace = call.trace();
  return {trace.begin(), trace.end()};
}

namespace {

// Hooks of both sides, that count.
struct Noted {
  template <auto kFunction, class... Arguments>
  void before(const Arguments&...) {
    ++befores;
  }
  template <auto kFunction, class Returned>
  void after(rpc::Call&, const Returned* result) noexcept {
    ++afters;
    failed += result == nullptr;
  }
  template <auto kFunction, class Returned>
  void after(const rpc::Result<Returned>& result) noexcept {
    ++afters;
    failed += !result;
  }
  std::atomic<int> befores{0}, afters{0}, failed{0};
};

using namespace std::chrono_literals;
using rpc::BlastClient;
using rpc::BlastRefused;
using rpc::BlastServer;

template <class Type>
class Serving {
 public:
  explicit Serving(Type& object, const rpc::BlastServerOptions& options = {}, unsigned threads = 1,
                   std::string_view address = "127.0.0.1")
      : server(address, object, options) {
    for (unsigned i = 0; i != threads; ++i)
      threads_.emplace_back([this] { EXPECT_EQ(server.run(), Status::ok); });
  }
  ~Serving() {
    server.stop();
    for (std::thread& each : threads_) each.join();
  }
  BlastServer<Type> server;

 private:
  std::vector<std::thread> threads_;
};

template <class Open>
ErrorCode code_of_opening(Open open) {
  try {
    open();
  } catch (const Error& error) {
    return error.code();
  }
  return {};
}

TEST(Blast, carries_arguments_and_results_of_each_kind) {
  Calculator calculator;
  Serving<Calculator> serving(calculator);
  BlastClient<Calculator> client(serving.server.address());
  EXPECT_TRUE(client.call<&Calculator::nothing>());
  EXPECT_EQ(client.call<&Calculator::minus>(5, 7).value(), -2);
  EXPECT_EQ(client.call<&Calculator::twice>("abc").value(), "abcabc");
  EXPECT_EQ(client.call<&Calculator::sum>(std::vector<double>{1, 2, 3.5}).value(), 6.5);
  EXPECT_EQ(client.call<&Calculator::words>("to be or not").value().size(), 4u);
  EXPECT_EQ(client.call<&Calculator::who>().value(), 0u) << "nobody attests it";
  const auto failed = client.call<&Calculator::fails>(std::string(1000, 'x'));
  EXPECT_EQ(failed.cause(), rpc::Cause::threw);
  EXPECT_EQ(failed.fate(), rpc::Fate::done);
  EXPECT_EQ(failed.text(), std::string(200, 'x'));
  EXPECT_TRUE(client.has<&Calculator::zeros>());
}

TEST(Blast, carries_frames_of_each_length_in_packets_and_units_of_any) {
  Calculator calculator;
  Serving<Calculator> serving(calculator, {.frame = 1 << 21, .result = 1 << 21});
  for (const auto& [packet, unit] : {std::pair{0u, 16u}, {0u, 6u}, {40u, 16u}, {1000u, 1u}, {16u, 64u}}) {
    BlastClient<Calculator> client(serving.server.address(),
                                   {.result = 1 << 21, .packet = packet, .unit = unit});
    for (const std::uint32_t length :
         {0u, 1u, 39u, 40u, 41u, 1500u, 22'000u, packet == 0 ? 1'048'576u : 0u}) {
      EXPECT_EQ(client.call<&Calculator::bytes>(std::vector<std::byte>(length, std::byte{3})).value(),
                std::uint64_t{3} * length);
      EXPECT_EQ(client.call<&Calculator::zeros>(length).value().size(), length);
    }
  }
}

Task ask(rpc::BlastLoop& loop, BlastClient<Calculator>& client, int number, int& answered) {
  auto result = co_await rpc::call<&Calculator::minus>(loop, client, number, 1);
  EXPECT_EQ(result.value(), number - 1);
  auto pending = client.start<&Calculator::square>(3u);
  if (pending.status() == Status::pending) {
    auto square = co_await rpc::result(loop, pending);
    EXPECT_EQ(square.value(), 9u);
  }
  ++answered;
}

TEST(Blast, is_awaited_by_more_tasks_than_may_call) {
  Calculator calculator;
  Serving<Calculator> serving(calculator);
  BlastClient<Calculator> client(serving.server.address()), other(serving.server.address());
  rpc::BlastLoop loop(client);
  int answered = 0;
  for (int i = 0; i < 100; ++i) loop.start(ask(loop, client, i, answered));
  std::thread beside([&] {
    for (int i = 0; i < 100; ++i) EXPECT_EQ(client.call<&Calculator::minus>(i, 2).value(), i - 2);
  });
  loop.run();
  beside.join();
  EXPECT_EQ(answered, 100);
  loop.start(ask(loop, other, 1, answered));
  EXPECT_EQ(code_of_opening([&] { loop.run(); }), ErrorCode::invalid_argument);
}

TEST(Blast, is_seen_by_hooks_on_both_sides) {
  Calculator calculator;
  Noted seen, own;
  BlastServer<Calculator, Noted> server("127.0.0.1", calculator, {}, seen);
  std::thread serving([&] { EXPECT_EQ(server.run(), Status::ok); });
  {
    BlastClient<Calculator, Noted> client(server.address(), {}, own);
    EXPECT_EQ(client.call<&Calculator::minus>(5, 7).value(), -2);
    EXPECT_EQ(client.call<&Calculator::fails>("x").cause(), rpc::Cause::threw);
    auto pending = client.start<&Calculator::nothing>();
    EXPECT_EQ(own.afters, 2) << "it goes on";
    EXPECT_EQ(pending.wait().status(), Status::ok);
  }
  server.stop();
  serving.join();
  EXPECT_EQ(own.befores, 3);
  EXPECT_EQ(own.afters, 3);
  EXPECT_EQ(seen.befores, 3);
  EXPECT_EQ(seen.afters, 3);
  EXPECT_EQ(own.failed, 1);
  EXPECT_EQ(seen.failed, 1);
}

TEST(Blast, carries_traces_into_the_calls_of_handlers) {
  constexpr rpc::Trace kTrace{std::byte{1}, std::byte{2}, std::byte{3}}, kNone{};
  const std::vector<std::byte> wanted(kTrace.begin(), kTrace.end()), none(kNone.begin(), kNone.end());
  Traced last(nullptr);
  Serving<Traced> there(last);
  BlastClient<Traced> next(there.server.address());
  Traced first(&next);
  Serving<Traced> here(first);
  BlastClient<Traced> client(here.server.address());
  EXPECT_EQ(client.call<&Traced::trace>("").value(), none);
  EXPECT_EQ(client.traced(kTrace).call<&Traced::trace>("").value(), wanted);
  EXPECT_EQ(client.within(10s).traced(kTrace).urgent().call<&Traced::trace>(std::string(20'000, 'x')).value(),
            wanted);
  EXPECT_EQ(client.traced(kNone).call<&Traced::trace>("").value(), none);
  EXPECT_EQ(client.traced(kTrace).call<&Traced::trace>(std::string(65'525, 'x')).status(), Status::too_long)
      << "with its trace";
  EXPECT_EQ(client.call<&Traced::trace>(std::string(65'525, 'x')).value(), none);
}

TEST(Blast, says_what_is_too_long) {
  Calculator calculator;
  Serving<Calculator> serving(calculator, {.frame = 1000, .result = 2000});
  BlastClient<Calculator> client(serving.server.address());
  const auto bytes = client.call<&Calculator::bytes>(std::vector<std::byte>(1000));
  EXPECT_EQ(bytes.status(), Status::too_long);
  EXPECT_EQ(bytes.fate(), rpc::Fate::not_done);
  const auto zeros = client.call<&Calculator::zeros>(2000u);
  EXPECT_EQ(zeros.status(), Status::too_long);
  EXPECT_EQ(zeros.fate(), rpc::Fate::done);
}

TEST(Blast, serves_in_several_threads_for_several_clients_and_their_threads) {
  Calculator calculator;
  Serving<Calculator> serving(calculator, {}, 3);
  BlastClient<Calculator> one(serving.server.address()), other(serving.server.address());
  std::vector<std::thread> threads;
  for (int thread = 0; thread != 4; ++thread) {
    threads.emplace_back([&, thread] {
      BlastClient<Calculator>& client = thread % 2 == 0 ? one : other;
      for (std::int32_t i = 0; i != 500; ++i)
        ASSERT_EQ(client.call<&Calculator::minus>(i, thread).value(), i - thread);
    });
  }
  for (std::thread& each : threads) each.join();
  EXPECT_EQ(serving.server.clients(), 2u);
}

TEST(Blast, has_several_calls_under_way) {
  Calculator calculator;
  Serving<Calculator> serving(calculator);
  BlastClient<Calculator> client(serving.server.address(), {.calls = 4});
  EXPECT_EQ(client.calls(), 4u);
  std::vector<rpc::Pending<std::int32_t, internal_::rpc::NoAfter, internal_::rpc::BlastClientCore>> calls;
  for (std::int32_t i = 0; i != 4; ++i) calls.push_back(client.start<&Calculator::minus>(i, 1));
  EXPECT_EQ(client.start<&Calculator::minus>(4, 1).status(), Status::queue_full);
  for (std::int32_t i = 4; i-- != 0;) EXPECT_EQ(calls[static_cast<std::size_t>(i)].wait().value(), i - 1);
}

TEST(Blast, ends_in_time_and_tells_the_handler) {
  Waiter waiter;
  Serving<Waiter> serving(waiter, {}, 2);
  BlastClient<Waiter> client(serving.server.address());
  const std::int64_t left = client.within(10s).call<&Waiter::left>().value();
  EXPECT_TRUE(left > 0 && left <= 10'000'000'000) << left;
  auto call = client.start<&Waiter::wait>();
  while (!waiter.began) EXPECT_EQ(call.wait(0ns).status(), Status::timed_out);
  call.cancel();
  EXPECT_TRUE(call.wait().value());
  const auto late = client.within(5ms).call<&Waiter::wait>();
  // Both sides count: either is the first to find that it is over.
  EXPECT_TRUE(late || late.status() == Status::timed_out);
  if (!late) {
    EXPECT_NE(client.settle(late.call(), 10s), rpc::Fate::unknown);
  }
  EXPECT_EQ(client.within(0ns).call<&Waiter::wait>().fate(), rpc::Fate::not_done);
}

TEST(Blast, is_refused_by_name) {
  Calculator calculator;
  Serving<Calculator> serving(calculator, {.clients = 1});
  const std::string address = serving.server.address();
  try {
    BlastClient<OtherMinus> client(address);
    ADD_FAILURE() << "it is let in";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::version_mismatch);
    EXPECT_NE(std::string(error.what()).find("minus(i32,i32)->i32"), std::string::npos);
  }
  while (serving.server.clients() != 0) std::this_thread::yield();
  BlastClient<Calculator> client(address);
  const auto open = [&](const std::string& at, const rpc::BlastClientOptions& options = {}) {
    return code_of_opening([&] { BlastClient<Calculator>(at, options); });
  };
  EXPECT_EQ(open(address), ErrorCode::peer_refused);
  EXPECT_GE(serving.server.refused(BlastRefused::greeting), 1u) << "more, if it had to ask again";
  for (const std::string wrong :
       {"", "127.0.0.1", "127.0.0.1:", "127.0.0.1:x", "somewhere:1", "[::1", "[::1]1"})
    EXPECT_EQ(open(wrong), ErrorCode::invalid_argument) << wrong;
  EXPECT_EQ(open(address, {.unit = 0}), ErrorCode::invalid_argument);
  EXPECT_EQ(open(address, {.unit = 65}), ErrorCode::invalid_argument);
  EXPECT_EQ(open(address, {.packet = 15}), ErrorCode::invalid_argument);
  EXPECT_EQ(open(address, {.packet = 65'000}), ErrorCode::invalid_argument);
  EXPECT_EQ(open(address, {.calls = 0}), ErrorCode::invalid_argument);
  EXPECT_EQ(open(address, {.result = 127}), ErrorCode::invalid_argument);
  EXPECT_EQ(code_of_opening([&] { BlastServer<Calculator>("127.0.0.1", calculator, {.clients = 0}); }),
            ErrorCode::invalid_argument);
  EXPECT_EQ(code_of_opening([&] { BlastServer<Calculator>(address, calculator); }), ErrorCode::system);
}

TEST(Blast, lends_nothing_by_reference) {
  Reacher reacher;
  Serving<Reacher> serving(reacher);
  BlastClient<Reacher> client(serving.server.address());
  EXPECT_EQ(client.call<&Reacher::reach>(rpc::Readable{}, rpc::Writable{}).value(),
            (std::vector{Status::refused, Status::refused}));
}

TEST(Blast, ends_calls_when_its_server_is_gone_and_finds_the_next_one) {
  Waiter waiter;
  std::optional<Serving<Waiter>> serving;
  // An address of its own: nobody else takes the port there while no server has it.
  serving.emplace(waiter, rpc::BlastServerOptions{}, 1, "127.77.0.1");
  const std::string address = serving->server.address();
  BlastClient<Waiter> client(address, {.dead = 2s});
  EXPECT_TRUE(client.call<&Waiter::left>());
  serving.reset();
  const auto lost = client.call<&Waiter::left>();
  EXPECT_EQ(lost.status(), Status::link_ended);
  EXPECT_EQ(lost.fate(), rpc::Fate::unknown);
  serving.emplace(waiter, rpc::BlastServerOptions{}, 1, address);
  // The call of before is of a session that the new server has not.
  EXPECT_EQ(client.settle(lost.call(), 10s), rpc::Fate::unknown);
  EXPECT_TRUE(client.within(10s).call<&Waiter::left>());
}

TEST(Blast, starts_calls_for_which_nobody_waits) {
  Calculator calculator;
  Serving<Calculator> serving(calculator);
  BlastClient<Calculator> client(serving.server.address(), {.calls = 2});
  for (int under_way = 0; under_way != 100;) {
    const auto one = client.start<&Calculator::nothing>();
    if (one.call().sequence != 0) ++under_way;
  }
}

TEST(Blast, loses_what_the_kernel_does_not_send_and_serves_others) {
  ofi::Datagrams port("127.0.0.1"), other("127.0.0.1");
  std::vector<std::byte> nowhere(other.address().begin(), other.address().end());
  std::fill_n(nowhere.begin() + 4, 4, std::byte{255});  // 255.255.255.255, which needs leave
  const auto refused = port.insert(nowhere), peer = port.insert(other.address());
  ASSERT_NE(refused, ofi::Datagrams::kNobody);
  const std::array<std::byte, 8> data{};
  for (int i = 0; i != 100; ++i) EXPECT_EQ(port.send(refused, data), Status::ok);
  EXPECT_EQ(port.send(peer, data), Status::ok);
  other.take_strangers();
  std::vector<std::byte> into(other.limit());
  std::optional<ofi::Datagrams::Arrival> came;
  while (!came) came = other.receive(into);
  EXPECT_EQ(came->length, data.size());
}

TEST(Blast, says_that_nobody_can_wait) {
  Calculator calculator;
  BlastServer<Calculator> server("127.0.0.1", calculator);
  rlimit most{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &most), 0);
  const rlimit one{1, most.rlim_max};  // fewer descriptors than it waits for
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &one), 0);
  const Status status = server.run();
  EXPECT_EQ(::setrlimit(RLIMIT_NOFILE, &most), 0);
  EXPECT_EQ(status, Status::cancelled);
}

// A port some of whose datagrams are lost, and some sent twice.
class LossyPort final : public fabric::DatagramPort {
 public:
  explicit LossyPort(const std::string& host) : real_(host) {}
  std::size_t limit() const noexcept override { return real_.limit(); }
  std::span<const std::byte> address() const noexcept override { return real_.address(); }
  Peer insert(std::span<const std::byte> address) override { return real_.insert(address); }
  void forget(Peer peer) noexcept override { real_.forget(peer); }
  void take_strangers() noexcept override { real_.take_strangers(); }
  Status send(Peer to, std::span<const std::byte> data) noexcept override {
    const std::uint64_t number = count_++ * 2654435761u >> 7;
    if (number % 10 == 0) return Status::ok;
    if (number % 10 == 1) static_cast<void>(real_.send(to, data));
    return real_.send(to, data);
  }
  std::optional<Arrival> receive(std::span<std::byte> into) noexcept override { return real_.receive(into); }
  int descriptor() const noexcept override { return real_.descriptor(); }
  bool may_sleep() noexcept override { return real_.may_sleep(); }
  std::uint64_t refused() const noexcept override { return real_.refused(); }

 private:
  ofi::Datagrams real_;
  std::uint64_t count_ = 0;
};

TEST(Blast, answers_each_call_where_datagrams_are_lost_and_repeated) {
  using internal_::rpc::BlastPort;
  Calculator calculator;
  internal_::rpc::BlastServerCore server(
      BlastPort{std::make_unique<LossyPort>("127.0.0.1")},
      internal_::rpc::offered<Calculator, rpc::NoHooks>(internal_::rpc::listing<Calculator>()), &calculator,
      {});
  std::thread thread([&] { EXPECT_EQ(server.run(), Status::ok); });
  {
    internal_::rpc::BlastClientCore core(
        BlastPort{std::make_unique<LossyPort>("127.0.0.1")},
        internal_::rpc::blast::words_of(internal_::rpc::blast::address_of(server.address())),
        internal_::rpc::wanted(internal_::rpc::listing<Calculator>()), {.unit = 6});
    internal_::rpc::BlastCalls<Calculator> calls(core, {}, {});
    for (std::uint32_t i = 0; i != 200; ++i) {
      EXPECT_EQ(calls.call<&Calculator::zeros>(i * 100).value().size(), i * 100);
      EXPECT_EQ(calls.call<&Calculator::bytes>(std::vector<std::byte>(i * 90, std::byte{1})).value(), i * 90);
    }
    EXPECT_GT(core.sent_again(), 0u);
  }
  EXPECT_GT(server.sent_again(), 0u);
  server.stop();
  thread.join();
}

}  // namespace
}  // namespace hamlyn::test
