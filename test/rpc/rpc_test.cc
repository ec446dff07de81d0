// Calls between real processes, and clients that do the worst that they can to a server.
#include <gtest/gtest.h>

#include <atomic>
#include <random>
#include <thread>

#include "hamlyn/rpc/coroutine.h"
#include "rpc/rpc_wire.h"
#include "test/process/on_nodes.h"
#include "test/rpc/bare_client.h"
#include "test/rpc/calculator.h"

namespace hamlyn::test {
namespace {

using namespace std::chrono_literals;
using namespace internal_::rpc;

class Rpc : public OnNodes {
 protected:
  // One thread serves a calculator meanwhile.
  void with_server(const std::function<void(Interface& client)>& work) {
    with_two([&](Interface& there, Interface& here) {
      Calculator calculator;
      rpc::Server<Calculator> server(there, "calculator", calculator);
      std::thread serving([&] { EXPECT_EQ(server.run(), Status::ok); });
      work(here);
      server.stop();
      serving.join();
    });
  }
  int serve(Line& line);
  int call(Line& line, int calls);
  [[noreturn]] void harm(std::uint64_t seed);
};

TEST_F(Rpc, takes_calls_of_several_threads_in_several_threads) {
  with_two([](Interface& there, Interface& here) {
    Calculator calculator;
    rpc::Server<Calculator> server(there, "calculator", calculator);
    std::vector<std::thread> serving, calling;
    for (int i = 0; i < 4; ++i) serving.emplace_back([&] { EXPECT_EQ(server.run(), Status::ok); });
    {
      rpc::Client<Calculator> client(here, "calculator");
      for (int thread = 0; thread < 3; ++thread) {
        calling.emplace_back([&client, thread] {
          for (int i = 0; i < 2000; ++i) {
            auto result = client.call<&Calculator::minus>(i, thread * 10'000);
            ASSERT_EQ(result.status(), Status::ok);
            ASSERT_EQ(*result, i - thread * 10'000);
            if (i % 100 != 0) continue;
            const std::size_t length = static_cast<std::size_t>(i) * 20;
            auto sum = client.call<&Calculator::bytes>(std::vector<std::byte>(length, std::byte{1}));
            ASSERT_EQ(sum.status(), Status::ok);
            ASSERT_EQ(*sum, length);
          }
        });
      }
      for (std::thread& each : calling) each.join();
    }
    {
      rpc::Client<Calculator> client(here, "calculator");
      EXPECT_EQ(client.urgent().call<&Calculator::minus>(2, 1).value(), 1);
      EXPECT_EQ(client.urgent().call<&Calculator::twice>(std::string(400, 'a')).status(), Status::too_long);
      EXPECT_EQ(client.within(kPatience).urgent().call<&Calculator::twice>("ab").value(), "abab");
    }
    server.stop();
    for (std::thread& each : serving) each.join();
    EXPECT_EQ(server.refused(rpc::Refused::sequence) + server.refused(rpc::Refused::busy), 0u);
  });
}

TEST_F(Rpc, leaves_in_rows) {
  with_server([](Interface& here) {
    rpc::Client<Calculator> client(here, "calculator");
    {
      rpc::Row row(client);
      std::vector<rpc::Pending<std::int32_t>> calls;
      for (int i = 0; i < 10; ++i) calls.push_back(row.add<&Calculator::minus>(i, 1));
      auto text = row.add<&Calculator::twice>("ab");
      EXPECT_EQ(calls[0].wait(1ms).status(), Status::timed_out);  // it has not left
      while (row.leave() == Status::queue_full) here.run();
      for (int i = 0; i < 10; ++i) EXPECT_EQ(calls[static_cast<std::size_t>(i)].wait().value(), i - 1);
      EXPECT_EQ(text.wait().value(), "abab");
    }
    std::optional<rpc::Pending<std::int32_t>> dropped;
    {
      rpc::Row row(client);
      dropped.emplace(row.add<&Calculator::minus>(1, 1));
    }
    EXPECT_EQ(dropped->wait().fate(), rpc::Fate::not_done);
    EXPECT_EQ(client.call<&Calculator::minus>(2, 1).value(), 1);
  });
}

TEST_F(Rpc, ends_the_calls_that_a_server_has_not_taken_when_it_goes) {
  with_two([](Interface& there, Interface& here) {
    Calculator calculator;
    auto server = std::make_unique<rpc::Server<Calculator>>(there, "calculator", calculator);
    std::thread serving([&] { EXPECT_EQ(server->run(), Status::ok); });
    rpc::Client<Calculator> client(here, "calculator");
    server->stop();
    serving.join();
    auto never = client.start<&Calculator::minus>(2, 1);
    EXPECT_EQ(never.wait(1ms).status(), Status::timed_out);
    server.reset();
    auto result = never.wait();
    EXPECT_EQ(result.status(), Status::link_ended);
    EXPECT_EQ(result.fate(), rpc::Fate::unknown);
    rpc::Server<Calculator> another(there, "calculator", calculator);
    std::thread again([&] { EXPECT_EQ(another.run(), Status::ok); });
    EXPECT_EQ(client.settle(result.call(), kPatience), rpc::Fate::unknown)
        << "it knows nothing of the other's";
    EXPECT_EQ(client.call<&Calculator::minus>(2, 1).value(), 1);
    another.stop();
    again.join();
  });
}

TEST_F(Rpc, refuses_in_rows_what_is_longer_than_a_frame) {
  with_server([](Interface& here) {
    rpc::Client<Calculator> client(here, "calculator");
    rpc::Row row(client);
    auto first = row.add<&Calculator::twice>("ab");
    auto longer = row.add<&Calculator::bytes>(std::vector<std::byte>(3000));
    EXPECT_EQ(longer.status(), Status::too_long);
    EXPECT_EQ(longer.wait().fate(), rpc::Fate::not_done);
    while (row.leave() == Status::queue_full) here.run();
    EXPECT_EQ(first.wait().value(), "abab");
  });
}

TEST_F(Rpc, says_that_a_result_is_too_long_for_the_room_that_the_client_has) {
  with_server([](Interface& here) {
    for (const std::size_t result : {std::size_t{512}, std::size_t{0}}) {
      rpc::Client<Calculator> client(here, "calculator", {.frame = 128, .result = result});
      auto zeros = client.call<&Calculator::zeros>(1000u);
      EXPECT_EQ(zeros.status(), Status::too_long);
      EXPECT_EQ(zeros.fate(), rpc::Fate::done);
      EXPECT_EQ(client.call<&Calculator::fails>(std::string(190, 'x')).cause(), rpc::Cause::threw);
      EXPECT_EQ(client.call<&Calculator::minus>(2, 1).value(), 1);
    }
  });
}

TEST_F(Rpc, ends_the_calls_of_more_threads_than_there_are_stacks) {
  with_server([](Interface& here) {
    rpc::Client<Calculator> client(here, "calculator", {.stacks = 2});
    std::vector<std::thread> calling;
    for (int thread = 0; thread < 6; ++thread) {
      calling.emplace_back([&] {
        for (int i = 0; i < 300; ++i) ASSERT_EQ(client.call<&Calculator::minus>(i, 1).value(), i - 1);
      });
    }
    for (std::thread& each : calling) each.join();
  });
}

Task ask(Loop& loop, rpc::Client<Calculator>& client, int number, int& answered) {
  auto result = co_await rpc::call<&Calculator::minus>(loop, client, number, 1);
  EXPECT_EQ(result.value(), number - 1);
  auto pending = client.start<&Calculator::square>(3u);
  if (pending.status() == Status::pending) {
    auto square = co_await rpc::result(loop, pending);
    EXPECT_EQ(square.value(), 9u);
  }
  ++answered;
}

TEST_F(Rpc, is_awaited_by_more_tasks_than_there_are_stacks) {
  in_child([&] {
    Interface there(options());
    Manager manager({.interface = other_options()});
    Calculator calculator;
    rpc::Server<Calculator> server(there, "calculator", calculator);
    std::thread serving([&] { EXPECT_EQ(server.run(), Status::ok); });
    {
      rpc::Client<Calculator> client(manager.interface(), "calculator");
      Loop loop(manager);
      int answered = 0;
      for (int i = 0; i < 100; ++i) loop.start(ask(loop, client, i, answered));
      loop.run();
      EXPECT_EQ(answered, 100);
    }
    server.stop();
    serving.join();
  });
}

TEST_F(Rpc, opens_while_the_program_does_other_work) {
  with_two([](Interface& there, Interface& here) {
    Calculator calculator;
    rpc::Server<Calculator> server(there, "calculator", calculator);
    rpc::Client<Calculator> client(here, here.lookup("calculator"), kBegin);
    EXPECT_EQ(client.opened(0ns), Status::timed_out);
    EXPECT_EQ(client.start<&Calculator::nothing>().wait().fate(), rpc::Fate::not_done);
    std::thread serving([&] { EXPECT_EQ(server.run(), Status::ok); });
    EXPECT_EQ(client.opened(kPatience), Status::ok);
    EXPECT_EQ(client.call<&Calculator::minus>(2, 1).value(), 1);
    server.stop();
    serving.join();
    EXPECT_EQ(server.serve_one(1s), Status::cancelled);
  });
}

TEST_F(Rpc, throws_what_the_handler_threw) {
  with_server([](Interface& here) {
    {
      rpc::Client<Calculator> client(here, "calculator");
      try {
        static_cast<void>(client.call<&Calculator::fails>("too little").value());
        ADD_FAILURE() << "nothing was thrown";
      } catch (const rpc::Failed& failed) {
        EXPECT_EQ(failed.status(), Status::refused);
        EXPECT_EQ(failed.cause(), rpc::Cause::threw);
        EXPECT_EQ(failed.fate(), rpc::Fate::done);
        EXPECT_STREQ(failed.what(), "the call has ended with refused, threw: too little");
      }
    }
  });
}

TEST_F(Rpc, is_cancelled_while_it_looks_all_the_time) {
  with_two([](Interface& there, Interface& here) {
    Calculator calculator;
    for (const rpc::Waits waits : {rpc::Waits::spin, rpc::Waits::lately, rpc::Waits::sleep}) {
      rpc::Server<Calculator> server(there, "calculator", calculator, {.waits = waits});
      std::atomic<bool> over{false};
      std::thread serving([&] {
        EXPECT_EQ(server.run(), Status::cancelled);
        over = true;
      });
      rpc::Client<Calculator> client(here, "calculator", {.waits = waits});
      EXPECT_EQ(client.call<&Calculator::minus>(2, 1).value(), 1);
      while (!over) there.cancel();
      serving.join();
      auto never = client.start<&Calculator::minus>(2, 1);
      over = false;
      std::thread waiting([&] {
        EXPECT_EQ(never.wait().status(), Status::cancelled);
        over = true;
      });
      while (!over) here.cancel();
      waiting.join();
    }
  });
}

TEST_F(Rpc, is_reopened_by_several_threads_at_once) {
  with_two([](Interface& there, Interface& here) {
    Calculator calculator;
    auto server = std::make_unique<rpc::Server<Calculator>>(there, "calculator", calculator);
    std::thread serving([&] { EXPECT_EQ(server->run(), Status::ok); });
    rpc::Client<Calculator> client(here, "calculator");
    for (int turn = 0; turn != 5; ++turn) {
      server->stop();
      serving.join();
      server.reset();
      server = std::make_unique<rpc::Server<Calculator>>(there, "calculator", calculator);
      serving = std::thread([&] { EXPECT_EQ(server->run(), Status::ok); });
      EXPECT_EQ(client.call<&Calculator::minus>(2, 1).status(), Status::link_ended);
      std::vector<std::thread> opening;
      for (int thread = 0; thread != 4; ++thread) {
        opening.emplace_back([&, thread] {
          EXPECT_EQ(client.reopen(kPatience), Status::ok);
          for (int i = 0; i != 20; ++i)
            EXPECT_EQ(client.call<&Calculator::minus>(thread, i).value(), thread - i);
        });
      }
      for (std::thread& each : opening) each.join();
      EXPECT_EQ(server->clients(), 1u);
    }
    server->stop();
    serving.join();
  });
}

// --- hostile clients

// Looks at its argument for a while, in which the caller may write wherever it can.
class Steady {
 public:
  explicit Steady(Interface& interface) : interface_(interface) {}
  bool look(std::span<const std::byte> bytes) {
    const std::vector<std::byte> first(bytes.begin(), bytes.end());
    for (int i = 0; i < 50; ++i) {
      interface_.run();
      if (!std::ranges::equal(first, bytes)) changed = true;
    }
    return true;
  }
  std::uint64_t square(std::uint64_t of) { return of * of; }

  std::atomic<bool> changed{false};

 private:
  Interface& interface_;
};
HAMLYN_RPC(Steady, look, square)

int Rpc::serve(Line& line) {
  Interface interface(options());
  Steady steady(interface);
  rpc::Server<Steady> server(interface, "steady", steady, {.clients = 8, .frame = 512, .long_frame = 4096});
  line.put('r');
  while (!line.take<char>(0ms))
    if (const Status status = server.serve_one(10ms); status != Status::ok && status != Status::timed_out)
      return 2;
  std::uint64_t refused = 0;
  for (std::size_t i = 0; i != static_cast<std::size_t>(rpc::Refused::count); ++i)
    refused += server.refused(static_cast<rpc::Refused>(i));
  line.put(refused);
  return steady.changed ? 3 : 0;
}

int Rpc::call(Line& line, int calls) {
  Interface interface(other_options());
  rpc::Client<Steady> client(interface, "steady");
  for (int i = 0; i != calls; ++i) {
    const auto number = static_cast<std::uint64_t>(i);
    auto square = client.call<&Steady::square>(number);
    if (!square) return 20 + static_cast<int>(square.status());
    if (*square != number * number) return 2;
    auto looked =
        client.call<&Steady::look>(std::vector<std::byte>(static_cast<std::size_t>(i % 2000), std::byte{5}));
    if (!looked || !*looked) return 3;
  }
  line.put('d');
  return 0;
}

TEST_F(Rpc, refuses_a_frame_that_has_no_room_for_its_trace) {
  in_child([&] {
    Interface there(options());
    Calculator calculator;
    rpc::Server<Calculator> server(there, "calculator", calculator);
    std::thread serving([&] { EXPECT_EQ(server.run(), Status::ok); });
    {
      Bare client(other_options(), "calculator");
      std::uint16_t sequence = 0;
      for (const std::size_t bytes : {0u, 8u, 15u, 16u, 24u}) {
        const std::vector<std::byte> frame(bytes);
        const CallWord word{.procedure = 1, .sequence = ++sequence, .traced = true};  // minus
        EXPECT_EQ(client.terminus.send_fast(client.to, frame, word_of(word), client.first), Status::ok);
        const ReplyWord reply = reply_of(client.next().word);
        EXPECT_EQ(reply.sequence, sequence);
        EXPECT_EQ(reply.cause, bytes == 24 ? Cause::none : Cause::bad_arguments) << bytes;
        EXPECT_EQ(reply.begun, bytes == 24);
      }
    }
    server.stop();
    serving.join();
  });
}

// Writes by all that its tickets allow, at once and all the time; nor does it take any answer.
void Rpc::harm(std::uint64_t seed) {
  Bare bare(other_options(), "steady");
  Interface& interface = bare.interface;
  Terminus& terminus = bare.terminus;
  Terminus urgent(interface, {.priority = Priority::urgent});
  const Ticket &to = bare.to, &longer = bare.longer;
  std::mt19937_64 chance(seed);
  static_cast<void>(urgent.connect(to, kPatience));
  std::vector<std::byte> data(4096);
  std::array<std::uint16_t, 4> sequence{};
  for (std::uint64_t turn = 0;; ++turn) {
    for (std::size_t i = 0; i != 64; ++i) data[chance() % data.size()] = static_cast<std::byte>(chance());
    const std::uint32_t stack = chance() % 4;
    CallWord word{.procedure = static_cast<std::uint16_t>(chance() % 16 == 0 ? chance() : chance() % 2),
                  .sequence = ++sequence[stack]};
    std::uint64_t offset = bare.first + stack * 512;
    std::size_t bytes = chance() % 512;
    // An honest call begins with its count.
    if (chance() % 2 == 0 && bytes >= 4) {
      word.procedure = 0;
      const auto count = static_cast<std::uint32_t>(bytes - 4);
      std::memcpy(data.data(), &count, sizeof count);
    }
    const LongCall long_call{word_of(word), stack};
    switch (chance() % 16) {
      case 0:
        offset = chance() % 4096;  // over frames of its own, and beyond
        break;
      case 1:
        bytes = 512 + chance() % 600;
        break;
      case 2:
        word.sequence = static_cast<std::uint16_t>(chance());
        break;
      case 3:
        static_cast<void>(
            terminus.put(to, std::span(data).first(bytes), {.offset = chance() % 4096, .notify = true}));
        break;
      case 4:
        static_cast<void>(terminus.send(longer, std::span(data).first(1 + chance() % 4096),
                                        {.metadata = std::as_bytes(std::span{&long_call, 1})}));
        break;
      case 5:
        static_cast<void>(
            terminus.send(longer, std::span(data).first(chance() % 4096),
                          {.offset = chance() % 5000, .metadata = std::span(data).first(chance() % 60)}));
        break;
      case 6:
        static_cast<void>(urgent.send_fast(to, std::span(data).first(bytes % 320), word_of(word), offset));
        break;
      case 7:
        bare.say(chance());
        break;
      case 8: {
        Ticket other = to;
        other.slot += 1 + static_cast<std::uint32_t>(chance() % 8);  // another client's, with this one's key
        static_cast<void>(terminus.send_fast(other, std::span(data).first(bytes), word_of(word), offset));
        break;
      }
      default:
        break;
    }
    static_cast<void>(terminus.send_fast(to, std::span(data).first(bytes), word_of(word), offset));
    interface.run();
  }
}

TEST_F(Rpc, serves_honest_clients_whatever_another_does_with_its_tickets) {
  Actor server([&](Line& line) { return serve(line); });
  ASSERT_TRUE(server.line().take<char>());
  std::vector<Actor> harmful;
  for (std::uint64_t seed = 1; seed <= 2; ++seed)
    harmful.emplace_back([&, seed](Line&) -> int { harm(seed); });
  Actor honest([&](Line& line) { return call(line, 200); });
  EXPECT_TRUE(honest.line().take<char>());
  EXPECT_EQ(honest.wait(), 0);
  EXPECT_TRUE(server.running());
  server.line().put('e');
  EXPECT_GT(server.line().take<std::uint64_t>().value_or(0), 0u);
  EXPECT_EQ(server.wait(), 0);
}

// A name that still stands for a server which has ended says so. Its process serves another meanwhile: one
// that serves nothing does not look at what comes.
TEST_F(Rpc, says_that_a_server_has_ended_whose_process_lives) {
  with_two([](Interface& there, Interface& here) {
    Calculator calculator;
    auto former = std::make_unique<rpc::Server<Calculator>>(there, "calculator", calculator);
    const Ticket door = here.lookup("calculator", kPatience);
    former.reset();
    there.publish("old", door);
    rpc::Server<Calculator> server(there, "another", calculator);
    std::thread serving([&] { EXPECT_EQ(server.run(), Status::ok); });
    try {
      const rpc::Client<Calculator> client(here, "old");
      ADD_FAILURE() << "nobody is there";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::peer_died) << error.what();
      EXPECT_NE(std::string(error.what()).find("it has ended"), std::string::npos) << error.what();
    }
    server.stop();
    serving.join();
  });
}

TEST_F(Rpc, has_no_clients_and_no_calls_in_a_forked_child) {
  with_two([](Interface& there, Interface& here) {
    Calculator calculator;
    rpc::Server<Calculator> server(there, "calculator", calculator);
    std::thread serving([&] { EXPECT_EQ(server.run(), Status::ok); });
    {
      rpc::Client<Calculator> client(here, "calculator");
      EXPECT_EQ(client.call<&Calculator::minus>(2, 1).value(), 1);
      const pid_t child = ::fork();
      if (child == 0) {
        ::alarm(std::chrono::seconds(kPatience).count());
        const auto result = client.call<&Calculator::minus>(2, 1);
        const bool told = result.status() == Status::forked && result.fate() == rpc::Fate::not_done &&
                          server.clients() == 0 && server.serve_one(1s) == Status::forked;
        ::_exit(told ? 0 : 1);
      }
      int end = -1;
      EXPECT_EQ(::waitpid(child, &end, 0), child);
      EXPECT_EQ(end, 0);
    }
    server.stop();
    serving.join();
  });
}

}  // namespace
}  // namespace hamlyn::test
