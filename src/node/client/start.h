#pragma once
// Starts this user's own daemon.
#include <chrono>
#include <cstddef>
#include <string>

namespace hamlyn::node {

using Deadline = std::chrono::steady_clock::time_point;

// A started daemon writes this letter to its starter when it listens. Instead: a space, and why it does not,
// in words, of which so many letters are heard.
inline constexpr char kListens = 'r';
inline constexpr std::size_t kMostReason = 512;

// Returns when a daemon listens on `socket`, started by this process or by another one that was quicker.
// `program` as in ClientOptions::daemon. Throws Error: node_unreachable, timed_out.
void start_daemon(const std::string& socket, const std::string& program, Deadline deadline);

// Says whether this process has rights that whoever started it does not have (set-user-ID).
bool is_privileged() noexcept;

// The daemon's program: `asked`, or what the environment names, or one beside this program, or the installed
// one, or one on the way (PATH). `privileged`: its environment and its name decide nothing, and it is the
// installed one.
std::string find_daemon(const std::string& asked, bool privileged);

}  // namespace hamlyn::node
