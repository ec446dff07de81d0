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
  // to directly; otherwise the bytes go to a file without a name in the same folder, of which nothing is left
  // however this process ends. Where the file system has none such, to one with a temporary name. Throws
  // Failure.
  Output(const std::string& path, bool keep_partial);
  ~Output();  // an unfinished file goes, or becomes PATH.partial
  Output(const Output&) = delete;
  Output& operator=(const Output&) = delete;

  bool standard() const noexcept { return path_ == "-"; }

  // Waits as long as a pipe's reader makes it. Throws Failure; also when Ctrl-C is pressed while it waits.
  void write(std::span<const std::byte> bytes);
  // All is here: gives the file its name. Throws Failure.
  void finish();

 private:
  void open_temporary(unsigned mode);
  bool open_nameless();
  bool give_name(const std::string& path);

  std::string path_, what_;
  std::string temporary_;    // its name; empty: it has none
  bool unfinished_ = false;  // never of what is written to directly
  bool keep_partial_;
  base::FileDescriptor file_;
  int fd_ = -1;
};

}  // namespace hamlyn::tool
