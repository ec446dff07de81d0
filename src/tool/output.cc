#include "tool/output.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>

#include "tool/failure.h"
#include "tool/stop.h"

namespace hamlyn::tool {
namespace {

// The mode that a file made by a shell's `>` would get.
unsigned default_mode() {
  const mode_t mask = ::umask(0);
  ::umask(mask);
  return 0666u & ~mask;
}

void wait_writable(int fd) {
  pollfd output{fd, POLLOUT, 0};
  if (::poll(&output, 1, -1) >= 0) errno = EAGAIN;
}

}  // namespace

Output::Output(const std::string& path, bool keep_partial)
    : path_(path),
      what_(path == "-" ? "standard output" : fmt::format("'{}'", path)),
      keep_partial_(keep_partial),
      fd_(STDOUT_FILENO) {
  if (standard()) return;
  struct stat status {};
  const bool there = ::stat(path.c_str(), &status) == 0;
  if (there && S_ISDIR(status.st_mode)) throw system_failure("cannot write " + what_, EISDIR);
  if (there && S_ISREG(status.st_mode) && ::access(path.c_str(), W_OK) != 0) {
    throw system_failure("cannot write " + what_, errno);
  }
  if (!there || S_ISREG(status.st_mode)) {
    open_temporary(there ? status.st_mode & 0777u : default_mode());
  } else {
    file_.reset(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
    if (!file_) throw system_failure("cannot open " + what_, errno);
  }
  fd_ = file_.get();
}

void Output::open_temporary(unsigned mode) {
  // Through links, so that what they lead to is replaced and not they themselves.
  if (char* real = ::realpath(path_.c_str(), nullptr)) {
    path_ = real;
    std::free(real);
  }
  temporary_ = path_ + ".XXXXXX";
  file_.reset(::mkostemp(temporary_.data(), O_CLOEXEC));
  if (!file_) {
    temporary_.clear();
    throw system_failure("cannot make a temporary file beside " + what_, errno);
  }
  ::fchmod(file_.get(), mode);
}

Output::~Output() {
  if (temporary_.empty()) return;
  if (!keep_partial_ || std::rename(temporary_.c_str(), (path_ + ".partial").c_str()) != 0) {
    ::unlink(temporary_.c_str());
  }
}

void Output::write(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    if (Stop::requested()) throw interrupted("interrupted while writing " + what_);
    const auto put = ::write(fd_, bytes.data(), bytes.size());
    if (put < 0 && errno == EAGAIN) wait_writable(fd_);  // somebody made the shared descriptor non-blocking
    if (put < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (put < 0) throw system_failure("cannot write " + what_, errno);
    bytes = bytes.subspan(static_cast<std::size_t>(put));
  }
}

void Output::finish() {
  // Some file systems tell only now that there was no room. (Standard output stays open: it is not ours.)
  if (file_ && ::close(file_.release()) != 0) throw system_failure("cannot write " + what_, errno);
  if (temporary_.empty()) return;
  if (std::rename(temporary_.c_str(), path_.c_str()) != 0)
    throw system_failure("cannot name " + what_, errno);
  temporary_.clear();
}

}  // namespace hamlyn::tool
