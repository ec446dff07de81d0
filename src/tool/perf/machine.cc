#include "tool/perf/machine.h"

#include <sys/utsname.h>
#include <unistd.h>

#include <array>
#include <ctime>
#include <fstream>

namespace hamlyn::tool::perf {
namespace {

// The value of the first line of `path` that begins with `key`, after `separator`; without quotation marks.
std::string value_in(const char* path, const std::string& key, char separator) {
  std::ifstream file{path};
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with(key)) continue;
    const std::size_t at = line.find(separator);
    const std::size_t start = at == std::string::npos ? at : line.find_first_not_of(" \t\"", at + 1);
    if (start == std::string::npos) break;
    return line.substr(start, line.find_last_not_of(" \t\"") - start + 1);
  }
  return "unknown";
}

}  // namespace

std::string describe_machine(Cores cores) {
  utsname system{};
  uname(&system);
  return value_in("/proc/cpuinfo", "model name", ':') + ", " + std::to_string(sysconf(_SC_NPROCESSORS_ONLN)) +
         " processors (measured on " + std::to_string(cores.first) + " and " + std::to_string(cores.second) +
         "), " + value_in("/etc/os-release", "PRETTY_NAME", '=') + ", " + system.sysname + " " +
         system.release + " " + system.machine;
}

std::string utc_now() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  gmtime_r(&now, &parts);
  std::array<char, 32> text{};
  std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%SZ", &parts);
  return text.data();
}

}  // namespace hamlyn::tool::perf
