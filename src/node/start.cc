#include "node/start.h"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/auxv.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <csignal>
#include <cstdlib>
#include <thread>

#include "base/file_descriptor.h"
#include "base/throw_system.h"
#include "hamlyn/error.h"
#include "node/address.h"

namespace hamlyn::node {
namespace {

using Clock = std::chrono::steady_clock;

// The descriptor through which a started daemon says that it listens.
constexpr int kReady = 3;

// What lies where the daemon's log is to be may be somebody's, as `--node` may name anything. Our own has the
// sticky bit, which says nothing else of a file.
constexpr mode_t kLogMode = S_ISVTX | S_IRUSR | S_IWUSR;
bool is_own_log(const std::string& log) {
  struct stat there {};
  return ::lstat(log.c_str(), &there) != 0 || (there.st_mode & S_ISVTX) != 0;
}

// Signals and descriptors as a new program expects them, whatever the application has done to its own.
class Spawn {
 public:
  Spawn(int ready, const std::string& log) {
    ::posix_spawn_file_actions_init(&actions_);
    ::posix_spawn_file_actions_adddup2(&actions_, ready, kReady);  // first: `ready` may be 0, 1 or 2
    ::posix_spawn_file_actions_addopen(&actions_, 0, "/dev/null", O_RDONLY, 0);
    ::posix_spawn_file_actions_addopen(&actions_, 1, "/dev/null", O_WRONLY, 0);
    const int how = O_WRONLY | O_CREAT | O_NOFOLLOW | (is_own_log(log) ? O_TRUNC : O_APPEND);
    ::posix_spawn_file_actions_addopen(&actions_, 2, log.c_str(), how, kLogMode);
    ::posix_spawn_file_actions_addclosefrom_np(&actions_, kReady + 1);
    ::posix_spawnattr_init(&attributes_);
    sigset_t none;
    sigset_t all;
    ::sigemptyset(&none);
    ::sigfillset(&all);
    ::posix_spawnattr_setsigmask(&attributes_, &none);
    ::posix_spawnattr_setsigdefault(&attributes_, &all);
    ::posix_spawnattr_setflags(&attributes_, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  }
  ~Spawn() {
    ::posix_spawn_file_actions_destroy(&actions_);
    ::posix_spawnattr_destroy(&attributes_);
  }
  Spawn(const Spawn&) = delete;
  Spawn& operator=(const Spawn&) = delete;

  pid_t run(const std::string& program, const std::string& socket) {
    std::string words[] = {program, "--socket", socket, "--background", std::to_string(kReady)};
    char* arguments[] = {words[0].data(), words[1].data(), words[2].data(),
                         words[3].data(), words[4].data(), nullptr};
    pid_t child = -1;
    const int failed = ::posix_spawnp(&child, program.c_str(), &actions_, &attributes_, arguments, environ);
    if (failed == 0) return child;
    throw Error(ErrorCode::node_unreachable, "no node daemon answers at " + socket + ", and " + program +
                                                 " could not be started (errno " + std::to_string(failed) +
                                                 "): install hamlynd, or name it in HAMLYN_DAEMON");
  }

 private:
  posix_spawn_file_actions_t actions_;
  posix_spawnattr_t attributes_;
};

int milliseconds_left(Deadline deadline) {
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now()).count();
  return left <= 0 ? 0 : static_cast<int>(std::min<long>(left, INT_MAX));
}

// One process starts the daemon while the others wait for it here: empty if somebody's daemon listens by now.
base::FileDescriptor take_turn(const std::string& socket, Deadline deadline) {
  const std::string path = socket + ".start";
  base::FileDescriptor lock{::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600)};
  if (!lock) base::throw_system(("open " + path).c_str());
  while (::flock(lock.get(), LOCK_EX | LOCK_NB) != 0) {
    if (connect_to(socket)) return {};
    if (Clock::now() >= deadline) {
      throw Error(ErrorCode::timed_out,
                  "another process has been starting the node daemon at " + socket + " for too long");
    }
    std::this_thread::sleep_for(std::chrono::milliseconds{2});
  }
  if (connect_to(socket)) return {};
  return lock;
}

}  // namespace

std::string find_daemon(const std::string& asked, bool privileged) {
  if (!asked.empty()) return asked;
  if (privileged) return HAMLYN_INSTALLED_DAEMON;
  if (const char* named = ::secure_getenv("HAMLYN_DAEMON"); named != nullptr && *named != 0) return named;
  char self[PATH_MAX];
  const ssize_t length = ::readlink("/proc/self/exe", self, sizeof self);
  if (length > 0) {
    std::string beside(self, static_cast<std::size_t>(length));
    beside.resize(beside.rfind('/') + 1);
    beside += "hamlynd";
    if (::access(beside.c_str(), X_OK) == 0) return beside;
  }
  if (::access(HAMLYN_INSTALLED_DAEMON, X_OK) == 0) return HAMLYN_INSTALLED_DAEMON;
  return "hamlynd";
}

void start_daemon(const std::string& socket, const std::string& program, Deadline deadline) {
  const base::FileDescriptor turn = take_turn(socket, deadline);
  if (!turn) return;
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) base::throw_system("pipe2");
  const base::FileDescriptor ready{ends[0]};
  base::FileDescriptor told{ends[1]};
  const std::string log = socket + ".log";
  const pid_t child = Spawn{told.get(), log}.run(find_daemon(program, ::getauxval(AT_SECURE) != 0), socket);
  told.reset();

  pollfd wait{ready.get(), POLLIN, 0};
  int turned = 0;
  do turned = ::poll(&wait, 1, milliseconds_left(deadline));
  while (turned < 0 && errno == EINTR);
  char word = 0;
  const bool listens = turned > 0 && ::read(ready.get(), &word, 1) == 1;
  // The child only hands over to a grandchild and ends; an application that reaps everything may have been
  // quicker.
  ::waitpid(child, nullptr, turned > 0 ? 0 : WNOHANG);
  if (listens) return;
  throw Error(turned > 0 ? ErrorCode::node_unreachable : ErrorCode::timed_out,
              "the node daemon that was started for " + socket + " does not listen: " + log + " says why");
}

}  // namespace hamlyn::node
