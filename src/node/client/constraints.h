#pragma once
// Limits of a running node daemon that come from its starter. A daemon that is started on demand takes
// back what it may (src/daemon/inheritance.h); the rest is said where users look.
#include <cstdint>
#include <string>
#include <vector>

namespace hamlyn::node {

// Sentences without a full stop: "it runs at nice 10", "it may have 64 descriptors open". `proc` is for
// tests. Empty: nothing limits it, or that process cannot be looked at.
std::vector<std::string> constraints_of(std::uint32_t pid, const std::string& proc = "/proc");

}  // namespace hamlyn::node
