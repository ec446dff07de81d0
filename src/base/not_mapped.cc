// The one table of why memory is not mapped.
#include "hamlyn/values/not_mapped.h"

#include <array>
#include <cstddef>

namespace hamlyn {
namespace {

struct Row {
  NotMapped why;
  const char* name;
  const char* text;
};

using enum NotMapped;

constexpr std::array kRows = {
    Row{none, "none", "it is mapped"},
    Row{opening, "opening", "it is not open yet, or never will be, and open() says why"},
    Row{unsaid, "unsaid",
        "its owner, of an earlier version of Hamlyn, does not say why, or the link ended meanwhile"},
    Row{not_asked, "not_asked", "the import was made without Options::map"},
    Row{not_shown, "not_shown", "its owner shows that memory to nobody (Sharing::guarded)"},
    Row{other_host, "other_host", "its owner is a process of another host"},
    Row{other_user, "other_user",
        "its owner is of another user, and mapped_read_write is for one user's processes"},
    Row{no_rights, "no_rights",
        "its owner's protection does not let this user read it, or of mapped_read_write read and write it"},
    Row{gone, "gone", "there is no such slot any more: it was revoked, or its owner has dropped it"},
    Row{bad_key, "bad_key", "the ticket has a wrong key"},
    Row{held_back, "held_back",
        "this user's processes hold too much memory that its owner had shown them and has dropped since"},
    Row{misplaced, "misplaced",
        "it does not lie inside what its owner shows, or not at a multiple of 8 bytes"},
};

// An owner may be of a later version, or lie.
constexpr Row kUnknown{unsaid, "unknown", "for a reason that this version of Hamlyn does not know"};

const Row& row_of(NotMapped why) noexcept {
  const auto number = static_cast<std::size_t>(why);
  return number < kRows.size() ? kRows[number] : kUnknown;
}

// Each row stands at its own number.
static_assert([] {
  for (std::size_t i = 0; i != kRows.size(); ++i) {
    if (kRows[i].why != static_cast<NotMapped>(i)) return false;
  }
  return kRows.back().why == misplaced;
}());

}  // namespace

const char* name(NotMapped why) noexcept { return row_of(why).name; }
const char* text(NotMapped why) noexcept { return row_of(why).text; }

}  // namespace hamlyn
