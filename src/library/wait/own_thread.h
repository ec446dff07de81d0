#pragma once
// A thread of the library's own, which takes none of the application's signals.
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "base/namespaces.h"
#include "base/run_lock.h"
#include "library/setting.h"

namespace hamlyn::internal_::library {

class Waiting;

// Throws Error(out_of_memory): the system has no thread for us. Not in a simulation, which is one thread.
std::thread start_own_thread(const char* name, std::function<void()> main);

// Gives the calling thread, one of the library's own, a descriptor table with nothing in it but `keep`. From
// then on the process's descriptors mean nothing to it. False: there was no memory.
bool leave_descriptors(const std::vector<unsigned>& keep) noexcept;
// Whether the calling thread has done that.
bool has_left_descriptors() noexcept;

// Whether the process has no threads any more but those of the library: all of the program have ended, and
// the process lives on.
bool only_own_threads_left() noexcept;
// Lets the calling thread take the signals that wait for the process.
void take_signals() noexcept;

// Starts a thread for work that waits by futex_sleep and `Clock` alone: in a simulation it runs there. A
// forked child leaves the thread to its parent, as `lock` knows, the run lock of the interface that the
// thread serves.
std::unique_ptr<Task> start_task(const base::RunLock& lock, const char* name, std::function<void()> main);
std::unique_ptr<Task> start_task(Waiting& waiting, const char* name, std::function<void()> main);

}  // namespace hamlyn::internal_::library
