#pragma once
// The bytes to send: standard input or a file.
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "base/file_descriptor.h"

namespace hamlyn::tool {

class Input {
 public:
  // `path` "-": standard input. Throws Failure.
  explicit Input(const std::string& path);

  // Its size if it is a regular file; only a hint, the file may grow.
  std::optional<std::uint64_t> size() const noexcept { return size_; }
  bool ended() const noexcept { return ended_; }

  // Fills `buffer` with what can be had without waiting; fewer bytes than there is room for, also none, if
  // more has to be waited for, or after the end. Throws Failure.
  std::size_t read_available(std::span<std::byte> buffer);

  // Waits until there is something to read or `other` is readable, or a signal comes.
  void wait(int other);

 private:
  bool ready();

  base::FileDescriptor file_;
  int fd_;
  std::string what_;
  bool waits_;  // reading may have to wait: a pipe, a terminal, a socket
  bool ended_ = false;
  std::optional<std::uint64_t> size_;
};

}  // namespace hamlyn::tool
