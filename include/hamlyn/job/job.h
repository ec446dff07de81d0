#pragma once
// A job: processes that `hamlyn run` has started together, and that find one another by it (docs/run.md).
//
//   hamlyn::Job job(interface);
//   std::vector<hamlyn::Ticket> tickets;
//   job.all_gather(slot.ticket(), tickets);
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "hamlyn/core/interface.h"
#include "hamlyn/values/plain.h"
#include "hamlyn/values/status.h"

namespace hamlyn {

// Which rank of which job a process is. A value.
struct JobPlace {
  std::string job;                        // its name; empty: of none, this process is alone
  std::uint32_t rank = 0, size = 1;       // this one of so many
  std::uint32_t here = 0, size_here = 1;  // the same, among those of this host
  std::array<std::byte, 16> secret{};     // that only the job knows
  bool trusted_network = false;           // ranks may give their whole memory to those of other hosts
};

// Reads what `hamlyn run` has put into the environment. Throws Error: invalid_argument, with the variable
// that says nothing sensible.
JobPlace place_in_job();

// A rank that has ended.
struct RankEnd {
  std::uint32_t rank = 0;
  std::uint32_t status = 0;  // as a shell has it: its exit status, or 128 and the signal that ended it
};

// Options of a Job.
struct JobOptions {
  bool go_on = false;                         // when another rank fails this one is told, and not ended
  std::chrono::milliseconds timeout{60'000};  // to be let into the job, which many do at once
};

// A process's part of a job. Threads: any; one at a time in a meeting, and one in `ended`. Owner: who made
// it; its interface is there for longer.
class Job {
 public:
  // The most bytes that a rank gives to an all-gather.
  static constexpr std::size_t kMostBytes = 8000;

  // Joins the job that the environment names, in the place of another process that is in it as this rank.
  // Throws Error: invalid_argument (the environment); not_permitted: the desk says why; peer_died: the job
  // has ended; timed_out: so it has, or it has not answered in time; peer_refused: it answers otherwise;
  // cancelled, out_of_memory, forked; as Interface::lookup.
  explicit Job(Interface& interface, const JobOptions& options = {});
  // Joins as what `place` says.
  Job(Interface& interface, const JobPlace& place, const JobOptions& options = {});
  ~Job();  // leaves: another Job may join as this rank
  Job(const Job&) = delete;
  Job& operator=(const Job&) = delete;

  // Which rank this is, from 0, and how many there are.
  std::uint32_t rank() const noexcept { return place_.rank; }
  std::uint32_t size() const noexcept { return place_.size; }
  // All that `hamlyn run` has told.
  const JobPlace& place() const noexcept { return place_; }

  // Waits until every rank is here. ok; timed_out: not yet, and the next call goes on with it; link_ended: a
  // rank that never came has ended, or `hamlyn run` has; refused: ranks disagree, as `why` says; no_buffer:
  // no memory now, and as timed_out; cancelled, forked. Throws std::bad_alloc, as those below.
  Status barrier(std::chrono::nanoseconds timeout = std::chrono::nanoseconds::max());
  // Gives bytes to all, and takes those of each rank; none of one that has ended, if all go on without it. As
  // `barrier`; too_long: more than kMostBytes.
  Status all_gather(std::span<const std::byte> mine, std::vector<std::optional<std::vector<std::byte>>>& all,
                    std::chrono::nanoseconds timeout = std::chrono::nanoseconds::max());
  // Gives as many bytes as each other rank does, and takes those of all, rank by rank; zeros of one that has
  // ended, as above. As `barrier`; too_long.
  Status all_gather(std::span<const std::byte> mine, std::vector<std::byte>& all,
                    std::chrono::nanoseconds timeout = std::chrono::nanoseconds::max());
  // Gives a value to all, and takes that of each rank, as the one before. As `barrier`.
  template <Plain Type>
  Status all_gather(const Type& mine, std::vector<Type>& all,
                    std::chrono::nanoseconds timeout = std::chrono::nanoseconds::max()) {
    static_assert(sizeof(Type) <= kMostBytes);
    std::vector<std::byte> bytes;
    const Status status = all_gather(std::as_bytes(std::span(&mine, 1)), bytes, timeout);
    if (status != Status::ok) return status;
    all.assign(size(), Type{});
    std::memcpy(all.data(), bytes.data(), bytes.size());  // of all ranks, as above
    return Status::ok;
  }
  // Says in words why the last meeting was refused.
  const std::string& why() const noexcept { return why_; }

  // Takes note of a rank that has ended, each once. ok; timed_out: no further one; link_ended: `hamlyn run`
  // has ended; cancelled, forked.
  Status ended(RankEnd& out, std::chrono::nanoseconds timeout = {});

 private:
  struct Inside;

  JobPlace place_;
  std::string why_;
  std::unique_ptr<Inside> inside_;  // null: a job of one
};

}  // namespace hamlyn
