#include <algorithm>

#include "c/handles.h"
#include "c/values.h"
#include "library/wait/waiting.h"

using namespace hamlyn::c;

hamlyn_status hamlyn_queue_make(hamlyn_interface* interface, std::size_t places, hamlyn_queue** made) {
  if (interface == nullptr || made == nullptr) return invalid_argument(__func__, "a NULL argument");
  return make(__func__, made, interface->uses, interface->it, places == 0 ? std::size_t{4096} : places);
}

hamlyn_status hamlyn_queue_free(hamlyn_queue* queue) { return free_handle(__func__, queue); }

hamlyn_status hamlyn_poll(hamlyn_queue* queue, hamlyn_notification* notifications, std::size_t most,
                          std::size_t* count) {
  if (queue == nullptr || notifications == nullptr || count == nullptr || most == 0)
    return invalid_argument(__func__, "a NULL argument, or no room for notifications");
  std::size_t taken = 0;
  hamlyn::Notification some[16];
  for (bool more = true; more && taken < most;) {
    const std::size_t room = std::min(most - taken, std::size(some));
    const std::size_t now = queue->it.poll({some, room});
    std::transform(some, some + now, notifications + taken, [](const auto& each) { return to(each); });
    taken += now;
    more = now == room;
  }
  *count = taken;
  return taken == 0 && queue->it.interface().waiting().forked() ? HAMLYN_FORKED : HAMLYN_OK;
}

hamlyn_status hamlyn_receive(hamlyn_queue* queue, std::int64_t timeout, hamlyn_notification* notification) {
  if (queue == nullptr || notification == nullptr) return invalid_argument(__func__, "a NULL argument");
  hamlyn::Notification next;
  const hamlyn::Status status = queue->it.receive(next, time_of(timeout));
  if (status == hamlyn::Status::ok) *notification = to(next);
  return number(status);
}

hamlyn_status hamlyn_queue_descriptor(hamlyn_queue* queue, int* descriptor) {
  return answer(__func__, {queue, descriptor}, [&] { *descriptor = queue->it.descriptor(); });
}
