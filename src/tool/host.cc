#include "tool/host.h"

#include <fcntl.h>
#include <linux/membarrier.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>
#include <sstream>
#include <thread>

#include "base/file_descriptor.h"
#include "base/memfd.h"
#include "base/short_slices.h"

#ifndef SO_PEERPIDFD
#define SO_PEERPIDFD 77  // Linux 6.5
#endif

namespace hamlyn::tool {
namespace {

using base::FileDescriptor;

std::string first_line(const std::string& path) {
  std::ifstream file{path};
  std::string line;
  std::getline(file, line);
  return line;
}

// Whether one of the lines that begin with `key` holds `word`.
bool line_has(const std::string& path, const std::string& key, const std::string& word) {
  std::ifstream file{path};
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with(key)) continue;
    std::istringstream words{line};
    for (std::string found; words >> found;) {
      if (found == word) return true;
    }
  }
  return false;
}

// Finds, in a line of choices, the one in brackets.
std::string chosen_in(const std::string& line) {
  const std::size_t from = line.find('['), to = line.find(']');
  return from < to && to != std::string::npos ? line.substr(from + 1, to - from - 1) : "";
}

// A call that cannot succeed fails in its own way where it is known and allowed.
bool knows_futex_waitv() {
#ifdef SYS_futex_waitv
  return syscall(SYS_futex_waitv, nullptr, 0u, 0u, nullptr, 0) != 0 && errno == EINVAL;
#else
  return false;
#endif
}

bool knows_membarrier() {
  const long known = syscall(SYS_membarrier, MEMBARRIER_CMD_QUERY, 0, 0);
  return known > 0 && (known & MEMBARRIER_CMD_PRIVATE_EXPEDITED) != 0;
}

bool makes_sealed_memory() {
  const FileDescriptor memory = base::make_memfd("hamlyn-doctor", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  return memory && fcntl(memory.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_FUTURE_WRITE) == 0;
}

bool tells_peer_pidfd() {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) return false;
  const FileDescriptor one{ends[0]}, other{ends[1]};
  int descriptor = -1;
  socklen_t size = sizeof descriptor;
  const bool told = getsockopt(one.get(), SOL_SOCKET, SO_PEERPIDFD, &descriptor, &size) == 0;
  const FileDescriptor pidfd{descriptor};
  return told;
}

std::uint32_t allowed_processors() {
  cpu_set_t set;
  CPU_ZERO(&set);
  return sched_getaffinity(0, sizeof set, &set) == 0 ? static_cast<std::uint32_t>(CPU_COUNT(&set)) : 0;
}

std::string policy_named(std::uint32_t policy) {
  switch (policy) {
    case SCHED_OTHER:
      return "other";
    case SCHED_FIFO:
      return "fifo";
    case SCHED_RR:
      return "rr";
    case SCHED_BATCH:
      return "batch";
    case SCHED_IDLE:
      return "idle";
    default:
      return "policy " + std::to_string(policy);
  }
}

// Asked for by a thread that does nothing else.
bool gives_short_slices() {
  bool given = false;
  std::thread asks([&] {
    base::ask_for_short_slices();
    base::SchedulingAttributes own{};
    given = base::scheduling_of_thread(own) && own.runtime == base::kShortSlice;
  });
  asks.join();
  return given;
}

rlimit limit(int what) {
  rlimit found{};
  getrlimit(static_cast<__rlimit_resource>(what), &found);
  return found;
}

}  // namespace

Host look_at_host(const std::string& root) {
  Host host;
  utsname system{};
  uname(&system);
  host.kernel = system.release;
  host.futex_waitv = knows_futex_waitv();
  host.membarrier = knows_membarrier();
  host.sealed_memory = makes_sealed_memory();
  host.peer_pidfd = tells_peer_pidfd();
  host.processors = std::thread::hardware_concurrency();
  host.allowed = allowed_processors();
  const std::string processor = root + "/sys/devices/system/cpu/cpu0/";
  host.threads_share_cores =
      first_line(processor + "topology/thread_siblings_list").find_first_of(",-") != std::string::npos;
  host.virtual_machine = line_has(root + "/proc/cpuinfo", "flags", "hypervisor");
  host.governor = first_line(processor + "cpufreq/scaling_governor");
  host.group = look_at_control_group(root);
  base::SchedulingAttributes scheduling{};
  if (base::scheduling_of_thread(scheduling)) {
    host.policy = policy_named(scheduling.policy);
    host.nice = scheduling.nice;
  }
  host.short_slices = gives_short_slices();
  host.huge_pages = chosen_in(first_line(root + "/sys/kernel/mm/transparent_hugepage/enabled"));
  host.lockable = limit(RLIMIT_MEMLOCK).rlim_cur;
  if (geteuid() == 0) host.lockable = RLIM_INFINITY;  // CAP_IPC_LOCK
  host.descriptors = limit(RLIMIT_NOFILE).rlim_cur;
  host.descriptors_hard = limit(RLIMIT_NOFILE).rlim_max;
  struct stat entry;
  host.service = stat((root + "/run/hamlyn/node.sock").c_str(), &entry) == 0 && S_ISSOCK(entry.st_mode);
  return host;
}

}  // namespace hamlyn::tool
