#include "tool/run/processes.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <sstream>
#include <string_view>

#include "tool/failure.h"

namespace hamlyn::tool {
namespace {

constexpr int kNotFound = 127, kNotExecutable = 126;

// State of this process before it changed it, for those that it starts. A process has one of each.
struct Inherited {
  sigset_t blocked{};
  struct sigaction broken_pipe {};
  rlimit descriptors{};
  bool raised = false;
};
Inherited inherited;

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

// Memory that the child needs: between vfork and exec there are only system calls.
struct Prepared {
  explicit Prepared(const Start& what)
      : file(what.file.empty() ? what.words.front() : what.file),
        words(what.words),
        variables(whole_environment(what)),
        arguments(pointers(words)),
        environment(pointers(variables)) {
    CPU_ZERO(&processors);
    for (const int each : what.processors) CPU_SET(static_cast<std::size_t>(each), &processors);
  }
  const std::string file;
  std::vector<std::string> words, variables;
  std::vector<char*> arguments, environment;
  cpu_set_t processors;
};

// The child's descriptors, as asked for; false: errno says why not.
bool place_descriptors(const Start& what) noexcept {
  if (!what.input) {
    const int none = ::open("/dev/null", O_RDONLY);
    if (none < 0 || ::dup2(none, STDIN_FILENO) < 0 || ::close(none) != 0) return false;
  }
  return (what.output < 0 || ::dup2(what.output, STDOUT_FILENO) >= 0) &&
         (what.error < 0 || ::dup2(what.error, STDERR_FILENO) >= 0);
}

// All that was changed for `hamlyn run` itself, as it was before.
bool restore_inherited() noexcept {
  ::signal(SIGXFSZ, SIG_DFL);
  if (::sigaction(SIGPIPE, &inherited.broken_pipe, nullptr) != 0) return false;
  if (inherited.raised && ::setrlimit(RLIMIT_NOFILE, &inherited.descriptors) != 0) return false;
  return ::sigprocmask(SIG_SETMASK, &inherited.blocked, nullptr) == 0;
}

// In the child, which has its parent's memory until exec: `failed` is what the parent reads.
[[noreturn]] void become(const Start& what, const Prepared& prepared, pid_t parent,
                         volatile int& failed) noexcept {
  const bool good = ::prctl(PR_SET_PDEATHSIG, SIGKILL) == 0 && ::getppid() == parent &&
                    (!what.own_group || ::setpgid(0, 0) == 0) &&
                    (what.processors.empty() ||
                     ::sched_setaffinity(0, sizeof prepared.processors, &prepared.processors) == 0) &&
                    place_descriptors(what) && restore_inherited();
  if (good) ::execvpe(prepared.file.c_str(), prepared.arguments.data(), prepared.environment.data());
  failed = errno;
  ::_exit(kNotExecutable);
}

Failure not_started(const std::string& program, int errnum) {
  constexpr std::array kOurs{EMFILE, ENFILE, ENOMEM, EAGAIN};
  if (std::ranges::find(kOurs, errnum) != kOurs.end()) return system_failure("starting " + program, errnum);
  return {fmt::format("'{}' cannot be started: {}", program, std::strerror(errnum)), "program_not_started",
          "name a program in PATH, or one with its folder",
          static_cast<ExitCode>(errnum == ENOENT ? kNotFound : kNotExecutable)};
}

}  // namespace

sigset_t block_signals() {
  sigset_t out;
  ::sigemptyset(&out);
  ::sigaddset(&out, SIGCHLD);
  for (const int each : kPassedOn) ::sigaddset(&out, each);
  ::sigprocmask(SIG_BLOCK, &out, &inherited.blocked);
  ::signal(SIGCHLD, SIG_DFL);  // ignored, children would end unseen
  struct sigaction ignored {};
  ignored.sa_handler = SIG_IGN;  // a reader that has gone is an error of write
  ::sigaction(SIGPIPE, &ignored, &inherited.broken_pipe);
  return out;
}

void raise_descriptors() {
  if (::getrlimit(RLIMIT_NOFILE, &inherited.descriptors) != 0) return;
  rlimit more = inherited.descriptors;
  more.rlim_cur = more.rlim_max;
  inherited.raised = ::setrlimit(RLIMIT_NOFILE, &more) == 0;
}

std::string file_of(const std::string& word) {
  const char* const path = std::getenv("PATH");
  if (path == nullptr || word.empty() || word.find('/') != std::string::npos) return word;
  std::istringstream folders(path);
  for (std::string each; std::getline(folders, each, ':');) {
    const std::string file = fmt::format("{}/{}", each.empty() ? "." : each, word);
    std::error_code failed;
    if (std::filesystem::is_regular_file(file, failed) && ::access(file.c_str(), X_OK) == 0) return file;
  }
  return word;
}

pid_t start(const Start& what) {
  const Prepared prepared(what);
  const pid_t parent = ::getpid();
  volatile int failed = 0;
  // Parent and child share memory until exec: a fork would copy the tables of all that an interface maps.
  const pid_t child = ::vfork();
  if (child == 0) become(what, prepared, parent, failed);
  if (child < 0) throw system_failure("vfork", errno);
  if (failed == 0) return child;
  ::waitpid(child, nullptr, 0);
  throw not_started(what.words.front(), failed);
}

}  // namespace hamlyn::tool
