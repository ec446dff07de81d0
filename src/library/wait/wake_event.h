#pragma once
// How threads of the process wake one of the library's own that waits for descriptors of its own table. A
// descriptor in the process's table would not do: a program that closes all descriptors (closefrom) closes
// it, too, and what we write would go into whatever gets its number. So the thread is sent a signal that it
// has blocked and reads from a signalfd. Nobody else sees that signal, no handler runs, no wait is
// interrupted.
//
// In a simulation, which is one thread, a descriptor does.
#include <sys/types.h>

#include <mutex>

#include "base/file_descriptor.h"
#include "base/namespaces.h"

namespace hamlyn::internal_::library {

class WakeEvent {
 public:
  // By the thread that is to hear, with all signals blocked and in its own table. Throws Error.
  void listen();
  // Readable: somebody has rung.
  int descriptor() const noexcept { return signals_.get(); }
  // By the thread that hears: what has rung until now.
  void take() noexcept;
  // By the thread that hears, before it ends: its descriptor is of its table.
  void close() noexcept;
  // By any thread. Nothing happens when nobody listens, and in a forked child.
  void ring() noexcept;

 private:
  std::mutex mutex_;   // the thread is there while somebody rings: its number may be another's later
  pid_t thread_ = 0;   // 0: nobody listens
  pid_t process_ = 0;  // of the thread
  base::FileDescriptor signals_;
};

}  // namespace hamlyn::internal_::library
