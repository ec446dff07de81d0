#pragma once
// From exceptions and the classes' answers to the numbers of hamlyn/c.h.
#include <initializer_list>
#include <type_traits>

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
// Turns the exception that is being handled into a status.
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

constexpr hamlyn_status number(hamlyn_status status) noexcept { return status; }

// Runs `work` unless one of the pointers that its caller gave is NULL. `work` answers a status of either kind
// or nothing, which is ok, and may throw.
template <class Work>
hamlyn_status answer(const char* call, std::initializer_list<const void*> needed, Work&& work) noexcept {
  for (const void* const pointer : needed)
    if (pointer == nullptr) return invalid_argument(call, "a NULL argument");
  return guarded(call, [&] {
    if constexpr (std::is_void_v<decltype(work())>) {
      work();
      return hamlyn_status{HAMLYN_OK};
    } else {
      return number(work());
    }
  });
}

}  // namespace hamlyn::c
