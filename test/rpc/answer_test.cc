// Answers that handlers give later, from any thread, or never.
#include <gtest/gtest.h>

#include <unistd.h>

#include <condition_variable>
#include <deque>
#include <functional>
#include <future>
#include <mutex>
#include <thread>

#include "hamlyn/rpc.h"
#include "test/process/on_nodes.h"

namespace hamlyn::test {
namespace {

using namespace std::chrono_literals;

// Keeps what it is asked until somebody says what becomes of it.
class Desk {
 public:
  struct Kept {
    rpc::Answer<std::string> answer;
    std::string question;
  };
  void ask(rpc::Answer<std::string> answer, std::string_view question) {
    if (question == "throw") throw std::runtime_error("not even begun");
    if (question == "drop") return;
    if (question == "now") {
      EXPECT_EQ(answer.give("at once"), Status::ok);
      EXPECT_EQ(answer.give("twice"), Status::invalid);
      EXPECT_TRUE(answer.cancelled());
      return;
    }
    const std::lock_guard guard(mutex_);
    kept_.push_back({std::move(answer), std::string(question)});
    came_.notify_all();
  }
  void signal(rpc::Call& call, rpc::Answer<void> answer, std::uint64_t who) {
    EXPECT_EQ(call.client(), who);
    EXPECT_EQ(answer.give(), Status::ok);
  }
  std::int32_t minus(std::int32_t a, std::int32_t b) { return a - b; }
  // The answer is given by another thread; the handler goes on.
  void stay(rpc::Call& call, rpc::Answer<std::string> answer, std::string_view text) {
    std::thread([this, answer = std::move(answer)]() mutable { ends(std::move(answer)); }).join();
    goes_on(call, text);
  }
  std::function<void(rpc::Answer<std::string>)> ends = [](rpc::Answer<std::string> answer) {
    EXPECT_EQ(answer.give("given"), Status::ok);
    EXPECT_EQ(answer.give("twice"), Status::invalid);
  };
  std::function<void(rpc::Call&, std::string_view)> goes_on;

  Kept take() {
    std::unique_lock guard(mutex_);
    came_.wait(guard, [&] { return !kept_.empty(); });
    Kept out = std::move(kept_.front());
    kept_.pop_front();
    return out;
  }

 private:
  std::mutex mutex_;
  std::condition_variable came_;
  std::deque<Kept> kept_;
};
HAMLYN_RPC(Desk, ask, signal, minus, stay)

// A place where a handler and its test wait for each other.
struct Meeting {
  std::promise<void> stays, may_return;
  // By the handler.
  void stay() {
    stays.set_value();
    may_return.get_future().wait();
  }
};

// Looks at the call behind its handler.
struct LooksBehind {
  template <auto kFunction, class Returned>
  void after(rpc::Call& call, const Returned*) noexcept {
    client = call.client();
    user = call.user();
  }
  std::atomic<std::uint64_t> client{0};
  std::atomic<std::uint32_t> user{0};
};

class RpcAnswer : public OnNodes {
 protected:
  void with_desk(const rpc::ServerOptions& options,
                 const std::function<void(Desk& desk, Interface& here)>& work, std::size_t threads = 1) {
    with_two([&](Interface& there, Interface& here) {
      Desk desk;
      rpc::Server<Desk> server(there, "desk", desk, options);
      std::vector<std::jthread> serving(threads);
      for (std::jthread& each : serving) each = std::jthread([&] { EXPECT_EQ(server.run(), Status::ok); });
      work(desk, here);
      server.stop();
    });
  }
};

TEST_F(RpcAnswer, is_given_later_from_another_thread) {
  with_desk({}, [](Desk& desk, Interface& here) {
    rpc::Client<Desk> client(here, "desk");
    std::vector<rpc::Pending<std::string>> asked;
    for (int i = 0; i != 16; ++i) asked.push_back(client.start<&Desk::ask>(std::to_string(i)));
    std::thread answering([&] {
      std::vector<Desk::Kept> all;
      for (int i = 0; i != 16; ++i) all.push_back(desk.take());
      for (std::size_t i = all.size(); i-- != 0;)  // in another order
        EXPECT_EQ(all[i].answer.give(all[i].question + "!"), Status::ok);
    });
    for (std::size_t i = 0; i != asked.size(); ++i)
      EXPECT_EQ(asked[i].wait().value(), std::to_string(i) + "!");
    answering.join();
    EXPECT_EQ(client.call<&Desk::ask>("now").value(), "at once");
    EXPECT_EQ(client.call<&Desk::signal>(here.id()).status(), Status::ok);
  });
}

TEST_F(RpcAnswer, that_is_dropped_or_fails_is_told_by_name) {
  with_desk({}, [](Desk& desk, Interface& here) {
    rpc::Client<Desk> client(here, "desk", {.result = 4096});
    const auto dropped = client.call<&Desk::ask>("drop");
    EXPECT_EQ(dropped.status(), Status::refused);
    EXPECT_EQ(dropped.cause(), rpc::Cause::unanswered);
    EXPECT_EQ(dropped.fate(), rpc::Fate::done);
    const auto threw = client.call<&Desk::ask>("throw");
    EXPECT_EQ(threw.cause(), rpc::Cause::threw);
    EXPECT_EQ(threw.text(), "not even begun");
    {
      auto later = client.start<&Desk::ask>("later");
      static_cast<void>(desk.take());  // dropped by another
      EXPECT_EQ(later.wait().cause(), rpc::Cause::unanswered);
    }
    auto failed = client.start<&Desk::ask>("fail");
    EXPECT_EQ(desk.take().answer.fail(std::string(300, 'x')), Status::ok);
    EXPECT_EQ(failed.wait().text(), std::string(200, 'x'));
    auto longer = client.start<&Desk::ask>("long");
    EXPECT_EQ(desk.take().answer.give(std::string(5000, 'x')), Status::too_long);
    EXPECT_EQ(longer.wait().cause(), rpc::Cause::result_too_long);
    auto whole = client.start<&Desk::ask>("whole");
    EXPECT_EQ(desk.take().answer.give(std::string(3000, 'x')), Status::ok);
    EXPECT_EQ(whole.wait().value(), std::string(3000, 'x'));
  });
}

TEST_F(RpcAnswer, is_owed_for_so_many_calls_and_no_more) {
  with_desk({.owed = 3}, [](Desk& desk, Interface& here) {
    rpc::Client<Desk> client(here, "desk");
    std::vector<rpc::Pending<std::string>> asked;
    std::vector<Desk::Kept> kept;
    for (int i = 0; i != 3; ++i) {
      asked.push_back(client.start<&Desk::ask>("keep"));
      kept.push_back(desk.take());
    }
    const auto refused = client.call<&Desk::ask>("one more");
    EXPECT_EQ(refused.cause(), rpc::Cause::too_many);
    EXPECT_EQ(refused.fate(), rpc::Fate::not_done);
    EXPECT_EQ(client.call<&Desk::minus>(3, 2).value(), 1) << "it owes nothing";
    kept.pop_back();
    EXPECT_EQ(asked[2].wait().cause(), rpc::Cause::unanswered);
    EXPECT_EQ(client.call<&Desk::ask>("now").value(), "at once");
  });
}

TEST_F(RpcAnswer, tells_whether_anybody_waits) {
  with_desk({}, [](Desk& desk, Interface& here) {
    std::optional<Desk::Kept> gone;
    {
      rpc::Client<Desk> client(here, "desk");
      auto asked = client.start<&Desk::ask>("cancelled");
      Desk::Kept kept = desk.take();
      EXPECT_FALSE(kept.answer.cancelled());
      asked.cancel();
      while (!kept.answer.cancelled()) here.run();
      EXPECT_EQ(kept.answer.give("all the same"), Status::ok);
      EXPECT_EQ(asked.wait().value(), "all the same");
      auto timed = client.within(1ms).start<&Desk::ask>("timed");
      Desk::Kept late = desk.take();
      while (!late.answer.cancelled()) here.run();
      auto left = client.start<&Desk::ask>("left");
      gone.emplace(desk.take());
    }
    while (!gone->answer.cancelled()) here.run();
    EXPECT_EQ(gone->answer.give("to nobody"), Status::link_ended);
  });
}

TEST_F(RpcAnswer, outlives_its_server) {
  with_two([](Interface& there, Interface& here) {
    Desk desk;
    std::optional<Desk::Kept> kept;
    {
      rpc::Server<Desk> server(there, "desk", desk);
      std::thread serving([&] { EXPECT_EQ(server.run(), Status::ok); });
      rpc::Client<Desk> client(here, "desk");
      auto asked = client.start<&Desk::ask>("kept");
      kept.emplace(desk.take());
      server.stop();
      serving.join();
    }
    EXPECT_TRUE(kept->answer.cancelled());
    EXPECT_EQ(kept->answer.give("too late"), Status::link_ended);
    EXPECT_EQ(kept->answer.fail("twice"), Status::invalid);
    rpc::Answer<std::string> moved = std::move(kept->answer);
    EXPECT_EQ(kept->answer.give("moved"), Status::invalid);
  });
}

TEST_F(RpcAnswer, that_is_given_early_leaves_the_handler_its_long_frame) {
  with_desk(
      {},
      [](Desk& desk, Interface& here) {
        rpc::Client<Desk> client(here, "desk");
        const std::string first(5000, 'a'), second(5000, 'b');
        Meeting meeting;
        desk.goes_on = [&](rpc::Call&, std::string_view text) {
          if (text != first) {
            EXPECT_EQ(text, second);
            return;
          }
          meeting.stay();
          EXPECT_EQ(text, first) << "changed under its handler";
        };
        auto one = client.start<&Desk::stay>(first);
        meeting.stays.get_future().wait();
        for (int i = 0; i != 100; ++i) EXPECT_EQ(client.call<&Desk::minus>(3, 2).value(), 1);
        EXPECT_EQ(one.wait(0ns).status(), Status::timed_out);
        EXPECT_EQ(client.start<&Desk::stay>(second).status(), Status::queue_full) << "its frame is in use";
        meeting.may_return.set_value();
        EXPECT_EQ(one.wait().value(), "given");
        EXPECT_EQ(client.call<&Desk::stay>(second).value(), "given");
      },
      2);
}

TEST_F(RpcAnswer, that_is_given_early_leaves_the_handler_its_client) {
  with_two([](Interface& there, Interface& here) {
    Desk desk;
    LooksBehind hooks;
    rpc::Server<Desk, LooksBehind> server(there, "desk", desk, {}, hooks);
    std::vector<std::jthread> serving(2);
    for (std::jthread& each : serving) each = std::jthread([&] { EXPECT_EQ(server.run(), Status::ok); });
    rpc::Client<Desk> other(here, "desk");
    for (const std::size_t length : {10u, 5000u}) {
      const std::string said(length, 'a');
      Meeting meeting;
      desk.goes_on = [&](rpc::Call& call, std::string_view text) {
        meeting.stay();
        EXPECT_TRUE(call.cancelled());
        EXPECT_EQ(call.client(), here.id());
        EXPECT_EQ(call.user(), ::geteuid());
        EXPECT_EQ(text, said);
        hooks.client = hooks.user = ~0u;
      };
      {
        rpc::Client<Desk> client(here, "desk");
        auto asked = client.start<&Desk::stay>(said);
        meeting.stays.get_future().wait();
      }
      // The client that leaves was heard before this call.
      EXPECT_EQ(other.call<&Desk::minus>(3, 2).value(), 1);
      EXPECT_EQ(server.clients(), 2u) << "its handler looks at it";
      meeting.may_return.set_value();
      while (server.clients() != 1) here.run();
      EXPECT_EQ(hooks.client, here.id());
      EXPECT_EQ(hooks.user, ::geteuid());
    }
    server.stop();
  });
}

TEST_F(RpcAnswer, that_is_given_early_keeps_its_stack) {
  with_desk(
      {},
      [](Desk& desk, Interface& here) {
        rpc::Client<Desk> client(here, "desk", {.stacks = 1});
        rpc::Client<Desk> other(here, "desk");
        Meeting meeting;
        std::promise<void> begun;
        bool cancelled = true;
        desk.goes_on = [&](rpc::Call& call, std::string_view text) {
          if (text == "first") {
            meeting.stay();
            cancelled = call.cancelled();
          } else {
            begun.set_value();
            while (!call.cancelled()) std::this_thread::yield();
          }
        };
        auto one = client.start<&Desk::stay>("first");
        meeting.stays.get_future().wait();
        EXPECT_EQ(other.call<&Desk::minus>(3, 2).value(), 1);
        EXPECT_EQ(one.wait(0ns).status(), Status::timed_out);
        EXPECT_EQ(client.start<&Desk::stay>("early").status(), Status::queue_full);
        meeting.may_return.set_value();
        EXPECT_EQ(one.wait().value(), "given");
        EXPECT_FALSE(cancelled);
        auto two = client.start<&Desk::stay>("second");
        begun.get_future().wait();
        two.cancel();
        EXPECT_EQ(two.wait().value(), "given");
      },
      2);
}

TEST_F(RpcAnswer, that_is_given_early_is_told_as_it_was_given) {
  with_desk({}, [](Desk& desk, Interface& here) {
    rpc::Client<Desk> client(here, "desk", {.result = 4096});
    desk.goes_on = [](rpc::Call&, std::string_view) { throw std::runtime_error("behind it"); };
    EXPECT_EQ(client.call<&Desk::stay>("").value(), "given");
    desk.ends = [](rpc::Answer<std::string> answer) {
      EXPECT_EQ(answer.give(std::string(3000, 'x')), Status::ok);
    };
    EXPECT_EQ(client.call<&Desk::stay>("").value(), std::string(3000, 'x'));
    desk.ends = [](rpc::Answer<std::string> answer) {
      EXPECT_EQ(answer.give(std::string(5000, 'x')), Status::too_long);
    };
    EXPECT_EQ(client.call<&Desk::stay>("").cause(), rpc::Cause::result_too_long);
    desk.ends = [](rpc::Answer<std::string> answer) { EXPECT_EQ(answer.fail("early"), Status::ok); };
    EXPECT_EQ(client.call<&Desk::stay>("").text(), "early");
    desk.ends = [](rpc::Answer<std::string>) {};
    EXPECT_EQ(client.call<&Desk::stay>("").text(), "behind it");
    desk.goes_on = [](rpc::Call&, std::string_view) {};
    EXPECT_EQ(client.call<&Desk::stay>("").cause(), rpc::Cause::unanswered);
  });
}

}  // namespace
}  // namespace hamlyn::test
