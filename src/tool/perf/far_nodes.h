#pragma once
// Two nodes on loopback, for figures between hosts: a daemon each, started when the first such figure is
// measured and ended with the program.
#include <string>

namespace hamlyn::tool::perf {

// Whether they read names in each other's registries. Figures that are not about names have nodes without
// clerks: one that starts uses a processor for half a second.
enum class Clerks { no, yes };

// The socket of node 0 or 1. Throws std::runtime_error.
std::string far_node(int side, Clerks clerks = Clerks::no);

}  // namespace hamlyn::tool::perf
