// `hamlyn run` is two processes, so that nothing is left behind even if one of them is killed:
// - the one in front has the terminal's attention. It passes signals on and waits for the other.
// - the launcher starts ranks, and is killed with them when the one in front has ended.
#include "tool/run/run.h"

#include <poll.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <filesystem>
#include <utility>
#include <vector>

#include "tool/failure.h"
#include "tool/run/descendants.h"
#include "tool/run/events.h"
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
  constexpr char kReady = 1;
  if (::send(front, &kReady, 1, MSG_NOSIGNAL) != 1) return 128 + SIGKILL;
  const KillsAll at_the_end;
  return role.run();
}

int launch(const RunOptions& options, int front) {
  const std::size_t place = place_of(options);
  const bool leads = options.agent.empty() && (!options.via.empty() || place == 0);
  return static_cast<int>(leads ? play<Leader>(options, front) : play<Follower>(options, front));
}

// The process in front.
class Front {
 public:
  // `heard`: signals that are blocked. `before`: children that are not the job's.
  Front(pid_t launcher, base::FileDescriptor socket, const sigset_t& heard, std::vector<pid_t> before)
      : launcher_(launcher), socket_(std::move(socket)), heard_(heard), before_(std::move(before)) {}

  // Waits for the launcher, and passes signals on to it. Returns its exit status.
  int wait() {
    const base::FileDescriptor signals{::signalfd(-1, &heard_, SFD_CLOEXEC | SFD_NONBLOCK)};
    if (!signals) throw system_failure("signalfd", errno);
    std::array<pollfd, 2> all{{{signals.get(), POLLIN, 0}, {socket_.get(), POLLIN, 0}}};
    for (;;) {
      if (::poll(all.data(), all.size(), -1) < 0 && errno != EINTR) throw system_failure("poll", errno);
      if (all[1].revents != 0) hear();
      if (!socket_) all[1].fd = -1;
      signalfd_siginfo info{};
      while (::read(signals.get(), &info, sizeof info) == sizeof info) pass_on(info);
      int status = 0;
      if (::waitpid(launcher_, &status, WNOHANG) != launcher_) continue;
      kill_all(before_);
      return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    }
  }

 private:
  // The launcher has an interface now, or has ended. A node daemon that it has started is nobody's orphan.
  void hear() {
    char byte = 0;
    if (::recv(socket_.get(), &byte, 1, 0) == 1)
      adopt_orphans();
    else
      socket_.reset();
  }
  void pass_on(const signalfd_siginfo& info) const {
    if (info.ssi_signo == SIGCHLD || !socket_) return;
    const Passed passed{static_cast<std::uint8_t>(info.ssi_signo), info.ssi_code == SI_KERNEL};
    [[maybe_unused]] const auto sent =
        ::send(socket_.get(), &passed, sizeof passed, MSG_NOSIGNAL | MSG_DONTWAIT);
  }

  const pid_t launcher_;
  base::FileDescriptor socket_;
  const sigset_t heard_;
  const std::vector<pid_t> before_;
};

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
  const std::vector<pid_t> before = children();  // of whatever program has become this one
  const sigset_t heard = block_signals();
  raise_descriptors();
  int ends[2] = {-1, -1};
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
    throw system_failure("socketpair", errno);
  base::FileDescriptor front{ends[0]}, back{ends[1]};
  const pid_t launcher = ::fork();
  if (launcher < 0) throw system_failure("fork", errno);
  if (launcher != 0) {
    back.reset();
    return Front(launcher, std::move(front), heard, before).wait();
  }
  front.reset();
  return launch(options, back.get());
}

}  // namespace hamlyn::tool
