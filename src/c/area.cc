#include "c/handles.h"
#include "c/values.h"

using namespace hamlyn::c;

hamlyn_status hamlyn_area_make(hamlyn_interface* interface, std::size_t bytes, std::uint32_t sharing,
                               hamlyn_area** made) {
  if (interface == nullptr || made == nullptr) return invalid_argument(__func__, "a NULL argument");
  if (sharing > HAMLYN_MAPPED_READ_WRITE) return invalid_argument(__func__, "no such kind of sharing");
  return make(__func__, made, interface->uses, interface->it, bytes, static_cast<hamlyn::Sharing>(sharing));
}

hamlyn_status hamlyn_area_make_over(hamlyn_interface* interface, void* memory, std::size_t bytes,
                                    hamlyn_area** made) {
  if (interface == nullptr || memory == nullptr || made == nullptr)
    return invalid_argument(__func__, "a NULL argument");
  return make(__func__, made, interface->uses, interface->it,
              std::span<std::byte>{static_cast<std::byte*>(memory), bytes});
}

hamlyn_status hamlyn_area_make_durable(hamlyn_interface* interface, const char* path, int descriptor,
                                       std::size_t bytes, hamlyn_area** made) {
  if (interface == nullptr || made == nullptr) return invalid_argument(__func__, "a NULL argument");
  const char* const call = __func__;
  return guarded(call, [&] {
    hamlyn::AreaFile file;
    if (path != nullptr) {
      file.path = path;
    } else {
      file.descriptor = descriptor;
    }
    return make(call, made, interface->uses, interface->it, file, bytes);
  });
}

hamlyn_status hamlyn_area_free(hamlyn_area* area) { return free_handle(__func__, area); }

hamlyn_status hamlyn_area_bytes(hamlyn_area* area, void** data, std::size_t* length) {
  return answer(__func__, {area, data, length}, [&] {
    *data = area->it.bytes().data();
    *length = area->it.bytes().size();
  });
}

hamlyn_status hamlyn_area_revoke(hamlyn_area* area) {
  return answer(__func__, {area}, [&] { area->it.revoke(); });
}

hamlyn_status hamlyn_area_sync(hamlyn_area* area, std::size_t offset, std::size_t length,
                               std::int64_t timeout) {
  return answer(__func__, {area}, [&] { return number(area->it.sync(offset, length, time_of(timeout))); });
}

hamlyn_status hamlyn_send_area_make(hamlyn_interface* interface, std::size_t bytes, hamlyn_send_area** made) {
  if (interface == nullptr || made == nullptr) return invalid_argument(__func__, "a NULL argument");
  return make(__func__, made, interface->uses, interface->it, bytes);
}

hamlyn_status hamlyn_send_area_free(hamlyn_send_area* area) { return free_handle(__func__, area); }

hamlyn_status hamlyn_send_area_bytes(hamlyn_send_area* area, void** data, std::size_t* length) {
  return answer(__func__, {area, data, length}, [&] {
    *data = area->it.bytes().data();
    *length = area->it.bytes().size();
  });
}

hamlyn_status hamlyn_mapped_slot_make(hamlyn_interface* interface, const hamlyn_ticket* ticket,
                                      std::int64_t timeout, hamlyn_mapped_slot** made) {
  if (interface == nullptr || ticket == nullptr || made == nullptr)
    return invalid_argument(__func__, "a NULL argument");
  return make(__func__, made, interface->uses, interface->it, from(*ticket), milliseconds_of(timeout));
}

hamlyn_status hamlyn_mapped_slot_begin(hamlyn_interface* interface, const hamlyn_ticket* ticket,
                                       hamlyn_mapped_slot** made) {
  if (interface == nullptr || ticket == nullptr || made == nullptr)
    return invalid_argument(__func__, "a NULL argument");
  return make(__func__, made, interface->uses, interface->it, from(*ticket), hamlyn::kBegin);
}

hamlyn_status hamlyn_mapped_slot_open(hamlyn_mapped_slot* slot, std::int64_t timeout) {
  return answer(__func__, {slot}, [&] { slot->it.open(time_of(timeout)); });
}

hamlyn_status hamlyn_mapped_slot_free(hamlyn_mapped_slot* slot) { return free_handle(__func__, slot); }

hamlyn_status hamlyn_mapped_slot_bytes(hamlyn_mapped_slot* slot, const void** data, std::size_t* length) {
  return answer(__func__, {slot, data, length}, [&] {
    *data = slot->it.bytes().data();
    *length = slot->it.bytes().size();
  });
}

hamlyn_status hamlyn_mapped_slot_writable(hamlyn_mapped_slot* slot, void** data, std::size_t* length) {
  return answer(__func__, {slot, data, length}, [&] {
    *data = slot->it.can_write() ? slot->it.writable().data() : nullptr;
    *length = slot->it.writable().size();
  });
}

hamlyn_status hamlyn_mapped_slot_current(const hamlyn_mapped_slot* slot, int* current) {
  return answer(__func__, {slot, current}, [&] { *current = slot->it.current() ? 1 : 0; });
}

hamlyn_status hamlyn_mapped_slot_not_mapped(const hamlyn_mapped_slot* slot, std::uint32_t* why) {
  return answer(__func__, {slot, why}, [&] { *why = static_cast<std::uint32_t>(slot->it.not_mapped()); });
}
