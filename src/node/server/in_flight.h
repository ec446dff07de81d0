#pragma once
// Descriptors that the daemon has sent and nobody has read yet. The kernel counts them against the daemon's
// user: from some 2000 on each of that user's senders waits for its collector (UNIX_INFLIGHT_SANE_USER, 253
// times 8), and at RLIMIT_NOFILE nobody is introduced any more. So all together stay below that line, and of
// users that do not read the one who has much waits before the one who has little.
//
// A socket tells only whether all of it has been read, and nobody says when: a question looks at the one
// socket that it is about and at a few others of that user's, however many there are.
#include <cstdint>
#include <functional>

#include "node/mind/tally.h"

namespace hamlyn::node {

class InFlight {
 public:
  static constexpr std::uint64_t kMostOfAll = 1536;
  static constexpr std::uint64_t kMostOfProcess = 64;  // but for one introduction
  static constexpr std::uint64_t kOfIntroduction = 2;  // to each of the two
  static constexpr std::uint64_t kPartOfLeft = 4;      // of what is left, for a process with something unread
  static constexpr std::uint64_t kKept = 8;            // this part of all is for root and the daemon's user
  static constexpr int kLooks = 4;                     // at sockets of others of the user, for one question

  // Whether the process has read all that was sent by that connection: one system call.
  using AllRead = std::function<bool(std::uint64_t connection)>;

  // `limit`: the daemon's of descriptors.
  InFlight(std::uint64_t limit, std::uint32_t own, AllRead all_read);

  void sent(std::uint64_t connection, std::uint32_t uid, std::uint64_t count);
  // Whether two more may be sent to it now. A process that has read everything has room when others of its
  // user read nothing.
  bool has_room(std::uint64_t connection, std::uint32_t uid);
  // Looks at that many connections of a user's, each in turn.
  void look_at(std::uint32_t uid, int connections);
  void look(std::uint64_t connection, std::uint32_t uid);
  // The connection's socket is closed.
  void forget(std::uint64_t connection, std::uint32_t uid) { unread_.set(connection, uid, 0); }

  const Tally& unread() const noexcept { return unread_; }
  std::uint64_t most() const noexcept { return most_; }

 private:
  bool fits(std::uint64_t connection, std::uint32_t uid) const;

  const std::uint64_t most_;
  const std::uint32_t own_;
  const AllRead all_read_;
  Tally unread_;
};

}  // namespace hamlyn::node
