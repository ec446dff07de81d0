#pragma once
// Options that both an interface and a manager are made with.
#include "hamlyn/c.h"
#include "hamlyn/core/interface.h"

namespace hamlyn::c {

// Says what is wrong with `given`, or null; then `options` has what it says. Throws std::bad_alloc.
const char* read_options(const hamlyn_interface_options* given, Interface::Options& options);

}  // namespace hamlyn::c
