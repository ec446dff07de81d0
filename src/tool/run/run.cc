// `hamlyn run` is two processes, so that nothing is left behind even if one of them is killed:
// - the one in front has the terminal's attention. It passes signals on and waits for the other.
// - the launcher starts ranks, and is killed with them when the one in front has ended.
#include "tool/run/run.h"

#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>

#include "tool/failure.h"
#include "tool/run/follower.h"
#include "tool/run/leader.h"
#include "tool/run/processes.h"

namespace hamlyn::tool {
namespace {

// Whatever way a launcher ends, everything that it has started is gone then.
struct KillsAll {
  KillsAll() = default;
  KillsAll(const KillsAll&) = delete;
  KillsAll& operator=(const KillsAll&) = delete;
  ~KillsAll() { kill_all(); }
};

template <class Role>
std::uint32_t play(const RunOptions& options, int front) {
  Role role(options, front);
  // Behind the interface: a node daemon that it has started is nobody's orphan here.
  adopt_orphans();
  const char ready = 1;
  if (::send(front, &ready, 1, MSG_NOSIGNAL) != 1) return 128 + SIGKILL;
  const KillsAll at_the_end;
  return role.run();
}

int launch(const RunOptions& options, int front) {
  const std::size_t place = place_of(options);
  const bool leads = options.agent.empty() && (!options.via.empty() || place == 0);
  return static_cast<int>(leads ? play<Leader>(options, front) : play<Follower>(options, front));
}

// Waits for the launcher, and passes signals on to it. Those of the terminal come to all of its processes.
int wait_in_front(pid_t launcher, const base::FileDescriptor& ready) {
  const sigset_t set = block_signals();
  const base::FileDescriptor signals{::signalfd(-1, &set, SFD_CLOEXEC)};
  if (!signals) throw system_failure("signalfd", errno);
  char byte = 0;
  // Its launcher has an interface now, or has ended.
  while (::recv(ready.get(), &byte, 1, 0) < 0 && errno == EINTR) {
  }
  adopt_orphans();
  for (;;) {
    int status = 0;
    if (::waitpid(launcher, &status, WNOHANG) == launcher) {
      kill_all();
      return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    }
    signalfd_siginfo info{};
    if (::read(signals.get(), &info, sizeof info) != sizeof info) continue;
    if (info.ssi_signo != SIGCHLD && info.ssi_code != SI_KERNEL)
      ::kill(launcher, static_cast<int>(info.ssi_signo));
  }
}

}  // namespace

int run_job(RunOptions options) {
  if (!options.agent.empty()) {
    std::string folder;
    const std::string node = options.node;
    options = options_of(options.agent, folder);
    options.node = node;
    std::error_code failed;
    std::filesystem::current_path(folder, failed);
    if (failed)
      throw Failure("the job's folder " + folder + " is not on this host", "system", "make it there");
  }
  complete(options);
  block_signals();
  int ends[2] = {-1, -1};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
    throw system_failure("socketpair", errno);
  base::FileDescriptor front{ends[0]}, back{ends[1]};
  const pid_t launcher = ::fork();
  if (launcher < 0) throw system_failure("fork", errno);
  if (launcher != 0) {
    back.reset();
    return wait_in_front(launcher, front);
  }
  front.reset();
  return launch(options, back.get());
}

}  // namespace hamlyn::tool
