#pragma once
// Assertions on this library's own state, each with its reason: HAMLYN_ASSERT(standing_ != 0, "..."). Bytes
// that a peer wrote are checked and refused instead: no peer can make an assertion fail.
//
// Debug, sanitizer and fuzz builds define HAMLYN_ASSERTIONS: there a condition that does not hold ends the
// process with the condition, the place and the reason. In a release build the condition is compiled and
// never evaluated.
#include "base/namespaces.h"

namespace hamlyn::internal_::base {

// Writes what did not hold to standard error, and aborts. Calls nothing that allocates or locks.
[[noreturn]] void assertion_failed(const char* condition, const char* file, int line,
                                   const char* reason) noexcept;

}  // namespace hamlyn::internal_::base

#ifdef HAMLYN_ASSERTIONS
#define HAMLYN_ASSERT(condition, reason) \
  ((condition) ? static_cast<void>(0)    \
               : ::hamlyn::base::assertion_failed(#condition, __FILE__, __LINE__, reason))
#else
#define HAMLYN_ASSERT(condition, reason) static_cast<void>(sizeof((condition) ? 1 : 0))
#endif
