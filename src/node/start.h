#pragma once
// Starts this user's own daemon.
#include <chrono>
#include <string>

namespace hamlyn::node {

using Deadline = std::chrono::steady_clock::time_point;

// Returns when a daemon listens on `socket`, started by this process or by another one that was quicker.
// `program` as in ClientOptions::daemon. Throws Error: node_unreachable, timed_out.
void start_daemon(const std::string& socket, const std::string& program, Deadline deadline);

}  // namespace hamlyn::node
