#pragma once
// A process's end of a link: as over shared memory to one of the same host, over frames to one of another.
#include <cstdint>
#include <memory>

#include "fabric/ofi/ofi_link.h"
#include "fabric/sim/sim_link.h"

namespace hamlyn::simulation {

struct LinkEnd {
  std::uint64_t number = 0;  // the same at both ends
  std::unique_ptr<sim::SimLink> near;
  std::unique_ptr<ofi::OfiLink> far;  // one of the two
  bool known_over = false;            // what was under way may be lost, and the operations know
  bool may_end = false;               // something has happened by which it may
  std::uint64_t overtaken = 0;        // near->overtaken() when it was looked at last

  interface::Link& link() const noexcept {
    return near != nullptr ? static_cast<interface::Link&>(*near) : *far;
  }
  // The other end has gone, or it was cut; each end finds that out for itself.
  bool over() const noexcept {
    return near != nullptr ? near->cut() : far->over() != ofi::LinkProtocol::End::none;
  }
  // Nothing is on its way, as far as this end knows.
  bool quiet() const noexcept { return near != nullptr || (far->all_arrived() && !far->something_arrived()); }
};

}  // namespace hamlyn::simulation
