#pragma once
// Does what a thread does on a file system as another user, as a file server of the kernel does: by the
// thread's own file system user, group and groups. The kernel judges the rights.
#include <cstdint>

#include "base/namespaces.h"
#include "files/fault.h"
#include "files/store.h"

namespace hamlyn::internal_::files {

// From its construction to its destruction this thread acts as `caller`. A process that is not root acts as
// its own user alone.
class AsCaller {
 public:
  explicit AsCaller(const Caller& caller) noexcept;
  ~AsCaller();
  AsCaller(const AsCaller&) = delete;
  AsCaller& operator=(const AsCaller&) = delete;

  // none; not_permitted: this process may not act as that user, and nothing is to be done.
  Fault fault() const noexcept { return fault_; }

 private:
  Fault fault_ = Fault::none;
  bool changed_ = false;
};

}  // namespace hamlyn::internal_::files
