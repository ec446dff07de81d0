#include "node/client/constraints.h"

#include <sched.h>

#include <charconv>
#include <fstream>
#include <sstream>
#include <string_view>

namespace hamlyn::node {
namespace {

constexpr std::uint64_t kFewDescriptors = 1024;
constexpr int kUsualScore = 200;  // what systemd gives the programs of a user's session

std::string text_of(const std::string& path) {
  std::ifstream file{path};
  return {std::istreambuf_iterator<char>(file), {}};
}

// The field of that number, from 1 on, of a process's `stat`. The second is a name and may hold anything.
long field(const std::string& stat, int number) {
  const std::size_t name_end = stat.rfind(')');
  if (name_end == std::string::npos) return 0;
  std::istringstream rest{stat.substr(name_end + 1)};
  std::string word;
  for (int at = 2; at < number; ++at)
    if (!(rest >> word)) return 0;
  long out = 0;
  std::from_chars(word.data(), word.data() + word.size(), out);
  return out;
}

// The soft limit on the line that begins with `name`; empty: there is none.
std::string limit(const std::string& limits, const std::string& name) {
  std::istringstream lines{limits};
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with(name)) continue;
    std::istringstream words{line.substr(name.size())};
    std::string soft;
    words >> soft;
    return soft == "unlimited" ? "" : soft;
  }
  return {};
}

void add_limits(const std::string& limits, std::vector<std::string>& out) {
  const std::string files = limit(limits, "Max open files");
  std::uint64_t most = kFewDescriptors;
  std::from_chars(files.data(), files.data() + files.size(), most);
  if (most < kFewDescriptors) out.push_back("it may have " + files + " descriptors open");
  struct {
    const char *name, *before, *after;
  } constexpr kOthers[] = {{"Max cpu time", "it ends after ", " s of processor time"},
                           {"Max file size", "its files may have ", " bytes"},
                           {"Max data size", "its data may have ", " bytes"},
                           {"Max address space", "its address space may have ", " bytes"}};
  for (const auto& [name, before, after] : kOthers)
    if (const std::string most_of_it = limit(limits, name); !most_of_it.empty())
      out.push_back(before + most_of_it + after);
}

}  // namespace

std::vector<std::string> constraints_of(std::uint32_t pid, const std::string& proc) {
  const std::string folder = proc + "/" + std::to_string(pid) + "/";
  const std::string stat = text_of(folder + "stat");
  std::vector<std::string> out;
  if (const long nice = field(stat, 19); nice > 0) out.push_back("it runs at nice " + std::to_string(nice));
  const long policy = field(stat, 41);
  if (policy == SCHED_IDLE) out.push_back("it runs when nobody else does (SCHED_IDLE)");
  if (policy == SCHED_BATCH) out.push_back("it is scheduled for batches (SCHED_BATCH)");
  std::istringstream score{text_of(folder + "oom_score_adj")};
  if (int much = 0; score >> much && much > kUsualScore)
    out.push_back("the kernel ends it early where memory is short (oom_score_adj " + std::to_string(much) +
                  ")");
  add_limits(text_of(folder + "limits"), out);
  return out;
}

}  // namespace hamlyn::node
