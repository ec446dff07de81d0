#pragma once
// Standard output or error of `hamlyn run` itself, written without ever waiting for whoever reads it.
#include <cstddef>
#include <string>
#include <string_view>

#include "base/file_descriptor.h"

namespace hamlyn::tool {

class Sink {
 public:
  explicit Sink(int descriptor);

  // Puts text behind what waits to be written. Nothing is kept once it cannot be written.
  void add(std::string_view text);
  // Whether so much waits that nothing more is to be read from ranks.
  bool full() const noexcept { return waiting_.size() >= kMost; }
  bool idle() const noexcept { return waiting_.empty(); }
  // Where it is written.
  int shown() const noexcept { return own_ ? own_.get() : descriptor_; }
  // Becomes writable; -1: nothing waits.
  int descriptor() const noexcept { return idle() ? -1 : shown(); }
  // Writes what there is room for, once `descriptor` is writable.
  void write();
  // Why it cannot be written, as errno; 0: it can, or its reader has gone.
  int failed() const noexcept { return failed_; }

 private:
  static constexpr std::size_t kMost = 262144;

  long write_some() const;

  const int descriptor_;
  bool socket_ = false;
  bool reads_ = false;        // it cannot be written to at all
  bool waits_ = false;        // a write could wait
  base::FileDescriptor own_;  // of a pipe or a terminal, opened anew: that others have waits as before
  std::string waiting_;
  bool gone_ = false;
  int failed_ = 0;
};

}  // namespace hamlyn::tool
