#include "hamlyn/core/slot.h"

#include <algorithm>
#include <cstddef>
#include <vector>

#include "c/handles.h"
#include "c/options.h"
#include "c/values.h"

using namespace hamlyn::c;

namespace {

const char* read_slot_options(const hamlyn_slot_options* given, hamlyn::Slot::Options& options) {
  hamlyn_slot_options asked;
  if (const char* const wrong = take_options(given, asked, offsetof(hamlyn_slot_options, hold))) return wrong;
  if (asked.mode > HAMLYN_MODE_PARANOID_ONE_SHOT) return "no such mode";
  if (asked.access > HAMLYN_WRITE_ONLY) return "no such access";
  if ((asked.flags & ~(HAMLYN_NO_FAST | HAMLYN_FETCHES | HAMLYN_PUTS)) != 0) return "unknown flags";
  if (asked.hold > UINT32_MAX) return "more is to be held than may be";
  options.base = asked.base;
  options.bound = asked.bound;
  options.mode = static_cast<hamlyn::Mode>(asked.mode);
  options.access = static_cast<hamlyn::Access>(asked.access);
  options.entries = asked.entries;
  options.fast = (asked.flags & HAMLYN_NO_FAST) == 0;
  if (asked.places != 0) options.places = asked.places;
  options.fetches = (asked.flags & HAMLYN_FETCHES) != 0;
  options.gets = asked.gets;
  options.puts = (asked.flags & HAMLYN_PUTS) != 0;
  if (asked.hold != 0) options.hold = static_cast<std::uint32_t>(asked.hold);
  return nullptr;
}

}  // namespace

hamlyn_status hamlyn_slot_make(hamlyn_area* area, hamlyn_queue* queue, const hamlyn_slot_options* options,
                               hamlyn_slot** made) {
  if (area == nullptr || queue == nullptr || made == nullptr)
    return invalid_argument(__func__, "a NULL argument");
  hamlyn::Slot::Options asked;
  if (const char* const wrong = read_slot_options(options, asked)) return invalid_argument(__func__, wrong);
  return make(__func__, made, *area, *queue, asked);
}

hamlyn_status hamlyn_slot_free(hamlyn_slot* slot) { return free_handle(__func__, slot); }

hamlyn_status hamlyn_slot_number(const hamlyn_slot* slot, std::uint32_t* number) {
  return answer(__func__, {slot, number}, [&] { *number = slot->it.number(); });
}

hamlyn_status hamlyn_slot_ticket(const hamlyn_slot* slot, hamlyn_ticket* ticket) {
  return answer(__func__, {slot, ticket}, [&] { *ticket = to(slot->it.ticket()); });
}

hamlyn_status hamlyn_slot_entry_ticket(const hamlyn_slot* slot, std::uint32_t entry, hamlyn_ticket* ticket) {
  return answer(__func__, {slot, ticket}, [&] { *ticket = to(slot->it.ticket(entry)); });
}

hamlyn_status hamlyn_slot_arm(hamlyn_slot* slot, std::uint32_t entry) {
  return answer(__func__, {slot}, [&] { return slot->it.arm(entry); });
}

hamlyn_status hamlyn_slot_arm_within(hamlyn_slot* slot, std::uint32_t entry, std::uint64_t base,
                                     std::uint64_t bound) {
  return answer(__func__, {slot}, [&] { return slot->it.arm(entry, {base, bound}); });
}

hamlyn_status hamlyn_slot_arm_group(hamlyn_slot* slot, std::uint32_t entry, std::uint32_t members,
                                    std::uint64_t part, hamlyn_share* shares) {
  if (slot == nullptr || shares == nullptr) return invalid_argument(__func__, "a NULL argument");
  const std::uint64_t size = slot->it.bytes().size();
  if (members == 0 || members > hamlyn::GroupShares::kMostMembers || part > size / members)
    return invalid_argument(__func__, "none or too many members, or more parts than the slot has room for");
  return guarded(__func__, [&] {
    std::vector<hamlyn_share> made(members);
    hamlyn::GroupShares all;
    hamlyn::Status status = slot->it.arm_group(entry, members, all);
    if (status != hamlyn::Status::ok) return number(status);
    for (std::uint32_t i = 0; status == hamlyn::Status::ok && i < members; ++i) {
      hamlyn::Share share;
      status = all.next(share, part == 0 ? hamlyn::Limits{} : hamlyn::Limits{i * part, part});
      made[i] = to(share);
    }
    if (status == hamlyn::Status::ok) {
      std::ranges::copy(made, shares);
    } else {
      static_cast<void>(slot->it.disarm(entry));  // no group, rather than half of one: `status` says why
    }
    return number(status);
  });
}

hamlyn_status hamlyn_slot_disarm(hamlyn_slot* slot, std::uint32_t entry) {
  return answer(__func__, {slot}, [&] { return slot->it.disarm(entry); });
}

hamlyn_status hamlyn_slot_revoke(hamlyn_slot* slot, std::uint32_t entry) {
  return answer(__func__, {slot}, [&] { return slot->it.revoke(entry); });
}

hamlyn_status hamlyn_slot_fail_after(hamlyn_slot* slot, std::uint32_t entry, std::int64_t time) {
  return answer(__func__, {slot}, [&] { return slot->it.fail_after(entry, time_of(time)); });
}

hamlyn_status hamlyn_slot_expect(hamlyn_slot* slot, std::uint32_t entry, std::uint64_t peer) {
  return answer(__func__, {slot}, [&] { return slot->it.expect(entry, peer); });
}

hamlyn_status hamlyn_slot_notify_after(hamlyn_slot* slot, std::uint32_t messages) {
  return answer(__func__, {slot}, [&] { slot->it.notify_after(messages); });
}

hamlyn_status hamlyn_slot_landed(const hamlyn_slot* slot, std::uint64_t* bytes) {
  return answer(__func__, {slot, bytes}, [&] { *bytes = slot->it.landed(); });
}

hamlyn_status hamlyn_slot_wait_landed(hamlyn_slot* slot, std::uint64_t bytes, std::int64_t timeout) {
  return answer(__func__, {slot}, [&] { return slot->it.wait_landed(bytes, time_of(timeout)); });
}

hamlyn_status hamlyn_slot_change_key(hamlyn_slot* slot) {
  return answer(__func__, {slot}, [&] { slot->it.change_key(); });
}

hamlyn_status hamlyn_slot_bytes(hamlyn_slot* slot, void** data, std::size_t* length) {
  return answer(__func__, {slot, data, length}, [&] {
    *data = slot->it.bytes().data();
    *length = slot->it.bytes().size();
  });
}

hamlyn_status hamlyn_slot_message(hamlyn_slot* slot, const hamlyn_notification* notification, void** data,
                                  std::size_t* length) {
  if (slot == nullptr || notification == nullptr || data == nullptr || length == nullptr)
    return invalid_argument(__func__, "a NULL argument");
  const std::uint64_t size = slot->it.bytes().size();
  if (notification->slot != slot->it.number() || notification->offset > size ||
      notification->length > size - notification->offset)
    return HAMLYN_OUT_OF_BOUNDS;
  *data = slot->it.bytes().data() + notification->offset;
  *length = notification->length;
  return HAMLYN_OK;
}

hamlyn_status hamlyn_slot_metadata(const hamlyn_slot* slot, std::uint32_t entry, const void** data,
                                   std::size_t* length) {
  return answer(__func__, {slot, data, length}, [&] {
    const std::span<const std::byte> metadata = slot->it.metadata(entry);
    *data = metadata.data();
    *length = metadata.size();
  });
}
