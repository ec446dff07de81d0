#pragma once
// Another program, run beside us: a daemon, a peer's own tool or launcher.
#include <chrono>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/file_descriptor.h"
#include "tool/perf/worker.h"

namespace hamlyn::tool::perf {

using Environment = std::vector<std::pair<std::string, std::string>>;

class Program {
 public:
  // Starts it with `added` in its environment. Throws std::runtime_error.
  Program(const std::vector<std::string>& words, const Environment& added);

  // Text that it has written (to either stream) when it ends, or when a line that begins with `last_line` is
  // whole. Throws std::runtime_error when neither happens in time.
  std::string output(std::chrono::seconds timeout, const std::string& last_line = "");

  Worker& process() { return *process_; }

 private:
  base::FileDescriptor from_;
  std::optional<Worker> process_;
};

// The path of a program of ours, from the folder that this one lies in.
std::string beside(const std::string& name);

// The path of a program in PATH, or empty.
std::string find_program(const std::string& name);

}  // namespace hamlyn::tool::perf
