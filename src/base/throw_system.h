#pragma once

namespace hamlyn::base {

// Throws Error that names the call and says what errno means: system, or out_of_memory if memory or
// descriptors have run out.
[[noreturn]] void throw_system(const char* what);

}  // namespace hamlyn::base
