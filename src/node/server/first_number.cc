#include "node/server/first_number.h"

#include <sodium.h>

#include "node/client/protocol.h"

namespace hamlyn::node {

std::uint64_t draw_first_number(std::uint16_t node) {
  constexpr std::uint64_t kDrawn = (std::uint64_t{1} << (kNodeShift - 1)) - 1;
  std::uint64_t drawn = 0;
  while (drawn == 0) {  // 0 is no number
    ::randombytes_buf(&drawn, sizeof drawn);
    drawn &= kDrawn;
  }
  return std::uint64_t{node} << kNodeShift | drawn;
}

}  // namespace hamlyn::node
