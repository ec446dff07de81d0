#include "c/status.h"

#include <algorithm>
#include <cstdio>
#include <exception>
#include <new>
#include <system_error>

#include "base/link_reasons.h"
#include "hamlyn/values/not_mapped.h"
#include "hamlyn/values/notification.h"

namespace hamlyn::c {
namespace {

constexpr hamlyn_status kFirstError = 100;

// Last error of this thread. No string, whose memory could fail: that is no reason to answer something else.
thread_local char last_error[256];

hamlyn_status fail(hamlyn_status status, const char* call, const char* what) noexcept {
  std::snprintf(last_error, sizeof last_error, "%s: %s", call, what);
  return status;
}

bool is_error(hamlyn_status status) noexcept {
  return status > kFirstError && status <= kFirstError + static_cast<hamlyn_status>(ErrorCode::node_full);
}

}  // namespace

// Gives an error of set-up the number of its status, where the data path has it, too.
hamlyn_status number(ErrorCode code) noexcept {
  switch (code) {
    case ErrorCode::timed_out:
      return HAMLYN_TIMED_OUT;
    case ErrorCode::cancelled:
      return HAMLYN_CANCELLED;
    case ErrorCode::forked:
      return HAMLYN_FORKED;
    default:
      return kFirstError + static_cast<hamlyn_status>(code);
  }
}

hamlyn_status invalid_argument(const char* call, const char* what) noexcept {
  return fail(HAMLYN_INVALID_ARGUMENT, call, what);
}

void remember(const char* call, const char* what) noexcept { fail(HAMLYN_OK, call, what); }

hamlyn_status caught(const char* call) noexcept {
  try {
    throw;
  } catch (const Error& error) {
    return fail(number(error.code()), call, error.what());
  } catch (const std::bad_alloc&) {
    return fail(HAMLYN_OUT_OF_MEMORY, call, "no memory");
  } catch (const std::exception& error) {
    return fail(HAMLYN_SYSTEM, call, error.what());
  }
}

}  // namespace hamlyn::c

using namespace hamlyn;

int hamlyn_abi_version() { return HAMLYN_ABI_VERSION; }
const char* hamlyn_version() { return HAMLYN_VERSION; }
const char* hamlyn_last_error() { return c::last_error; }

const char* hamlyn_status_name(hamlyn_status status) {
  if (c::is_error(status)) return name(static_cast<ErrorCode>(status - c::kFirstError));
  return status >= 0 && status <= HAMLYN_STALE ? name(static_cast<Status>(status)) : "unknown";
}

const char* hamlyn_status_advice(hamlyn_status status) {
  if (c::is_error(status)) return advice(static_cast<ErrorCode>(status - c::kFirstError));
  return status >= 0 && status <= HAMLYN_STALE ? advice(static_cast<Status>(status))
                                               : "This library does not know that number.";
}

namespace {

WhyNoLink why(std::uint32_t reason, std::uint32_t told) noexcept {
  return {base::link_reason(reason), told != 0};
}

}  // namespace

const char* hamlyn_link_reason_name(std::uint32_t reason) {
  return name(static_cast<LinkReason>(std::min(reason, std::uint32_t{0xFFFF})));
}
const char* hamlyn_link_reason_text(std::uint32_t reason, std::uint32_t told) {
  return text(why(reason, told));
}
const char* hamlyn_link_reason_advice(std::uint32_t reason, std::uint32_t told) {
  return advice(why(reason, told));
}

namespace {

NotMapped not_mapped(std::uint32_t why) noexcept {
  return static_cast<NotMapped>(std::min(why, std::uint32_t{0xFF}));
}

}  // namespace

const char* hamlyn_not_mapped_name(std::uint32_t why) { return name(not_mapped(why)); }
const char* hamlyn_not_mapped_text(std::uint32_t why) { return text(not_mapped(why)); }

const char* hamlyn_refusal_name(std::uint32_t refusal) {
  return refusal < static_cast<std::uint32_t>(Refusal::count) ? name(static_cast<Refusal>(refusal))
                                                              : "unknown";
}
