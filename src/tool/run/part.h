#pragma once
// The ranks of one host.
#include <sys/types.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "job/block.h"
#include "tool/run/options.h"
#include "tool/run/streams.h"

namespace hamlyn::tool {

class Part {
 public:
  // `streams` get what ranks write, if it is to be labelled.
  Part(const RunOptions& options, const internal_::job::Block& block, const std::array<std::byte, 16>& secret,
       Streams& streams)
      : options_(options), block_(block), secret_(secret), streams_(streams) {}

  // Starts all of them. Throws Failure: those that were started are the caller's to kill.
  void start();
  // Passes a signal on to a rank, if it is one of these and runs.
  void signal(std::uint32_t rank, int number) const;
  void signal_all(int number) const;
  // The rank of a child that has ended; nothing: it was none.
  std::optional<std::uint32_t> take(pid_t child);
  bool over() const noexcept { return running_.empty(); }

 private:
  std::vector<std::string> environment_of(std::uint32_t here) const;

  const RunOptions& options_;
  const internal_::job::Block block_;
  const std::array<std::byte, 16> secret_;
  Streams& streams_;
  std::map<pid_t, std::uint32_t> running_;
};

}  // namespace hamlyn::tool
