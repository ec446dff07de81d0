#include "node/server/in_flight.h"

#include <algorithm>
#include <utility>

namespace hamlyn::node {

InFlight::InFlight(std::uint64_t limit, std::uint32_t own, AllRead all_read)
    : most_(std::min(kMostOfAll, limit / 2)), own_(own), all_read_(std::move(all_read)) {}

void InFlight::sent(std::uint64_t connection, std::uint32_t uid, std::uint64_t count) {
  unread_.set(connection, uid, unread_.of(connection) + count);
}

void InFlight::look(std::uint64_t connection, std::uint32_t uid) {
  if (unread_.of(connection) != 0 && all_read_(connection)) unread_.set(connection, uid, 0);
}

void InFlight::look_at(std::uint32_t uid, int connections) {
  for (int i = 0; i < connections; ++i) {
    const auto next = unread_.next_of(uid);
    if (!next) return;
    look(*next, uid);
  }
}

bool InFlight::has_room(std::uint64_t connection, std::uint32_t uid) {
  look(connection, uid);
  if (fits(connection, uid)) return true;
  look_at(uid, kLooks);
  return fits(connection, uid);
}

// Answers by what was seen last. A user that has as many as are left waits, and long before that those of
// its processes that have something to read.
bool InFlight::fits(std::uint64_t connection, std::uint32_t uid) const {
  const std::uint64_t unread = unread_.of(connection);
  const std::uint64_t most = uid == 0 || uid == own_ ? most_ : most_ - most_ / kKept;
  const std::uint64_t left = most - std::min(most, unread_.in_all());
  const std::uint64_t share = unread == 0 ? left : left / kPartOfLeft;
  return unread + kOfIntroduction <= kMostOfProcess && unread_.of_user(uid) + kOfIntroduction <= share;
}

}  // namespace hamlyn::node
