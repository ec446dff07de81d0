#pragma once
// A thread of the library's own, which takes none of the application's signals.
#include <functional>
#include <thread>

namespace hamlyn::library {

// Throws Error(out_of_memory): the system has no thread for us.
std::thread start_own_thread(const char* name, std::function<void()> main);

}  // namespace hamlyn::library
