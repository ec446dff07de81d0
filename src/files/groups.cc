#include "files/groups.h"

#include <grp.h>
#include <pwd.h>

#include <cerrno>

namespace hamlyn::internal_::files {
namespace {

constexpr int kMostGroups = 65536;  // NGROUPS_MAX

}  // namespace

std::vector<std::uint32_t> groups_of_user(std::uint32_t user) {
  std::vector<char> memory(4096);
  passwd entry{};
  passwd* found = nullptr;
  int failed = 0;
  while ((failed = getpwuid_r(user, &entry, memory.data(), memory.size(), &found)) == ERANGE)
    memory.resize(memory.size() * 2);
  if (failed != 0 || found == nullptr) return {};
  std::vector<gid_t> groups(64);
  int count = static_cast<int>(groups.size());
  while (getgrouplist(found->pw_name, found->pw_gid, groups.data(), &count) < 0) {
    if (groups.size() >= kMostGroups) return {};
    groups.resize(groups.size() * 2);
    count = static_cast<int>(groups.size());
  }
  groups.resize(static_cast<std::size_t>(count));
  return groups;
}

}  // namespace hamlyn::internal_::files
