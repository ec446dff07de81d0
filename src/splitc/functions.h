#pragma once
// Functions that other ranks may call: entered before `main` begins, in the same order in all copies of a
// program. A number from another process chooses among them, and nothing else does.
#include <cstdint>
#include <string_view>
#include <vector>

#include "base/namespaces.h"
#include "hamlyn/splitc/call.h"

namespace hamlyn::internal_::splitc {

// All that were entered.
const std::vector<Function>& functions() noexcept;
// Tells two programs with other functions apart.
std::uint64_t hash_of_functions() noexcept;

}  // namespace hamlyn::internal_::splitc
