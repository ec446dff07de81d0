#pragma once
// The host that leads a job: it has the desk, the ranks of its own block, and says when all is over.
#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "hamlyn/rpc.h"
#include "job/desk_service.h"
#include "tool/run/options.h"
#include "tool/run/part.h"

namespace hamlyn::tool {

class Leader {
 public:
  // Has the desk from here on. Throws Failure, Error.
  Leader(const RunOptions& options, int front);
  ~Leader();
  Leader(const Leader&) = delete;
  Leader& operator=(const Leader&) = delete;

  // Starts all, and waits until all ranks have ended. Returns the job's exit status. Throws Failure.
  std::uint32_t run();

 private:
  using Clock = std::chrono::steady_clock;

  void start_hosts();
  void reap();
  void note(const RankEnd& end);
  void note_lost(std::size_t host);
  void look_for_lost_hosts();
  void signal(const std::vector<std::uint32_t>& ranks, int number);
  std::vector<std::uint32_t> to_be_ended();
  bool over() const noexcept { return ended_.size() == options_.ranks; }
  void print_json() const;

  const RunOptions& options_;
  const Clock::time_point began_ = Clock::now();
  const internal_::job::Secret secret_;
  Events events_;
  Interface interface_;
  internal_::job::DeskService desk_;
  hamlyn::rpc::Server<internal_::job::DeskService> server_;
  std::thread serving_;
  Part part_;
  std::map<pid_t, std::size_t> others_;  // what has started other hosts, by the template
  std::map<std::uint32_t, std::uint32_t> ended_;
  std::uint32_t status_ = 0;                   // of the first rank that failed
  std::optional<Clock::time_point> patience_;  // until then those that are to be ended may end by themselves
};

}  // namespace hamlyn::tool
