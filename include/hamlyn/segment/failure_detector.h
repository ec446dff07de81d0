#pragma once
// Suspects a process by timed remote reads (paper 4, section 7.2.6): a word of a segment of its is read every
// period. Reads and writes by themselves tell of no failure; with a time they do, as much of it as a service
// asks for. docs/failures.md says what else is told of failures, and when.
//
// A suspicion is not a proof: a process that is slow, or cut off, looks as one that is stopped. It is taken
// back when the process answers again.
// Threads: any may ask; it calls from a thread of its own. Owner: who made it; the interface outlives it,
// the import need not.
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>

#include "hamlyn/segment/segment.h"
#include "hamlyn/values/status.h"

namespace hamlyn {

// Opinion of a process, and its reason.
struct Suspicion {
  // Why it is suspected.
  enum class Cause : std::uint8_t {
    none,    // it is not suspected
    failed,  // a read ended with `status`: its process has died, or the segment has gone, or the link has
    late,    // a read is not answered after the deadline: its process is stopped, or not to be reached
    still,   // reads are answered, but the word has not moved for the deadline: the application hangs
  };
  Cause cause = Cause::none;                   // none: it is not suspected
  Status status = Status::ok;                  // of `failed`
  std::uint64_t word = 0;                      // as it was last read
  std::chrono::steady_clock::time_point when;  // of the last read that said that all was well

  // Whether `cause` is one.
  bool suspected() const noexcept { return cause != Cause::none; }
};

// The name as written above. Never null.
const char* name(Suspicion::Cause cause) noexcept;

struct FailureDetectorOptions {
  std::size_t offset = 0;                   // of the word, a multiple of 8
  std::chrono::milliseconds period{100};    // between beginnings of reads
  std::chrono::milliseconds deadline{500};  // for an answer
  // The word must have another value at least once in each deadline: its owner counts in it. Then the
  // deadline is not less than the period.
  bool must_move = false;
};

// Watches one segment's process, for as long as it lives.
class FailureDetector {
 public:
  // Called whenever it begins to be suspected, and no longer is; from a thread of the detector's own, which
  // waits until it returns. It may use anything but this detector's end, and throws nothing. May be empty:
  // then `suspicion` alone tells.
  using Callback = std::function<void(const Suspicion&)>;

  // Watches the segment that `import` is of; `import` need not outlive it, its interface must. Throws Error:
  // as Import, for the right to read; invalid_argument (times, the word).
  FailureDetector(Import& import, const FailureDetectorOptions& options, Callback callback);
  ~FailureDetector();  // when it returns the callback has, and is called no more. Takes up to 20 ms
  FailureDetector(const FailureDetector&) = delete;
  FailureDetector& operator=(const FailureDetector&) = delete;

  // How things stand. Threads: any. In a forked child nobody is suspected.
  Suspicion suspicion() const;

 private:
  struct Watch;
  std::unique_ptr<Watch> watch_;
};

}  // namespace hamlyn
