#pragma once
// Amounts that connections hold, summed by user and in all. Each call costs the logarithm of how many
// connections hold something, whatever one user has of them.
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <utility>

namespace hamlyn::node {

class Tally {
 public:
  // Sets what the connection holds from now on; 0: nothing.
  void set(std::uint64_t connection, std::uint32_t uid, std::uint64_t amount);

  std::uint64_t of(std::uint64_t connection) const;
  std::uint64_t of_user(std::uint32_t uid) const;
  std::uint64_t in_all() const noexcept { return sum_; }

  // The connection that holds most, of all or of one user's.
  std::optional<std::uint64_t> largest() const;
  std::optional<std::uint64_t> largest_of(std::uint32_t uid) const;
  // The connections of a user that hold something, one after the other, again and again.
  std::optional<std::uint64_t> next_of(std::uint32_t uid);

 private:
  using Ranks = std::set<std::pair<std::uint64_t, std::uint64_t>>;  // amounts and connections

  struct Held {
    std::uint32_t uid = 0;
    std::uint64_t amount = 0;
  };
  struct User {
    std::uint64_t sum = 0;
    Ranks ranks;
    std::set<std::uint64_t> connections;
    std::uint64_t last = 0;  // that next_of() has given
  };

  static std::optional<std::uint64_t> last_of(const Ranks& ranks);

  std::map<std::uint64_t, Held> held_;
  std::map<std::uint32_t, User> users_;
  Ranks ranks_;
  std::uint64_t sum_ = 0;
};

}  // namespace hamlyn::node
