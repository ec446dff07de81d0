#include "hamlyn/protocols/manager.h"

#include "c/handles.h"
#include "c/options.h"
#include "c/read_options.h"
#include "c/values.h"
#include "library/wait/waiting.h"

using namespace hamlyn::c;

const char* hamlyn_ticket_fault(const hamlyn_ticket* ticket) {
  return ticket == nullptr ? "it is NULL" : hamlyn::invalid(from(*ticket));
}

const char* hamlyn_seed_fault(const hamlyn_seed* seed) {
  return seed == nullptr ? "it is NULL" : hamlyn::invalid(from(*seed));
}

hamlyn_status hamlyn_manager_make(const hamlyn_manager_options* options, hamlyn_manager** made) {
  if (made == nullptr) return invalid_argument(__func__, "a NULL argument");
  const char* const call = __func__;
  return guarded(call, [&] {
    hamlyn_manager_options asked;
    if (const char* const wrong = take_options(options, asked)) return invalid_argument(call, wrong);
    hamlyn::Manager::Options how;
    if (const char* const wrong = read_options(asked.interface, how.interface))
      return invalid_argument(call, wrong);
    if (asked.places != 0) how.places = asked.places;
    return make(call, made, how);
  });
}

hamlyn_status hamlyn_manager_free(hamlyn_manager* manager) {
  // Pairs with ~Use, as the look in free_handle.
  if (manager != nullptr && manager->interface.uses.load(std::memory_order_acquire) != 0)
    return invalid_argument(__func__, "something that was made from its interface is not freed yet");
  return free_handle(__func__, manager);
}

hamlyn_status hamlyn_manager_interface(hamlyn_manager* manager, hamlyn_interface** interface) {
  return answer(__func__, {manager, interface}, [&] { *interface = &manager->interface; });
}

hamlyn_status hamlyn_manager_publish(hamlyn_manager* manager, const char* name, const hamlyn_seed* seed,
                                     std::uint32_t rights) {
  if (manager == nullptr || name == nullptr || seed == nullptr)
    return invalid_argument(__func__, "a NULL argument");
  if ((rights & ~kRights) != 0) return invalid_argument(__func__, "unknown rights");
  return guarded(__func__, [&] {
    manager->it.publish(name, from(*seed), rights_of(rights));
    return HAMLYN_OK;
  });
}

hamlyn_status hamlyn_manager_withdraw(hamlyn_manager* manager, const char* name) {
  return answer(__func__, {manager, name}, [&] { manager->it.withdraw(name); });
}

hamlyn_status hamlyn_manager_lookup(hamlyn_manager* manager, const char* name, std::int64_t timeout,
                                    hamlyn_seed* seed) {
  return answer(__func__, {manager, name, seed},
                [&] { *seed = to(manager->it.lookup(name, milliseconds_of(timeout))); });
}

hamlyn_status hamlyn_manager_poll(hamlyn_manager* manager, int* given) {
  if (manager == nullptr || given == nullptr) return invalid_argument(__func__, "a NULL argument");
  const bool one = manager->it.poll();
  if (!one && manager->it.interface().waiting().forked()) return HAMLYN_FORKED;
  *given = one ? 1 : 0;
  return HAMLYN_OK;
}

hamlyn_status hamlyn_manager_wait(hamlyn_manager* manager, std::int64_t timeout) {
  return answer(__func__, {manager}, [&] { return manager->it.wait(time_of(timeout)); });
}

hamlyn_status hamlyn_manager_descriptor(hamlyn_manager* manager, int* descriptor) {
  return answer(__func__, {manager, descriptor}, [&] { *descriptor = manager->it.descriptor(); });
}

hamlyn_status hamlyn_manager_cancel(hamlyn_manager* manager) {
  return answer(__func__, {manager}, [&] { manager->it.cancel(); });
}
