#pragma once
// What the comparisons of the short ways in (ShmLink) with the long one share.
#include <sstream>
#include <string>
#include <vector>

#include "fabric/shm/short_way.h"
#include "fabric/sim/generator.h"
#include "test/conformance/conformance.h"

namespace hamlyn::test {

inline bool alike(const Notification& a, const Notification& b) {
  return a.kind == b.kind && a.wrap == b.wrap && a.fast == b.fast && a.cause == b.cause && a.slot == b.slot &&
         a.entry == b.entry && a.message_id == b.message_id && a.offset == b.offset && a.length == b.length &&
         a.word == b.word && a.peer == b.peer;
}

inline std::string written(const std::vector<Notification>& all) {
  std::ostringstream out;
  for (const Notification& n : all) {
    out << "kind " << static_cast<int>(n.kind) << (n.wrap ? " wrap" : "") << (n.fast ? " fast" : "")
        << " cause " << name(n.cause) << " slot " << n.slot << " entry " << n.entry << " message "
        << n.message_id << " offset " << n.offset << " length " << n.length << " word " << n.word << " peer "
        << n.peer << "\n";
  }
  return out.str();
}

class ShortWays : public Conformance {
 protected:
  shm::ShmLink& link_of(Party& party) { return *party.core.find_link(alice.id)->local(); }

  static bool take_message(Party& party, shm::ShmLink& link, interface::Queue& queue, Notification& out) {
    shm::Message message{party.core, queue, out};
    while (link.take(message) ==
           shm::ShmLink::Taken::taken) {  // behind a packet of a group the rest may stand
      if (message.whole) return true;
    }
    return false;
  }
  static bool take_request(Party& party, shm::ShmLink& link) {
    return link.take(shm::Request{party.core}) == shm::ShmLink::Taken::taken;
  }

  // Links are not what is compared: none is demoted, neither for what is made up here, nor alice's for being
  // told of places that she never used.
  void forget_guilt() {
    for (const Party* party : {&alice, &bob, &carol}) {
      for (interface::Link* link : party->core.links()) link->sweep.guilt = 0;
    }
  }

  sim::Generator random{0};
};

}  // namespace hamlyn::test
