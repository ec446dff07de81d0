// A load board: clerks tell each other how busy their machines are, in four ways of building such a service
// (paper 4, sections 7.2.1 and 7.2.3), and how long a question takes in each:
//
//   serverless     each clerk keeps its own load in a segment of its own; who asks reads it there
//   pushed         clerks push their loads to a board that a server exports; who asks reads the board
//   pushed, mapped the same, with a board that clerks on the server's host have mapped: reads are loads
//   hybrid         who asks writes a question and has the server told; the server pushes the answer back
//
//   load_board           the server, which starts itself again as a clerk
//   load_board NAME      the clerk
#include <hamlyn/hamlyn.h>

#include <chrono>
#include <cstdio>
#include <stdexcept>
#include <string>

#include "spawn_self.h"

namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

constexpr int kQuestions = 2000;

struct Load {
  double runnable = 0;  // processes
  std::uint64_t host = 0;
};

// What stands on a board: a line for each clerk, then where questions and answers go.
constexpr std::size_t kServersLine = 0, kClerksLine = 64, kQuestion = 128, kAnswer = 192, kBytes = 256;

void check(hamlyn::Status status) {
  if (status != hamlyn::Status::ok) throw std::runtime_error(hamlyn::advice(status));
}

// --- the server

int serve() {
  const std::string name = "load_board." + std::to_string(getpid());
  hamlyn::Interface interface;
  hamlyn::Segment board{interface, {.name = name, .bytes = kBytes}};
  hamlyn::Segment mapped{interface,
                         {.name = name + ".mapped",
                          .bytes = kBytes,
                          .sharing = hamlyn::Sharing::mapped_read_only,
                          .control = hamlyn::Control::never}};
  hamlyn::OwnVersioned<Load> line{board, kServersLine}, mapped_line{mapped, kServersLine};
  line.write({.runnable = 1.5, .host = 1});
  mapped_line.write({.runnable = 1.5, .host = 1});

  SecondProcess clerk{name};
  hamlyn::SegmentRecord asked;
  check(board.wait(asked, 30s));  // the first question; the clerk's own segment is there
  hamlyn::Import asker{interface, name + ".clerk"};
  hamlyn::FarVersioned<Load> answer{asker, kAnswer};
  for (int left = kQuestions; left != 0;) {
    Load least;
    check(hamlyn::OwnVersioned<Load>{board, kClerksLine}.read(least));  // what the clerk has pushed
    check(answer.write(least.runnable < 1.5 ? least : Load{1.5, 1}, 5s));
    if (--left != 0) check(board.wait(asked, 30s));
  }
  return clerk.wait() ? 0 : 1;
}

// --- the clerk

// Microseconds for each.
template <class Question>
double time(Question question) {
  const auto start = Clock::now();
  for (int i = 0; i < kQuestions; ++i) question(static_cast<std::uint64_t>(i));
  return std::chrono::duration<double, std::micro>(Clock::now() - start).count() / kQuestions;
}

void expect_host(const Load& load, std::uint64_t host) {
  if (load.host != host) throw std::runtime_error("a load came that nobody has told");
}

int ask(const std::string& name) {
  hamlyn::Interface interface;
  hamlyn::Segment own{interface, {.name = name + ".clerk", .bytes = kBytes}};
  hamlyn::OwnVersioned<Load>{own, kClerksLine}.write({.runnable = 0.25, .host = 2});  // for others to read
  hamlyn::Import board{interface, name};
  hamlyn::Import mapped{interface, name + ".mapped", {.access = hamlyn::Access::read_only}};

  hamlyn::FarVersioned<Load> servers{board, kServersLine}, clerks{board, kClerksLine};
  hamlyn::FarVersioned<Load> servers_mapped{mapped, kServersLine};
  Load load;
  std::printf("%-15s %6.2f us a question\n", "serverless", time([&](std::uint64_t) {
                check(servers.read(load, 5s));
                expect_host(load, 1);
              }));
  std::printf("%-15s %6.2f us\n", "pushed", time([&](std::uint64_t i) {
                if (i % 16 == 0) check(clerks.write({.runnable = 0.25, .host = 2}, 5s));
                check(servers.read(load, 5s));
                expect_host(load, 1);
              }));
  std::printf("%-15s %6.2f us%s\n", "pushed, mapped", time([&](std::uint64_t) {
                check(servers_mapped.read(load, 5s));
                expect_host(load, 1);
              }),
              mapped.reads_by_loads() ? "" : " (by packets: the server is on another host)");
  hamlyn::OwnVersioned<Load> answer{own, kAnswer};
  std::uint64_t seen = 0;
  std::printf("%-15s %6.2f us\n", "hybrid", time([&](std::uint64_t i) {
                check(board.write(kQuestion, std::as_bytes(std::span(&i, 1)), 5s, {.notify = true}));
                check(own.wait_until(
                    kAnswer, [&](std::uint64_t version) { return version > seen; }, 5s));
                while (answer.read(load, &seen) != hamlyn::Status::ok) interface.run();
                expect_host(load, 2);
              }));
  return 0;
}

}  // namespace

int main(int count, char** words) {
  try {
    return count == 1 ? serve() : ask(words[1]);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "load_board: %s\n", error.what());
    return 1;
  }
}
