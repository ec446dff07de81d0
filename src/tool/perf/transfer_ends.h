#pragma once
// Both ends of a transfer through a command or the kernel: a file in memory that is read from its beginning,
// and one that is written from its beginning. All of their pages are there already.
#include <cstddef>

#include "base/file_descriptor.h"

namespace hamlyn::tool::perf {

inline constexpr std::size_t kTransferBytes = std::size_t{256} << 20;
inline constexpr std::size_t kTransferPiece = 1048576;

struct TransferEnds {
  TransferEnds();        // throws std::runtime_error
  void begin() const;    // both at their beginning
  bool arrived() const;  // the one is now the other
  base::FileDescriptor from, to;
};

// Ends that all rounds share: to fill them takes longer than a round.
const TransferEnds& transfer_ends();

}  // namespace hamlyn::tool::perf
