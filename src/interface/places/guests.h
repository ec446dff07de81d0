#pragma once
// Rights of the user at the other side of a link at a slot (hamlyn/values/protection.h).
#include <cstdint>
#include <utility>

#include "base/namespaces.h"
#include "hamlyn/values/protection.h"
#include "interface/link.h"

namespace hamlyn::internal_::interface {

class Guests {
 public:
  static constexpr std::uint32_t kRead = 4;
  static constexpr std::uint32_t kWrite = 2;

  Guests(Protection protection, User owner) : protection_(std::move(protection)), owner_(owner) {}

  std::uint32_t rights(const User& user) const noexcept {
    if (user.uid == 0) return kRead | kWrite;
    if (user.uid == owner_.uid) return protection_.mode >> 6 & (kRead | kWrite);
    for (const Protection::Grant& grant : protection_.users) {
      if (grant.uid == user.uid) return (grant.read ? kRead : 0) | (grant.write ? kWrite : 0);
    }
    return protection_.mode >> (user.gid == owner_.gid ? 3 : 0) & (kRead | kWrite);
  }

 private:
  Protection protection_;
  User owner_;
};

}  // namespace hamlyn::internal_::interface
