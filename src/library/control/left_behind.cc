#include "library/control/left_behind.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/inotify.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <string>

namespace hamlyn::internal_::library {
namespace {

constexpr std::size_t kEventBytes = 4096;  // read at a time

void watch_in(int epoll, int fd) noexcept {
  if (epoll < 0) return;
  epoll_event event{};
  event.events = EPOLLIN;
  ::epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event);
}

bool has_ended(int pidfd) noexcept {
  pollfd end{pidfd, POLLIN, 0};
  return ::poll(&end, 1, 0) != 0;
}

}  // namespace

bool LeftBehind::allows(std::uint32_t uid, Kind kind) {
  if (fits(uid, kind)) return true;
  settle();
  return fits(uid, kind);
}

bool LeftBehind::fits(std::uint32_t uid, Kind kind) const noexcept {
  if (kind == Kind::area) return areas_.fits(uid, 1);
  return links_.fits(uid, 1) && link_bytes_.fits(uid, 1);
}

LeftBehind::Piece LeftBehind::watch(int memfd, std::uint64_t bytes, Kind kind, int epoll) {
  if (!inotify_) {
    inotify_.reset(::inotify_init1(IN_NONBLOCK | IN_CLOEXEC));
    if (inotify_) watch_in(epoll, inotify_.get());
  }
  Memory memory{.kind = kind, .bytes = bytes, .epoll = epoll};
  // The calling thread may have a descriptor table of its own.
  const std::string path = "/proc/thread-self/fd/" + std::to_string(memfd);
  if (inotify_) memory.watch = ::inotify_add_watch(inotify_.get(), path.c_str(), IN_DELETE_SELF);
  const Piece piece = ++last_;
  if (memory.watch >= 0) watches_[memory.watch] = piece;
  memories_.emplace(piece, std::move(memory));
  return piece;
}

void LeftBehind::show(Piece piece, std::uint32_t uid) {
  const auto at = memories_.find(piece);
  if (at != memories_.end()) at->second.users.insert(uid);
}

void LeftBehind::leave(Piece piece, int pidfd) {
  const auto at = memories_.find(piece);
  if (at == memories_.end()) return;  // nobody holds it any more
  Memory& memory = at->second;
  memory.left = true;
  count(memory);
  if (memory.watch >= 0 || pidfd < 0) return;
  memory.process.reset(::fcntl(pidfd, F_DUPFD_CLOEXEC, 0));
  if (!memory.process) return;
  ++processes_;
  watch_in(memory.epoll, memory.process.get());
}

void LeftBehind::count(const Memory& memory) {
  ++held_;
  held_bytes_ += memory.bytes;
  for (const std::uint32_t uid : memory.users) {
    if (memory.kind == Kind::area) {
      areas_.add(uid, 1);
    } else {
      links_.add(uid, 1);
      link_bytes_.add(uid, memory.bytes);
    }
  }
}

LeftBehind::Memories::iterator LeftBehind::forget(Memories::iterator at) {
  const Memory& memory = at->second;
  if (memory.watch >= 0) watches_.erase(memory.watch);
  if (memory.process) --processes_;
  if (!memory.left) return memories_.erase(at);
  --held_;
  held_bytes_ -= memory.bytes;
  for (const std::uint32_t uid : memory.users) {
    if (memory.kind == Kind::area) {
      areas_.give_back(uid, 1);
    } else {
      links_.give_back(uid, 1);
      link_bytes_.give_back(uid, memory.bytes);
    }
  }
  return memories_.erase(at);
}

void LeftBehind::settle() {
  if (inotify_) read_watches();
  if (processes_ != 0) look_at_processes();
  if (memories_.empty()) inotify_.reset();  // a user has few of those
}

void LeftBehind::read_watches() {
  alignas(inotify_event) std::array<char, kEventBytes> bytes;
  for (;;) {
    const ssize_t got = ::read(inotify_.get(), bytes.data(), bytes.size());
    if (got <= 0) return;
    for (ssize_t at = 0; at < got;) {
      inotify_event event;
      std::memcpy(&event, bytes.data() + at, sizeof event);
      at += static_cast<ssize_t>(sizeof event + event.len);
      // IN_IGNORED follows, and only then may the kernel give the number again.
      if ((event.mask & IN_IGNORED) == 0) continue;
      const auto watch = watches_.find(event.wd);
      if (watch != watches_.end()) forget(memories_.find(watch->second));
    }
  }
}

void LeftBehind::look_at_processes() {
  for (auto at = memories_.begin(); at != memories_.end();) {
    const bool over = at->second.process && has_ended(at->second.process.get());
    at = over ? forget(at) : std::next(at);
  }
}

}  // namespace hamlyn::internal_::library
