#pragma once
// Setting up that fails because there is no link with the other side.
#include <cstdint>
#include <string>

#include "base/namespaces.h"
#include "hamlyn/core/interface.h"
#include "hamlyn/values/link_reason.h"

namespace hamlyn::internal_::library {

// Throws Error: what could not be done, why there is no link, and what can be done about that.
[[noreturn]] void throw_no_link(const std::string& what, WhyNoLink why);
// Throws such an Error if it is known why that interface has no link with `peer`.
void throw_if_no_link(const char* what, const Interface& interface, std::uint64_t peer);

}  // namespace hamlyn::internal_::library
