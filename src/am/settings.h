#pragma once
// Settings that an endpoint is made with: its options say them, or else the environment.
#include "am/machine.h"
#include "base/namespaces.h"
#include "hamlyn/am/endpoint.h"

namespace hamlyn::internal_::am {

// Throw Error: invalid_argument, with the setting's name, its range, and what it is.
Way way_of(const EndpointOptions& options);
Limits limits_of(Way way, const EndpointOptions& options);

}  // namespace hamlyn::internal_::am
