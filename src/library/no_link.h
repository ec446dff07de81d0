#pragma once
// Whether there is a link with the other side, and setting up that fails because there is none.
#include <cstdint>
#include <string>

#include "base/namespaces.h"
#include "hamlyn/core/interface.h"
#include "hamlyn/values/link_reason.h"
#include "hamlyn/values/status.h"

namespace hamlyn::internal_::library {

// Whether there is a link with that interface.
bool linked(Interface& interface, std::uint64_t peer) noexcept;
// A link, as it is now.
struct LinkNow {
  std::uint64_t serial = 0;         // of this process's links, never used again; 0: there is none
  std::uint32_t uid = 0xFFFFFFFFu;  // the user at the other side, as the node attests it
};
LinkNow link_now(Interface& interface, std::uint64_t peer) noexcept;
// Whether that link is one between hosts.
bool is_far(Interface& interface, std::uint64_t peer) noexcept;
// ok: what was put on that link has left this process; queue_full: not yet.
Status departed(Interface& interface, std::uint64_t peer) noexcept;
// Throws Error: what could not be done, why there is no link, and what can be done about that.
[[noreturn]] void throw_no_link(const std::string& what, WhyNoLink why);
// Throws such an Error if it is known why that interface has no link with `peer`.
void throw_if_no_link(const char* what, Interface& interface, std::uint64_t peer);

}  // namespace hamlyn::internal_::library
