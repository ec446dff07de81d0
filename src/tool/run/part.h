#pragma once
// The ranks of one host.
#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/file_descriptor.h"
#include "hamlyn/job/job.h"
#include "tool/run/lines.h"
#include "tool/run/options.h"
#include "tool/run/processes.h"

namespace hamlyn::tool {

class Part {
 public:
  Part(const RunOptions& options, const Block& block, const std::array<std::byte, 16>& secret)
      : options_(options), block_(block), secret_(secret) {}

  // Starts all of them. Throws Failure: those that were started are the caller's to kill.
  void start();
  // Passes a signal on to a rank, if it is one of these and runs.
  void signal(std::uint32_t rank, int number) const;
  // The rank of a child that has ended; nothing: it was none.
  std::optional<std::uint32_t> take(pid_t child);
  bool over() const noexcept { return running_.empty(); }
  const Block& block() const noexcept { return block_; }

  // Lines that they write, if those are passed on.
  std::vector<Lines>& lines() noexcept { return lines_; }

 private:
  std::vector<std::string> environment_of(std::uint32_t here) const;

  const RunOptions& options_;
  const Block block_;
  const std::array<std::byte, 16> secret_;
  std::map<pid_t, std::uint32_t> running_;
  std::vector<Lines> lines_;
};

// Everything that a launcher waits for.
class Events {
 public:
  // `front`: ends when the process in front of it has ended.
  explicit Events(int front);

  struct Came {
    std::vector<int> signals;  // that the process in front has passed on
    bool front_ended = false;
  };
  // Waits until a child has ended, a signal has come, `news` was called, or the time is over; passes lines
  // on.
  Came wait(std::vector<Lines>& lines, std::chrono::milliseconds timeout, int other = -1);
  // Ends a wait, from any thread.
  void news() const noexcept;

 private:
  const int front_;
  const pid_t parent_;
  base::FileDescriptor signals_, news_;
};

}  // namespace hamlyn::tool
