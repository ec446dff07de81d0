#include "library/control/pending_name.h"

#include <utility>

#include "library/control/control.h"
#include "library/engine.h"

namespace hamlyn::internal_::library {

PendingName::PendingName(Interface& interface, std::string_view name) : interface_(interface) {
  Engine& engine = interface.engine();
  if (engine.lock().forked())
    throw Error(ErrorCode::forked, "a forked child has no interface: make a new one");
  request_ = engine.control().begin_lookup(name);
}

PendingName::~PendingName() {
  Engine& engine = interface_.engine();
  if (request_ != nullptr && !engine.lock().forked()) engine.control().give_up_lookup(request_);
}

bool PendingName::done() const noexcept { return interface_.engine().control().lookup_done(*request_); }

Ticket PendingName::take() {
  return interface_.engine().control().end_lookup(std::exchange(request_, nullptr));
}

}  // namespace hamlyn::internal_::library
