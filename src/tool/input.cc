#include "tool/input.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "tool/failure.h"

namespace hamlyn::tool {

Input::Input(const std::string& path)
    : file_(path == "-" ? -1 : ::open(path.c_str(), O_RDONLY | O_CLOEXEC)),
      fd_(path == "-" ? STDIN_FILENO : file_.get()),
      what_(path == "-" ? "standard input" : fmt::format("'{}'", path)) {
  struct stat status {};
  if (fd_ < 0 || ::fstat(fd_, &status) != 0) throw system_failure("cannot open " + what_, errno);
  if (S_ISDIR(status.st_mode)) throw system_failure("cannot read " + what_, EISDIR);
  waits_ = !S_ISREG(status.st_mode);
  // Files of /proc and the like say 0 and have bytes all the same.
  if (!waits_ && status.st_size > 0) size_ = static_cast<std::uint64_t>(status.st_size);
}

bool Input::ready() {
  if (!waits_) return true;
  pollfd input{fd_, POLLIN, 0};
  return ::poll(&input, 1, 0) > 0;
}

std::size_t Input::read_available(std::span<std::byte> buffer) {
  std::size_t filled = 0;
  while (!ended_ && filled < buffer.size() && ready()) {
    const auto got = ::read(fd_, buffer.data() + filled, buffer.size() - filled);
    if (got < 0 && (errno == EINTR || errno == EAGAIN)) break;
    if (got < 0) throw system_failure("cannot read " + what_, errno);
    ended_ = got == 0;
    filled += static_cast<std::size_t>(got);
  }
  return filled;
}

void Input::wait(int other) {
  pollfd both[] = {{fd_, POLLIN, 0}, {other, POLLIN, 0}};
  ::poll(both, 2, -1);
}

}  // namespace hamlyn::tool
