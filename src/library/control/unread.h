#pragma once
// Descriptors that this process has handed to processes of other users, and that nobody has read yet.
//
// The kernel counts each against the sender's *user*, for all its processes together. Beyond the sender's
// RLIMIT_NOFILE nobody of that user can pass a descriptor to anybody. So what one process has under way is
// bounded here, far below: 1024 descriptors are kAll of 32 processes.
//
// The kernel tells by SIOCOUTQ that everything sent on a socket was read. A link may end before: then its
// socket is kept here, shut down, until the other side has read or closed its end.
//
// Threads: the one that keeps the links.
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "base/foreign.h"
#include "base/namespaces.h"
#include "library/control/fair_share.h"

namespace hamlyn::internal_::library {

class Unread {
 public:
  static constexpr std::uint64_t kAll = 32;  // descriptors, of all other users
  static constexpr std::uint64_t kEach = 8;  // of one

  // Whether so many more may go to that user, as far as is known.
  bool fits(std::uint32_t uid, std::uint64_t count) const noexcept { return share_.fits(uid, count); }
  // Answers likewise, and looks what was read since if they may not.
  bool room(std::uint32_t uid, std::uint64_t count);
  // Counts what was sent on a socket. `epoll`: hears when some of it was read; -1: nobody does.
  void sent(std::uint32_t uid, int socket, std::uint64_t count, int epoll);
  // Ends the connection of a link that has ended.
  void end(base::ForeignSocket socket);
  // Looks what was read since.
  void settle();

  std::uint64_t count() const noexcept { return share_.sum(); }

 private:
  struct Line {
    std::uint32_t uid;
    int socket;
    std::uint64_t count;
    int epoll;
    std::optional<base::ForeignSocket> kept = {};  // of a link that has ended
  };

  FairShare share_{kAll, kEach};
  std::vector<std::unique_ptr<Line>> lines_;  // those with something unread
};

}  // namespace hamlyn::internal_::library
