#pragma once
// Calls that a handler makes have from the call that it serves its time, and how deep they are.
#include <cstdint>

#include "base/namespaces.h"
#include "library/wait/deadline.h"

namespace hamlyn::internal_::rpc {

struct Inherited {
  library::Clock::time_point deadline = library::Clock::time_point::max();
  std::uint8_t depth = 0;  // of the calls that this thread makes
};

// One for each thread.
constinit inline thread_local Inherited own_inherited __attribute__((tls_model("initial-exec")));

inline Inherited& inherited() noexcept { return own_inherited; }

}  // namespace hamlyn::internal_::rpc
