#pragma once
// Whether a daemon's socket and lock are still where it has put them. Somebody may remove or move them, or
// their folder, while the daemon lives: nobody could attach then, or a second daemon would start, and the two
// would never meet. The kernel tells (inotify); nothing looks by the clock.
//
// Threads: one at a time.
#include <sys/types.h>

#include <string>

#include "base/file_descriptor.h"

namespace hamlyn::node {

class PlaceWatch {
 public:
  // Before the socket is bound, with the lock held. Where the
  // kernel has no watch to give, nothing is ever told.
  explicit PlaceWatch(const std::string& socket);

  // The socket has been bound; the lock has been taken anew.
  void bound() noexcept { socket_ = File(socket_path_); }
  void locked() noexcept { lock_ = File(lock_path()); }

  // Readable: something has happened in the folder. -1: it cannot be watched.
  int descriptor() const noexcept { return events_.get(); }
  // Takes what has happened. Whether it may be about the socket, the lock or the folder.
  bool disturbed() noexcept;

  bool has_folder() const noexcept { return folder_.is_at(folder_path_); }
  bool has_lock() const noexcept { return lock_.is_at(lock_path()); }
  bool has_socket() const noexcept { return socket_.is_at(socket_path_); }
  bool is_whole() const noexcept { return has_folder() && has_lock() && has_socket(); }

 private:
  struct File {
    File() noexcept = default;
    explicit File(const std::string& path) noexcept;
    bool is_at(const std::string& path) const noexcept;
    dev_t device = 0;
    ino_t inode = 0;
  };

  std::string lock_path() const { return socket_path_ + ".lock"; }

  const std::string socket_path_, folder_path_;
  const File folder_;
  File lock_, socket_;
  base::FileDescriptor events_;
};

}  // namespace hamlyn::node
