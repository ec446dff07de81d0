#pragma once
// Where received bytes go: standard output, or a file that appears under its name only when it is whole.
#include <cstddef>
#include <span>
#include <string>

#include "base/file_descriptor.h"

namespace hamlyn::tool {

class Output {
 public:
  // `path` "-": standard output. A path of something that is no regular file (a pipe, /dev/null) is written
  // to directly; otherwise the bytes go to a temporary file in the same folder. Throws Failure.
  Output(const std::string& path, bool keep_partial);
  ~Output();  // an unfinished temporary file is removed, or becomes PATH.partial
  Output(const Output&) = delete;
  Output& operator=(const Output&) = delete;

  bool standard() const noexcept { return path_ == "-"; }

  // Waits as long as a pipe's reader makes it. Throws Failure; also when Ctrl-C is pressed while it waits.
  void write(std::span<const std::byte> bytes);
  // All is here: gives the file its name. Throws Failure.
  void finish();

 private:
  void open_temporary(unsigned mode);

  std::string path_, what_, temporary_;  // temporary_ empty: written to directly, or finished
  bool keep_partial_;
  base::FileDescriptor file_;
  int fd_ = -1;
};

}  // namespace hamlyn::tool
