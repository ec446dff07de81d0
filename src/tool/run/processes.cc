#include "tool/run/processes.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/core.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <fstream>

#include "tool/failure.h"

namespace hamlyn::tool {
namespace {

constexpr int kNotFound = 127, kNotExecutable = 126;

std::vector<char*> pointers(std::vector<std::string>& words) {
  std::vector<char*> out;
  for (std::string& each : words) out.push_back(each.data());
  out.push_back(nullptr);
  return out;
}

std::vector<std::string> whole_environment(const Start& what) {
  std::vector<std::string> out = what.environment;
  for (char** each = environ; *each != nullptr; ++each) {
    const std::string_view one(*each);
    const std::string_view name = one.substr(0, one.find('=') + 1);
    const auto named = [&](const std::string& ours) { return ours.starts_with(name); };
    if (std::none_of(what.environment.begin(), what.environment.end(), named)) out.emplace_back(one);
  }
  return out;
}

// Memory that the child needs, made before the fork: behind it only calls that signal handlers may make.
struct Prepared {
  explicit Prepared(const Start& what)
      : words(what.words),
        variables(whole_environment(what)),
        arguments(pointers(words)),
        environment(pointers(variables)) {
    CPU_ZERO(&processors);
    for (const int each : what.processors) CPU_SET(static_cast<std::size_t>(each), &processors);
  }
  std::vector<std::string> words, variables;
  std::vector<char*> arguments, environment;
  cpu_set_t processors;
};

[[noreturn]] void become(const Start& what, const Prepared& prepared, pid_t parent, int told) noexcept {
  const auto check = [&](bool good) {
    if (good) return;
    const int failed = errno;
    [[maybe_unused]] const auto written = ::write(told, &failed, sizeof failed);
    ::_exit(failed == ENOENT ? kNotFound : kNotExecutable);
  };
  check(::prctl(PR_SET_PDEATHSIG, SIGKILL) == 0);
  if (::getppid() != parent) ::_exit(kNotExecutable);
  if (!what.processors.empty())
    check(::sched_setaffinity(0, sizeof prepared.processors, &prepared.processors) == 0);
  if (!what.input) {
    const int none = ::open("/dev/null", O_RDONLY);
    check(none >= 0 && ::dup2(none, STDIN_FILENO) >= 0 && ::close(none) == 0);
  }
  if (what.output >= 0) check(::dup2(what.output, STDOUT_FILENO) >= 0);
  if (what.error >= 0) check(::dup2(what.error, STDERR_FILENO) >= 0);
  sigset_t none;
  ::sigemptyset(&none);
  check(::sigprocmask(SIG_SETMASK, &none, nullptr) == 0);
  ::execvpe(prepared.arguments[0], prepared.arguments.data(), prepared.environment.data());
  check(false);
  ::_exit(kNotExecutable);
}

Failure not_started(const std::string& program, int errnum) {
  return {fmt::format("'{}' cannot be started: {}", program, std::strerror(errnum)), "program_not_started",
          "name a program in PATH, or one with its folder",
          static_cast<ExitCode>(errnum == ENOENT ? kNotFound : kNotExecutable)};
}

// Children of this process, of whatever thread.
std::vector<pid_t> children() {
  std::vector<pid_t> out;
  DIR* const all = ::opendir("/proc");
  if (all == nullptr) return out;
  while (const dirent* const each = ::readdir(all)) {
    pid_t pid = 0;
    const std::string_view name(each->d_name);
    if (std::from_chars(name.data(), name.data() + name.size(), pid).ptr != name.data() + name.size())
      continue;
    std::ifstream file(fmt::format("/proc/{}/stat", pid));
    std::string text((std::istreambuf_iterator<char>(file)), {});
    const std::size_t behind = text.rfind(')');  // the name in front may have anything in it
    pid_t parent = 0;
    char state = 0;
    if (behind != std::string::npos &&
        std::sscanf(text.c_str() + behind + 1, " %c %d", &state, &parent) == 2 && parent == ::getpid())
      out.push_back(pid);
  }
  ::closedir(all);
  return out;
}

}  // namespace

sigset_t block_signals() {
  sigset_t out;
  ::sigemptyset(&out);
  ::sigaddset(&out, SIGCHLD);
  for (const int each : kPassedOn) ::sigaddset(&out, each);
  ::sigprocmask(SIG_BLOCK, &out, nullptr);
  return out;
}

pid_t start(const Start& what) {
  const Prepared prepared(what);
  int ends[2] = {-1, -1};
  if (::pipe2(ends, O_CLOEXEC) != 0) throw system_failure("pipe", errno);
  base::FileDescriptor read{ends[0]}, told{ends[1]};
  const pid_t parent = ::getpid();
  const pid_t child = ::fork();
  if (child < 0) throw system_failure("fork", errno);
  if (child == 0) become(what, prepared, parent, told.get());
  told.reset();
  int failed = 0;
  ssize_t got = 0;
  do got = ::read(read.get(), &failed, sizeof failed);
  while (got < 0 && errno == EINTR);
  if (got != sizeof failed) return child;
  ::waitpid(child, nullptr, 0);
  throw not_started(what.words.front(), failed);
}

std::optional<Ended> take_ended() {
  int status = 0;
  const pid_t pid = ::waitpid(-1, &status, WNOHANG);
  if (pid <= 0) return std::nullopt;
  const int shown = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return Ended{pid, static_cast<std::uint32_t>(shown)};
}

void adopt_orphans() { ::prctl(PR_SET_CHILD_SUBREAPER, 1); }

void kill_all() {
  for (;;) {
    // A stopped one is killed as well. Who has been forked meanwhile is found by the next look.
    for (const pid_t each : children()) ::kill(each, SIGKILL);
    pid_t gone = 0;
    do gone = ::waitpid(-1, nullptr, 0);
    while (gone < 0 && errno == EINTR);
    if (gone < 0) return;  // there are none
  }
}

}  // namespace hamlyn::tool
