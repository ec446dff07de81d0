#pragma once
// Whether a consent lets a user open links.
#include <algorithm>
#include <cstdint>

#include "hamlyn/values/consent.h"

namespace hamlyn::node {

inline bool lets(const Consent& consent, std::uint32_t uid, std::uint32_t gid) noexcept {
  return consent.everyone || uid == 0 || std::ranges::count(consent.users, uid) != 0 ||
         std::ranges::count(consent.groups, gid) != 0;
}

}  // namespace hamlyn::node
