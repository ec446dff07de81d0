#pragma once
// The host that leads a job: it has the desk, the ranks of its own block, and says when all is over.
#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "hamlyn/rpc.h"
#include "job/desk_service.h"
#include "tool/run/events.h"
#include "tool/run/left_over.h"
#include "tool/run/options.h"
#include "tool/run/part.h"
#include "tool/run/streams.h"

namespace hamlyn::tool {

class Leader {
 public:
  // Has the desk from here on. Throws Failure, Error.
  Leader(RunOptions options, int front);
  ~Leader();
  Leader(const Leader&) = delete;
  Leader& operator=(const Leader&) = delete;

  // Starts all, and waits until all ranks have ended. Returns the job's exit status. Throws Failure.
  std::uint32_t run();

 private:
  using Clock = std::chrono::steady_clock;

  void start_hosts();
  // Takes one step. The status that ends the job before its ranks have ended, if any does.
  std::optional<std::uint32_t> step();
  void pass_on(const Passed& passed);
  void reap();
  void note(const RankEnd& end);
  void note_reports();
  bool all_ended(std::size_t host);
  void note_lost(std::size_t host, std::uint32_t status);
  void look_for_lost_hosts();
  void end_templates_left_over();
  void end_others();
  void order(const std::vector<std::uint32_t>& ranks, int number);
  std::vector<std::uint32_t> living() const;
  std::vector<std::uint32_t> to_be_ended();
  bool over() const noexcept { return ended_.size() == options_.ranks; }
  std::uint32_t leave();
  void print_json(std::uint32_t status) const;

  const RunOptions options_;
  const bool others_wanted_;  // there are other hosts
  const Clock::time_point began_ = Clock::now();
  const internal_::job::Secret secret_;
  Events events_;
  Streams streams_;
  Interface interface_;
  internal_::job::DeskService desk_;
  hamlyn::rpc::Server<internal_::job::DeskService> server_;
  std::thread serving_;
  Part part_;
  std::map<pid_t, std::size_t> others_;  // what has started other hosts, by the template
  LeftOver left_over_;                   // of them
  std::map<std::uint32_t, std::uint32_t> ended_;
  std::uint32_t status_ = 0;   // of the first rank that failed
  bool asked_to_end_ = false;  // by a signal
  // The next signal to those that are to be ended, and when they get it.
  struct Ending {
    int number;
    Clock::time_point at;
  };
  std::optional<Ending> ending_;
};

}  // namespace hamlyn::tool
