#pragma once
// Serves a directory of this host (docs/files.md): paper 3, section 5, and paper 4, section 7.4.
//
//   hamlyn::files::Server server{interface, "/data/projects", "projects"};
//   server.run();                                        // in as many threads as you like
//
// Names, attributes, directories, links and data that were asked for stand in memory that clerks read without
// the server. What is missing there, and every change, they call it for.
//
// A server of the superuser acts for each user, as that user. Any other one acts for its own user alone.
// The server is the only writer of the tree: whoever changes the tree behind its back is not seen in time.
//
// Threads: any; as many serve as call `run`. Fork: a forked child has no server.
// Owner: who made it; its interface is there for longer. Threads that serve have left before it goes.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "hamlyn/core/interface.h"
#include "hamlyn/values/status.h"

namespace hamlyn {

namespace files {

struct ServerOptions {
  // A folder for what is kept beside the tree: the key by which handles are known again after a start. Empty:
  // /var/lib/hamlyn/files/NAME for the superuser, $XDG_STATE_HOME/hamlyn/files/NAME for others, or below
  // ~/.local/state. It is made, for this user alone.
  std::string state = {};
  // The superuser of a clerk's host is user 65534 here.
  bool squash_root = false;
  // A server of the superuser's serves clerks of other hosts, too: links between hosts are neither
  // authenticated nor encrypted.
  bool trusted_network = false;
  std::size_t names = 16384;         // names, attributes: entries that clerks find, at least 4
  std::size_t links = 1024;          // symbolic links, pieces of directories
  std::size_t data = 256ULL << 20U;  // bytes of data, at least 64 KiB
  std::uint32_t clerks = 64;         // at a time
};

// A directory that is served. Threads and owner: as above.
class Server {
 public:
  // Throws Error: invalid_argument (no directory, one of another host's, served already; sizes), name_taken,
  // name_invalid, not_permitted (the state folder), out_of_memory, system, and as Interface::publish.
  Server(Interface& interface, const std::string& directory, std::string_view name,
         const ServerOptions& options = {});
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  // Serves in this thread until `stop`. The thread has a umask of its own from then on, 0, and shares no
  // working directory with others; where a container forbids that, the process has that umask. ok, refused
  // (the kernel does not let it give up rights), cancelled (Interface::cancel), forked.
  Status run() noexcept;
  // Has all that serve leave.
  void stop() noexcept;

 private:
  struct Inside;
  std::unique_ptr<Inside> inside_;
};

}  // namespace files

}  // namespace hamlyn
