#include "library/control/handed_out.h"

#include <sys/epoll.h>
#include <unistd.h>

#include <array>
#include <utility>

#include "base/throw_system.h"

namespace hamlyn::internal_::library {

bool HandedOut::counts(std::uint32_t uid) noexcept { return uid != 0 && uid != ::geteuid(); }

void HandedOut::open() {
  epoll_.reset(::epoll_create1(EPOLL_CLOEXEC));
  if (!epoll_) base::throw_system("epoll_create1");
}

void HandedOut::settle() {
  // Each edge is told once: taking the events is all that they are for.
  std::array<epoll_event, 2 * Unread::kAll> edges;
  ::epoll_wait(epoll_.get(), edges.data(), static_cast<int>(edges.size()), 0);
  unread_.settle();
  left_.settle();
}

bool HandedOut::room(std::uint32_t uid, std::uint64_t descriptors) {
  return !counts(uid) || unread_.room(uid, descriptors);
}

void HandedOut::sent(std::uint32_t uid, int socket, std::uint64_t descriptors) {
  if (counts(uid)) unread_.sent(uid, socket, descriptors, epoll_.get());
}

bool HandedOut::allows(std::uint32_t uid, LeftBehind::Kind kind) {
  return !counts(uid) || left_.allows(uid, kind);
}

void HandedOut::show(LeftBehind::Piece& piece, std::uint32_t uid, int memfd, std::uint64_t bytes,
                     LeftBehind::Kind kind) {
  if (!counts(uid)) return;
  if (piece == 0) piece = left_.watch(memfd, bytes, kind, epoll_.get());
  left_.show(piece, uid);
}

}  // namespace hamlyn::internal_::library
