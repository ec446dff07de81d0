#include "tool/control_group.h"

#include <algorithm>
#include <fstream>
#include <sstream>
#include <string_view>
#include <vector>

namespace hamlyn::tool {
namespace {

constexpr std::uint64_t kNoLimit = std::uint64_t{1} << 62;  // version 1 writes a number near 2^63 for none

std::string first_word(const std::string& path) {
  std::ifstream file{path};
  std::string word;
  file >> word;
  return word;
}

std::optional<double> number_in(const std::string& word) {
  std::istringstream text{word};
  double out = 0;
  return text >> out && out > 0 ? std::optional{out} : std::nullopt;
}

template <class Value>
void lower(std::optional<Value>& least, std::optional<Value> found) {
  if (found && (!least || *found < *least)) least = found;
}

// "200000 100000": so many microseconds in each of so many; "max ...": no quota.
std::optional<double> quota_of_two(const std::string& folder) {
  std::ifstream file{folder + "cpu.max"};
  double quota = 0, period = 0;
  return file >> quota >> period && quota > 0 && period > 0 ? std::optional{quota / period} : std::nullopt;
}

std::optional<double> quota_of_one(const std::string& folder) {
  const auto quota = number_in(first_word(folder + "cpu.cfs_quota_us"));  // -1: none
  const auto period = number_in(first_word(folder + "cpu.cfs_period_us"));
  return quota && period ? std::optional{*quota / *period} : std::nullopt;
}

std::optional<std::uint64_t> memory_in(const std::string& path) {
  std::ifstream file{path};
  std::uint64_t bytes = 0;
  return file >> bytes && bytes < kNoLimit ? std::optional{bytes} : std::nullopt;
}

// Calls `each` with the folder of the group and of those above it, up to the mount. A group outside of what
// is mounted here, as containers have it, is looked for at the mount alone.
template <class Each>
void for_all_above(const std::string& mount, std::string group, Each each) {
  if (group.find("..") != std::string::npos) group.clear();
  for (;;) {
    each(mount + group + "/");
    const std::size_t slash = group.rfind('/');
    if (slash == std::string::npos) return;
    group.resize(slash);
  }
}

bool names(const std::string& controllers, std::string_view wanted) {
  std::istringstream list{controllers};
  for (std::string one; std::getline(list, one, ',');)
    if (one == wanted) return true;
  return false;
}

}  // namespace

ControlGroup look_at_control_group(const std::string& root) {
  ControlGroup out;
  const std::string mount = root + "/sys/fs/cgroup";
  const auto version_two = [&](const std::string& folder) {
    lower(out.processors, quota_of_two(folder));
    lower(out.memory, memory_in(folder + "memory.max"));
  };
  version_two(mount + "/");  // of a container, whose group is the mount, also where /proc says nothing
  std::ifstream groups{root + "/proc/self/cgroup"};
  for (std::string line; std::getline(groups, line);) {  // number:controllers:group
    const std::size_t first = line.find(':');
    const std::size_t second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    const std::string group = line.substr(second + 1);
    if (controllers.empty()) {
      for_all_above(mount, group, version_two);
    } else if (names(controllers, "memory")) {
      for_all_above(mount + "/memory", group, [&](const std::string& folder) {
        lower(out.memory, memory_in(folder + "memory.limit_in_bytes"));
      });
    } else if (names(controllers, "cpu")) {
      for_all_above(mount + "/" + controllers, group,
                    [&](const std::string& folder) { lower(out.processors, quota_of_one(folder)); });
    }
  }
  return out;
}

}  // namespace hamlyn::tool
