#pragma once
// Everything that passes through `hamlyn run`: lines of ranks and of other hosts, and where they go.
#include <poll.h>
#include <unistd.h>

#include <deque>
#include <span>
#include <string>
#include <vector>

#include "tool/failure.h"
#include "tool/run/lines.h"
#include "tool/run/sink.h"

namespace hamlyn::tool {

class Streams {
 public:
  // Where standard output and error of ranks go.
  explicit Streams(int output = STDOUT_FILENO, int error = STDERR_FILENO) : out_(output), error_(error) {}

  // Passes on two streams under one label, to standard output and error. Throws Failure.
  struct Ends {
    int output = -1, error = -1;  // the writer's, until `started`
  };
  Ends add(const std::string& label);
  void started();

  // Descriptors to poll; `serve` takes what poll has said of them. Lines whose output takes nothing more
  // wait, and are the first ones the next time.
  void watch(std::vector<pollfd>& all) const;
  void serve(std::span<const pollfd> said);
  // Whether standard output and error both take something now.
  bool taken() const;
  // Nothing can come any more, and all has been written.
  bool over() const;
  // Whether some of it could not be written, and why.
  bool failed() const noexcept { return out_.failed() != 0 || error_.failed() != 0; }
  Failure failure() const;

 private:
  Sink out_, error_;
  std::deque<Lines> lines_;
  std::size_t first_ = 0;  // of them to be served next
};

}  // namespace hamlyn::tool
