#pragma once
// Counts what this process hands to processes of other users, over all its links: a budget of descriptors
// that they have not read, and one of memory that they hold for longer than they have a use for it.
//
// Processes of this process's own user, and of root, are not held to it: they could do the same without us.
//
// Threads: the one that keeps the links.
#include <cstdint>

#include "base/file_descriptor.h"
#include "base/namespaces.h"
#include "library/control/left_behind.h"
#include "library/control/unread.h"

namespace hamlyn::internal_::library {

class HandedOut {
 public:
  // Whether that user is held to it.
  static bool counts(std::uint32_t uid) noexcept;

  // From now on the descriptor of this becomes readable when something was read or let go of. Throws Error.
  void open();
  int descriptor() const noexcept { return epoll_.get(); }
  // Looks what that was.
  void settle();

  // Whether so many descriptors may be sent to a process of that user, as far as is known; for whoever asks
  // for many links at a time.
  bool fits(std::uint32_t uid, std::uint64_t descriptors) const noexcept {
    return !counts(uid) || unread_.fits(uid, descriptors);
  }
  // Answers likewise, and looks what was read since if they may not.
  bool room(std::uint32_t uid, std::uint64_t descriptors);
  // Counts those that were sent.
  void sent(std::uint32_t uid, int socket, std::uint64_t descriptors);
  void end(base::ForeignSocket socket) { unread_.end(std::move(socket)); }

  // Whether a process of that user may be shown more memory.
  bool allows(std::uint32_t uid, LeftBehind::Kind kind);
  // Memory is about to be shown to that user. `piece`: 0 before it is shown to the first whom this counts
  // for.
  void show(LeftBehind::Piece& piece, std::uint32_t uid, int memfd, std::uint64_t bytes,
            LeftBehind::Kind kind);
  void leave(LeftBehind::Piece piece, int pidfd = -1) { left_.leave(piece, pidfd); }

  const Unread& unread() const noexcept { return unread_; }
  const LeftBehind& left() const noexcept { return left_; }

 private:
  base::FileDescriptor epoll_;  // before those who name it
  Unread unread_;
  LeftBehind left_;
};

}  // namespace hamlyn::internal_::library
