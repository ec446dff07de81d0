#pragma once
// Calls of the owner of a slot: what it says of puts, and what it is told.
#include <iterator>
#include <span>

#include "c/status.h"
#include "hamlyn/c/segment.h"
#include "hamlyn/values/protection.h"
#include "hamlyn/values/put.h"

namespace hamlyn::c {

// The default has 0 there.
inline constexpr Control kControls[] = {Control::conditional, Control::never, Control::always};
inline constexpr std::uint32_t kControlCount = std::size(kControls);

// Says what is wrong with `given`, which may be NULL, or null; then `protection` has what it says. Throws
// std::bad_alloc.
inline const char* read_protection(const hamlyn_protection* given, Protection& protection) {
  constexpr std::uint32_t kBits = 0777, kRead = 4, kWrite = 2;
  if (given == nullptr) return nullptr;
  if ((given->mode & ~kBits) != 0) return "a mode has nine bits";
  if (given->grants == nullptr && given->users != 0) return "there are grants, and they are NULL";
  protection.mode = given->mode;
  for (const hamlyn_grant& grant : std::span(given->grants, given->users)) {
    if ((grant.access & ~(kRead | kWrite)) != 0) return "no such access of a grant";
    protection.users.push_back({grant.uid, (grant.access & kRead) != 0, (grant.access & kWrite) != 0});
  }
  return nullptr;
}

// Takes a held put of a slot or a segment.
template <class Owner>
hamlyn_status take_held(Owner& owner, hamlyn_held_put* held, void* into, std::size_t room) noexcept {
  HeldPut taken;
  const Status status = owner.take_held(taken, {static_cast<std::byte*>(into), room});
  if (status == Status::ok || status == Status::too_long)
    *held = {taken.offset, taken.length, taken.peer, taken.notify};
  return number(status);
}

}  // namespace hamlyn::c
