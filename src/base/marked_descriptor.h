#pragma once
// A descriptor of ours in the process's table. The program may close it behind our back (closefrom, dup2),
// and something of its own may get the number. Whoever is about to use the number asks first whether it is
// still ours; what is not is neither written, nor read, nor closed.
//
// The mark of a socket is its cookie. Of another file the mark is its owner for signals (F_SETOWN), which
// nobody gets: the process's first thread, named as a thread. Of two of ours with one number, the younger has
// it.
//
// Threads: any may ask; one at a time adopts. A program that closes what another thread is just using is
// wrong.
#include <sys/types.h>

#include <atomic>
#include <cstdint>

#include "base/file_descriptor.h"
#include "base/namespaces.h"

namespace hamlyn::internal_::base {

class MarkedDescriptor {
 public:
  MarkedDescriptor() noexcept = default;
  ~MarkedDescriptor() { close(); }
  MarkedDescriptor(const MarkedDescriptor&) = delete;
  MarkedDescriptor& operator=(const MarkedDescriptor&) = delete;

  // Takes over `descriptor`, and closes the one before. Throws Error: system, out_of_memory.
  void adopt(FileDescriptor descriptor);
  // -1: none, or its number is another of ours by now.
  int get() const noexcept { return number_.load(std::memory_order_relaxed); }
  bool ours() const noexcept;
  // Closes it, if it is ours still.
  void close() noexcept;

 private:
  std::atomic<int> number_{-1};  // relaxed: who is told of a younger one asks for the mark as well
  std::uint64_t cookie_ = 0;     // of a socket; 0: it is none
  pid_t process_ = 0;            // which has marked it
};

}  // namespace hamlyn::internal_::base
