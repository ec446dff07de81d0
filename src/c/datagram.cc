#include "hamlyn/protocols/datagram.h"

#include "c/handles.h"
#include "c/options.h"
#include "c/values.h"

using namespace hamlyn::c;

namespace {

// Says what is wrong with `given`, or null.
const char* read_datagram_options(const hamlyn_datagram_options* given, hamlyn::DatagramOptions& options) {
  hamlyn_datagram_options asked;
  if (const char* const wrong = take_options(given, asked)) return wrong;
  options.offset = asked.offset;
  if (asked.reply != nullptr) options.reply = &asked.reply->it;
  return nullptr;
}

}  // namespace

hamlyn_status hamlyn_datagram_receiver_make(hamlyn_manager* manager, std::size_t bytes,
                                            hamlyn_datagram_receiver** made) {
  if (manager == nullptr || made == nullptr) return invalid_argument(__func__, "a NULL argument");
  return make(__func__, made, manager->uses, manager->it, bytes);
}

hamlyn_status hamlyn_datagram_receiver_free(hamlyn_datagram_receiver* receiver) {
  return free_handle(__func__, receiver);
}

hamlyn_status hamlyn_datagram_make_seed(const hamlyn_datagram_receiver* receiver, hamlyn_seed* seed) {
  return answer(__func__, {receiver, seed}, [&] { *seed = to(receiver->it.make_seed()); });
}

hamlyn_status hamlyn_datagram_make_ready(hamlyn_datagram_receiver* receiver) {
  return answer(__func__, {receiver}, [&] { return receiver->it.make_ready(); });
}

hamlyn_status hamlyn_datagram_receive(hamlyn_datagram_receiver* receiver, std::int64_t timeout,
                                      hamlyn_datagram* datagram) {
  if (receiver == nullptr || datagram == nullptr) return invalid_argument(__func__, "a NULL argument");
  hamlyn::Datagram next;
  const hamlyn::Status status = receiver->it.receive(next, time_of(timeout));
  if (status == hamlyn::Status::ok) {
    *datagram = {next.bytes.data(), next.bytes.size(),        next.offset,
                 next.sender,       next.reply ? 1ull : 0ull, to(next.reply.value_or(hamlyn::Seed{}))};
  }
  return number(status);
}

hamlyn_status hamlyn_datagram_sender_make(hamlyn_manager* manager, const hamlyn_seed* seed,
                                          hamlyn_datagram_sender** made) {
  if (manager == nullptr || seed == nullptr || made == nullptr)
    return invalid_argument(__func__, "a NULL argument");
  return make(__func__, made, manager->uses, manager->it, from(*seed));
}

hamlyn_status hamlyn_datagram_sender_free(hamlyn_datagram_sender* sender) {
  return free_handle(__func__, sender);
}

hamlyn_status hamlyn_datagram_send(hamlyn_datagram_sender* sender, const void* data, std::size_t length,
                                   const hamlyn_datagram_options* options, hamlyn_send_handle* handle) {
  if (sender == nullptr || !readable(data, length)) return invalid_argument(__func__, "a NULL argument");
  hamlyn::DatagramOptions how;
  if (const char* const wrong = read_datagram_options(options, how)) return invalid_argument(__func__, wrong);
  hamlyn::SendHandle own;
  const hamlyn::Status status = sender->it.send(bytes_at(data, length), how, &own);
  if (handle != nullptr && (status == hamlyn::Status::ok || status == hamlyn::Status::pending))
    *handle = to(own);
  return number(status);
}

hamlyn_status hamlyn_datagram_state(hamlyn_datagram_sender* sender, hamlyn_send_handle handle) {
  return answer(__func__, {sender}, [&] { return sender->it.status(from(handle)); });
}

hamlyn_status hamlyn_datagram_deliver(hamlyn_datagram_sender* sender, const void* data, std::size_t length,
                                      const hamlyn_datagram_options* options, std::int64_t timeout) {
  if (sender == nullptr || !readable(data, length)) return invalid_argument(__func__, "a NULL argument");
  hamlyn::DatagramOptions how;
  if (const char* const wrong = read_datagram_options(options, how)) return invalid_argument(__func__, wrong);
  return number(sender->it.deliver(bytes_at(data, length), how, time_of(timeout)));
}
