#pragma once
// Static objects that last as long as the process. A static object of the program may use the library in its
// destructor, after our own static objects would have been destroyed, or in its constructor, before they
// would be made.
#include "base/namespaces.h"

namespace hamlyn::internal_::base {

// A static one of these is there before the first constructor runs (declare it constinit), and never
// destroyed.
template <class T>
union Immortal {
  constexpr Immortal() noexcept : value{} {}
  ~Immortal() {}
  Immortal(const Immortal&) = delete;
  Immortal& operator=(const Immortal&) = delete;
  T value;
};

}  // namespace hamlyn::internal_::base
