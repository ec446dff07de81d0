#include "files/as_caller.h"

#include <grp.h>
#include <sys/fsuid.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <exception>

namespace hamlyn::internal_::files {
namespace {

// setgroups of glibc is for all threads of the process.
bool set_groups(std::span<const std::uint32_t> groups) noexcept {
  static_assert(sizeof(gid_t) == sizeof(std::uint32_t));
  return syscall(SYS_setgroups, groups.size(), groups.data()) == 0;
}

// These two answer what was there before; what is there now is told by a number that cannot be.
bool set_user(std::uint32_t user) noexcept {
  setfsuid(user);
  return static_cast<std::uint32_t>(setfsuid(static_cast<uid_t>(-1))) == user;
}
bool set_group(std::uint32_t group) noexcept {
  setfsgid(group);
  return static_cast<std::uint32_t>(setfsgid(static_cast<gid_t>(-1))) == group;
}

}  // namespace

AsCaller::AsCaller(const Caller& caller) noexcept {
  if (geteuid() != 0) {
    if (caller.user != geteuid()) fault_ = Fault::not_permitted;
    return;
  }
  changed_ = true;
  // The user comes last: without root nothing else may be set.
  if (!set_groups(caller.groups) || !set_group(caller.group) || !set_user(caller.user))
    fault_ = Fault::not_permitted;
}

// A thread that cannot become itself again must not go on as somebody else.
AsCaller::~AsCaller() {
  if (!changed_) return;
  if (!set_user(0) || !set_group(getegid()) || !set_groups({})) std::terminate();
}

}  // namespace hamlyn::internal_::files
