#include "test/chaos/census.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <system_error>

namespace hamlyn::chaos {
namespace {

namespace fs = std::filesystem;

std::uint64_t entries(const fs::path& folder) {
  std::error_code none;
  std::uint64_t count = 0;
  for (fs::directory_iterator at(folder, none), end; !none && at != end; at.increment(none)) ++count;
  return count;
}

// The number behind `key` in a file of lines like "Pss:   123 kB".
std::uint64_t value_of(const fs::path& path, const std::string& key) {
  std::ifstream file(path);
  for (std::string word; file >> word;) {
    std::uint64_t value = 0;
    if (word == key && file >> value) return value;
  }
  return 0;
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
  out.descriptors = entries(process / "fd");
  out.threads = entries(process / "task");
  std::error_code none;
  for (fs::directory_iterator task(process / "task", none), end; !none && task != end; task.increment(none)) {
    if (of_control_thread(task->path())) out.descriptors += entries(task->path() / "fd");
  }
  out.kib = value_of(process / "smaps_rollup", "Pss:");
  out.shared_kib = value_of(process / "smaps_rollup", "Pss_Shmem:");
  return out;
}

std::uint64_t machine_shared_kib() { return value_of("/proc/meminfo", "Shmem:"); }

}  // namespace hamlyn::chaos
