#pragma once
// Two nodes on loopback, for figures between hosts: a daemon each, started when the first such figure is
// measured and ended with the program.
#include <string>

namespace hamlyn::tool::perf {

// The socket of node 0 or 1. Throws std::runtime_error.
std::string far_node(int side);

}  // namespace hamlyn::tool::perf
