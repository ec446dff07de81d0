#include <limits>

#include "c/handles.h"
#include "c/options.h"
#include "c/values.h"
#include "hamlyn/protocols/tagged_write.h"

using namespace hamlyn::c;

namespace {

// A link that has ended is told of with its sender.
hamlyn_status tell(hamlyn::Status status, const hamlyn::Tagged& from, hamlyn_tagged& tagged) noexcept {
  if (status == hamlyn::Status::ok || status == hamlyn::Status::link_ended)
    tagged = {from.tag, from.offset, from.length, from.sender};
  return number(status);
}

}  // namespace

hamlyn_status hamlyn_tagged_receiver_make(hamlyn_manager* manager, std::size_t bytes,
                                          const hamlyn_tagged_receiver_options* options,
                                          hamlyn_tagged_receiver** made) {
  if (manager == nullptr || made == nullptr) return invalid_argument(__func__, "a NULL argument");
  hamlyn_tagged_receiver_options asked;
  if (const char* const wrong = take_options(options, asked)) return invalid_argument(__func__, wrong);
  if (asked.places > std::numeric_limits<std::uint32_t>::max())
    return invalid_argument(__func__, "too many places");
  hamlyn::TaggedReceiver::Options how;
  if (asked.places != 0) how.places = static_cast<std::uint32_t>(asked.places);
  if (asked.capacity != 0) how.capacity = asked.capacity;
  if (asked.aside != 0) how.aside = asked.aside;
  return make(__func__, made, manager->uses, manager->it, bytes, how);
}

hamlyn_status hamlyn_tagged_receiver_free(hamlyn_tagged_receiver* receiver) {
  return free_handle(__func__, receiver);
}

hamlyn_status hamlyn_tagged_make_seed(const hamlyn_tagged_receiver* receiver, hamlyn_seed* seed) {
  return answer(__func__, {receiver, seed}, [&] { *seed = to(receiver->it.make_seed()); });
}

hamlyn_status hamlyn_tagged_bytes(hamlyn_tagged_receiver* receiver, void** data, std::size_t* length) {
  return answer(__func__, {receiver, data, length}, [&] {
    *data = receiver->it.bytes().data();
    *length = receiver->it.bytes().size();
  });
}

hamlyn_status hamlyn_get_tag(hamlyn_tagged_receiver* receiver, std::int64_t timeout, hamlyn_tagged* tagged) {
  if (receiver == nullptr || tagged == nullptr) return invalid_argument(__func__, "a NULL argument");
  hamlyn::Tagged next;
  return tell(receiver->it.get_tag(next, time_of(timeout)), next, *tagged);
}

hamlyn_status hamlyn_get_specific_tag(hamlyn_tagged_receiver* receiver, std::uint64_t tag,
                                      std::int64_t timeout, hamlyn_tagged* tagged) {
  if (receiver == nullptr || tagged == nullptr) return invalid_argument(__func__, "a NULL argument");
  hamlyn::Tagged next;
  return tell(receiver->it.get_specific_tag(tag, next, time_of(timeout)), next, *tagged);
}

hamlyn_status hamlyn_tagged_descriptor(hamlyn_tagged_receiver* receiver, int* descriptor) {
  return answer(__func__, {receiver, descriptor}, [&] { *descriptor = receiver->it.descriptor(); });
}

hamlyn_status hamlyn_tagged_sender_begin(hamlyn_manager* manager, const hamlyn_seed* seed,
                                         hamlyn_tagged_sender** made) {
  if (manager == nullptr || seed == nullptr || made == nullptr)
    return invalid_argument(__func__, "a NULL argument");
  return make(__func__, made, manager->uses, manager->it, from(*seed), hamlyn::kBegin);
}

hamlyn_status hamlyn_tagged_sender_open(hamlyn_tagged_sender* sender, std::int64_t timeout) {
  return answer(__func__, {sender}, [&] { sender->it.open(time_of(timeout)); });
}

hamlyn_status hamlyn_tagged_sender_make(hamlyn_manager* manager, const hamlyn_seed* seed,
                                        std::int64_t timeout, hamlyn_tagged_sender** made) {
  if (manager == nullptr || seed == nullptr || made == nullptr)
    return invalid_argument(__func__, "a NULL argument");
  return make(__func__, made, manager->uses, manager->it, from(*seed), time_of(timeout));
}

hamlyn_status hamlyn_tagged_sender_free(hamlyn_tagged_sender* sender) {
  return free_handle(__func__, sender);
}

hamlyn_status hamlyn_tagged_send(hamlyn_tagged_sender* sender, const void* data, std::size_t length,
                                 std::uint64_t offset, std::uint64_t tag, std::int64_t timeout) {
  if (sender == nullptr || !readable(data, length)) return invalid_argument(__func__, "a NULL argument");
  const std::span<const std::byte> bytes = bytes_at(data, length);
  return number(timeout == 0 ? sender->it.send(bytes, offset, tag)
                             : sender->it.send(bytes, offset, tag, time_of(timeout)));
}
