#include "node/client/start.h"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/auxv.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <csignal>
#include <cstdlib>
#include <string_view>
#include <system_error>
#include <thread>
#include <vector>

#include "base/file_descriptor.h"
#include "base/throw_system.h"
#include "hamlyn/values/error.h"
#include "node/client/address.h"

namespace hamlyn::node {
namespace {

using Clock = std::chrono::steady_clock;

// The descriptor through which a started daemon says that it listens.
constexpr int kReady = 3;

// Mode of the daemon's log. A file that lies at its place may be somebody's, as `--node` may name anything.
// Our own has the sticky bit, which says nothing else of a file.
constexpr mode_t kLogMode = S_ISVTX | S_IRUSR | S_IWUSR;
// A descriptor of the starter's above all that the daemon's table begins with.
constexpr int kAbove = kReady + 1;

// Variables that the daemon keeps of its starter's: where things are, how times and texts look, and what
// sanitizers are told. It serves all programs of the user, and none of the others is meant for it.
constexpr std::string_view kKept[] = {
    "PATH", "HOME", "USER", "LOGNAME", "LANG", "TZ", "TMPDIR", "XDG_RUNTIME_DIR", "LD_LIBRARY_PATH"};

bool is_kept(std::string_view variable) {
  const std::string_view name = variable.substr(0, variable.find('='));
  return name.starts_with("LC_") || name.ends_with("SAN_OPTIONS") || std::ranges::count(kKept, name) != 0;
}

std::vector<char*> kept_environment() {
  std::vector<char*> out;
  for (char** each = environ; each != nullptr && *each != nullptr; ++each)
    if (is_kept(*each)) out.push_back(*each);
  out.push_back(nullptr);
  return out;
}

// The log, which begins anew, or /dev/null where there can be none; `why` says why, or is empty.
base::FileDescriptor open_log(const std::string& path, std::string& why) {
  base::FileDescriptor log{
      ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, kLogMode)};
  if (log) {
    ::fchmod(log.get(), kLogMode);  // whatever the umask is
  } else if (errno == EEXIST) {
    log.reset(::open(path.c_str(), O_WRONLY | O_APPEND | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
    struct stat there {};
    if (log && (::fstat(log.get(), &there) != 0 || !S_ISREG(there.st_mode))) {
      log.reset();
      errno = EEXIST;
    }
    if (log && (there.st_mode & S_ISVTX) != 0 && ::ftruncate(log.get(), 0) != 0) log.reset();
  }
  if (!log) {
    why = ", and its log " + path + " cannot be written: " + std::generic_category().message(errno);
    log.reset(::open("/dev/null", O_WRONLY | O_CLOEXEC));
  }
  if (const int above = ::fcntl(log.get(), F_DUPFD_CLOEXEC, kAbove); above >= 0) log.reset(above);
  return log;
}

// Signals and descriptors as a new program expects them, whatever the application has done to its own.
class Spawn {
 public:
  Spawn(int ready, int log) {
    ::posix_spawn_file_actions_init(&actions_);
    ::posix_spawn_file_actions_adddup2(&actions_, ready, kReady);  // first: `ready` may be 0, 1 or 2
    ::posix_spawn_file_actions_addopen(&actions_, 0, "/dev/null", O_RDONLY, 0);
    ::posix_spawn_file_actions_addopen(&actions_, 1, "/dev/null", O_WRONLY, 0);
    ::posix_spawn_file_actions_adddup2(&actions_, log, 2);
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
    const int failed = ::posix_spawnp(&child, program.c_str(), &actions_, &attributes_, arguments,
                                      kept_environment().data());
    if (failed == 0) return child;
    throw Error(ErrorCode::node_unreachable,
                "no node daemon answers at " + socket + ", and " + program +
                    " could not be started: " + std::generic_category().message(failed) +
                    " (install hamlynd, or name it in HAMLYN_DAEMON)");
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
  if (!lock && errno == ENOENT)
    throw Error(ErrorCode::node_unreachable,
                "no node daemon can listen at " + socket + ": its folder is not there");
  if (!lock) base::throw_system(("open " + path).c_str());
  ::fchmod(lock.get(), 0600);  // whatever the umask is: others of this user are to open it, too
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

// Words of a started daemon through its pipe: kListens, or why it ends, in words.
struct Answer {
  bool ended = false;  // it has said all that it will say
  bool listens = false;
  std::string why;
};

Answer hear(int ready, Deadline deadline) {
  Answer out;
  while (out.why.size() < kMostReason) {
    pollfd wait{ready, POLLIN, 0};
    const int turned = ::poll(&wait, 1, milliseconds_left(deadline));
    if (turned < 0 && errno == EINTR) continue;
    if (turned <= 0) return out;
    std::array<char, kMostReason> piece;
    const ssize_t got = ::read(ready, piece.data(), piece.size());
    if (got < 0 && errno == EINTR) continue;
    out.ended = true;
    if (got <= 0) break;
    out.listens = out.why.empty() && piece[0] == kListens;
    if (out.listens) return out;
    out.why.append(piece.data(), static_cast<std::size_t>(got));
  }
  std::ranges::replace_if(
      out.why, [](char c) { return c >= 0 && c < ' '; }, ' ');
  out.why.erase(0, out.why.find_first_not_of(' '));
  return out;
}

}  // namespace

bool is_privileged() noexcept { return ::getauxval(AT_SECURE) != 0; }

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
  std::string no_log;
  const base::FileDescriptor log_file = open_log(log, no_log);
  const pid_t child = Spawn{told.get(), log_file.get()}.run(find_daemon(program, is_privileged()), socket);
  told.reset();

  const Answer answer = hear(ready.get(), deadline);
  // The child only hands over to a grandchild and ends; an application that reaps everything may have been
  // quicker.
  ::waitpid(child, nullptr, answer.ended ? 0 : WNOHANG);
  if (answer.listens) return;
  const std::string why = !answer.why.empty() ? ": " + answer.why
                          : !no_log.empty()   ? no_log
                                              : ": " + log + " says why";
  throw Error(answer.ended ? ErrorCode::node_unreachable : ErrorCode::timed_out,
              "the node daemon that was started for " + socket + " does not listen" + why);
}

}  // namespace hamlyn::node
