#pragma once
// A durable area (paper 1, section 3.5.1: memory that is non-volatile before a response is given). Messages
// land in memory like any others; what is acknowledged is written to a file first. Whoever does that is told
// where, and does it without the run lock: a slow disk keeps only acknowledgements waiting.
#include <cstddef>
#include <cstdint>

#include "base/namespaces.h"

namespace hamlyn::internal_::interface {

struct Store {
  std::byte* data = nullptr;  // of the area
  bool due = false;           // messages have landed that no sync covers yet
  bool failed = false;        // a sync has failed. Which bytes reached the disk nobody knows, so none counts
};

// Bytes of a store that a sync writes, counted from its start.
struct StoredRange {
  std::uint64_t offset;
  std::uint64_t length;
};

}  // namespace hamlyn::internal_::interface
