#include "hamlyn/values/put.h"

#include "c/handles.h"
#include "c/options.h"
#include "c/owner.h"
#include "c/values.h"

using namespace hamlyn::c;

static_assert(HAMLYN_SIGNAL_SET == static_cast<int>(hamlyn::Signal::set) &&
              HAMLYN_SIGNAL_ADD == static_cast<int>(hamlyn::Signal::add));

namespace {

// Puts with the options that the caller gave.
template <class Put>
hamlyn_status put_with(const char* call, const hamlyn_put_options* options, Put&& put) noexcept {
  hamlyn_put_options given;
  if (const char* const wrong = take_options(options, given)) return invalid_argument(call, wrong);
  if ((given.flags & ~(HAMLYN_NOTIFY | kElements)) != 0) return invalid_argument(call, "unknown flags");
  if (given.signal > HAMLYN_SIGNAL_ADD) return invalid_argument(call, "no such signal");
  if (const char* const wrong = strides_fault(given.strides)) return invalid_argument(call, wrong);
  hamlyn::Strides strides;
  if (given.strides != nullptr) strides = from(*given.strides);
  return number(put(hamlyn::PutOptions{.offset = given.offset,
                                       .notify = (given.flags & HAMLYN_NOTIFY) != 0,
                                       .element = element_in(given.flags),
                                       .strides = given.strides == nullptr ? nullptr : &strides,
                                       .signal = static_cast<hamlyn::Signal>(given.signal)}));
}

}  // namespace

hamlyn_status hamlyn_put(hamlyn_terminus* terminus, const hamlyn_ticket* ticket, const void* data,
                         std::size_t length, const hamlyn_put_options* options, hamlyn_send_handle* handle) {
  if (terminus == nullptr || ticket == nullptr || !readable(data, length))
    return invalid_argument(__func__, "a NULL argument");
  hamlyn::SendHandle own;
  const hamlyn_status status = put_with(__func__, options, [&](const hamlyn::PutOptions& how) {
    return terminus->it.put(from(*ticket), bytes_at(data, length), how, &own);
  });
  if (handle != nullptr && (status == HAMLYN_OK || status == HAMLYN_PENDING)) *handle = to(own);
  return status;
}

hamlyn_status hamlyn_put_wait(hamlyn_terminus* terminus, const hamlyn_ticket* ticket, const void* data,
                              std::size_t length, const hamlyn_put_options* options, std::int64_t timeout) {
  if (terminus == nullptr || ticket == nullptr || !readable(data, length))
    return invalid_argument(__func__, "a NULL argument");
  return put_with(__func__, options, [&](const hamlyn::PutOptions& how) {
    return terminus->it.put(from(*ticket), bytes_at(data, length), how, time_of(timeout));
  });
}

// --- the owner

hamlyn_status hamlyn_slot_set_control(hamlyn_slot* slot, std::uint32_t control) {
  if (slot == nullptr) return invalid_argument(__func__, "a NULL argument");
  if (control >= kControlCount) return invalid_argument(__func__, "no such control");
  return number(slot->it.set_control(kControls[control]));
}

hamlyn_status hamlyn_slot_inhibit(hamlyn_slot* slot) {
  return answer(__func__, {slot}, [&] { return slot->it.inhibit(); });
}

hamlyn_status hamlyn_slot_release(hamlyn_slot* slot) {
  return answer(__func__, {slot}, [&] { return slot->it.release(); });
}

hamlyn_status hamlyn_slot_unpin(hamlyn_slot* slot, std::size_t offset, std::size_t length) {
  return answer(__func__, {slot}, [&] { return slot->it.unpin(offset, length); });
}

hamlyn_status hamlyn_slot_pin(hamlyn_slot* slot, std::size_t offset, std::size_t length) {
  return answer(__func__, {slot}, [&] { return slot->it.pin(offset, length); });
}

hamlyn_status hamlyn_slot_take_held(hamlyn_slot* slot, hamlyn_held_put* held, void* into, std::size_t room) {
  if (slot == nullptr || held == nullptr || !readable(into, room))
    return invalid_argument(__func__, "a NULL argument");
  return take_held(slot->it, held, into, room);
}

hamlyn_status hamlyn_slot_protect(hamlyn_slot* slot, const hamlyn_protection* protection) {
  if (slot == nullptr || protection == nullptr) return invalid_argument(__func__, "a NULL argument");
  const char* const call = __func__;
  return guarded(call, [&] {
    hamlyn::Protection asked;
    if (const char* const wrong = read_protection(protection, asked)) return invalid_argument(call, wrong);
    return number(slot->it.protect(asked));
  });
}
