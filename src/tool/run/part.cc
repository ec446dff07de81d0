#include "tool/run/part.h"

#include <fmt/core.h>
#include <sched.h>
#include <signal.h>

#include <filesystem>

#include "tool/run/hex.h"
#include "tool/run/processes.h"

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
  std::vector<std::string> out{"HAMLYN_JOB=" + options_.job,
                               fmt::format("HAMLYN_RANK={}", block_.first + here),
                               fmt::format("HAMLYN_SIZE={}", options_.ranks),
                               fmt::format("HAMLYN_LOCAL_RANK={}", here),
                               fmt::format("HAMLYN_LOCAL_SIZE={}", block_.ranks),
                               "HAMLYN_JOB_SECRET=" + hex_of(secret_)};
  if (options_.trusted_network) out.push_back("HAMLYN_TRUSTED_NETWORK=1");
  if (!options_.node.empty())
    out.push_back("HAMLYN_NODE=" + std::filesystem::absolute(options_.node).string());
  return out;
}

void Part::start() {
  const std::vector<int> processors = options_.bind ? allowed_processors() : std::vector<int>{};
  const std::string file = file_of(options_.program.front());
  for (std::uint32_t here = 0; here != block_.ranks; ++here) {
    const std::uint32_t rank = block_.first + here;
    Start what{
        .words = options_.program, .file = file, .environment = environment_of(here), .input = rank == 0};
    if (!processors.empty()) what.processors = share_of(processors, here, block_.ranks);
    if (options_.label) {
      const Streams::Ends ends = streams_.add(fmt::format("[{}] ", rank));
      what.output = ends.output;
      what.error = ends.error;
    }
    running_.emplace(tool::start(what), rank);
    streams_.started();
  }
}

void Part::signal(std::uint32_t rank, int number) const {
  for (const auto& [pid, one] : running_)
    if (one == rank) ::kill(pid, number);
}

void Part::signal_all(int number) const {
  for (const auto& [pid, rank] : running_) ::kill(pid, number);
}

std::optional<std::uint32_t> Part::take(pid_t child) {
  const auto found = running_.find(child);
  if (found == running_.end()) return std::nullopt;
  const std::uint32_t out = found->second;
  running_.erase(found);
  return out;
}

}  // namespace hamlyn::tool
