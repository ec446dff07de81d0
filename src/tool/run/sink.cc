#include "tool/run/sink.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <limits.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace hamlyn::tool {

Sink::Sink(int descriptor) : descriptor_(descriptor) {
  struct stat kind {};
  if (::fstat(descriptor, &kind) != 0) return;
  socket_ = S_ISSOCK(kind.st_mode);
  reads_ = (::fcntl(descriptor, F_GETFL) & O_ACCMODE) == O_RDONLY;
  if (reads_ || (!S_ISFIFO(kind.st_mode) && !S_ISCHR(kind.st_mode))) return;
  const std::string path = fmt::format("/proc/self/fd/{}", descriptor);
  own_.reset(::open(path.c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY));
  waits_ = !own_;  // it is of another user's making, perhaps
}

void Sink::add(std::string_view text) {
  if (reads_) failed_ = EBADF;
  gone_ |= reads_;
  if (gone_) return;
  waiting_ += text;
  if (!waits_) write();
}

// A pipe that poll says to be writable takes so much without a wait.
long Sink::write_some() const {
  if (socket_) return ::send(descriptor_, waiting_.data(), waiting_.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
  const std::size_t most = waits_ ? std::min<std::size_t>(waiting_.size(), PIPE_BUF) : waiting_.size();
  return ::write(shown(), waiting_.data(), most);
}

void Sink::write() {
  while (!waiting_.empty()) {
    const long written = write_some();
    if (written < 0 && errno == EINTR) continue;
    if (written < 0 && errno == EAGAIN) return;
    if (written < 0) {
      gone_ = true;
      failed_ = errno == EPIPE ? 0 : errno;
      waiting_.clear();
      return;
    }
    waiting_.erase(0, static_cast<std::size_t>(written));
    if (waits_) return;
  }
}

}  // namespace hamlyn::tool
