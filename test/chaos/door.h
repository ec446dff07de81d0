#pragma once
// Registers a receiver under its seat's name. The one who sat here before may have been killed a moment ago,
// or the daemon, so it is tried until it is done.
#include "test/chaos/stage.h"

namespace hamlyn::chaos {

// `publish` registers the name, or throws Error. False: everybody is to leave.
template <class Publish>
bool open_door(Stage& stage, Publish publish) {
  while (!stage.leaving()) {
    try {
      publish();
      return true;
    } catch (const Error& error) {
      ++stage.ledger().errors[static_cast<std::size_t>(error.code())];
      if (error.code() != ErrorCode::name_taken && error.code() != ErrorCode::timed_out &&
          error.code() != ErrorCode::node_unreachable)
        throw;
    }
    stage.breathe();
  }
  return false;
}

// Registers a seed or a ticket in the place of the one from before, if there was one. `where` is the manager,
// or the interface.
template <class Where, class What>
bool change_name(Stage& stage, Where& where, const std::string& name, const What& what) {
  return open_door(stage, [&] {
    try {
      where.withdraw(name);
    } catch (const Error& error) {
      if (error.code() != ErrorCode::name_unknown) throw;
    }
    where.publish(name, what, {.everyone = true});
  });
}

inline bool change_door(Stage& stage, Manager& manager, const Seed& seed) {
  return change_name(stage, manager, stage.name(), seed);
}

}  // namespace hamlyn::chaos
