#pragma once
// Two nodes, for figures between hosts: on loopback, a daemon each, started when the first such figure is
// measured and ended with the program; or those that are named, which may be in network namespaces of their
// own.
#include <string>
#include <utility>

namespace hamlyn::tool::perf {

// Whether they read names in each other's registries. Figures that are not about names have nodes without
// clerks: one that starts uses a processor for half a second.
enum class Clerks { any, no, yes };

// The daemon that they are. Throws std::runtime_error if there is none.
std::string daemon_program();
// Returns when a daemon that was started listens at `socket`. Throws std::runtime_error if it does not in 10
// s.
void await_daemon(const std::string& socket);

// From here on these two, by their sockets.
void use_far_nodes(std::pair<std::string, std::string> sockets);

// The socket of node 0 or 1. Throws std::runtime_error.
std::string far_node(int side, Clerks clerks = Clerks::any);
// Leads a measuring process, which has no threads yet, to the network where that node is.
std::string at_far_node(int side);

}  // namespace hamlyn::tool::perf
