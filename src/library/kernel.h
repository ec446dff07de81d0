#pragma once
// What the library cannot do without and a kernel, or a filter of system calls, may not give.

namespace hamlyn::library {

// Throws Error(system) where nobody could sleep: who waits would spin.
void check_kernel();

}  // namespace hamlyn::library
