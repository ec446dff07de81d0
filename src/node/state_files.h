#pragma once
// What a daemon keeps beside its socket so that the next one can take over: the lock that makes it the only
// one, the key that signs tokens, and the mark that processes were attached.
#include <string>

#include "base/file_descriptor.h"
#include "node/node.h"

namespace hamlyn::node {

// Taken for as long as the daemon runs. Waits a little for a predecessor that is just leaving. Throws Error.
base::FileDescriptor lock_socket(const std::string& socket);

// The signing key; made when there is none. Throws Error if the file is not ours alone.
Key load_key(const std::string& socket);

// The mark: left behind by a daemon that ended while processes were attached.
bool marked(const std::string& socket);
void mark(const std::string& socket);
void unmark(const std::string& socket);

}  // namespace hamlyn::node
