#pragma once
// For threads that mostly sleep, and have little to do when they are woken.

namespace hamlyn::base {

// Asks the kernel to run the calling thread soon when it wakes, and not for long: it would otherwise wait
// until a thread that computes or polls has used its slice of milliseconds up (docs/performance.md). Its
// share of the processor stays what it was. Nothing comes of it on kernels before 6.12.
void ask_for_short_slices() noexcept;

}  // namespace hamlyn::base
