#include "tool/doctor.h"

#include <fmt/core.h>
#include <sys/resource.h>

#include <algorithm>

namespace hamlyn::tool {
namespace {

using Verdict = Finding::Verdict;

Finding good(const char* check, std::string found) {
  return {Verdict::good, check, std::move(found), "", ""};
}

Finding kernel(const Host& host) {
  if (!host.sealed_memory || !host.membarrier) {
    return {
        Verdict::problem, "kernel",
        fmt::format("Linux {} lacks {}", host.kernel, host.sealed_memory ? "membarrier" : "sealed memory"),
        "run Linux 5.16 or later, and allow memfd_create, fcntl and membarrier where system calls are "
        "filtered",
        "without them no interface can be made"};
  }
  if (!host.futex_waitv) {
    return {Verdict::could_be_better, "kernel", fmt::format("Linux {} lacks futex_waitv", host.kernel),
            "run Linux 5.16 or later, and allow futex_waitv where system calls are filtered",
            "whoever waits sleeps until a message comes: without it, it looks once in a millisecond"};
  }
  return good("kernel", fmt::format("Linux {} has all that is needed", host.kernel));
}

Finding attestation(const Host& host) {
  if (host.peer_pidfd) return good("attestation", "the kernel names a peer's process without a race");
  return {Verdict::could_be_better, "attestation",
          "the kernel names a peer's process by its number, which is looked up a moment later",
          "run Linux 6.5 or later", "no window in which a process number could be given to another"};
}

Finding processors(const Host& host) {
  if (host.allowed >= 2) {
    return good("processors", fmt::format("{} of {} for this process", host.allowed, host.processors));
  }
  return {Verdict::could_be_better, "processors", "one processor for this process",
          host.processors >= 2 ? "let it run on more (taskset, cpuset)" : "give the machine a second one",
          "two processes that poll at once: a short message takes about 0.1 us instead of a wake-up's "
          "several"};
}

Finding cores(const Host& host) {
  if (!host.threads_share_cores) return good("cores", "each processor has a core of its own");
  return {Verdict::could_be_better, "cores", "two processors share a core",
          "pin two processes that poll to different cores (lscpu --extended tells which)",
          "a process that polls leaves its neighbour on the core less"};
}

Finding frequency(const Host& host) {
  if (host.governor.empty() || host.governor == "performance") {
    return good("frequency", host.governor.empty() ? "not this system's to choose" : "performance");
  }
  return {Verdict::could_be_better, "frequency", fmt::format("the governor is '{}'", host.governor),
          "as root: cpupower frequency-set -g performance",
          "the first messages after a pause are as fast as the others"};
}

Finding time_quota(const Host& host) {
  if (!host.group.processors) return good("processor time", "no quota");
  return {Verdict::could_be_better, "processor time",
          fmt::format("a control group may use {:.2g} processors' worth", *host.group.processors),
          "raise or remove the quota (CPUQuota= of a unit, --cpus of containers; cpu.max, cpu.cfs_quota_us), "
          "or wait instead of polling",
          "a process that polls uses up its quota and then stands still until the next period"};
}

Finding memory(const Host& host) {
  constexpr std::uint64_t kEnough = std::uint64_t{256} << 20;
  if (!host.group.memory) return good("memory", "no limit");
  const std::string found = fmt::format("a control group may use {} MiB", *host.group.memory >> 20);
  if (*host.group.memory >= kEnough) return good("memory", found);
  return {Verdict::could_be_better, "memory", found,
          "raise or remove the limit (MemoryMax= of a unit, --memory of containers; memory.max, "
          "memory.limit_in_bytes)",
          "areas and links are populated when they are made: beyond the limit the kernel ends a process"};
}

// The library's threads run as the one that starts them does.
Finding scheduling(const Host& host) {
  constexpr const char* kCheck = "scheduling";
  if (host.policy == "fifo" || host.policy == "rr") {
    return {Verdict::could_be_better, kCheck, fmt::format("a real-time policy ({})", host.policy),
            "start it without (chrt --other 0), unless each process that polls has a processor to itself",
            "a process that polls does not keep the threads that serve it, nor the daemon, from a processor"};
  }
  if (host.policy == "batch" || host.policy == "idle") {
    return {Verdict::could_be_better, kCheck, fmt::format("the policy is '{}'", host.policy),
            "start it without (chrt --other 0)",
            "who is woken by a message need not wait until others have used up their slices"};
  }
  if (host.nice > 0) {
    return {Verdict::could_be_better, kCheck, fmt::format("nice {}", host.nice), "start it without nice",
            "its full share where processors are busy"};
  }
  if (!host.short_slices) {
    return {
        Verdict::could_be_better, kCheck, "the kernel gives no short slices to who asks",
        "run Linux 6.12 or later, and allow sched_setattr where system calls are filtered",
        "threads that mostly sleep run sooner where all processors poll: a link grew in 3.1 ms instead of "
        "8.2 where this was measured (docs/performance.md)"};
  }
  return good(kCheck, "threads that mostly sleep get short slices");
}

Finding virtual_machine(const Host& host) {
  if (!host.virtual_machine) return good("virtual machine", "none");
  return {
      Verdict::could_be_better, "virtual machine", "this is one",
      "have its processors pinned to cores of one socket of the host",
      "a cache line between far cores took three to four times as long as between near ones where this was "
      "measured (docs/performance.md)"};
}

std::string in_bytes(std::uint64_t bytes) {
  return bytes == RLIM_INFINITY ? "any amount" : fmt::format("{} KiB", bytes / 1024);
}

Finding locked_memory(const Host& host) {
  constexpr std::uint64_t kEnough = std::uint64_t{64} << 20;
  const std::string found = fmt::format("{} may be locked", in_bytes(host.lockable));
  if (host.lockable >= kEnough) return good("locked memory", found);
  return {
      Verdict::could_be_better, "locked memory", found,
      "raise it: LimitMEMLOCK= of a unit, 'memlock' in /etc/security/limits.conf, --ulimit of containers",
      "areas beyond it are populated but may be swapped out; a message to such a page waits for the disk"};
}

Finding huge_pages(const Host& host) {
  if (host.huge_pages == "always" || host.huge_pages == "madvise")
    return good("huge pages", "areas of 2 MiB and more that are never shown are made of them");
  return {Verdict::could_be_better, "huge pages", "the kernel gives none to who asks",
          "as root: echo madvise > /sys/kernel/mm/transparent_hugepage/enabled",
          "large areas that are written here and there need fewer page table entries"};
}

Finding descriptors(const Host& host) {
  constexpr std::uint64_t kEnough = 4096;  // two stay with each link
  const std::string found =
      fmt::format("{} may be open, {} if the program asks", host.descriptors, host.descriptors_hard);
  if (host.descriptors_hard >= kEnough) return good("descriptors", found);
  return {Verdict::could_be_better, "descriptors", found,
          "raise it: LimitNOFILE= of a unit, 'nofile' in /etc/security/limits.conf, --ulimit of containers",
          "a process can have thousands of links, which keep two each"};
}

Finding service(const Host& host) {
  if (host.service) return good("service", "a node daemon serves all users of this host; " + host.node);
  return {Verdict::could_be_better, "service", "each user has a node daemon of their own; " + host.node,
          "to let users reach each other: systemctl enable --now hamlynd",
          "names and links between users, within the rights that are given"};
}

// A plain network is no fault of the machine, and what carries links over it is told all the same.
Finding other_hosts(const Host& host) {
  std::string looked_at;
  for (const std::string& line : host.engines) looked_at += (looked_at.empty() ? "" : "; ") + line;
  if (host.libfabric.empty()) {
    return {Verdict::could_be_better, "other hosts", looked_at, "install libfabric (Debian: libfabric1)",
            "links with processes of other hosts"};
  }
  const std::string found = fmt::format("libfabric {}: {}", host.libfabric, looked_at);
  if (!host.engine.empty()) return good("other hosts", found);
  return {Verdict::could_be_better, "other hosts", found, "install a libfabric with one of these engines",
          "links with processes of other hosts"};
}

const char* name(Verdict verdict) {
  switch (verdict) {
    case Verdict::good:
      return "good";
    case Verdict::could_be_better:
      return "could be better";
    case Verdict::problem:
      return "problem";
  }
  return "";
}

}  // namespace

std::vector<Finding> diagnose(const Host& host) {
  return {kernel(host),     attestation(host), processors(host), cores(host),           frequency(host),
          scheduling(host), time_quota(host),  memory(host),     virtual_machine(host), locked_memory(host),
          huge_pages(host), descriptors(host), service(host),    other_hosts(host)};
}

std::string to_text(const std::vector<Finding>& findings) {
  std::string text;
  for (const Finding& finding : findings) {
    text += fmt::format("{:<16} {:<16} {}\n", finding.check, name(finding.verdict), finding.found);
    if (finding.verdict == Verdict::good) continue;
    text += fmt::format("{:33} to do: {}\n{:33} gain:  {}\n", "", finding.advice, "", finding.gain);
  }
  return text;
}

}  // namespace hamlyn::tool
