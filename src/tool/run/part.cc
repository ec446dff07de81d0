#include "tool/run/part.h"

#include <fmt/core.h>
#include <poll.h>
#include <sched.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>

#include "tool/failure.h"

namespace hamlyn::tool {
namespace {

std::vector<int> allowed_processors() {
  cpu_set_t set;
  CPU_ZERO(&set);
  std::vector<int> out;
  if (::sched_getaffinity(0, sizeof set, &set) != 0) return out;
  for (int each = 0; each != CPU_SETSIZE; ++each)
    if (CPU_ISSET(static_cast<std::size_t>(each), &set)) out.push_back(each);
  return out;
}

}  // namespace

std::vector<std::string> Part::environment_of(std::uint32_t here) const {
  std::string secret;
  for (const std::byte each : secret_) secret += fmt::format("{:02x}", std::to_integer<unsigned>(each));
  std::vector<std::string> out{"HAMLYN_JOB=" + options_.job,
                               fmt::format("HAMLYN_RANK={}", block_.first + here),
                               fmt::format("HAMLYN_SIZE={}", options_.ranks),
                               fmt::format("HAMLYN_LOCAL_RANK={}", here),
                               fmt::format("HAMLYN_LOCAL_SIZE={}", block_.ranks),
                               "HAMLYN_JOB_SECRET=" + secret};
  if (!options_.node.empty())
    out.push_back("HAMLYN_NODE=" + std::filesystem::absolute(options_.node).string());
  return out;
}

void Part::start() {
  const std::vector<int> processors = options_.bind ? allowed_processors() : std::vector<int>{};
  lines_.reserve(std::size_t{2} * block_.ranks);
  for (std::uint32_t here = 0; here != block_.ranks; ++here) {
    const std::uint32_t rank = block_.first + here;
    Start what{.words = options_.program, .environment = environment_of(here), .input = rank == 0};
    if (!processors.empty()) what.processors = share_of(processors, here, block_.ranks);
    if (options_.label) {
      const std::string label = fmt::format("[{}] ", rank);
      what.output = lines_.emplace_back(label, STDOUT_FILENO).theirs();
      what.error = lines_.emplace_back(label, STDERR_FILENO).theirs();
    }
    running_.emplace(tool::start(what), rank);
    for (Lines& each : lines_) each.started();
  }
}

void Part::signal(std::uint32_t rank, int number) const {
  for (const auto& [pid, one] : running_)
    if (one == rank) ::kill(pid, number);
}

std::optional<std::uint32_t> Part::take(pid_t child) {
  const auto found = running_.find(child);
  if (found == running_.end()) return std::nullopt;
  const std::uint32_t out = found->second;
  running_.erase(found);
  return out;
}

Events::Events(int front)
    : front_(front), parent_(::getppid()), news_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  const sigset_t set = block_signals();
  signals_.reset(::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!signals_ || !news_) throw system_failure("signalfd", errno);
}

void Events::news() const noexcept {
  const std::uint64_t one = 1;
  [[maybe_unused]] const auto written = ::write(news_.get(), &one, sizeof one);
}

Events::Came Events::wait(std::vector<Lines>& lines, std::chrono::milliseconds timeout, int other) {
  std::vector<pollfd> all{
      {signals_.get(), POLLIN, 0}, {news_.get(), POLLIN, 0}, {front_, POLLIN, 0}, {other, POLLIN, 0}};
  for (const Lines& each : lines) all.push_back({each.descriptor(), POLLIN, 0});
  Came out;
  if (::poll(all.data(), all.size(), static_cast<int>(timeout.count())) <= 0) return out;
  signalfd_siginfo info{};
  // Signals of the terminal reach the ranks themselves: only what the process in front has sent is passed on.
  while (::read(signals_.get(), &info, sizeof info) == sizeof info)
    if (info.ssi_signo != SIGCHLD && static_cast<pid_t>(info.ssi_pid) == parent_)
      out.signals.push_back(static_cast<int>(info.ssi_signo));
  std::uint64_t count = 0;
  [[maybe_unused]] const auto got = ::read(news_.get(), &count, sizeof count);
  out.front_ended = (all[2].revents & (POLLHUP | POLLERR | POLLIN)) != 0;  // it never writes
  for (std::size_t i = 0; i != lines.size(); ++i)
    if (all[i + 4].revents != 0) lines[i].pass_on();
  return out;
}

}  // namespace hamlyn::tool
