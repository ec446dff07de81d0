#include "tool/perf/cores.h"

#include <sched.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <stdexcept>

namespace hamlyn::tool::perf {
namespace {

struct Position {
  int package = -1;
  int core = -1;
  friend bool operator==(const Position&, const Position&) = default;
};

int read_number(const std::string& path) {
  std::ifstream file{path};
  int number = -1;
  file >> number;
  return file ? number : -1;
}

Position position_of(int processor, const std::string& root) {
  const std::string folder = root + "/cpu" + std::to_string(processor) + "/topology/";
  return {read_number(folder + "physical_package_id"), read_number(folder + "core_id")};
}

}  // namespace

std::vector<int> allowed_processors() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof set, &set) != 0) {
    throw std::runtime_error(std::string("sched_getaffinity: ") + std::strerror(errno));
  }
  std::vector<int> allowed;
  for (int i = 0; i < CPU_SETSIZE; ++i) {
    if (CPU_ISSET(static_cast<unsigned>(i), &set)) allowed.push_back(i);
  }
  return allowed;
}

Cores choose_cores(const std::vector<int>& allowed, const std::string& root) {
  if (allowed.size() < 2) {
    throw std::runtime_error("perf measures between two processors, but this process may run on one only");
  }
  const Position first = position_of(allowed[0], root);
  for (const bool same_package : {true, false}) {
    for (const int other : allowed) {
      const Position position = position_of(other, root);
      if (position == first || (same_package && position.package != first.package)) continue;
      return {allowed[0], other};
    }
  }
  return {allowed[0], allowed[1]};
}

void check_cores(Cores cores, const std::vector<int>& allowed) {
  if (cores.first == cores.second) throw std::invalid_argument("--cores needs two different processors");
  for (const int core : {cores.first, cores.second}) {
    if (std::find(allowed.begin(), allowed.end(), core) != allowed.end()) continue;
    throw std::invalid_argument("--cores: this process may not run on processor " + std::to_string(core));
  }
}

Cores cores_for(Cores asked) {
  const std::vector<int> allowed = allowed_processors();
  if (asked.first < 0) return choose_cores(allowed);
  check_cores(asked, allowed);
  return asked;
}

void pin(int processor) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(static_cast<unsigned>(processor), &set);
  if (sched_setaffinity(0, sizeof set, &set) != 0) {
    throw std::runtime_error("cannot pin to processor " + std::to_string(processor) + ": " +
                             std::strerror(errno));
  }
}

}  // namespace hamlyn::tool::perf
