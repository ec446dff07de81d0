#pragma once
// Passes on what a rank writes, line by line.
#include <string>

#include "base/file_descriptor.h"

namespace hamlyn::tool {

class Lines {
 public:
  // Makes the pipe. `label`: before each line. Throws Failure.
  Lines(std::string label, int output);

  // The end that the rank writes to, until `started`.
  int theirs() const noexcept { return theirs_.get(); }
  void started() noexcept { theirs_.reset(); }
  // Readable when there is something to pass on; -1: it is at its end.
  int descriptor() const noexcept { return ours_.get(); }
  // Passes on whole lines of what is there.
  void pass_on();
  // Passes on all that is there, and ends.
  void end();

 private:
  static constexpr std::size_t kLongest = 65536;  // of a line: it is cut there

  void write(std::string_view line) const;

  const std::string label_;
  const int output_;
  base::FileDescriptor ours_, theirs_;
  std::string rest_;  // of a line that is not whole yet
};

}  // namespace hamlyn::tool
