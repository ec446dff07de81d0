#pragma once
// A thread of the library's own, which takes none of the application's signals.
#include <functional>
#include <memory>
#include <thread>

#include "base/run_lock.h"
#include "library/setting.h"

namespace hamlyn::library {

// Throws Error(out_of_memory): the system has no thread for us. Not in a simulation, which is one thread.
std::thread start_own_thread(const char* name, std::function<void()> main);

// The same, for what waits by futex_sleep and `Clock` alone: in a simulation it runs there. A forked child,
// of whom it is not, leaves it to its parent: `lock`, the run lock of the interface that it serves, knows.
std::unique_ptr<Task> start_task(const base::RunLock& lock, const char* name, std::function<void()> main);

}  // namespace hamlyn::library
