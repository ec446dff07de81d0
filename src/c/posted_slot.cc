#include "hamlyn/core/posted_slot.h"

#include <array>
#include <cstddef>
#include <span>

#include "c/handles.h"
#include "c/options.h"
#include "c/values.h"

using namespace hamlyn::c;

hamlyn_status hamlyn_posted_slot_make(hamlyn_queue* queue, const hamlyn_posted_slot_options* options,
                                      hamlyn_posted_slot** made) {
  if (queue == nullptr || made == nullptr) return invalid_argument(__func__, "a NULL argument");
  hamlyn_posted_slot_options asked;
  if (const char* const wrong = take_options(options, asked)) return invalid_argument(__func__, wrong);
  if ((asked.flags & ~HAMLYN_HALTS) != 0) return invalid_argument(__func__, "unknown flags");
  hamlyn::PostedSlot::Options how;
  if (asked.buffers != 0) how.buffers = asked.buffers;
  how.halts = (asked.flags & HAMLYN_HALTS) != 0;
  return make(__func__, made, queue->uses, queue->it, how);
}

hamlyn_status hamlyn_posted_slot_free(hamlyn_posted_slot* slot) { return free_handle(__func__, slot); }

hamlyn_status hamlyn_posted_slot_number(const hamlyn_posted_slot* slot, std::uint32_t* number) {
  return answer(__func__, {slot, number}, [&] { *number = slot->it.number(); });
}

hamlyn_status hamlyn_posted_slot_ticket(const hamlyn_posted_slot* slot, hamlyn_ticket* ticket) {
  return answer(__func__, {slot, ticket}, [&] { *ticket = to(slot->it.ticket()); });
}

hamlyn_status hamlyn_posted_slot_post(hamlyn_posted_slot* slot, const hamlyn_posted_piece* pieces,
                                      std::size_t count, std::uint64_t number) {
  std::array<std::span<std::byte>, hamlyn::PostedSlot::kMostPieces> parts;
  if (slot == nullptr || (pieces == nullptr && count != 0))
    return invalid_argument(__func__, "a NULL argument");
  if (count > parts.size()) return invalid_argument(__func__, "more than 16 pieces");
  for (std::size_t i = 0; i < count; ++i) {
    if (pieces[i].data == nullptr && pieces[i].length != 0)
      return invalid_argument(__func__, "a piece is NULL and has a length");
    parts[i] = {static_cast<std::byte*>(pieces[i].data), pieces[i].length};
  }
  return hamlyn::c::number(slot->it.post(std::span(parts).first(count), number));
}

hamlyn_status hamlyn_posted_slot_take_back(hamlyn_posted_slot* slot, std::uint64_t* number) {
  return answer(__func__, {slot, number}, [&] { return slot->it.take_back(*number); });
}

hamlyn_status hamlyn_posted_slot_resume(hamlyn_posted_slot* slot) {
  return answer(__func__, {slot}, [&] { slot->it.resume(); });
}

hamlyn_status hamlyn_posted_slot_change_key(hamlyn_posted_slot* slot) {
  return answer(__func__, {slot}, [&] { slot->it.change_key(); });
}
