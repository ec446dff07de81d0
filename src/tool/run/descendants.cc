#include "tool/run/descendants.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/core.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <memory>
#include <string>
#include <string_view>

#include "base/file_descriptor.h"

namespace hamlyn::tool {
namespace {

// The parent of a process; 0: it is gone.
pid_t parent_of(pid_t pid) {
  const base::FileDescriptor file{::open(fmt::format("/proc/{}/stat", pid).c_str(), O_RDONLY | O_CLOEXEC)};
  std::array<char, 512> bytes;  // more than the parent's number and all in front of it
  const ssize_t got = ::read(file.get(), bytes.data(), bytes.size());
  if (got <= 0) return 0;
  const std::string text(bytes.data(), static_cast<std::size_t>(got));
  const std::size_t behind = text.rfind(')');  // the name in front may have anything in it
  pid_t parent = 0;
  char state = 0;
  if (behind == std::string::npos || std::sscanf(text.c_str() + behind + 1, " %c %d", &state, &parent) != 2)
    return 0;
  return parent;
}

// Whether there is any, which costs one system call; a look through all processes of the host costs
// thousands.
bool has_children() {
  siginfo_t info{};
  return ::waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT | __WALL) == 0 || errno != ECHILD;
}

}  // namespace

std::optional<Ended> take_ended() {
  int status = 0;
  const pid_t pid = ::waitpid(-1, &status, WNOHANG);
  if (pid <= 0) return std::nullopt;
  const int shown = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return Ended{pid, static_cast<std::uint32_t>(shown)};
}

void adopt_orphans() { ::prctl(PR_SET_CHILD_SUBREAPER, 1); }

std::vector<pid_t> children() {
  std::vector<pid_t> out;
  if (!has_children()) return out;
  const std::unique_ptr<DIR, int (*)(DIR*)> all(::opendir("/proc"), ::closedir);
  if (all == nullptr) return out;
  while (const dirent* const each = ::readdir(all.get())) {
    pid_t pid = 0;
    const std::string_view name(each->d_name);
    const bool number =
        std::from_chars(name.data(), name.data() + name.size(), pid).ptr == name.data() + name.size();
    if (number && parent_of(pid) == ::getpid()) out.push_back(pid);
  }
  return out;
}

void kill_all(const std::vector<pid_t>& spared) {
  std::vector<pid_t> left = spared;
  for (;;) {
    std::vector<pid_t> all = children();
    std::erase_if(all, [&](pid_t each) { return std::ranges::find(left, each) != left.end(); });
    if (all.empty()) return;
    // All are killed before any is waited for. What they have forked meanwhile is found by the next look.
    const auto may_not = [&](pid_t each) {
      if (::kill(each, SIGKILL) == 0 || errno != EPERM) return false;
      fmt::print(stderr, "hamlyn run: process {} is another user's, and goes on\n", each);
      left.push_back(each);
      return true;
    };
    std::erase_if(all, may_not);
    for (const pid_t each : all)
      while (::waitpid(each, nullptr, 0) < 0 && errno == EINTR) {
      }
  }
}

}  // namespace hamlyn::tool
