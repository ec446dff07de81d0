#pragma once
// Messages that wait because the sockets of those who are to read them have no room, and who has to go when
// they are too many: the one who reads least.
#include <cstdint>
#include <optional>

#include "node/mind/tally.h"

namespace hamlyn::node {

class Backlog {
 public:
  static constexpr std::uint64_t kMostOfProcess = 1024;
  static constexpr std::uint64_t kMostOfUser = 16384;
  static constexpr std::uint64_t kMostOfAll = 262144;  // some 80 MB

  // Says how many wait for that connection.
  void set(std::uint64_t connection, std::uint32_t uid, std::uint64_t messages) {
    waiting_.set(connection, uid, messages);
  }

  // Returns who has to go after one more message waits for that connection: itself, or whoever of its user or
  // of all has most, as the bound is that has been passed.
  std::optional<std::uint64_t> must_go(std::uint64_t connection, std::uint32_t uid) const {
    if (waiting_.of(connection) > kMostOfProcess) return connection;
    if (waiting_.of_user(uid) > kMostOfUser) return waiting_.largest_of(uid);
    if (waiting_.in_all() > kMostOfAll) return waiting_.largest();
    return std::nullopt;
  }

 private:
  Tally waiting_;
};

}  // namespace hamlyn::node
