#pragma once
// Growth by continuation (test/model/growth.pml): the last cell of a ring says that the next one stands in a
// longer ring, and the reader leaves the old ring only there. The reader has the longer ring already: it has
// said so. Whoever wrote the old one keeps it until the reader's credit says that it was left.
#include <cstdint>

#include "fabric/shm/ring.h"

namespace hamlyn::shm {

// The cells of the old ring end there, as credits count. The writer has room for one cell.
template <class Memory>
std::uint64_t continue_in(RingWriter<Memory>& out, Packet* cells, std::uint32_t count) noexcept {
  Packet last{};
  last.lead.operation = interface::Operation::continue_ring;
  out.put(last, nullptr, nullptr);
  const std::uint64_t until = out.written();
  out.reset(cells, count, until);
  return until;
}

// The reader has just looked at that last cell.
template <class Memory>
void continue_in(RingReader<Memory>& in, const Packet* cells, std::uint32_t count) noexcept {
  in.skip(1);
  in.reset(cells, count);
}

}  // namespace hamlyn::shm
