#pragma once
// Limits and habits that a daemon has of the program that started it, and does not want: it serves all
// programs of its user.

namespace hamlyn::daemon {

// Takes back what the kernel lets it: processors, scheduling policy, nice, I/O class, timer slack, memory
// policy, oom score, soft limits. Before there is a second thread. Whatever cannot be had stays, and
// node::constraints_of says so.
void take_back_inheritance() noexcept;

}  // namespace hamlyn::daemon
