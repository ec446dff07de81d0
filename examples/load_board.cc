// A load board: machines tell each other how busy they are. Clients ask the clerk of their own machine and
// know of nothing else; clerks and the server have segments that the others read and push into. Four ways of
// building such a service (paper 4, sections 7.2.1 and 7.2.3), and how long a client waits in each:
//
//   serverless     who asks reads the load where its machine keeps it
//   pushed         machines push their loads to a board that a server exports; who asks reads the board
//   pushed, mapped the same, with a board that clerks on the server's host have mapped: reads are loads
//   hybrid         who asks writes a question and has the server told; the server pushes the answer back
//   cached         the server has pushed the load to the clerk's own board before anybody asked
//
//   load_board              the server, which starts itself again as a clerk
//   load_board NAME         the clerk, which starts itself again as its client
//   load_board NAME client  the client
#include <hamlyn/hamlyn.h>

#include <chrono>
#include <cstdio>
#include <stdexcept>
#include <string>

#include "check.h"
#include "spawn_self.h"

namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

constexpr std::uint64_t kQuestions = 2000;
constexpr const char* kWays[] = {"serverless", "pushed", "pushed, mapped", "hybrid", "cached"};
enum Way : std::uint64_t { serverless, pushed, mapped, hybrid, cached, over };

struct Load {
  double runnable = 0;  // processes
  std::uint64_t host = 0;
};
struct Question {
  Way way = over;
  std::uint64_t host = 0;
};

// Exports of everybody: a board of loads, by host, and behind it a place for questions.
using Shape = hamlyn::CacheShape<std::uint64_t, Load>;
using OwnBoard = hamlyn::OwnCacheArea<std::uint64_t, Load>;
using FarBoard = hamlyn::FarCacheArea<std::uint64_t, Load>;
constexpr Shape kBoard{0, 16};
constexpr std::size_t kQuestion = Shape::bytes(16), kBytes = kQuestion + 64;

// --- the server, on host 1

int serve() {
  const std::string name = "load_board." + std::to_string(getpid());
  hamlyn::Interface interface;
  hamlyn::Segment board{interface, {.name = name, .bytes = kBytes}};
  hamlyn::Segment shown{interface,
                        {.name = name + ".mapped",
                         .bytes = kBytes,
                         .sharing = hamlyn::Sharing::mapped_read_only,
                         .control = hamlyn::Control::never}};
  for (hamlyn::Segment* each : {&board, &shown}) OwnBoard{*each, kBoard}.put(1, {1.5, 1});

  SecondProcess clerk{name};
  hamlyn::Import asker{interface, name + ".clerk", {.timeout = 30s}};
  FarBoard clerks{asker, kBoard};
  check(clerks.push(1, {1.5, 1}, 5s));
  for (std::uint64_t left = kQuestions; left != 0; --left) {
    hamlyn::SegmentRecord asked;
    check(board.wait(asked, 30s));
    Load load;  // what the clerk has pushed
    check(OwnBoard{board, kBoard}.find(board.at<std::uint64_t>(kQuestion), load));
    check(clerks.push(load.host, load, 5s));
    check(asker.write_signal(0, {}, kQuestion, 1, hamlyn::Signal::add, 5s));
  }
  return clerk.wait() ? 0 : 1;
}

// --- the clerk, on host 2

class Clerk {
 public:
  explicit Clerk(const std::string& name)
      : own_{interface_, {.name = name + ".clerk", .bytes = kBytes}},
        board_{interface_, name},
        shown_{interface_, name + ".mapped", {.access = hamlyn::Access::read_only}},
        calls_{interface_, name + ".calls", {.request = sizeof(Question), .reply = sizeof(Load)}} {}

  // Until a client has said that it is over.
  void run() {
    for (std::uint64_t number = 0;; ++number) {
      hamlyn::LocalCall call;
      check(calls_.take(call, 30s));
      Question question;  // any bytes at all
      if (call.request.size() == sizeof question)
        std::memcpy(&question, call.request.data(), sizeof question);
      const Load load = question.way < over ? find(question, number) : Load{};
      // A client that has gone meanwhile has no answer to get: that is its own matter.
      const hamlyn::Status answered = calls_.answer(call, std::as_bytes(std::span(&load, 1)));
      if (answered != hamlyn::Status::link_ended) check(answered);
      if (question.way == over) return;
    }
  }

 private:
  Load find(const Question& question, std::uint64_t number) {
    Load load;
    switch (question.way) {
      case serverless:
        check(far_.read(question.host, load, 5s, &hint_));
        break;
      case pushed:
        if (number % 16 == 0) check(far_.push(2, {0.25, 2}, 5s));
        check(far_.read(question.host, load, 5s));
        break;
      case mapped:
        check(far_mapped_.read(question.host, load, 5s));
        break;
      case hybrid: {
        const std::uint64_t answered = own_.at<std::uint64_t>(kQuestion);
        const auto asked = std::as_bytes(std::span(&question.host, 1));
        check(board_.write(kQuestion, asked, 5s, {.notify = true}));
        check(own_.wait_until(
            kQuestion, [&](std::uint64_t count) { return count > answered; }, 5s));
        [[fallthrough]];
      }
      default:  // what nobody has pushed has no load
        if (OwnBoard{own_, kBoard}.find(question.host, load) != hamlyn::Status::ok) load = {};
    }
    return load;
  }

  hamlyn::Interface interface_;
  hamlyn::Segment own_;
  hamlyn::Import board_, shown_;
  hamlyn::LocalService calls_;
  FarBoard far_{board_, kBoard}, far_mapped_{shown_, kBoard};
  hamlyn::Hint hint_;
};

// --- the client

int ask(const std::string& name) {
  hamlyn::Interface interface;
  hamlyn::LocalClient clerk{interface, name + ".calls"};
  Load load;
  for (const Way way : {serverless, pushed, mapped, hybrid, cached}) {
    const std::uint64_t host = way == hybrid ? 2 : 1;
    const auto start = Clock::now();
    for (std::uint64_t i = 0; i < kQuestions; ++i) {
      check(clerk.call(Question{way, host}, load, 5s));
      require(load.host == host, "a load came that nobody has told");
    }
    const std::chrono::duration<double, std::micro> took = Clock::now() - start;
    std::printf("%-15s %6.2f us a question\n", kWays[way], took.count() / kQuestions);
  }
  std::fflush(stdout);
  check(clerk.call(Question{}, load, 5s));
  return 0;
}

}  // namespace

int main(int count, char** words) {
  try {
    if (count == 1) return written(serve());
    if (count == 3) return written(ask(words[1]));
    Clerk clerk{words[1]};
    SecondProcess client{words[1], "client"};
    clerk.run();
    return written(client.wait() ? 0 : 1);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "load_board: %s\n", error.what());
    return 1;
  }
}
