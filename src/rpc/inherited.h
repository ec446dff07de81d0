#pragma once
// Calls that a handler makes have from the call that it serves its time, its trace, and how deep they are.
#include <cstdint>

#include "base/namespaces.h"
#include "hamlyn/rpc/call.h"
#include "library/wait/deadline.h"

namespace hamlyn::internal_::rpc {

struct Inherited {
  library::Clock::time_point deadline = library::Clock::time_point::max();
  const hamlyn::rpc::Trace* trace = nullptr;  // null: none
  std::uint8_t depth = 0;                     // of the calls that are made
};

// Each thread has one while it serves a call; null: it serves none.
constinit inline thread_local const Inherited* own_inherited __attribute__((tls_model("initial-exec"))) =
    nullptr;

inline const Inherited*& inherited() noexcept { return own_inherited; }

}  // namespace hamlyn::internal_::rpc
