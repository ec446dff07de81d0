// Answers that handlers give later, from any thread, or never.
#include <gtest/gtest.h>

#include <condition_variable>
#include <deque>
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
HAMLYN_RPC(Desk, ask, signal, minus)

class RpcAnswer : public OnNodes {
 protected:
  void with_desk(const rpc::ServerOptions& options,
                 const std::function<void(Desk& desk, Interface& here)>& work) {
    in_child([&] {
      Interface there(this->options());
      Interface here(other_options());
      Desk desk;
      rpc::Server<Desk> server(there, "desk", desk, options);
      std::thread serving([&] { EXPECT_EQ(server.run(), Status::ok); });
      work(desk, here);
      server.stop();
      serving.join();
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
  in_child([&] {
    Interface there(options());
    Interface here(other_options());
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

}  // namespace
}  // namespace hamlyn::test
