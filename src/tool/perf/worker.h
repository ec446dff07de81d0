#pragma once
// A child process that never outlives the object that stands for it, nor this process.
#include <sys/types.h>

#include <functional>

#include "base/file_descriptor.h"

namespace hamlyn::tool::perf {

class Worker {
 public:
  // Runs `body` in a forked child, which ends with its result. Throws std::runtime_error.
  explicit Worker(const std::function<int()>& body);
  ~Worker();  // kills it if it still runs
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  // Readable when it has ended.
  int descriptor() const { return descriptor_.get(); }

  bool running();
  void stop(int signal);

  // Waits for its end. Returns whether it ended by itself with status 0.
  bool wait();

 private:
  pid_t pid_ = -1;
  bool clean_ = false;
  base::FileDescriptor descriptor_;
};

}  // namespace hamlyn::tool::perf
