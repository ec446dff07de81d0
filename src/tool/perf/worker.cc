#include "tool/perf/worker.h"

#include <poll.h>
#include <signal.h>

#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <string>

namespace hamlyn::tool::perf {

Worker::Worker(const std::function<int()>& body) {
  const pid_t parent = getpid();
  pid_ = fork();
  if (pid_ < 0) throw std::runtime_error(std::string("fork: ") + std::strerror(errno));
  if (pid_ == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(1);  // the parent had ended before the line above
    _exit(body());                      // the parent's buffers and destructors are the parent's
  }
  descriptor_.reset(static_cast<int>(syscall(SYS_pidfd_open, pid_, 0)));
}

Worker::~Worker() {
  if (pid_ < 0) return;
  stop(SIGKILL);
  wait();
}

bool Worker::running() {
  pollfd wait_for{descriptor(), POLLIN, 0};
  return pid_ > 0 && poll(&wait_for, 1, 0) == 0;
}

void Worker::stop(int signal) {
  if (pid_ > 0) kill(pid_, signal);
}

bool Worker::wait() {
  if (pid_ < 0) return clean_;
  int status = 0;
  while (waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
  }
  pid_ = -1;
  clean_ = WIFEXITED(status) && WEXITSTATUS(status) == 0;
  return clean_;
}

}  // namespace hamlyn::tool::perf
