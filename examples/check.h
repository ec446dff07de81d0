#pragma once
// Ends an example that cannot go on: `main` catches what is thrown here, says it, and fails.
#include <hamlyn/values/status.h>

#include <cstdio>
#include <stdexcept>
#include <string>

// Throws unless `status` is ok, with its name and with what the caller can do about it.
inline void check(hamlyn::Status status) {
  if (status != hamlyn::Status::ok)
    throw std::runtime_error(std::string(hamlyn::name(status)) + ": " + hamlyn::advice(status));
}

// Throws unless another process, whose bytes may be anything, has kept to what was agreed.
inline void require(bool kept, const char* otherwise) {
  if (!kept) throw std::runtime_error(otherwise);
}

// Returns what an example ends with: `result`, or a failure if some of the output could not be written.
inline int written(int result) {
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return result;
  // `errno` does not say why: the write that failed may have been an earlier one.
  std::fputs("the output could not be written: see whether the disk is full, and who reads it\n", stderr);
  return result != 0 ? result : 1;
}
