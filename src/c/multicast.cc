#include "hamlyn/core/multicast.h"

#include <new>
#include <vector>

#include "c/handles.h"
#include "c/send_options.h"
#include "c/values.h"
#include "hamlyn/c/multicast.h"

using namespace hamlyn::c;

struct hamlyn_multicast : Handle<hamlyn::Multicast> {
  using Handle::Handle;
};

hamlyn_status hamlyn_multicast_make(hamlyn_interface* interface, std::size_t most, hamlyn_multicast** made) {
  if (interface == nullptr || made == nullptr) return invalid_argument(__func__, "a NULL argument");
  constexpr std::size_t kUsual = 63;
  return make(__func__, made, interface->uses, interface->it, most == 0 ? kUsual : most);
}

hamlyn_status hamlyn_multicast_free(hamlyn_multicast* multicast) { return free_handle(__func__, multicast); }

hamlyn_status hamlyn_multicast_send(hamlyn_multicast* multicast, const hamlyn_ticket* recipients,
                                    std::size_t count, const void* data, std::size_t length,
                                    const hamlyn_send_options* options) {
  if (multicast == nullptr || (recipients == nullptr && count != 0) || !readable(data, length))
    return invalid_argument(__func__, "a NULL argument");
  constexpr std::size_t kMost = 4096;
  if (count > kMost) return HAMLYN_TOO_LONG;
  hamlyn::SendOptions asked;
  if (const char* const wrong = read_send_options(options, asked)) return invalid_argument(__func__, wrong);
  std::vector<hamlyn::Ticket> all;
  try {
    for (std::size_t i = 0; i != count; ++i) all.push_back(from(recipients[i]));
  } catch (const std::bad_alloc&) {
    return HAMLYN_NO_BUFFER;
  }
  return number(multicast->it.send(all, bytes_at(data, length), asked));
}

hamlyn_status hamlyn_multicast_wait(hamlyn_multicast* multicast, std::int64_t timeout) {
  return answer(__func__, {multicast}, [&] { return multicast->it.wait(time_of(timeout)); });
}

hamlyn_status hamlyn_multicast_count_now(hamlyn_multicast* multicast, hamlyn_multicast_count* count) {
  return answer(__func__, {multicast, count}, [&] {
    const hamlyn::Multicast::Count now = multicast->it.count();
    *count = {now.delivered, now.failed, now.waiting};
  });
}

hamlyn_status hamlyn_multicast_state(hamlyn_multicast* multicast, std::size_t recipient) {
  return answer(__func__, {multicast}, [&] { return multicast->it.status(recipient); });
}

hamlyn_status hamlyn_multicast_stop(hamlyn_multicast* multicast) {
  return answer(__func__, {multicast}, [&] { multicast->it.stop(); });
}
