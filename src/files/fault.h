#pragma once
// Faults of this host's kernel.
#include "base/namespaces.h"
#include "hamlyn/files/fault.h"

namespace hamlyn::internal_::files {

using hamlyn::files::Done;
using hamlyn::files::Fault;
using hamlyn::files::number_of;

// The fault of an errno of this host.
Fault fault_of(int number) noexcept;

}  // namespace hamlyn::internal_::files
