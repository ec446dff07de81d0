#include "base/standard_output.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <string>
#include <system_error>

#include "hamlyn/values/error.h"

namespace hamlyn::internal_::base {
namespace {

[[noreturn]] void throw_unwritten(int code) {
  const bool full = code == ENOSPC || code == EDQUOT || code == EFBIG;
  throw Error(full ? ErrorCode::disk_full : ErrorCode::system,
              "cannot write standard output: " + std::generic_category().message(code));
}

}  // namespace

void print(std::string_view text) {
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size()) throw_unwritten(errno);
}

void flush_output() {
  if (std::fflush(stdout) != 0) throw_unwritten(errno);
}

void finish_output() {
  flush_output();
  // Some file systems tell only at a close that there was no room. A copy is closed: the descriptor itself
  // keeps its place, so that nothing that is opened later takes its number.
  const int copy = ::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 0);
  if (copy < 0 || ::close(copy) != 0) throw_unwritten(errno);
}

}  // namespace hamlyn::internal_::base
