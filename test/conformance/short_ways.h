#pragma once
// What the comparisons of the short ways in (ShmLink) with the long one share.
#include "fabric/shm/shm_link.h"
#include "fabric/sim/generator.h"
#include "test/conformance/conformance.h"

namespace hamlyn::test {

class ShortWays : public Conformance {
 protected:
  shm::ShmLink& link_of(Party& party) { return *party.core.find_link(alice.id)->local(); }

  sim::Generator random{0};
};

}  // namespace hamlyn::test
