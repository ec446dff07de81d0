#pragma once
// Accounts of what users hold of a node: each of them within its quota, and all together within what the node
// holds at all. Kernels let one user be many (a range of subordinate users), so quotas alone bound nothing.
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include "hamlyn/values/error.h"
#include "hamlyn/values/link_reason.h"

namespace hamlyn::node {

// Most that one user, or all together, may have at a time.
struct Quotas {
  std::uint64_t interfaces = 4096;
  std::uint64_t links = 8192;  // ends of links; other users may open at most half of one user's
  std::uint64_t bytes = std::uint64_t{4} << 30;
  std::uint64_t names = 1024;
};

// So many times what one user may have, unless the configuration says what all may have.
inline constexpr std::uint64_t kTotal = 16;
Quotas times(const Quotas& quotas, std::uint64_t factor);

// Thrown and caught where one request is handled: one request, one refusal.
struct Refused {
  ErrorCode code;
  std::string text;
  LinkReason reason = LinkReason::none;  // of a link; none: the one that goes with the code
};

enum class Resource : std::uint8_t {
  strangers,  // connections that attach nothing, or not yet
  interfaces,
  links,  // ends of links
  bytes,
  names,          // registered, or kept for who had them
  lookups,        // that have no answer yet, as many as names
  claims,         // of names that somebody else may come back for, as many as names
  introductions,  // that have no answer yet, as many as links
  shunned,        // peers that processes do not want to hear of, as many as links
  count
};

// Root, and the user whom the node itself runs as, find room when others have used up theirs: this part of
// everything is kept for them.
inline constexpr std::uint64_t kKept = 8;

class Accounts {
 public:
  // `where`: empty, or " on node 7", for texts that are read elsewhere.
  Accounts(const Quotas& each, const Quotas& all, std::uint32_t own, std::string where = {});

  // All may have as many interfaces as descriptors allow, not as many as the configuration says: a refusal
  // names that limit.
  void limited_by_descriptors(std::uint64_t limit) noexcept { descriptors_ = limit; }

  // Throws Refused: the quota's own code, or node_full.
  void check(std::uint32_t uid, Resource what, std::uint64_t more) const;
  void take(std::uint32_t uid, Resource what, std::uint64_t more) {
    check(uid, what, more);
    add(uid, what, more);
  }
  bool fits(std::uint32_t uid, Resource what, std::uint64_t more) const {
    return within_quota(uid, what, more) && within_all(uid, what, more);
  }
  bool within_quota(std::uint32_t uid, Resource what, std::uint64_t more) const;
  // Refuses a user who has as much already as is left, so that the last is for those who have little.
  bool within_all(std::uint32_t uid, Resource what, std::uint64_t more) const;
  // Adds what cannot be refused.
  void add(std::uint32_t uid, Resource what, std::uint64_t more);
  void give(std::uint32_t uid, Resource what, std::uint64_t less);

  // Ends of `owner`'s links that `opener`, another user, has opened: half of what the owner may have, and of
  // one opener no more than it leaves of that. They count as links besides.
  void check_foreign(std::uint32_t owner, std::uint32_t opener) const;
  void add_foreign(std::uint32_t owner, std::uint32_t opener);
  void give_foreign(std::uint32_t owner, std::uint32_t opener);

  std::uint64_t held(std::uint32_t uid, Resource what) const;
  std::uint64_t in_all(Resource what) const { return sum_[static_cast<std::size_t>(what)]; }
  bool empty() const noexcept { return users_.empty(); }

 private:
  using Amounts = std::array<std::uint64_t, static_cast<std::size_t>(Resource::count)>;

  struct User {
    Amounts held{};
    std::uint64_t foreign = 0;  // of its ends of links
  };

  static Amounts limits(const Quotas& quotas, std::uint64_t strangers);

  const Amounts each_;
  const Amounts all_;
  const std::uint32_t own_;
  const std::string where_;
  std::uint64_t descriptors_ = 0;
  Amounts sum_{};
  std::map<std::uint32_t, User> users_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint64_t> foreign_;  // by owner and opener
};

}  // namespace hamlyn::node
