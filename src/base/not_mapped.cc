// The one table of why memory is not mapped.
#include "hamlyn/values/not_mapped.h"

#include <array>
#include <cstddef>

namespace hamlyn {
namespace {

struct Cause {
  NotMapped why;
  const char* name;
  const char* text;
};

constexpr std::array kCauses = {
    Cause{NotMapped::none, "none", "it is mapped"},
    Cause{NotMapped::opening, "opening", "it is not open yet, or never will be, and open() says why"},
    Cause{NotMapped::unsaid, "unsaid",
          "its owner, of an earlier version of Hamlyn, does not say why, or the link ended meanwhile"},
    Cause{NotMapped::not_asked, "not_asked", "the import was made without Options::map"},
    Cause{NotMapped::not_shown, "not_shown", "its owner shows that memory to nobody (Sharing::guarded)"},
    Cause{NotMapped::other_host, "other_host", "its owner is a process of another host"},
    Cause{NotMapped::other_user, "other_user",
          "its owner is of another user, and mapped_read_write is for one user's processes"},
    Cause{NotMapped::no_rights, "no_rights",
          "its owner's protection does not let this user read it, or of mapped_read_write read and write it"},
    Cause{NotMapped::gone, "gone",
          "there is no such slot any more: it was revoked, or its owner has dropped it"},
    Cause{NotMapped::bad_key, "bad_key", "the ticket has a wrong key"},
    Cause{NotMapped::held_back, "held_back",
          "this user's processes hold too much memory that its owner had shown them and has dropped since"},
    Cause{NotMapped::misplaced, "misplaced",
          "it does not lie inside what its owner shows, or not at a multiple of 8 bytes"},
};

// An owner may be of a later version, or lie.
constexpr Cause kUnknownCause{NotMapped::unsaid, "unknown",
                              "for a reason that this version of Hamlyn does not know"};

const Cause& cause_of(NotMapped why) noexcept {
  const auto number = static_cast<std::size_t>(why);
  return number < kCauses.size() ? kCauses[number] : kUnknownCause;
}

// Each stands at its own number.
static_assert([] {
  for (std::size_t i = 0; i != kCauses.size(); ++i) {
    if (kCauses[i].why != static_cast<NotMapped>(i)) return false;
  }
  return kCauses.back().why == NotMapped::misplaced;
}());

}  // namespace

const char* name(NotMapped why) noexcept { return cause_of(why).name; }
const char* text(NotMapped why) noexcept { return cause_of(why).text; }

}  // namespace hamlyn
