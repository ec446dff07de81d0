#pragma once
// TCP ports of this host, for peers' tools that meet over one.
#include <cstdint>

namespace hamlyn::tool::perf {

// A port that nobody listens on now. Throws std::runtime_error.
std::uint16_t free_port();

// Whether somebody listens on it. Asks the kernel and connects to nobody: the listener may take one caller
// only.
bool somebody_listens(std::uint16_t port);

}  // namespace hamlyn::tool::perf
