#include "hamlyn/segment/segment.h"

#include <cstddef>

#include "c/comparison.h"
#include "c/options.h"
#include "c/owner.h"
#include "c/segment_handles.h"
#include "c/values.h"

using namespace hamlyn::c;
using hamlyn::SegmentRecord;

// A descriptor gives the records that hamlyn_segment_wait gives: both structures are alike.
static_assert(sizeof(hamlyn_segment_record) == sizeof(SegmentRecord) &&
              offsetof(hamlyn_segment_record, count) == offsetof(SegmentRecord, count) &&
              offsetof(hamlyn_segment_record, offset) == offsetof(SegmentRecord, offset) &&
              offsetof(hamlyn_segment_record, peer) == offsetof(SegmentRecord, peer));
static_assert(HAMLYN_WRITTEN == static_cast<int>(SegmentRecord::Kind::written) &&
              HAMLYN_HELD == static_cast<int>(SegmentRecord::Kind::held) &&
              HAMLYN_READ == static_cast<int>(SegmentRecord::Kind::read) &&
              HAMLYN_READ_FAILED == static_cast<int>(SegmentRecord::Kind::read_failed) &&
              HAMLYN_GOT_HERE == static_cast<int>(SegmentRecord::Kind::got) &&
              HAMLYN_SWAPPED == static_cast<int>(SegmentRecord::Kind::swapped));

namespace {

// Says what is wrong with `given`, or null. Throws std::bad_alloc.
const char* read_segment_options(const hamlyn_segment_options* given, hamlyn::SegmentOptions& options) {
  hamlyn_segment_options asked;
  if (const char* const wrong = take_options(given, asked)) return wrong;
  if (asked.sharing > HAMLYN_MAPPED_READ_WRITE) return "no such kind of sharing";
  if (asked.control >= kControlCount) return "no such control";
  if (const char* const wrong = read_protection(asked.protection, options.protection)) return wrong;
  if (asked.name != nullptr) options.name = asked.name;
  options.bytes = asked.bytes;
  if (asked.memory != nullptr) options.memory = {static_cast<std::byte*>(asked.memory), asked.bytes};
  options.sharing = static_cast<hamlyn::Sharing>(asked.sharing);
  options.control = kControls[asked.control];
  if (asked.places != 0) options.places = asked.places;
  if (asked.records != 0) options.records = asked.records;
  if (asked.hold != 0) options.hold = asked.hold;
  return nullptr;
}

}  // namespace

hamlyn_status hamlyn_segment_make(hamlyn_interface* interface, const hamlyn_segment_options* options,
                                  hamlyn_segment** made) {
  if (interface == nullptr || made == nullptr) return invalid_argument(__func__, "a NULL argument");
  const char* const call = __func__;
  return guarded(call, [&] {
    hamlyn::SegmentOptions asked;
    if (const char* const wrong = read_segment_options(options, asked)) return invalid_argument(call, wrong);
    return make(call, made, interface->uses, interface->it, asked);
  });
}

hamlyn_status hamlyn_segment_free(hamlyn_segment* segment) { return free_handle(__func__, segment); }

hamlyn_status hamlyn_segment_bytes(hamlyn_segment* segment, void** data, std::size_t* length) {
  return answer(__func__, {segment, data, length}, [&] {
    *data = segment->it.bytes().data();
    *length = segment->it.bytes().size();
  });
}

hamlyn_status hamlyn_segment_ticket(const hamlyn_segment* segment, hamlyn_ticket* ticket) {
  return answer(__func__, {segment, ticket}, [&] { *ticket = to(segment->it.ticket()); });
}

hamlyn_status hamlyn_segment_revoke(hamlyn_segment* segment) {
  return answer(__func__, {segment}, [&] { segment->it.revoke(); });
}

hamlyn_status hamlyn_segment_protect(hamlyn_segment* segment, const hamlyn_protection* protection) {
  if (segment == nullptr || protection == nullptr) return invalid_argument(__func__, "a NULL argument");
  const char* const call = __func__;
  return guarded(call, [&] {
    hamlyn::Protection asked;
    if (const char* const wrong = read_protection(protection, asked)) return invalid_argument(call, wrong);
    segment->it.protect(asked);
    return static_cast<hamlyn_status>(HAMLYN_OK);
  });
}

hamlyn_status hamlyn_segment_set_control(hamlyn_segment* segment, std::uint32_t control) {
  if (segment == nullptr) return invalid_argument(__func__, "a NULL argument");
  if (control >= kControlCount) return invalid_argument(__func__, "no such control");
  return number(segment->it.set_control(kControls[control]));
}

hamlyn_status hamlyn_segment_inhibit(hamlyn_segment* segment) {
  return answer(__func__, {segment}, [&] { return segment->it.inhibit(); });
}

hamlyn_status hamlyn_segment_release(hamlyn_segment* segment) {
  return answer(__func__, {segment}, [&] { return segment->it.release(); });
}

hamlyn_status hamlyn_segment_unpin(hamlyn_segment* segment, std::size_t offset, std::size_t length) {
  return answer(__func__, {segment}, [&] { return segment->it.unpin(offset, length); });
}

hamlyn_status hamlyn_segment_pin(hamlyn_segment* segment, std::size_t offset, std::size_t length) {
  return answer(__func__, {segment}, [&] { return segment->it.pin(offset, length); });
}

hamlyn_status hamlyn_segment_take_held(hamlyn_segment* segment, hamlyn_held_put* held, void* into,
                                       std::size_t room) {
  if (segment == nullptr || held == nullptr || !readable(into, room))
    return invalid_argument(__func__, "a NULL argument");
  return take_held(segment->it, held, into, room);
}

hamlyn_status hamlyn_segment_wait(hamlyn_segment* segment, std::int64_t timeout,
                                  hamlyn_segment_record* record) {
  if (segment == nullptr || record == nullptr) return invalid_argument(__func__, "a NULL argument");
  SegmentRecord next;
  const hamlyn::Status status = segment->it.wait(next, time_of(timeout));
  if (status == hamlyn::Status::ok) *record = std::bit_cast<hamlyn_segment_record>(next);
  return number(status);
}

hamlyn_status hamlyn_segment_wait_until(hamlyn_segment* segment, std::size_t offset, std::uint32_t comparison,
                                        std::uint64_t value, std::int64_t timeout, std::uint64_t* word) {
  return wait_for_word(__func__, segment, comparison, value, word,
                       [&](auto done) { return segment->it.wait_until(offset, done, time_of(timeout)); });
}

hamlyn_status hamlyn_segment_wait_until_any(hamlyn_segment* segment, const std::size_t* offsets,
                                            std::size_t count, std::uint32_t comparison, std::uint64_t value,
                                            std::uint64_t peer, std::int64_t timeout, std::size_t* which,
                                            std::uint64_t* word) {
  if (offsets == nullptr || which == nullptr) return invalid_argument(__func__, "a NULL argument");
  return wait_for_word(__func__, segment, comparison, value, word, [&](auto done) {
    return segment->it.wait_until_any({offsets, count}, *which, done, time_of(timeout), peer);
  });
}

hamlyn_status hamlyn_segment_changed(hamlyn_segment* segment) {
  return answer(__func__, {segment}, [&] { segment->it.changed(); });
}

hamlyn_status hamlyn_segment_control_descriptor(hamlyn_segment* segment, int* descriptor) {
  return answer(__func__, {segment, descriptor}, [&] { *descriptor = segment->it.control_descriptor(); });
}

hamlyn_status hamlyn_segment_data_descriptor(hamlyn_segment* segment, int* descriptor) {
  return answer(__func__, {segment, descriptor}, [&] { *descriptor = segment->it.data_descriptor(); });
}
