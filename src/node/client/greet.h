#pragma once
// The start of every connection to a node daemon: finding it, starting it, the version handshake.
#include <string>

#include "base/file_descriptor.h"
#include "node/client/client.h"
#include "node/client/protocol.h"
#include "node/client/start.h"

namespace hamlyn::node {

struct Greeted {
  base::FileDescriptor socket;
  std::string path;
  Welcome welcome;
};

// Throws what Client::attach throws.
Greeted greet(const ClientOptions& options, const Hello& hello, int counters);

// The socket that is asked for, or that whoever has started this program names (HAMLYN_NODE); empty: neither.
// `privileged` as for find_daemon.
std::string named_socket(const std::string& asked, bool privileged);

// Waits until `socket` is readable; false once the deadline has passed.
bool wait_readable(int socket, Deadline deadline);

}  // namespace hamlyn::node
