#pragma once
// The clerk's own process: has its node's registry read by other clerks, and reads theirs (docs/names.md).
// It knows no more of its daemon than the socket between the two, and of other nodes where their registries
// are.
#include <string>

#include "base/file_descriptor.h"
#include "base/namespaces.h"

namespace hamlyn::internal_::segment {

// Serves until the daemon has gone. `daemon`: the socket; `node`: where processes attach. Throws Error.
void serve_as_clerk(base::FileDescriptor daemon, const std::string& node);
// Serves as the clerk, as a process made for that alone; does not return.
[[noreturn]] void run_clerk(base::FileDescriptor daemon, const std::string& node);

}  // namespace hamlyn::internal_::segment
