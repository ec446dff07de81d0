// A rank of a job, for tests: does what its first word says.
#include <fmt/core.h>
#include <sched.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <map>
#include <string>

#include "hamlyn/hamlyn.h"
#include "hamlyn/job.h"

namespace hamlyn {
namespace {

using namespace std::chrono_literals;

int fail(const Job& job, const char* what, Status status) {
  fmt::print(stderr, "rank {}: {}: {} {}\n", job.rank(), what, name(status), job.why());
  return 9;
}

bool holds(std::uint32_t rank, const std::optional<std::vector<std::byte>>& bytes, std::size_t size) {
  return bytes && *bytes == std::vector<std::byte>(size, static_cast<std::byte>(rank));
}

// Barriers, values, and bytes of which there are more than one answer has.
int meet(Job& job) {
  for (std::uint32_t round = 0; round != 3; ++round) {
    if (const Status status = job.barrier(); status != Status::ok) return fail(job, "barrier", status);
    std::vector<std::uint32_t> numbers;
    const std::uint32_t mine = 10 * job.rank() + round;
    if (const Status status = job.all_gather(mine, numbers); status != Status::ok)
      return fail(job, "all_gather", status);
    for (std::uint32_t rank = 0; rank != job.size(); ++rank)
      if (numbers.size() != job.size() || numbers[rank] != 10 * rank + round) return 8;
    std::vector<std::optional<std::vector<std::byte>>> all;
    const std::size_t size = 1000 * job.rank() + round;
    const std::vector<std::byte> bytes(size, static_cast<std::byte>(job.rank()));
    if (const Status status = job.all_gather(std::span(bytes), all); status != Status::ok)
      return fail(job, "all_gather of bytes", status);
    for (std::uint32_t rank = 0; rank != job.size(); ++rank)
      if (all.size() != job.size() || !holds(rank, all[rank], 1000 * rank + round)) return 7;
  }
  std::vector<std::optional<std::vector<std::byte>>> none;
  const std::vector<std::byte> much(Job::kMostBytes + 1);
  if (job.all_gather(std::span(much), none) != Status::too_long) return 6;
  fmt::print("met as {} of {} in {}\n", job.rank(), job.size(), job.place().job);
  return 0;
}

// Rank 1 fails; the others are told, and wait to be ended.
int fail_one(Job& job) {
  sigset_t until_told;
  ::sigemptyset(&until_told);
  ::sigaddset(&until_told, SIGTERM);
  ::sigprocmask(SIG_BLOCK, &until_told, nullptr);  // on a busy machine it may come first
  if (const Status status = job.barrier(); status != Status::ok) return fail(job, "barrier", status);
  if (job.rank() == 1) return 3;
  RankEnd end;
  if (const Status status = job.ended(end, 30s); status != Status::ok) return fail(job, "ended", status);
  fmt::print("{} has ended with {}\n", end.rank, end.status);
  std::fflush(stdout);
  ::sigprocmask(SIG_UNBLOCK, &until_told, nullptr);
  for (;;) ::pause();
}

// Rank 1 is killed; the others meet without it.
int go_on(Interface& interface) {
  Job job(interface, JobOptions{.go_on = true});
  if (const Status status = job.barrier(); status != Status::ok) return fail(job, "barrier", status);
  if (job.rank() == 1) ::kill(::getpid(), SIGKILL);
  RankEnd end;
  if (const Status status = job.ended(end, 30s); status != Status::ok) return fail(job, "ended", status);
  std::vector<std::optional<std::vector<std::byte>>> all;
  const std::vector<std::byte> mine(5, static_cast<std::byte>(job.rank()));
  if (const Status status = job.all_gather(std::span(mine), all); status != Status::ok)
    return fail(job, "all_gather", status);
  for (std::uint32_t rank = 0; rank != job.size(); ++rank)
    if (rank == 1 ? all[rank].has_value() : !holds(rank, all[rank], 5)) return 7;
  fmt::print("went on without {}, which ended with {}\n", end.rank, end.status);
  return 0;
}

// Some are in another meeting than others, and then all in the next one.
int disagree(Job& job) {
  std::vector<std::uint64_t> all;
  const Status status = job.rank() == 0 ? job.barrier() : job.all_gather(std::uint64_t{1}, all);
  if (status != Status::refused) return fail(job, "a meeting of different kinds", status);
  fmt::print("{}\n", job.why());
  // A rank that came to the first meeting after it had failed was told as well.
  if (const Status next = job.barrier(); next != Status::ok) return fail(job, "barrier", next);
  return 0;
}

// The last rank ends well, and comes to no meeting.
int leave_early(Job& job) {
  if (job.rank() + 1 == job.size()) return 0;
  const Status status = job.barrier();
  return status == Status::link_ended ? 0 : fail(job, "a barrier that nobody else comes to", status);
}

// A meeting that times out goes on.
int come_late(Job& job, const std::string& file) {
  if (job.rank() == 0) {
    if (const Status status = job.barrier(0ns); status != Status::timed_out)
      return fail(job, "barrier", status);
    std::vector<std::uint32_t> all;
    if (const Status status = job.all_gather(std::uint32_t{1}, all); status != Status::refused)
      return fail(job, "another meeting", status);
    std::ofstream(file) << "came";
  } else {
    while (!std::ifstream(file)) ::sched_yield();
  }
  const Status status = job.barrier();
  return status == Status::ok ? 0 : fail(job, "barrier", status);
}

// A rank that has a meeting and a wait for ends under way leaves, and comes again.
int leave_in_the_middle(Interface& interface, const std::string& file) {
  for (int i = 0; i != 3; ++i) {
    Job job(interface);
    RankEnd end;
    if (const Status status = job.ended(end, 0ns); status != Status::timed_out)
      return fail(job, "ended", status);
    if (job.rank() != 0) continue;
    if (const Status status = job.barrier(0ns); status != Status::timed_out)
      return fail(job, "barrier", status);
  }
  Job job(interface);
  if (job.rank() == 0)
    std::ofstream(file) << "left";
  else
    while (!std::ifstream(file)) ::sched_yield();  // else its barrier is met by one that rank 0 leaves
  const Status status = job.barrier();
  return status == Status::ok ? 0 : fail(job, "barrier", status);
}

// A process of the rank that is killed in a meeting is replaced by the next one.
int come_again(const std::string& file) {
  const pid_t first = ::fork();
  if (first == 0) {
    Interface interface;
    Job job(interface);
    if (job.barrier(0ns) == Status::timed_out) ::kill(::getpid(), SIGKILL);
    ::_exit(1);
  }
  int status = 0;
  ::waitpid(first, &status, 0);
  if (!WIFSIGNALED(status)) return 10;
  Interface interface;
  Job job(interface);
  std::ofstream(file) << "again";
  const Status met = job.barrier();
  return met == Status::ok ? 0 : fail(job, "barrier", met);
}

// Leaves a process behind that has a session of its own, and tells its number.
int leave_behind(const std::string& file) {
  if (::fork() == 0) {
    ::setsid();
    if (::fork() != 0) ::_exit(0);
    std::ofstream(file + ".part") << ::getpid();
    ::rename((file + ".part").c_str(), file.c_str());
    for (;;) ::pause();
  }
  while (!std::ifstream(file)) ::sched_yield();
  return 0;
}

int wait_for_signal() {
  sigset_t set;
  ::sigemptyset(&set);
  ::sigaddset(&set, SIGUSR1);
  ::sigprocmask(SIG_BLOCK, &set, nullptr);
  fmt::print("waits\n");
  std::fflush(stdout);
  int number = 0;
  ::sigwait(&set, &number);
  return 40;
}

// Rank 0 waits for two signals, and says so of each; the others have nothing to do.
int count_signals() {
  if (place_in_job().rank != 0) return 0;
  sigset_t set;
  ::sigemptyset(&set);
  ::sigaddset(&set, SIGUSR1);
  ::sigprocmask(SIG_BLOCK, &set, nullptr);
  for (int count = 0; count != 3; ++count) {
    fmt::print("{}\n", count);
    std::fflush(stdout);
    int number = 0;
    if (count != 2) ::sigwait(&set, &number);
  }
  return 0;
}

int tell_processors() {
  cpu_set_t set;
  if (::sched_getaffinity(0, sizeof set, &set) != 0) return 1;
  std::string line = fmt::format("{}:", place_in_job().rank);
  for (int each = 0; each != CPU_SETSIZE; ++each)
    if (CPU_ISSET(static_cast<std::size_t>(each), &set)) line += fmt::format(" {}", each);
  fmt::print("{}\n", line);
  return 0;
}

int run(const std::string& word, const std::string& file) {
  if (word == "count_signals") return count_signals();
  if (word == "tell_processors") return tell_processors();
  if (word == "leave_behind") return leave_behind(file);
  if (word == "hang_behind") {
    leave_behind(file);
    for (;;) ::pause();
  }
  if (word == "wait_for_signal") return wait_for_signal();
  if (word == "come_again" && place_in_job().rank == 0) return come_again(file);
  Interface interface;
  if (word == "go_on") return go_on(interface);
  if (word == "leave_in_the_middle") return leave_in_the_middle(interface, file);
  Job job(interface);
  if (word == "again") return 0;
  if (word == "come_again") {
    while (!std::ifstream(file)) ::sched_yield();
    return job.barrier() == Status::ok ? 0 : 11;
  }
  if (word == "fail_one") return fail_one(job);
  if (word == "disagree") return disagree(job);
  if (word == "leave_early") return leave_early(job);
  if (word == "come_late") return come_late(job, file);
  return meet(job);
}

}  // namespace
}  // namespace hamlyn

int main(int count, char** words) {
  try {
    return hamlyn::run(count > 1 ? words[1] : "", count > 2 ? words[2] : "");
  } catch (const hamlyn::Error& error) {
    fmt::print(stderr, "{} ({})\n", error.what(), name(error.code()));
    return 5;
  }
}
