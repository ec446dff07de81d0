#pragma once
// The datagram port that a server or a client has for itself.
#include <memory>

#include "base/namespaces.h"
#include "fabric/datagram_port.h"
#include "rpc/blast/address.h"

namespace hamlyn::internal_::rpc {

struct BlastPort {
  std::unique_ptr<fabric::DatagramPort> port;
};

namespace blast {

// One at that address of this machine. Throws Error.
BlastPort port_at(const Address& address);

}  // namespace blast

}  // namespace hamlyn::internal_::rpc
