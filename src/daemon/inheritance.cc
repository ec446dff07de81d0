#include "daemon/inheritance.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cstring>

namespace hamlyn::daemon {
namespace {

constexpr unsigned long kUsualSlack = 50'000;  // ns, the kernel's own
constexpr int kThisProcess = 1;                // IOPRIO_WHO_PROCESS
constexpr int kNoClass = 0;                    // IOPRIO_CLASS_NONE: by the nice value
constexpr int kNoPolicy = 0;                   // MPOL_DEFAULT

// All that its cpuset lets it have: the kernel takes the others off the mask.
void take_all_processors() noexcept {
  std::array<unsigned char, 1024> mask;
  mask.fill(0xFF);
  ::syscall(SYS_sched_setaffinity, 0, mask.size(), mask.data());
}

// The hard limit stays, and what is not a matter of serving others: cores, stacks, priorities.
void raise_soft_limits() noexcept {
  for (const auto what :
       {RLIMIT_AS, RLIMIT_CPU, RLIMIT_DATA, RLIMIT_FSIZE, RLIMIT_MEMLOCK, RLIMIT_NOFILE, RLIMIT_NPROC}) {
    rlimit limit{};
    if (::getrlimit(what, &limit) != 0 || limit.rlim_cur == limit.rlim_max) continue;
    limit.rlim_cur = limit.rlim_max;
    ::setrlimit(what, &limit);
  }
}

void lower_oom_score() noexcept {
  const int file = ::open("/proc/self/oom_score_adj", O_RDWR | O_CLOEXEC);
  if (file < 0) return;
  // One below 0 was given by root, as a service's: it is not taken back either.
  char first = 0;
  if (::read(file, &first, 1) == 1 && first != '-' && first != '0') {
    [[maybe_unused]] const auto written = ::pwrite(file, "0", 1, 0);
  }
  ::close(file);
}

}  // namespace

void take_back_inheritance() noexcept {
  take_all_processors();
  if (::sched_getscheduler(0) != SCHED_OTHER) {
    const sched_param none{};
    ::sched_setscheduler(0, SCHED_OTHER, &none);
  }
  ::setpriority(PRIO_PROCESS, 0, 0);
  ::syscall(SYS_ioprio_set, kThisProcess, 0, kNoClass);
  ::syscall(SYS_set_mempolicy, kNoPolicy, nullptr, 0);
  ::prctl(PR_SET_TIMERSLACK, kUsualSlack, 0, 0, 0);
  raise_soft_limits();
  lower_oom_score();
}

}  // namespace hamlyn::daemon
