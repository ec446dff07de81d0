#include "segment/suspicions.h"

namespace hamlyn {

const char* name(Suspicion::Cause cause) noexcept {
  switch (cause) {
    case Suspicion::Cause::none:
      return "none";
    case Suspicion::Cause::failed:
      return "failed";
    case Suspicion::Cause::late:
      return "late";
    case Suspicion::Cause::still:
      return "still";
  }
  return "unknown";
}

namespace internal_::segment {

void Suspicions::begin(Time now) noexcept {
  begun_ = now;
  next_ = now + options_.period;
}

// Tells a thread that looks the newest cause, and the callback whether there is one.
bool Suspicions::become(Suspicion::Cause cause, Status status) noexcept {
  const bool before = now_.suspected();
  now_.cause = cause;
  now_.status = status;
  return now_.suspected() != before;
}

// However late an answer is: it has come, and says how things are now.
bool Suspicions::answered(Time now, Status status, std::uint64_t word) noexcept {
  if (status != Status::ok) return become(Suspicion::Cause::failed, status);
  if (!seen_ || word != now_.word) moved_ = now;
  seen_ = true;
  now_.word = word;
  if (options_.must_move && now - moved_ >= options_.deadline)
    return become(Suspicion::Cause::still, Status::ok);
  now_.when = now;
  return become(Suspicion::Cause::none, Status::ok);
}

// Looked at after the answer was looked for: a detector that was held up itself suspects nobody for that.
bool Suspicions::look(Time now) noexcept {
  return now >= late_at() && become(Suspicion::Cause::late, Status::ok);
}

}  // namespace internal_::segment
}  // namespace hamlyn
