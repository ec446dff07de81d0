#pragma once
// A tree of files, mounted: what the kernel asks for by FUSE is asked of a store, as the user who asks. The
// kernel keeps no names, attributes and data of it: each is looked for anew, so what another host has changed
// is seen.
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/namespaces.h"
#include "files/store.h"

namespace hamlyn::internal_::mount {

struct Options {
  std::string source;                  // as /proc/mounts shows it
  std::string directory;               // where it is mounted
  bool read_only = false;              // nothing may be changed by it
  std::vector<std::string> more = {};  // options of mount(8) that the kernel knows
  bool all_users = false;              // users besides this process's own may use it
};

class Session {
 public:
  // Mounts it. `store` outlives it. Throws Error: not_permitted (no /dev/fuse, or no right to mount),
  // invalid_argument (no directory, a mount point in use), system.
  Session(files::Store& store, const Options& options);
  ~Session();  // unmounts it
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  // Answers the kernel in some threads until it is unmounted, or a signal of those that end programs comes.
  // `begun`: called once the kernel uses it. Throws Error: system.
  void run(const std::function<void()>& begun);

 private:
  struct Inside;
  std::unique_ptr<Inside> inside_;
};

}  // namespace hamlyn::internal_::mount
