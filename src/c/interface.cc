#include "c/handles.h"
#include "c/options.h"
#include "c/read_options.h"
#include "c/values.h"
#include "library/wait/waiting.h"

using namespace hamlyn::c;

namespace hamlyn::c {

const char* read_options(const hamlyn_interface_options* given, Interface::Options& options) {
  hamlyn_interface_options asked;
  if (const char* const wrong = take_options(given, asked, offsetof(hamlyn_interface_options, dead)))
    return wrong;
  if ((asked.flags & ~(HAMLYN_NO_START | HAMLYN_NAMED_ONLY)) != 0) return "unknown flags";
  const bool named = (asked.flags & HAMLYN_NAMED_ONLY) != 0;
  if (!named && (asked.user_count != 0 || asked.group_count != 0))
    return "users or groups without HAMLYN_NAMED_ONLY";
  if ((asked.users == nullptr && asked.user_count != 0) ||
      (asked.groups == nullptr && asked.group_count != 0))
    return "a NULL list of users or groups";
  if (asked.user_count > Consent::kMost || asked.group_count > Consent::kMost - asked.user_count)
    return "more than 16 users and groups";
  options.consent.everyone = !named;
  options.consent.users.assign(asked.users, asked.users + asked.user_count);
  options.consent.groups.assign(asked.groups, asked.groups + asked.group_count);
  if (asked.node != nullptr) options.node = asked.node;
  options.start_node = (asked.flags & HAMLYN_NO_START) == 0;
  if (asked.timeout != 0) options.timeout = milliseconds_of(asked.timeout);
  if (asked.stall != 0)
    options.stall = asked.stall < 0 ? std::chrono::milliseconds{0} : milliseconds_of(asked.stall);
  if (asked.mtu != 0) options.mtu = asked.mtu;
  if (asked.links != 0) options.links = asked.links;
  if (asked.dead != 0) options.dead = milliseconds_of(asked.dead);
  if (asked.requests > UINT32_MAX) return "no so many requests";
  if (asked.requests != 0) options.requests = static_cast<std::uint32_t>(asked.requests);
  options.spin = std::chrono::duration_cast<std::chrono::microseconds>(std::chrono::nanoseconds{asked.spin});
  return nullptr;
}

}  // namespace hamlyn::c

hamlyn_status hamlyn_interface_make(const hamlyn_interface_options* options, hamlyn_interface** made) {
  if (made == nullptr) return invalid_argument(__func__, "a NULL argument");
  const char* const call = __func__;
  return guarded(call, [&] {
    hamlyn::Interface::Options asked;
    if (const char* const wrong = read_options(options, asked)) return invalid_argument(call, wrong);
    return make(call, made, asked);
  });
}

hamlyn_status hamlyn_interface_free(hamlyn_interface* interface) {
  if (interface != nullptr && !interface->own) return invalid_argument(__func__, "it is a manager's own");
  return free_handle(__func__, interface);
}

hamlyn_status hamlyn_interface_id(const hamlyn_interface* interface, std::uint64_t* id) {
  return answer(__func__, {interface, id}, [&] { *id = interface->it.id(); });
}

hamlyn_status hamlyn_interface_run(hamlyn_interface* interface) {
  if (interface == nullptr) return invalid_argument(__func__, "a NULL argument");
  const bool moved = interface->it.run();
  return !moved && interface->it.waiting().forked() ? HAMLYN_FORKED : HAMLYN_OK;
}

hamlyn_status hamlyn_interface_why(const hamlyn_interface* interface, std::uint64_t peer,
                                   std::uint32_t* reason, std::uint32_t* told) {
  return answer(__func__, {interface, reason, told}, [&] { tell(interface->it.why(peer), *reason, *told); });
}

hamlyn_status hamlyn_interface_wait_any(hamlyn_interface* interface, hamlyn_ready ready, void* context,
                                        std::int64_t timeout) {
  if (ready == nullptr) return invalid_argument(__func__, "a NULL argument");
  return answer(__func__, {interface}, [&] {
    return interface->it.wait_any([&] { return ready(context) != 0; }, time_of(timeout));
  });
}

hamlyn_status hamlyn_interface_changed(hamlyn_interface* interface) {
  return answer(__func__, {interface}, [&] { interface->it.changed(); });
}

hamlyn_status hamlyn_interface_descriptor(hamlyn_interface* interface, int* descriptor) {
  return answer(__func__, {interface, descriptor}, [&] { *descriptor = interface->it.descriptor(); });
}

hamlyn_status hamlyn_interface_cancel(hamlyn_interface* interface) {
  return answer(__func__, {interface}, [&] { interface->it.cancel(); });
}

hamlyn_status hamlyn_interface_attached(hamlyn_interface* interface, int* attached, hamlyn_status* reason) {
  if (interface == nullptr || attached == nullptr) return invalid_argument(__func__, "a NULL argument");
  const char* const call = __func__;
  return guarded(call, [&] {
    const hamlyn::Attachment now = interface->it.attachment();
    *attached = now.attached ? 1 : 0;
    if (!now.attached) remember(call, now.text.c_str());
    if (reason != nullptr) *reason = now.attached ? HAMLYN_OK : number(now.reason);
    return HAMLYN_OK;
  });
}

hamlyn_status hamlyn_interface_wait_attached(hamlyn_interface* interface, int attached,
                                             std::int64_t timeout) {
  return answer(__func__, {interface},
                [&] { return interface->it.wait_attached(attached != 0, time_of(timeout)); });
}

hamlyn_status hamlyn_publish(hamlyn_interface* interface, const char* name, const hamlyn_ticket* ticket,
                             std::uint32_t rights) {
  if (interface == nullptr || name == nullptr || ticket == nullptr)
    return invalid_argument(__func__, "a NULL argument");
  if ((rights & ~kRights) != 0) return invalid_argument(__func__, "unknown rights");
  return guarded(__func__, [&] {
    interface->it.publish(name, from(*ticket), rights_of(rights));
    return HAMLYN_OK;
  });
}

hamlyn_status hamlyn_withdraw(hamlyn_interface* interface, const char* name) {
  return answer(__func__, {interface, name}, [&] { interface->it.withdraw(name); });
}

hamlyn_status hamlyn_lookup(hamlyn_interface* interface, const char* name, std::int64_t timeout,
                            hamlyn_ticket* ticket) {
  return answer(__func__, {interface, name, ticket},
                [&] { *ticket = to(interface->it.lookup(name, milliseconds_of(timeout))); });
}

hamlyn_status hamlyn_lookup_registrant(hamlyn_interface* interface, const char* name, std::int64_t timeout,
                                       hamlyn_ticket* ticket, hamlyn_registrant* registrant) {
  return answer(__func__, {interface, name, ticket, registrant}, [&] {
    hamlyn::Registrant who;
    *ticket = to(interface->it.lookup(name, milliseconds_of(timeout), &who));
    *registrant = {who.interface, who.uid, who.gid, who.pid, 0};
  });
}
