// Names that come and go: what was registered is found, and leads to where it should; what was withdrawn is
// not.
#include <optional>

#include "test/chaos/door.h"
#include "test/chaos/roles.h"

namespace hamlyn::chaos {
namespace {

// How looking `name` up ends: its ticket, or the error.
std::optional<Ticket> look_up(Stage& stage, Interface& interface, const std::string& name, ErrorCode& error) {
  try {
    return interface.lookup(name);
  } catch (const Error& wrong) {
    error = wrong.code();
    ++stage.ledger().errors[static_cast<std::size_t>(error)];
    return std::nullopt;
  }
}

}  // namespace

int use_names(Stage& stage) {
  Interface interface(stage.interface_options());
  MessageArea area(interface, 4096);
  NotificationQueue queue(interface, 16);
  Slot slot(area, queue, {});
  stage.enter(interface);
  while (!stage.leaving()) {
    stage.rest();
    const std::string name = stage.name() + "." + std::to_string(stage.chance(1000));
    if (!open_door(stage, [&] { interface.publish(name, slot.ticket(), {.everyone = true}); })) break;
    ErrorCode error{};
    const auto found = look_up(stage, interface, name, error);
    if (found && *found != slot.ticket()) stage.fault("a name leads elsewhere");
    if (!found && error == ErrorCode::name_unknown) stage.fault("a name that was registered is not found");
    try {
      interface.withdraw(name);
      if (look_up(stage, interface, name, error)) stage.fault("a name that was withdrawn is found");
      ++stage.ledger().tally.names;
    } catch (const Error& wrong) {
      ++stage.ledger().errors[static_cast<std::size_t>(wrong.code())];
    }
    stage.breathe();
  }
  return 0;
}

}  // namespace hamlyn::chaos
