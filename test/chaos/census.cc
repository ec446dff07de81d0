#include "test/chaos/census.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <system_error>
#include <vector>

namespace hamlyn::chaos {
namespace {

namespace fs = std::filesystem;

// A count of 0 would pass for a process that has nothing: what cannot be read is an error.
[[noreturn]] void unreadable(const fs::path& path, const char* why) {
  throw std::runtime_error("what a process has cannot be counted: " + path.string() + ": " + why);
}

std::vector<fs::path> entries(const fs::path& folder) {
  std::error_code error;
  std::vector<fs::path> found;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error))
    found.push_back(at->path());
  if (error) unreadable(folder, error.message().c_str());
  return found;
}

// The number behind `key` in a file of lines like "Pss:   123 kB".
std::uint64_t value_of(const fs::path& path, const std::string& key) {
  std::ifstream file(path);
  for (std::string word; file >> word;) {
    std::uint64_t value = 0;
    if (word == key && file >> value) return value;
  }
  unreadable(path, ("no " + key).c_str());
}

bool of_control_thread(const fs::path& task) {
  std::string name;
  std::getline(std::ifstream(task / "comm"), name);
  return name == "hamlyn-control";
}

}  // namespace

Belongings belongings_of(pid_t pid) {
  const fs::path process = "/proc/" + std::to_string(pid);
  Belongings out;
  out.descriptors = entries(process / "fd").size();
  const std::vector<fs::path> tasks = entries(process / "task");
  out.threads = tasks.size();
  for (const fs::path& task : tasks) {
    if (of_control_thread(task)) out.descriptors += entries(task / "fd").size();
  }
  out.kib = value_of(process / "smaps_rollup", "Pss:");
  out.shared_kib = value_of(process / "smaps_rollup", "Pss_Shmem:");
  return out;
}

std::uint64_t machine_shared_kib() { return value_of("/proc/meminfo", "Shmem:"); }

}  // namespace hamlyn::chaos
