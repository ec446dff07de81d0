#include "library/no_link.h"

#include "base/link_reasons.h"
#include "hamlyn/values/error.h"
#include "library/engine.h"

namespace hamlyn::internal_::library {

bool linked(Interface& interface, std::uint64_t peer) noexcept {
  const base::RunLockGuard guard(interface.engine().lock());
  return guard && interface.engine().core().find_link(peer) != nullptr;
}

LinkNow link_now(Interface& interface, std::uint64_t peer) noexcept {
  const base::RunLockGuard guard(interface.engine().lock());
  const interface::Link* const link = guard ? interface.engine().core().find_link(peer) : nullptr;
  return link == nullptr ? LinkNow{} : LinkNow{link->serial, link->user.uid};
}

bool is_far(Interface& interface, std::uint64_t peer) noexcept { return interface.engine().is_far(peer); }

Status departed(Interface& interface, std::uint64_t peer) noexcept {
  return interface.engine().departed(peer);
}

void throw_no_link(const std::string& what, WhyNoLink why) {
  throw Error(base::error_of(why), what + ": " + text(why) + ". " + advice(why));
}

// An earlier end is no reason while a link is asked for anew.
void throw_if_no_link(const char* what, Interface& interface, std::uint64_t peer) {
  WhyNoLink why;
  {
    const base::RunLockGuard guard(interface.engine().lock());
    if (!guard) return;
    interface::Core& core = interface.engine().core();
    const interface::Link* const link = core.find_link(peer);
    if (link == nullptr || !link->made()) why = core.link_ends().of(peer);
  }
  if (why.reason != LinkReason::none) throw_no_link(what, why);
}

}  // namespace hamlyn::internal_::library
