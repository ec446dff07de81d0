#pragma once
// Files that a daemon keeps beside its socket so that the next one can take over: the lock that makes it the
// only one, the key that signs tokens, whom a boot server knew, and the mark that processes were attached.
#include <span>
#include <string>
#include <vector>

#include "base/file_descriptor.h"
#include "node/mind/node.h"
#include "node/mind/node_wire.h"

namespace hamlyn::node {

// Taken for as long as the daemon runs. Waits a little for a predecessor that is just leaving. Throws Error.
base::FileDescriptor lock_socket(const std::string& socket);

// The signing key; made when there is none. Throws Error if the file is not ours alone.
Key load_key(const std::string& socket);

// The cluster's secret, as made of a file of 32 to 4096 bytes. Throws Error if it is not there, or others
// than its owner, who is this user or root, may read it.
Secret load_secret(const std::string& path);

// Secret of a cluster of this user's own daemons on this host: of a file in the directory of own_socket(),
// made when there is none. Throws Error.
Secret own_secret();

// A number larger than any before it at this socket: microseconds since 1970 unless the clock was set back.
std::uint64_t next_incarnation(const std::string& socket);

// Whom the daemon before this one knew to live: of the same cluster, for the file is authenticated with its
// secret. Nobody if there is no such file.
std::vector<Member> known_at(const std::string& socket, const Secret& secret);
void keep_known(const std::string& socket, const Secret& secret,
                std::span<const Member> members);  // throws Error

// The mark: left behind by a daemon that ended while processes were attached.
bool marked(const std::string& socket);
void mark(const std::string& socket);
void unmark(const std::string& socket);

}  // namespace hamlyn::node
