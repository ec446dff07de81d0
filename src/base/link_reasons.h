#pragma once
// Turns a reason why there is no link (hamlyn/values/link_reason.h) into the status and the error of a call.
#include <cstdint>

#include "base/namespaces.h"
#include "hamlyn/values/error.h"
#include "hamlyn/values/link_reason.h"
#include "hamlyn/values/status.h"

namespace hamlyn::internal_::base {

// Returns link_ended where nobody is there any more, refused where somebody does not want the link or cannot
// have it.
Status status_of(LinkReason reason) noexcept;
// Whether the process at the other side has gone for good. (no_process is not: a process that was cut off
// from its daemon comes back by its number.)
bool has_gone(LinkReason reason) noexcept;
// Whether a reason that was given later says less of a process than the one before: a process that has left
// or died is not attached, of course.
inline bool says_less(WhyNoLink later, WhyNoLink before) noexcept {
  return later.reason == LinkReason::no_process && has_gone(before.reason);
}
// Returns the word of an outcome that says so (Outcome::why reads it).
inline std::uint64_t word_of(WhyNoLink why) noexcept {
  return static_cast<std::uint64_t>(why.reason) | std::uint64_t{why.told} << 16;
}
// Returns the code with which setting up fails.
ErrorCode error_of(WhyNoLink why) noexcept;
// Returns the reason for which a daemon has refused a link, if it has named none but this code.
LinkReason reason_of(ErrorCode code) noexcept;
// Whether that is something that the process which gives it has too little of.
bool is_own_lack(LinkReason reason) noexcept;
// Whether a process may give that reason to the one at the other side. Everything else is for others to say.
bool may_be_told(std::uint64_t reason) noexcept;
// Returns the reason of that number, or none if there is no such.
LinkReason link_reason(std::uint64_t number) noexcept;

}  // namespace hamlyn::internal_::base
