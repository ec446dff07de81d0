// Calls where packets are lost, late and repeated, links are cut, and anybody dies at any time.
#include <map>

#include "test/rpc/calculator.h"
#include "test/rpc/seeds.h"
#include "test/simulation/idle.h"

namespace hamlyn::test {

// Programs of other versions.
struct Differs {
  void nothing();
  std::int64_t minus(std::int64_t a, std::int64_t b);
};
HAMLYN_RPC(Differs, nothing, minus)
struct Newer {
  std::int32_t plus(std::int32_t a, std::int32_t b);
  std::int32_t minus(std::int32_t a, std::int32_t b);
};
HAMLYN_RPC(Newer, plus, minus)

namespace {

using namespace std::chrono_literals;

void serve(Hosted&, std::chrono::nanoseconds idle = 2s) {
  Interface interface;
  Calculator calculator;
  rpc::Server<Calculator> server(interface, "calculator", calculator);
  while (server.serve_one(idle) == Status::ok) {
  }
}

TEST(HostedRpc, carries_arguments_and_results_of_each_kind) {
  Hosted hosted;
  hosted.add([](Hosted& all) { serve(all, 100ms); });
  hosted.add([](Hosted& all) {
    Interface interface;
    rpc::Client<Calculator> client(interface, "calculator");
    all.expect(client.call<&Calculator::nothing>().status() == Status::ok, "nothing");
    auto difference = client.call<&Calculator::minus>(5, 7);
    all.expect(difference && *difference == -2, "two integers in, one out");
    auto square = client.call<&Calculator::square>(1u << 20);
    all.expect(square && *square == std::uint64_t{1} << 40, "a number of another type");
    auto twice = client.call<&Calculator::twice>("abc");
    all.expect(twice && *twice == "abcabc", "text");
    auto sum = client.call<&Calculator::sum>(std::vector<double>{1, 2, 3.5});
    all.expect(sum && *sum == 6.5, "a span");
    auto words = client.call<&Calculator::words>("to be or not");
    all.expect(words && *words == std::vector<std::string>{"to", "be", "or", "not"}, "a list of text");
    auto middle = client.call<&Calculator::middle>(Point{-1, 0}, Point{-3, 2}, true);
    all.expect(middle && std::get<0>(*middle).x == -2 && std::get<1>(*middle) == Sign::minus, "a tuple");
    auto who = client.call<&Calculator::who>();
    all.expect(who && *who == interface.id(), "who calls");
    auto failed = client.call<&Calculator::fails>(std::string(1000, 'x'));
    all.expect(failed.status() == Status::refused && failed.cause() == rpc::Cause::threw &&
                   failed.fate() == rpc::Fate::done && failed.text() == std::string(200, 'x'),
               "an exception");
  });
  hosted.run();
}

TEST(HostedRpc, carries_frames_of_each_length) {
  Hosted hosted;
  hosted.add([](Hosted& all) { serve(all, 100ms); });
  hosted.add([](Hosted& all) {
    Interface interface;
    rpc::Client<Calculator> client(interface, "calculator");
    for (const std::size_t length :
         {0u, 1u, 12u, 13u, 36u, 37u, 60u, 64u, 500u, 1500u, 2044u, 2045u, 5000u, 30'000u, 65'532u}) {
      auto sum = client.call<&Calculator::bytes>(std::vector<std::byte>(length, std::byte{3}));
      all.expect(sum && *sum == 3 * length, "an argument of that length");
      auto zeros = client.call<&Calculator::zeros>(static_cast<std::uint32_t>(length));
      all.expect(zeros && zeros->size() == length, "a result of that length");
    }
    auto sum = client.call<&Calculator::bytes>(std::vector<std::byte>(65'533));
    all.expect(sum.status() == Status::too_long && sum.fate() == rpc::Fate::not_done, "too long");
    auto zeros = client.call<&Calculator::zeros>(65'533);
    all.expect(zeros.status() == Status::too_long && zeros.fate() == rpc::Fate::done &&
                   zeros.cause() == rpc::Cause::result_too_long,
               "a result too long");
    all.expect(client.call<&Calculator::minus>(2, 1).status() == Status::ok, "a call after that");
  });
  hosted.run();
}

// --- each call is done once or not at all, as its caller was told

// Notes what is done, and how long it takes.
class Ledger {
 public:
  explicit Ledger(simulation::Host& host) : host_(host) {}
  std::uint64_t note(std::uint64_t number) {
    ++done_[number];
    if (number % 5 == 0) host_.pause(number % 7 * 50'000);
    return number * number;
  }
  std::uint64_t note_long(std::uint64_t number, std::span<const std::byte> data) {
    return note(number) + data.size();
  }
  int done(std::uint64_t number) const {
    const auto found = done_.find(number);
    return found == done_.end() ? 0 : found->second;
  }

 private:
  simulation::Host& host_;
  std::map<std::uint64_t, int> done_;
};
HAMLYN_RPC(Ledger, note, note_long)

// Fates that callers were told.
using Told = std::map<std::uint64_t, rpc::Fate>;

void keep(Ledger& ledger, std::chrono::nanoseconds idle) {
  Interface interface;
  rpc::Server<Ledger> server(interface, "ledger", ledger, {.stacks = 4});
  while (server.serve_one(idle) == Status::ok) {
  }
}

void judge(const Ledger& ledger, const Told& told) {
  for (const auto& [number, fate] : told) {
    const int done = ledger.done(number);
    EXPECT_LE(done, 1) << number;
    const int wanted = fate == rpc::Fate::done ? 1 : fate == rpc::Fate::not_done ? 0 : done;
    EXPECT_EQ(done, wanted) << number;
  }
}

// Calls until it has made so many, whatever becomes of them. Returns how many stayed unknown.
void call_ledger(Hosted& all, Told& told, std::uint64_t from, std::uint64_t calls, std::uint64_t server = 1) {
  Interface interface;
  std::optional<rpc::Client<Ledger>> client;
  std::uint64_t number = from;
  std::vector<std::byte> data(5000, std::byte{1});
  while (number != from + calls && all.alive() && all.alive(server)) {
    try {
      if (!client) client.emplace(interface, "ledger", rpc::ClientOptions{.timeout = 100ms, .time = 1s});
    } catch (const Error&) {
      all.host.pause(kMillisecond / 10);
      continue;
    }
    struct Under {
      std::uint64_t number;
      rpc::Pending<std::uint64_t> call;
    };
    std::vector<Under> under;
    bool ended = false;
    const std::uint64_t together = 1 + number % 4;
    for (std::uint64_t i = 0; i != together && number != from + calls; ++i, ++number) {
      const bool longer = number % 11 == 0;
      under.push_back({number, longer ? client->start<&Ledger::note_long>(number, data)
                                      : client->within(1s).start<&Ledger::note>(number)});
    }
    for (Under& each : under) {
      const bool impatient = each.number % 3 == 0;
      auto result = each.call.wait(impatient ? 20us : 1s);
      if (result.status() == Status::timed_out) {
        if (each.number % 2 == 0) each.call.cancel();
        result = each.call.wait(1s);
      }
      ended |= result.status() == Status::link_ended;
      if (result)
        all.expect(*result == each.number * each.number + (each.number % 11 == 0 ? data.size() : 0),
                   "another call's result");
      rpc::Fate fate = result.fate();
      if (fate == rpc::Fate::unknown) fate = client->settle(result.call(), 1s);
      told[each.number] = fate;
    }
    if (ended && client->reopen(50ms) != Status::ok) client.reset();
  }
}

TEST(HostedRpc, is_done_once_or_not_at_all_as_its_caller_was_told) {
  std::uint64_t unknown = 0, done = 0, not_done = 0;
  for_each_seed(kRoughSeeds, [&](std::uint64_t seed) {
    Hosted hosted(rough_rules(seed), seed);
    simulation::Host& host = hosted.host;
    Ledger ledger(host);
    Told told;
    hosted.add([&](Hosted&) { keep(ledger, 2s); });
    for (std::uint64_t i = 0; i < 3; ++i)
      hosted.add([&told, i](Hosted& all) { call_ledger(all, told, 1 + 1000 * i, 40); });
    for (int i = 0; i < 6; ++i) {
      const std::uint64_t who = 2 + host.chance().below(3), packets = host.chance().below(4);
      host.after(host.chance().below(8 * kMillisecond),
                 [&host, who, packets] { host.cut(host.inhabitant(who), host.inhabitant(1), packets); });
    }
    hosted.run();
    judge(ledger, told);
    EXPECT_EQ(told.size(), 120u);
    for (const auto& [number, fate] : told)
      ++(fate == rpc::Fate::done ? done : fate == rpc::Fate::not_done ? not_done : unknown);
  });
  EXPECT_GT(not_done, 0u);
  EXPECT_EQ(unknown, 0u);  // the server lives, and remembers
  RecordProperty("done", static_cast<int>(done));
}

TEST(HostedRpc, is_done_once_at_most_when_anybody_dies) {
  for (const std::uint64_t victim : {1u, 2u}) {
    SCOPED_TRACE(victim);
    std::optional<Ledger> ledger;
    Told told;
    with_a_death_at_any_time(victim, [&](Hosted& hosted) {
      ledger.emplace(hosted.host);
      told.clear();
      hosted.add([&](Hosted&) { keep(*ledger, 10ms); });
      for (std::uint64_t i = 0; i < 2; ++i)
        hosted.add([&told, i](Hosted& all) { call_ledger(all, told, 1 + 1000 * i, 6); });
    });
  }
}

TEST(HostedRpc, of_a_server_that_was_started_again_stays_unknown_and_is_not_done_twice) {
  for_each_seed(kRoughSeeds, [&](std::uint64_t seed) {
    Hosted hosted(rough_rules(seed), seed);
    simulation::Host& host = hosted.host;
    Ledger ledger(host);
    Told told;
    hosted.add([&](Hosted&) { keep(ledger, 2s); });
    hosted.add([&](Hosted& all) {
      all.host.pause(2 * kMillisecond);
      for (int i = 0; i != 100; ++i) {
        try {
          keep(ledger, 5s);  // clients on another host find out in a second
          return;
        } catch (const Error&) {  // the name is the first one's still
          all.host.pause(kMillisecond);
        }
      }
    });
    for (std::uint64_t i = 0; i < 2; ++i)
      hosted.add([&told, i](Hosted& all) { call_ledger(all, told, 1 + 1000 * i, 30, 3 + i); });
    hosted.kill(1, kMillisecond / 2 + host.chance().below(3 * kMillisecond));
    hosted.run();
    judge(ledger, told);
    EXPECT_EQ(told.size(), 60u);
  });
}

// --- what is refused, by name

TEST(HostedRpc, refuses_what_differs_by_name_and_takes_what_was_added) {
  Hosted hosted;
  hosted.add([](Hosted& all) { serve(all, 100ms); });
  hosted.add([](Hosted& all) {
    Interface interface;
    std::string said;
    try {
      rpc::Client<Differs> client(interface, "calculator");
    } catch (const Error& error) {
      all.expect(error.code() == ErrorCode::version_mismatch, "another error");
      said = error.what();
    }
    all.expect(said.find("minus(i64,i64)->i64") != said.npos && said.find("minus(i32,i32)->i32") != said.npos,
               "it does not say both signatures");
    rpc::Client<Newer> newer(interface, "calculator");
    all.expect(newer.has<&Newer::minus>() && !newer.has<&Newer::plus>(), "which there are");
    const auto sum = newer.call<&Newer::plus>(1, 2);
    all.expect(sum.status() == Status::refused && sum.cause() == rpc::Cause::no_procedure &&
                   sum.fate() == rpc::Fate::not_done,
               "one that the server has not");
    auto difference = newer.call<&Newer::minus>(1, 2);
    all.expect(difference && *difference == -1, "one at another place");
  });
  hosted.run();
}

TEST(HostedRpc, says_when_a_server_or_a_client_is_full) {
  Hosted hosted;
  hosted.add([](Hosted& all) {
    Interface interface;
    Ledger ledger(all.host);
    rpc::Server<Ledger> server(interface, "ledger", ledger, {.clients = 2, .of_one = 1, .stacks = 2});
    while (server.serve_one(100ms) == Status::ok) {
    }
    all.expect(server.refused(rpc::Refused::greeting) == 2, "who was turned away");
    all.expect(server.clients() == 0, "somebody is there still");
  });
  hosted.add([](Hosted& all) {
    Interface interface;
    rpc::Client<Ledger> client(interface, "ledger");
    all.expect(client.stacks() == 2, "stacks");
    all.expect(code_of([&] { rpc::Client<Ledger>(interface, "ledger"); }) == ErrorCode::peer_refused,
               "two of one interface");
    auto first = client.start<&Ledger::note>(5), second = client.start<&Ledger::note>(6);
    auto third = client.start<&Ledger::note>(7);
    all.expect(third.status() == Status::queue_full && third.wait().fate() == rpc::Fate::not_done, "a third");
    const auto fourth = client.within(1ms).call<&Ledger::note>(8);  // waits for a stack
    all.expect(fourth.status() == Status::timed_out && fourth.fate() == rpc::Fate::not_done, "a fourth");
    all.expect(*first.wait() == 25 && *second.wait() == 36, "those that were under way");
    all.host.pause(20 * kMillisecond);
  });
  hosted.add([](Hosted& all) {
    Interface interface;
    rpc::Client<Ledger> client(interface, "ledger");
    all.host.pause(20 * kMillisecond);
  });
  hosted.add([](Hosted& all) {
    Interface interface;
    all.host.pause(10 * kMillisecond);
    all.expect(code_of([&] { rpc::Client<Ledger>(interface, "ledger"); }) == ErrorCode::peer_refused,
               "three of all");
  });
  hosted.run();
}

// --- time, cancellation, depth

// Waits until it is cancelled, or for a while.
class Slow {
 public:
  explicit Slow(simulation::Host& host) : host_(host) {}
  bool wait(rpc::Call& call, std::uint32_t milliseconds) {
    ++begun;
    for (std::uint32_t i = 0; i != milliseconds * 10; ++i) {
      if (call.cancelled()) return false;
      host_.pause(kMillisecond / 10);
    }
    return true;
  }
  std::int64_t left(rpc::Call& call) { return call.left().count(); }

  int begun = 0;

 private:
  simulation::Host& host_;
};
HAMLYN_RPC(Slow, wait, left)

TEST(HostedRpc, ends_in_time_and_tells_the_handler) {
  Hosted hosted;
  int begun = 0;
  hosted.add([&](Hosted& all) {
    Interface interface;
    Slow slow(all.host);
    rpc::Server<Slow> server(interface, "slow", slow);
    while (server.serve_one(100ms) == Status::ok) {
    }
    begun = slow.begun;
  });
  hosted.add([](Hosted& all) {
    Interface interface;
    rpc::Client<Slow> client(interface, "slow");
    auto left = client.within(5ms).call<&Slow::left>();
    all.expect(left && *left > 4'900'000 && *left <= 5'000'000, "the time that is left travels");
    left = client.call<&Slow::left>();
    all.expect(left && *left == std::chrono::nanoseconds::max().count(), "no deadline");
    // One is begun and told to end; one behind it is never begun.
    auto first = client.start<&Slow::wait>(50u);
    auto second = client.start<&Slow::wait>(50u);
    all.host.pause(kMillisecond);
    second.cancel();
    first.cancel();
    auto was_first = first.wait();
    all.expect(was_first && !*was_first, "the handler is told");
    const auto was_second = second.wait();
    all.expect(was_second.cause() == rpc::Cause::cancelled && was_second.fate() == rpc::Fate::not_done,
               "it was begun");
    auto late = client.within(2ms).call<&Slow::wait>(50u);
    all.expect(late.status() == Status::timed_out && late.fate() == rpc::Fate::unknown, "it is in time");
    all.expect(client.settle(late.call(), 1s) == rpc::Fate::done, "it was begun, and told to end");
    const auto past = client.within(0ns).call<&Slow::wait>(50u);
    all.expect(past.status() == Status::timed_out && past.fate() == rpc::Fate::not_done, "time that is over");
  });
  hosted.run();
  EXPECT_EQ(begun, 2);
}

// Keeps each call until nobody waits for it.
class Desk {
 public:
  void ask(rpc::Answer<void> answer) {
    kept_.push_back(std::move(answer));
    ++asked_;
  }
  void drop_what_was_cancelled() {
    std::erase_if(kept_, [](const rpc::Answer<void>& each) { return each.cancelled(); });
  }
  bool over() const { return asked_ != 0 && kept_.empty(); }

 private:
  std::vector<rpc::Answer<void>> kept_;
  int asked_ = 0;
};
HAMLYN_RPC(Desk, ask)

enum class Gives { cancel, time, leave, death };

void ask_in_vain(Hosted& all, Gives how) {
  Interface interface;
  rpc::Client<Desk> client(interface, "desk");
  if (how == Gives::time) {
    all.expect(client.within(100ms).call<&Desk::ask>().status() == Status::timed_out, "it was answered");
    return all.host.pause(1000 * kMillisecond);  // the server hears of that, not of the end
  }
  auto asked = client.start<&Desk::ask>();
  all.host.pause(100 * kMillisecond);  // the server has it by then
  if (how == Gives::death) return all.host.pause(1000 * kMillisecond);
  if (how == Gives::leave) return;
  asked.cancel();
  all.expect(asked.wait().cause() == rpc::Cause::unanswered, "the server has not dropped it");
}

// Sleeps without a timer, and asks its answers only when it was woken.
void keep_until_nobody_waits(Hosted& all, bool by_descriptor) {
  Interface interface;
  Desk desk;
  rpc::Server<Desk> server(interface, "desk", desk);
  const int descriptor = by_descriptor ? server.descriptor() : -1;
  while (all.alive()) {
    if (!by_descriptor) all.expect(server.serve_one(20s) == Status::ok, "it was not woken");
    while (by_descriptor && server.serve_one(0s) == Status::ok) {
    }
    desk.drop_what_was_cancelled();
    if (desk.over()) break;
    if (by_descriptor && !wait_until_readable(descriptor)) return;
  }
  static_cast<void>(server.serve_one(100ms));  // what it has said arrives before it goes
}

TEST(HostedRpc, has_who_owes_an_answer_woken_when_nobody_waits_for_it) {
  for (std::uint64_t seed = 0; seed != 6; ++seed) {
    for (const bool by_descriptor : {false, true}) {
      for (const Gives how : {Gives::cancel, Gives::time, Gives::leave, Gives::death}) {
        SCOPED_TRACE(testing::Message() << seed << ' ' << by_descriptor << ' ' << static_cast<int>(how));
        Hosted hosted(rough_rules(seed), seed);
        hosted.add([&](Hosted& all) { keep_until_nobody_waits(all, by_descriptor); });
        hosted.add([&](Hosted& all) { ask_in_vain(all, how); });
        if (how == Gives::death) hosted.kill(2, 300 * kMillisecond);
        hosted.run();
      }
    }
  }
}

// Calls itself, through another service and back.
class Deep {
 public:
  Deep(Interface& interface, const char* next) : interface_(interface), next_(next) {}
  std::int32_t go(std::int32_t deep);
  std::int64_t left(rpc::Call& call, bool on);

 private:
  Interface& interface_;
  const char* next_;
};
HAMLYN_RPC(Deep, go, left)

std::int32_t Deep::go(std::int32_t deep) {
  rpc::Client<Deep> client(interface_, next_);
  auto result = client.call<&Deep::go>(deep + 1);
  if (result.cause() == rpc::Cause::too_deep) return deep;
  return result.value();
}
std::int64_t Deep::left(rpc::Call& call, bool on) {
  if (!on) return call.left().count();
  rpc::Client<Deep> client(interface_, next_);
  return client.call<&Deep::left>(false).value();
}

// A server to which nobody comes, and a client whose call nobody serves.
TEST(HostedRpc, sleeps_while_nothing_comes) {
  for (const bool calls : {false, true}) {
    Hosted hosted;
    IdleWatch watch(hosted, calls ? 2 : 1);
    hosted.add([&](Hosted& all) {
      Interface interface;
      Calculator calculator;
      rpc::Server<Calculator> server(interface, "calculator", calculator);
      if (calls) {
        for (int i = 0; i != 5; ++i) static_cast<void>(server.serve_one(100ms));  // lets the client in
        return all.host.pause(60 * IdleWatch::kSecond);
      }
      all.expect(server.serve_one(IdleWatch::kWait) == Status::timed_out, "nothing comes");
      watch.returned();
    });
    hosted.add([&](Hosted& all) {
      if (!calls) return;
      Interface interface;
      rpc::Client<Calculator> client(interface, "calculator");
      all.host.pause(IdleWatch::kSecond);
      auto answer = client.within(IdleWatch::kWait).call<&Calculator::minus>(2, 1);
      all.expect(answer.status() == Status::timed_out, "nobody serves it");
      watch.returned();
    });
    hosted.run();
    watch.expect_idle();
  }
}

TEST(HostedRpc, gives_its_time_and_depth_to_the_calls_of_its_handler) {
  Hosted hosted;
  for (const bool first : {true, false}) {
    hosted.add([first](Hosted&) {
      Interface interface;
      Deep deep(interface, first ? "second" : "first");
      rpc::Server<Deep> server(interface, first ? "first" : "second", deep);
      while (server.serve_one(100ms) == Status::ok) {
      }
    });
  }
  hosted.add([](Hosted& all) {
    Interface interface;
    rpc::Client<Deep> client(interface, "first");
    auto left = client.within(9ms).call<&Deep::left>(true);
    all.expect(left && *left > 0 && *left < 9'000'000, "the time is another's");
    left = client.call<&Deep::left>(true);
    all.expect(left && *left == std::chrono::nanoseconds::max().count(), "there is a deadline");
  });
  hosted.run();
}

}  // namespace
}  // namespace hamlyn::test
