#pragma once
#include "fabric/shm/ring.h"

namespace hamlyn::test {

template <class Reader>
bool look(const Reader& reader, interface::Packet& packet) noexcept {
  interface::Words words;
  if (!reader.look(words)) return false;
  packet = packet_of(words);
  return true;
}

}  // namespace hamlyn::test
