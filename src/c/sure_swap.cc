#include "c/segment_handles.h"
#include "c/values.h"

using namespace hamlyn::c;

hamlyn_status hamlyn_sure_swap_make(std::size_t offset, std::uint32_t members, std::uint32_t who,
                                    hamlyn_sure_swap** made) {
  if (made == nullptr) return invalid_argument(__func__, "a NULL argument");
  if (members > hamlyn::SureSwap::kMostMembers) return invalid_argument(__func__, "more than 255 members");
  if (who == 0 || who > members) return invalid_argument(__func__, "`who` is none of the members");
  return make(__func__, made, offset, members, who);
}

hamlyn_status hamlyn_sure_swap_free(hamlyn_sure_swap* swap) { return free_handle(__func__, swap); }

hamlyn_status hamlyn_sure_swap_swap(hamlyn_sure_swap* swap, hamlyn_import* import, std::uint32_t expected,
                                    std::uint32_t desired, std::int64_t timeout, std::uint32_t* found) {
  return answer(__func__, {swap, import},
                [&] { return swap->it.swap(import->it, expected, desired, time_of(timeout), found); });
}

hamlyn_status hamlyn_sure_swap_settle(hamlyn_sure_swap* swap, hamlyn_import* import, std::int64_t timeout,
                                      std::uint32_t* found) {
  return answer(__func__, {swap, import},
                [&] { return swap->it.settle(import->it, time_of(timeout), found); });
}

hamlyn_status hamlyn_sure_swap_settled(const hamlyn_sure_swap* swap, int* settled) {
  return answer(__func__, {swap, settled}, [&] { *settled = swap->it.settled() ? 1 : 0; });
}

hamlyn_status hamlyn_sure_swap_load(hamlyn_sure_swap* swap, hamlyn_import* import, std::int64_t timeout,
                                    std::uint32_t* value) {
  return answer(__func__, {swap, import, value},
                [&] { return swap->it.load(import->it, *value, time_of(timeout)); });
}
