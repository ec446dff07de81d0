#pragma once
// Passes on what a rank writes, line by line.
#include <string>
#include <string_view>

#include "base/file_descriptor.h"
#include "tool/run/sink.h"

namespace hamlyn::tool {

class Lines {
 public:
  // Makes the pipe. `label`: before each line. Throws Failure.
  Lines(std::string label, Sink& output);

  // The end that the rank writes to, until `started`.
  int theirs() const noexcept { return theirs_.get(); }
  void started() noexcept { theirs_.reset(); }
  // Readable when there is something to pass on; -1: it is at its end, or its output takes nothing now.
  int descriptor() const noexcept { return output_->full() ? -1 : ours_.get(); }
  bool ended() const noexcept { return !ours_; }
  // Reads once, and passes on whole lines. A line is cut at 64 KiB.
  void pass_on();

 private:
  static constexpr std::size_t kLongest = 65536;

  void write(std::string_view line) const;

  std::string label_;
  Sink* output_;
  base::FileDescriptor ours_, theirs_;
  std::string rest_;  // of a line that is not whole yet
};

}  // namespace hamlyn::tool
