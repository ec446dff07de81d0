#include "hamlyn/protocols/stream.h"

#include <limits>

#include "c/handles.h"
#include "c/options.h"
#include "c/values.h"

using namespace hamlyn::c;

hamlyn_status hamlyn_stream_receiver_make(hamlyn_manager* manager,
                                          const hamlyn_stream_receiver_options* options,
                                          hamlyn_stream_receiver** made) {
  if (manager == nullptr || made == nullptr) return invalid_argument(__func__, "a NULL argument");
  hamlyn_stream_receiver_options asked;
  if (const char* const wrong = take_options(options, asked)) return invalid_argument(__func__, wrong);
  if (asked.parcels > std::numeric_limits<std::uint32_t>::max())
    return invalid_argument(__func__, "too many parcels");
  hamlyn::StreamOptions how;
  if (asked.first != 0) how.first = asked.first;
  if (asked.most != 0) how.most = asked.most;
  if (asked.parcels != 0) how.parcels = static_cast<std::uint32_t>(asked.parcels);
  return make(__func__, made, manager->uses, manager->it, how, asked.admit, asked.context);
}

hamlyn_status hamlyn_stream_receiver_free(hamlyn_stream_receiver* receiver) {
  return free_handle(__func__, receiver);
}

hamlyn_status hamlyn_stream_make_seed(hamlyn_stream_receiver* receiver, hamlyn_seed* seed) {
  return answer(__func__, {receiver, seed}, [&] { *seed = to(receiver->it.make_seed()); });
}

hamlyn_status hamlyn_stream_receive(hamlyn_stream_receiver* receiver, std::int64_t timeout,
                                    hamlyn_record* record) {
  if (receiver == nullptr || record == nullptr) return invalid_argument(__func__, "a NULL argument");
  hamlyn::Record next;
  const hamlyn::Status status = receiver->it.receive(next, time_of(timeout));
  if (status == hamlyn::Status::ok) *record = {next.bytes().data(), next.bytes().size(), next.number()};
  return number(status);
}

hamlyn_status hamlyn_stream_release(hamlyn_stream_receiver* receiver, const hamlyn_record* record) {
  return answer(__func__, {receiver, record},
                [&] { return receiver->it.release(hamlyn::Record({}, record->number)); });
}

hamlyn_status hamlyn_stream_read(hamlyn_stream_receiver* receiver, void* into, std::size_t most,
                                 std::int64_t timeout, std::size_t* count) {
  return answer(__func__, {receiver, into, count}, [&] {
    return receiver->it.read({static_cast<std::byte*>(into), most}, *count, time_of(timeout));
  });
}

hamlyn_status hamlyn_stream_receiver_close(hamlyn_stream_receiver* receiver, std::int64_t timeout) {
  return answer(__func__, {receiver}, [&] { return receiver->it.close(time_of(timeout)); });
}

hamlyn_status hamlyn_stream_sender_of(const hamlyn_stream_receiver* receiver, std::uint64_t* sender) {
  return answer(__func__, {receiver, sender}, [&] { *sender = receiver->it.sender(); });
}

namespace {

// Makes a sender that is open, or one that has begun. `begin`: nothing, or hamlyn::kBegin.
template <class... Begin>
hamlyn_status make_sender(const char* call, hamlyn_manager* manager, const hamlyn_seed* seed,
                          const hamlyn_stream_sender_options* options, hamlyn_stream_sender** made,
                          const Begin&... begin) {
  if (manager == nullptr || seed == nullptr || made == nullptr)
    return invalid_argument(call, "a NULL argument");
  hamlyn_stream_sender_options asked;
  if (const char* const wrong = take_options(options, asked, offsetof(hamlyn_stream_sender_options, linger)))
    return invalid_argument(call, wrong);
  hamlyn::StreamSender::Options how;
  if (asked.together != 0) how.together = asked.together;
  if (asked.timeout != 0) how.timeout = time_of(asked.timeout);
  if (asked.linger != 0) how.linger = time_of(asked.linger);
  return make(call, made, manager->uses, manager->it, from(*seed), how, begin...);
}

}  // namespace

hamlyn_status hamlyn_stream_sender_begin(hamlyn_manager* manager, const hamlyn_seed* seed,
                                         const hamlyn_stream_sender_options* options,
                                         hamlyn_stream_sender** made) {
  return make_sender(__func__, manager, seed, options, made, hamlyn::kBegin);
}

hamlyn_status hamlyn_stream_sender_open(hamlyn_stream_sender* sender, std::int64_t timeout) {
  return answer(__func__, {sender}, [&] { sender->it.open(time_of(timeout)); });
}

hamlyn_status hamlyn_stream_sender_make(hamlyn_manager* manager, const hamlyn_seed* seed,
                                        const hamlyn_stream_sender_options* options,
                                        hamlyn_stream_sender** made) {
  return make_sender(__func__, manager, seed, options, made);
}

hamlyn_status hamlyn_stream_sender_free(hamlyn_stream_sender* sender) {
  return free_handle(__func__, sender);
}

hamlyn_status hamlyn_stream_send(hamlyn_stream_sender* sender, const void* data, std::size_t length,
                                 std::int64_t timeout) {
  if (sender == nullptr || !readable(data, length)) return invalid_argument(__func__, "a NULL argument");
  return number(sender->it.send(bytes_at(data, length), time_of(timeout)));
}

hamlyn_status hamlyn_stream_bind(hamlyn_stream_sender* sender, std::uint32_t tag, hamlyn_send_area* area) {
  return answer(__func__, {sender, area}, [&] { return number(sender->it.bind(tag, area->it)); });
}

hamlyn_status hamlyn_stream_send_piece(hamlyn_stream_sender* sender, const hamlyn_piece* piece,
                                       std::int64_t timeout, hamlyn_send_handle* handle) {
  if (sender == nullptr || piece == nullptr) return invalid_argument(__func__, "a NULL argument");
  if (piece->tag > std::numeric_limits<std::uint32_t>::max()) return HAMLYN_INVALID;
  hamlyn::SendHandle own;
  const hamlyn::Piece it{static_cast<std::uint32_t>(piece->tag), piece->offset, piece->length};
  const hamlyn::Status status = sender->it.send(it, own, time_of(timeout));
  if (handle != nullptr && status == hamlyn::Status::ok) *handle = to(own);
  return number(status);
}

hamlyn_status hamlyn_stream_wait(hamlyn_stream_sender* sender, hamlyn_send_handle handle,
                                 std::int64_t timeout) {
  return answer(__func__, {sender}, [&] { return sender->it.wait(from(handle), time_of(timeout)); });
}

hamlyn_status hamlyn_stream_write(hamlyn_stream_sender* sender, const void* data, std::size_t length) {
  if (sender == nullptr || !readable(data, length)) return invalid_argument(__func__, "a NULL argument");
  return number(sender->it.write(bytes_at(data, length)));
}

hamlyn_status hamlyn_stream_flush(hamlyn_stream_sender* sender, std::int64_t timeout) {
  return answer(__func__, {sender}, [&] { return sender->it.flush(time_of(timeout)); });
}

hamlyn_status hamlyn_stream_sender_close(hamlyn_stream_sender* sender, std::int64_t timeout) {
  return answer(__func__, {sender}, [&] { return sender->it.close(time_of(timeout)); });
}

hamlyn_status hamlyn_stream_end(const hamlyn_stream_sender* sender) {
  return answer(__func__, {sender}, [&] { return sender->it.end(); });
}
