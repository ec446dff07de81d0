#pragma once
// Judges what a file's owner, group and mode let a caller do, as the server's kernel does. A file with an
// access control list (Attributes::listed) is judged by the server alone.
#include <cstdint>

#include "base/namespaces.h"
#include "files/store.h"
#include "files/values.h"

namespace hamlyn::internal_::files {

// Bits of rights, as of a mode.
enum class Right : std::uint32_t { search = 1, write = 2, read = 4 };

// The superuser may, always. A search of what is no directory is the right to run it, which is not asked
// here.
bool may(const Caller& caller, const Attributes& file, Right right) noexcept;

}  // namespace hamlyn::internal_::files
