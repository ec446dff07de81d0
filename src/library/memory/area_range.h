#pragma once
// Where the private message areas of this process lie, of all its interfaces: what is moved to be shared must
// be none of another area's.
#include <cstddef>
#include <span>

#include "base/namespaces.h"

namespace hamlyn::internal_::library {

// A range of one area, while the area is there.
class AreaRange {
 public:
  // Throws Error(invalid_argument) if it is `alone` and another area has some of it. std::bad_alloc.
  AreaRange(std::span<const std::byte> memory, bool alone);
  ~AreaRange();
  AreaRange(const AreaRange&) = delete;
  AreaRange& operator=(const AreaRange&) = delete;

 private:
  const std::byte* const begin_;
  const std::byte* const end_;
};

// Whether it is this process's private memory, readable and writable, and backed by no file. Throws
// Error(invalid_argument) that says what is wrong.
void check_private(std::span<const std::byte> memory);

}  // namespace hamlyn::internal_::library
