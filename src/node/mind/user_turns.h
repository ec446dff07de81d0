#pragma once
// Turns of users: who is served next. Users come in turn, by the time that each of them has taken. What waits
// for one user comes in its order. A user who asks without end delays nobody but itself; one who has been
// quiet is served next.
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <utility>

namespace hamlyn::node {

class UserTurns {
 public:
  struct Turn {
    std::uint64_t user = 0;
    std::uint64_t what = 0;
  };

  // At the end of what waits for that user. The caller adds nothing twice.
  void add(std::uint64_t user, std::uint64_t what);
  // Takes it out. It is to be charged before the next one is taken.
  std::optional<Turn> next();
  // Charges what the turn has cost, in whatever unit all turns are measured.
  void charge(const Turn& turn, std::uint64_t cost);

  bool empty() const noexcept { return ready_.empty(); }
  // Users of whom something is known: something waits for them, or they have used more than others.
  std::size_t users() const noexcept { return used_.size(); }

 private:
  using Order = std::set<std::pair<std::uint64_t, std::uint64_t>>;  // times and users

  std::map<std::uint64_t, std::deque<std::uint64_t>> waiting_;
  std::map<std::uint64_t, std::uint64_t> used_;  // until when each user has used up its share
  Order ready_;                                  // users for whom something waits
  Order idle_;                                   // and others who have used more than the one served last
  std::uint64_t now_ = 0;                        // of the turn that was taken last
};

}  // namespace hamlyn::node
