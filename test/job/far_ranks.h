#pragma once
// Jobs whose ranks are on two nodes, one of which is killed at some moment, and what is left of them then.
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <vector>

#include "test/process/tool_world.h"
#include "test/support/two_nodes.h"

namespace hamlyn::test {

// How a job has ended. The first host's command tells of each rank.
struct JobEnd {
  Finished led, followed;
  std::vector<int> statuses;  // of ranks
  bool killed = false;        // the rank that was to be: otherwise it had ended before
  std::chrono::nanoseconds took{0};
};

class FarRanks : public testing::Test {
 protected:
  using Time = std::chrono::steady_clock;
  static constexpr int kRanks = 3, kNobody = -1;  // two on the first node, one on the second
  using Words = std::vector<std::string>;

  // Runs that program's ranks, and kills one of them so long after it has been seen.
  JobEnd run(const Words& program, int victim = kNobody, std::chrono::nanoseconds after = {}) {
    const std::string job = "far" + std::to_string(::getpid()) + "." + std::to_string(++jobs_);
    Command first = start_at(1, job, program), second = start_at(2, job, program);
    JobEnd out;
    const auto seen = eventually([&] { return !pids_of(job, victim).empty() || !first.running(); });
    EXPECT_TRUE(seen) << "its ranks do not start";
    const Time::time_point began = Time::now();
    if (victim != kNobody) {
      static_cast<void>(eventually([&] { return Time::now() - began >= after; }));
      for (const pid_t pid : pids_of(job, victim)) out.killed |= ::kill(pid, SIGKILL) == 0;
    }
    out.led = first.wait();
    out.took = Time::now() - began;
    out.followed = second.wait();
    note_statuses(out);
    EXPECT_TRUE(eventually([&] { return pids_of(job, kNobody).empty(); })) << "ranks are left behind";
    for (const int node : {1, 2})
      EXPECT_TRUE(eventually([&] { return is_alone(node); })) << "something is left: " << said_by(node).out;
    return out;
  }
  // Kills a rank at any moment of that program, as often as HAMLYN_TEST_KILLS says, or once. `check(end,
  // victim)` looks at how the others have ended. A program that has ended before is whole. Every process
  // takes a quarter of a second of a processor for libfabric, so none is run only to be timed.
  template <class Check>
  void kill_at_any_moment(const Words& program, Check check) {
    const char* const asked = std::getenv("HAMLYN_TEST_KILLS");
    std::mt19937_64 chance{std::random_device{}()};
    std::chrono::nanoseconds longest = std::chrono::seconds(2);
    for (int left = asked != nullptr ? std::atoi(asked) : 1; left != 0 && !HasFailure(); --left) {
      const int victim = std::uniform_int_distribution(0, kRanks - 1)(chance);
      const auto after = std::uniform_int_distribution<std::int64_t>(0, longest.count())(chance);
      SCOPED_TRACE("rank " + std::to_string(victim) + " after " + std::to_string(after) + " ns");
      const JobEnd end = run(program, victim, std::chrono::nanoseconds(after));
      SCOPED_TRACE("first: " + end.led.err + "second: " + end.followed.err);
      ASSERT_EQ(end.statuses.size(), std::size_t{kRanks});
      if (!end.killed || end.statuses[static_cast<std::size_t>(victim)] == 0) {
        EXPECT_EQ(end.led.status, 0);
        EXPECT_EQ(end.followed.status, 0);
        longest = std::min(longest, end.took);
        continue;
      }
      expect_told(end, victim);
      check(end, victim);
    }
  }

  World world;
  TwoNodes nodes;

 private:
  Command start_at(int node, const std::string& job, const Words& program) {
    Words words{"run",     "-n",     std::to_string(kRanks),    "--hosts",
                "ant,bee", "--at",   node == 1 ? "ant" : "bee", "--job",
                job,       "--node", nodes.at(node).node,       "--json"};
    words.insert(words.end(), program.begin(), program.end());
    return world.start(words);
  }
  // Processes of that rank, or of all.
  static std::vector<pid_t> pids_of(const std::string& job, int rank) {
    const std::string of_job = "HAMLYN_JOB=" + job + '\0';
    const std::string of_rank =
        rank == kNobody ? std::string() : "HAMLYN_RANK=" + std::to_string(rank) + '\0';
    std::vector<pid_t> out;
    for (const auto& each : std::filesystem::directory_iterator("/proc")) {
      const std::string name = each.path().filename();
      if (name.find_first_not_of("0123456789") != std::string::npos) continue;
      const std::string variables = read_file(each.path() / "environ");
      if (variables.find(of_job) != std::string::npos && variables.find(of_rank) != std::string::npos)
        out.push_back(std::stoi(name));
    }
    return out;
  }
  Finished said_by(int node) { return world.run({"node", "--json", "--node", nodes.at(node).node}); }
  // Whether no process but the daemon's own is attached at that node, and no name is left there.
  bool is_alone(int node) {
    const Finished said = said_by(node);
    if (said.status != 0) return false;
    const auto all = nlohmann::json::parse(said.out);
    const bool attached = std::ranges::any_of(
        all.at("attached"), [](const auto& each) { return each.at("program") != "hamlynd"; });
    return !attached && all.at("names").get<std::size_t>() == 0;
  }
  static void note_statuses(JobEnd& end) {
    const std::size_t at = end.led.err.rfind("{\"job\"");
    if (at == std::string::npos) return;
    const auto told = nlohmann::json::parse(end.led.err.substr(at), nullptr, false);
    if (told.is_discarded()) return;
    for (const auto& rank : told.at("ranks")) end.statuses.push_back(rank.at("status").get<int>());
  }
  // The job has failed, by that rank if it was the first, and the first host's command says how each ended.
  static void expect_told(const JobEnd& end, int victim) {
    EXPECT_EQ(end.statuses[static_cast<std::size_t>(victim)], 128 + SIGKILL);
    EXPECT_NE(end.led.status, 0);
    if (victim == kRanks - 1) {
      EXPECT_EQ(end.followed.status, 128 + SIGKILL);
    }
  }

  int jobs_ = 0;
};

}  // namespace hamlyn::test
