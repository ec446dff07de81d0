// `hamlyn doctor`: what it makes of machines of every kind, and what it reads.
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/resource.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <thread>

#include "test/support/command.h"
#include "tool/doctor.h"

namespace hamlyn::tool {
namespace {

using Verdict = Finding::Verdict;

Host good_host() {
  Host host;
  host.kernel = "6.12.1";
  host.futex_waitv = host.membarrier = host.sealed_memory = host.peer_pidfd = host.service = true;
  host.processors = host.allowed = 8;
  host.governor = "performance";
  host.policy = "other";
  host.short_slices = true;
  host.lockable = RLIM_INFINITY;
  host.huge_pages = "madvise";
  host.descriptors = 1024;
  host.descriptors_hard = 1 << 20;
  host.libfabric = "1.17";
  host.engine = "net";
  host.engines = {"efa: no device", "net: chosen"};
  return host;
}

// What is not good of it.
std::vector<Finding> complaints(const Host& host) {
  std::vector<Finding> all = diagnose(host);
  std::erase_if(all, [](const Finding& finding) { return finding.verdict == Verdict::good; });
  return all;
}

void expect_complaint(const Host& host, const char* check, Verdict verdict = Verdict::could_be_better) {
  const std::vector<Finding> found = complaints(host);
  ASSERT_EQ(found.size(), 1u) << to_text(found);
  EXPECT_EQ(found[0].check, check);
  EXPECT_EQ(found[0].verdict, verdict);
  EXPECT_FALSE(found[0].advice.empty());
  EXPECT_FALSE(found[0].gain.empty());
}

TEST(Doctor, HasNothingToSayOfAGoodMachine) {
  EXPECT_TRUE(complaints(good_host()).empty()) << to_text(complaints(good_host()));
}

TEST(Doctor, SaysWhatWouldCarryLinksToOtherHostsAndWhyNothingBetter) {
  Host host = good_host();
  EXPECT_NE(to_text(diagnose(host)).find("libfabric 1.17: efa: no device; net: chosen"), std::string::npos);
  host.engine.clear();
  host.engines = {"efa: no device", "net: no such engine"};
  expect_complaint(host, "other hosts");
  host.libfabric.clear();
  host.engines = {"there is no libfabric"};
  expect_complaint(host, "other hosts");
  EXPECT_EQ(complaints(host)[0].found, "there is no libfabric");
}

TEST(Doctor, TellsWhatWouldNotWorkFromWhatCouldBeBetter) {
  Host host = good_host();
  host.futex_waitv = false;
  expect_complaint(host, "kernel");
  host = good_host();
  host.sealed_memory = false;
  expect_complaint(host, "kernel", Verdict::problem);
  host = good_host();
  host.membarrier = false;
  expect_complaint(host, "kernel", Verdict::problem);
  host = good_host();
  host.peer_pidfd = false;
  expect_complaint(host, "attestation");
}

TEST(Doctor, NamesEachThingThatCanBeChanged) {
  Host host = good_host();
  host.allowed = 1;
  expect_complaint(host, "processors");
  host = good_host();
  host.threads_share_cores = true;
  expect_complaint(host, "cores");
  host = good_host();
  host.governor = "powersave";
  expect_complaint(host, "frequency");
  host.governor = "";
  EXPECT_TRUE(complaints(host).empty());
  for (const char* policy : {"fifo", "rr", "batch", "idle"}) {
    host = good_host();
    host.policy = policy;
    host.short_slices = false;  // it does not ask then
    expect_complaint(host, "scheduling");
    EXPECT_NE(complaints(host)[0].found.find(policy), std::string::npos);
    EXPECT_EQ(complaints(host)[0].advice.find("6.12"), std::string::npos) << "another kernel changes nothing";
  }
  host = good_host();
  host.nice = 5;
  expect_complaint(host, "scheduling");
  host.nice = -5;
  EXPECT_TRUE(complaints(host).empty()) << "more than its share is no fault";
  host = good_host();
  host.short_slices = false;
  expect_complaint(host, "scheduling");
  host = good_host();
  host.group.processors = 1.5;
  expect_complaint(host, "processor time");
  host = good_host();
  host.group.memory = std::uint64_t{64} << 20;
  expect_complaint(host, "memory");
  host.group.memory = std::uint64_t{1} << 30;
  EXPECT_TRUE(complaints(host).empty()) << "a limit that is enough";
  host = good_host();
  host.virtual_machine = true;
  expect_complaint(host, "virtual machine");
  host = good_host();
  host.lockable = 65536;
  expect_complaint(host, "locked memory");
  host = good_host();
  for (const char* choice : {"never", ""}) {
    host.huge_pages = choice;
    expect_complaint(host, "huge pages");
  }
  host = good_host();
  host.descriptors_hard = 1024;
  expect_complaint(host, "descriptors");
  host = good_host();
  host.service = false;
  expect_complaint(host, "service");
}

TEST(Doctor, SaysTheSameInJson) {
  Host host = good_host();
  host.lockable = 65536;
  const auto parsed = nlohmann::json::parse(to_json(diagnose(host)));
  const auto& findings = parsed.at("findings");
  ASSERT_EQ(findings.size(), diagnose(host).size());
  for (const auto& finding : findings) {
    const bool locked = finding.at("check") == "locked memory";
    EXPECT_EQ(finding.at("verdict"), locked ? "could_be_better" : "good");
    EXPECT_EQ(finding.at("advice").get<std::string>().empty(), !locked);
  }
}

class HostFiles : public testing::Test {
 protected:
  void write(const std::string& path, const std::string& text) {
    const std::filesystem::path whole{folder_.path() + path};
    std::filesystem::create_directories(whole.parent_path());
    std::ofstream{whole} << text;
  }
  Host look() { return look_at_host(folder_.path()); }

  test::Folder folder_;
};

TEST_F(HostFiles, NothingToReadIsNothingFound) {
  const Host host = look();
  EXPECT_FALSE(host.threads_share_cores);
  EXPECT_FALSE(host.virtual_machine);
  EXPECT_FALSE(host.group.processors || host.group.memory);
  EXPECT_FALSE(host.service);
  EXPECT_EQ(host.governor, "");
  EXPECT_GE(host.processors, 1u);
  EXPECT_TRUE(host.sealed_memory);
  EXPECT_TRUE(host.futex_waitv);
}

// Anybody may ask for less than he has; of this thread alone.
TEST_F(HostFiles, AsksTheKernelHowAThreadIsScheduled) {
  std::thread([&] {
    const sched_param none{};
    ASSERT_EQ(sched_setscheduler(0, SCHED_OTHER, &none), 0);
    const int before = look().nice;
    EXPECT_EQ(look().policy, "other");
    ASSERT_EQ(setpriority(PRIO_PROCESS, static_cast<id_t>(gettid()), 19), 0);
    EXPECT_EQ(look().nice, 19);
    EXPECT_LE(before, 19);
    ASSERT_EQ(sched_setscheduler(0, SCHED_BATCH, &none), 0);
    EXPECT_EQ(look().policy, "batch");
    EXPECT_FALSE(look().short_slices) << "nobody asks";
    ASSERT_EQ(sched_setscheduler(0, SCHED_IDLE, &none), 0);
    EXPECT_EQ(look().policy, "idle");
  }).join();
}

TEST_F(HostFiles, ReadsWhatTheKernelWrites) {
  const std::string processor = "/sys/devices/system/cpu/cpu0/";
  write(processor + "topology/thread_siblings_list", "0,4\n");
  write(processor + "cpufreq/scaling_governor", "powersave\n");
  write("/proc/cpuinfo", "processor : 0\nflags\t\t: fpu hypervisor sse\n");
  write("/sys/fs/cgroup/cpu.max", "150000 100000\n");
  write("/sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never\n");
  const Host host = look();
  EXPECT_EQ(host.huge_pages, "madvise");
  EXPECT_TRUE(host.threads_share_cores);
  EXPECT_EQ(host.governor, "powersave");
  EXPECT_TRUE(host.virtual_machine);
  ASSERT_TRUE(host.group.processors);
  EXPECT_DOUBLE_EQ(*host.group.processors, 1.5);
}

// The least of the own group and all above it holds; a neighbour's does not.
TEST_F(HostFiles, ReadsTheLimitsOfControlGroupsOfVersionTwo) {
  write("/proc/self/cgroup", "0::/user.slice/app.scope\n");
  write("/sys/fs/cgroup/user.slice/memory.max", "1048576\n");
  write("/sys/fs/cgroup/user.slice/app.scope/memory.max", "max\n");
  write("/sys/fs/cgroup/user.slice/other.scope/memory.max", "4096\n");
  write("/sys/fs/cgroup/user.slice/cpu.max", "max 100000\n");
  write("/sys/fs/cgroup/user.slice/app.scope/cpu.max", "50000 100000\n");
  EXPECT_EQ(look().group.memory, 1048576u);
  EXPECT_EQ(look().group.processors, 0.5);
  // As a container sees a group that it is outside of: what is mounted is its own.
  write("/proc/self/cgroup", "0::/../../app.scope\n");
  write("/sys/fs/cgroup/memory.max", "8192\n");
  EXPECT_EQ(look().group.memory, 8192u);
  EXPECT_FALSE(look().group.processors);
}

TEST_F(HostFiles, ReadsTheLimitsOfControlGroupsOfVersionOne) {
  write("/proc/self/cgroup", "5:memory:/docker/abc\n4:cpu,cpuacct:/docker/abc\n1:name=systemd:/\nnonsense\n");
  write("/sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
  write("/sys/fs/cgroup/memory/docker/abc/memory.limit_in_bytes", "536870912\n");
  write("/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "-1\n");
  write("/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(look().group.memory, 536870912u);
  EXPECT_FALSE(look().group.processors);
  write("/sys/fs/cgroup/cpu,cpuacct/docker/abc/cpu.cfs_quota_us", "25000\n");
  write("/sys/fs/cgroup/cpu,cpuacct/docker/abc/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(look().group.processors, 0.25);
  // In a container the group is outside of what is mounted: the mount itself is it.
  write("/proc/self/cgroup", "5:memory:/elsewhere\n");
  write("/sys/fs/cgroup/memory/memory.limit_in_bytes", "4096\n");
  EXPECT_EQ(look().group.memory, 4096u);
}

TEST_F(HostFiles, IsNotTakenInByWhatItDoesNotKnow) {
  for (const char* line : {"max 100000\n", "", "x\n", "1\n", "1 0\n", "1 -5\n"}) {
    write("/sys/fs/cgroup/cpu.max", line);
    EXPECT_FALSE(look().group.processors) << line;
  }
  for (const char* line : {"max\n", "", "x\n", "-\n", "9223372036854771712\n"}) {
    write("/sys/fs/cgroup/memory.max", line);
    EXPECT_FALSE(look().group.memory) << line;
  }
  for (const char* line : {"always madvise never\n", "", "]x[\n", "[\n"}) {
    write("/sys/kernel/mm/transparent_hugepage/enabled", line);
    EXPECT_EQ(look().huge_pages, "") << line;
  }
  write("/proc/cpuinfo", "flags : nohypervisor\nmodel : hypervisor\n");
  EXPECT_FALSE(look().virtual_machine);
  write("/sys/devices/system/cpu/cpu0/topology/thread_siblings_list", "0\n");
  EXPECT_FALSE(look().threads_share_cores);
  write("/run/hamlyn/node.sock", "a file\n");
  EXPECT_FALSE(look().service) << "no socket";
}

}  // namespace
}  // namespace hamlyn::tool
