#include "tool/output.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <filesystem>

#include "base/random.h"
#include "tool/failure.h"
#include "tool/stop.h"

namespace hamlyn::tool {
namespace {

constexpr int kMostLinks = 40;  // in a row, as the kernel follows

// The mode that a file made by a shell's `>` would get.
unsigned default_mode() {
  const mode_t mask = ::umask(0);
  ::umask(mask);
  return 0666u & ~mask;
}

std::string by_descriptor(int fd) { return fmt::format("/proc/self/fd/{}", fd); }

bool link_as(int fd, const std::string& path) {
  return ::linkat(AT_FDCWD, by_descriptor(fd).c_str(), AT_FDCWD, path.c_str(), AT_SYMLINK_FOLLOW) == 0;
}

// Where it leads, through every link, also to what is not there yet: as with `>`, a link stays what it is.
std::string target_of(const std::string& path) {
  std::filesystem::path target = path;
  std::error_code no_link;
  for (int links = 0; links < kMostLinks; ++links) {
    const std::filesystem::path next = std::filesystem::read_symlink(target, no_link);
    if (no_link) break;
    target = target.parent_path() / next;
  }
  return target.string();
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
  // Links that lead in a circle, or that the kernel does not let follow.
  if (!there && errno != ENOENT) throw system_failure("cannot write " + what_, errno);
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
  path_ = target_of(path_);
  if (!open_nameless()) {
    temporary_ = path_ + ".XXXXXX";
    file_.reset(::mkostemp(temporary_.data(), O_CLOEXEC));
  }
  if (!file_) {
    temporary_.clear();
    throw system_failure("cannot make a temporary file beside " + what_, errno);
  }
  unfinished_ = true;
  ::fchmod(file_.get(), mode);
}

// Nothing is left of a file that never had a name. False: not in this file system, or there is no /proc, by
// which it would get one.
bool Output::open_nameless() {
  const std::size_t slash = path_.rfind('/');
  const std::string folder = slash == std::string::npos ? "." : path_.substr(0, slash + 1);
  file_.reset(::open(folder.c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600));
  if (file_ && ::access(by_descriptor(file_.get()).c_str(), F_OK) != 0) file_.reset();
  return static_cast<bool>(file_);
}

// Gives the file that name, in the place of one that has it. False, and errno: it has none.
bool Output::give_name(const std::string& path) {
  std::string from = temporary_;
  if (from.empty()) {
    if (link_as(file_.get(), path)) return true;
    if (errno != EEXIST) return false;
    // To link replaces nothing, to rename does: between the two, the whole file stands under another name.
    do {
      from = fmt::format("{}.{:016x}", path, base::random_key());
    } while (!link_as(file_.get(), from) && errno == EEXIST);
  }
  if (std::rename(from.c_str(), path.c_str()) == 0) return true;
  const int errnum = errno;
  if (temporary_.empty()) ::unlink(from.c_str());
  errno = errnum;
  return false;
}

Output::~Output() {
  if (!unfinished_) return;
  if (keep_partial_ && give_name(path_ + ".partial")) return;
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
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
  if (!file_) return;  // standard output stays open: it is not ours
  // Some file systems tell only at a close that there was no room. The descriptor itself is needed for a
  // name.
  const int copy = ::fcntl(file_.get(), F_DUPFD_CLOEXEC, 0);
  if (copy < 0 || ::close(copy) != 0) throw system_failure("cannot write " + what_, errno);
  if (!unfinished_) return;
  if (!give_name(path_)) throw system_failure("cannot name " + what_, errno);
  unfinished_ = false;
}

}  // namespace hamlyn::tool
