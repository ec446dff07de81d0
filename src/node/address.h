#pragma once
// Where node daemons listen, and whom we believe to be one.
#include <string>

#include "base/file_descriptor.h"

namespace hamlyn::node {

inline constexpr const char* kServiceSocket = "/run/hamlyn/node.sock";
inline constexpr const char* kServiceUser = "hamlyn";

// The socket of this user's own daemon, in a directory of mode 0700 that is made if need be. Throws Error:
// node_not_trusted if somebody else could get into that directory.
std::string own_socket();

// Whether a daemon run by `uid` may be this process's operating system: this user's own, root's or the
// service's.
bool trusted(unsigned uid);

// What is to be replaced by a daemon's socket is an old socket, or nothing: whoever has named a file of his
// by mistake keeps it. Throws Error(invalid_argument).
void check_place(const std::string& path);

// A connected socket; empty if nobody listens there. Throws Error: node_not_trusted, not_permitted, timed_out
// (the daemon does not accept), invalid_argument (a path too long for a socket, or of something else),
// system.
base::FileDescriptor connect_to(const std::string& path);

}  // namespace hamlyn::node
