#pragma once
// From exceptions and the classes' answers to the numbers of hamlyn/c.h.
#include "hamlyn/c.h"
#include "hamlyn/values/error.h"
#include "hamlyn/values/status.h"

namespace hamlyn::c {

constexpr hamlyn_status number(Status status) noexcept { return static_cast<hamlyn_status>(status); }
hamlyn_status number(ErrorCode code) noexcept;

// invalid_argument, with the call's name and what is wrong as the thread's last error.
__attribute__((cold)) hamlyn_status invalid_argument(const char* call, const char* what) noexcept;
// The thread's last error, for what is none but has a sentence.
void remember(const char* call, const char* what) noexcept;
// Of the exception that is being handled.
__attribute__((cold)) hamlyn_status caught(const char* call) noexcept;

// Runs `work`, which answers a hamlyn_status and may throw.
template <class Work>
hamlyn_status guarded(const char* call, Work&& work) noexcept {
  try {
    return work();
  } catch (...) {
    return caught(call);
  }
}

}  // namespace hamlyn::c
