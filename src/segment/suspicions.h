#pragma once
// Judges a failure detector's reads (hamlyn/segment/failure_detector.h). Its clock is given, and it reads
// nothing itself.
#include <chrono>
#include <cstdint>
#include <optional>

#include "base/namespaces.h"
#include "hamlyn/segment/failure_detector.h"

namespace hamlyn::internal_::segment {

class Suspicions {
 public:
  using Time = std::chrono::steady_clock::time_point;

  Suspicions(const FailureDetectorOptions& options, Time now) noexcept
      : options_(options), next_(now), moved_(now) {
    now_.when = now;
  }

  // When the next read is to begin, if none is under way. A late one puts it off.
  Time next() const noexcept { return next_; }
  // When the read that is under way is late.
  Time late_at() const noexcept { return begun_ + options_.deadline; }

  void begin(Time now) noexcept;
  // The read is over. True: the callback is to be told; so with `look`.
  bool answered(Time now, Status status, std::uint64_t word) noexcept;
  // The read is still under way at `now`. True: the callback is to be told.
  bool look(Time now) noexcept;

  const Suspicion& suspicion() const noexcept { return now_; }

 private:
  bool become(Suspicion::Cause cause, Status status) noexcept;

  const FailureDetectorOptions options_;
  Time next_;
  Time begun_{};
  Time moved_;  // when the word was first seen to be what it is
  bool seen_ = false;
  Suspicion now_;
};

}  // namespace hamlyn::internal_::segment
