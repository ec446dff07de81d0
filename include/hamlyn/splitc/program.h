#pragma once
// A Split-C program: as many copies of it as `hamlyn run -n N` has started, each with a heap that all others
// can name.
//
// Threads: one, that which made it. Owner: who made it; of a process's programs one is there at a time.
// Errors: every call of Split-C throws Error, with the rank that it is about in the text (docs/splitc.md).
#include <cstddef>
#include <cstdint>
#include <memory>

#include "hamlyn/core/interface.h"
#include "hamlyn/job/job.h"
#include "hamlyn/splitc/global_ptr.h"
#include "hamlyn/splitc/here.h"

namespace hamlyn::internal_::splitc {
class Runtime;
}

namespace hamlyn::splitc {

// Way between ranks of what is read, written and stored (docs/splitc.md, "How it goes").
enum class Over : std::uint8_t {
  standard,  // as HAMLYN_SPLITC_OVER says: segments or vi; otherwise segments
  segments,
  vi,  // a VI for each pair of ranks: messages, which the other rank handles when it polls or waits
};

// Options are the same on all ranks.
struct ProgramOptions {
  std::size_t heap = std::size_t{16} << 20;  // bytes of each rank that the others can name; as many on all
  // Puts and gets by packets that each owner's interface checks, also where heaps could be mapped.
  bool guarded = false;
  Over over = Over::standard;  // the way between ranks
  // Over VI: requests to one rank under way, 1 to 32. 0: as HAMLYN_SPLITC_CREDITS says, otherwise 8.
  std::uint32_t credits = 0;
};

// Rank's part of a program.
class Program {
 public:
  // Joins the job that the environment names, or makes a job of one; waits for all other ranks. Throws Error:
  // as Interface and Job; invalid_argument: ranks have other options or are other programs, as the text says;
  // peer_died: a rank ended; out_of_memory, quota_bytes: the heap.
  explicit Program(const ProgramOptions& options = {});
  // Takes `--heap SIZE` (bytes, or with k, M or G behind the number), `--guarded`, `--over WAY` and
  // `--credits N` off the command line. Throws Error: also invalid_argument: what stands behind one is no
  // size, way or number.
  Program(int& count, char** words, const ProgramOptions& options = {});
  // Makes it on an interface that is there already and outlives it, as the rank that `place` says. It needs
  // Interface::Options::requests of 64 to have as many gets under way.
  Program(Interface& interface, const JobPlace& place, const ProgramOptions& options = {});
  // Ends it as `end` does, and says nothing of what went wrong. If an exception is under way, leaves at once:
  // the others are told that this rank has ended.
  ~Program();
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  // Waits until all ranks are here, and leaves. Collective. Throws Error: peer_died, invalid_argument: ranks
  // disagree.
  void end();

 private:
  std::unique_ptr<Interface> interface_;  // null: somebody else's
  std::unique_ptr<internal_::splitc::Runtime> runtime_;
  const int exceptions_;  // under way when it was made
};

// Which rank this is (MYPROC).
inline Rank rank() noexcept { return internal_::splitc::here->rank; }
// How many there are (PROCS).
inline Rank ranks() noexcept { return internal_::splitc::here->ranks; }
// Whether that rank is on this rank's host.
bool same_host(Rank other);
// Seconds since some moment (get_seconds).
double seconds() noexcept;
// Runs what others have called here (hamlyn/splitc/call.h), and lets stores leave. Every call that waits does
// it, too.
void poll();

}  // namespace hamlyn::splitc
