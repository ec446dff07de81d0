#include "tool/perf/program.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <sstream>
#include <stdexcept>

namespace hamlyn::tool::perf {
namespace {

using Clock = std::chrono::steady_clock;

int become(const std::vector<std::string>& words, const Environment& added, int output) {
  for (const auto& [name, value] : added) setenv(name.c_str(), value.c_str(), 1);
  dup2(output, STDOUT_FILENO);
  dup2(output, STDERR_FILENO);
  std::vector<char*> arguments;
  for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  execvp(arguments[0], arguments.data());
  return 127;
}

bool has_line(const std::string& text, const std::string& beginning) {
  if (beginning.empty()) return false;
  const std::size_t at = text.starts_with(beginning) ? 0 : text.find("\n" + beginning);
  return at != std::string::npos && text.find('\n', at + 1) != std::string::npos;
}

}  // namespace

Program::Program(const std::vector<std::string>& words, const Environment& added) {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0)
    throw std::runtime_error(std::string("pipe: ") + std::strerror(errno));
  from_.reset(ends[0]);
  const base::FileDescriptor to{ends[1]};
  process_.emplace([&] { return become(words, added, to.get()); });
}

std::string Program::output(std::chrono::seconds timeout, const std::string& last_line) {
  const Clock::time_point deadline = Clock::now() + timeout;
  std::string text;
  std::array<char, 4096> part{};
  while (!has_line(text, last_line)) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now()).count();
    pollfd wait_for{from_.get(), POLLIN, 0};
    const int ready = left > 0 ? poll(&wait_for, 1, static_cast<int>(left)) : 0;
    if (ready < 0 && errno == EINTR) continue;
    if (ready <= 0)
      throw std::runtime_error("not done after " + std::to_string(timeout.count()) + " seconds: " + text);
    const ssize_t got = read(from_.get(), part.data(), part.size());
    if (got <= 0) break;
    text.append(part.data(), static_cast<std::size_t>(got));
  }
  return text;
}

std::string beside(const std::string& name) {
  std::array<char, 4096> self{};
  const ssize_t length = readlink("/proc/self/exe", self.data(), self.size() - 1);
  const std::string path{self.data(), length > 0 ? static_cast<std::size_t>(length) : 0};
  return path.substr(0, path.rfind('/') + 1) + name;
}

std::string find_program(const std::string& name) {
  const char* path = std::getenv("PATH");
  std::istringstream folders{path != nullptr ? path : ""};
  for (std::string folder; std::getline(folders, folder, ':');) {
    const std::string candidate = folder + "/" + name;
    if (access(candidate.c_str(), X_OK) == 0) return candidate;
  }
  return {};
}

}  // namespace hamlyn::tool::perf
