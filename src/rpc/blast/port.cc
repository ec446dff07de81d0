#include "rpc/blast/port.h"

#include "fabric/ofi/datagrams.h"

namespace hamlyn::internal_::rpc::blast {

BlastPort port_at(const Address& address) {
  static_cast<void>(words_of(address));  // throws if it is none
  return {std::make_unique<ofi::Datagrams>(address.host, address.port)};
}

}  // namespace hamlyn::internal_::rpc::blast
