#pragma once
// Descriptors from strangers. To close one may take as long as its sender likes: a TCP socket lingers
// (SO_LINGER, 100000 s), also one that lies unread in the queue of a socket that is closed, or in the queue
// of a socket in that queue; and a file system in user space asks its server first. Nobody who serves others
// may wait for that. So:
//
// - A message is looked at before it is taken. The kernel gives us duplicates then: ours is never the last
//   descriptor of anything, and what there is no room for is not closed in our name. Only memfds are taken,
//   of a size that is settled (sealed) and that such a message may have.
// - A memfd that is large, and a mapping of one, is given back by a thread of its own (base/disposal.h).
// - A socket in whose queue something lies is closed by a thread that has a descriptor table of its own and
//   does nothing but end: a task that ends does not linger. So nothing is ever stuck, and nothing adds up.
//   What lies there may be large: at most kMaxEnding of these threads are under way.
// - A duplicate of a file that is neither memfd nor socket, which could be of a file system in user space, is
//   closed by a thread that may sleep over it. From a user that has kMaxPending of those no descriptor is
//   taken.
//
// Clearing SO_LINGER would not do: the sender may set it again until the moment it closes its own.
//
// Honest traffic consists of memfds and ends with empty queues: it costs one more system call per message
// of the control path, and never a thread.
//
// Threads: the one whose descriptor table it serves.
#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/disposal.h"
#include "base/file_descriptor.h"
#include "base/namespaces.h"
#include "base/socket.h"

namespace hamlyn::internal_::base {

// Threads of this process that are about to end. One is there until it has closed what it had.
class EndingThreads {
 public:
  void add(int id) { ids_.push_back(id); }
  std::size_t count();

 private:
  std::vector<int> ids_;
};

class Foreign {
 public:
  static constexpr std::size_t kMaxPending = 8;  // files of one user that are being closed
  static constexpr std::size_t kMaxEnding = 4;   // threads that end with sockets

  // How many bytes each memfd of this message may have at most. The message is a stranger's, of any length.
  using Most = std::uint64_t (*)(std::span<const std::byte> message);

  Foreign() = default;
  ~Foreign();  // what could not be buried is closed when the table's last thread ends
  Foreign(const Foreign&) = delete;
  Foreign& operator=(const Foreign&) = delete;

  // The next message, if it is sound and all that came with it are memfds as `most` allows, sealed against a
  // change of their size. A malformed one, or a starved one, stays where it is: drop the socket. `user`:
  // whose process sends. Does not wait.
  Received receive(int socket, std::span<std::byte> buffer, std::uint32_t user, Most most,
                   Senders senders = Senders::unsaid);

  // Ends a connection with a stranger: nobody sends into it any more.
  void drop(FileDescriptor socket);
  // Closes our copy of a socket that others have been given.
  void let_go(FileDescriptor socket);
  // Gives back what a message had brought, and a mapping of that.
  void close(FileDescriptor memory);
  void unmap(void* at, std::size_t size) { disposal_.unmap(at, size); }

  // Closes what could not be closed at once. To be called now and then by whoever is about to wait.
  void close_pending();
  // Sockets that wait for that.
  std::size_t pending_closes() const noexcept { return grave_.size(); }
  const Disposal& disposal() const noexcept { return disposal_; }
  EndingThreads& ending() noexcept { return ending_; }

 private:
  struct Pending {
    int fd = -1;
    std::uint32_t user = 0;
    std::atomic<bool> done{false};  // by the thread that closes it, to pending()
  };

  void refuse(FileDescriptor fd, std::uint32_t user);
  std::size_t pending(std::uint32_t user);

  std::vector<FileDescriptor> grave_;
  std::vector<std::shared_ptr<Pending>> pending_;
  EndingThreads ending_;
  Disposal disposal_;
};

// A socket with a stranger at its other end.
class ForeignSocket {
 public:
  ForeignSocket(Foreign& foreign, FileDescriptor socket) noexcept
      : foreign_(&foreign), socket_(std::move(socket)) {}
  ForeignSocket(ForeignSocket&& other) noexcept = default;
  ForeignSocket& operator=(ForeignSocket&&) = delete;
  ~ForeignSocket() {
    if (socket_) foreign_->drop(std::move(socket_));
  }

  int get() const noexcept { return socket_.get(); }
  Received receive(std::span<std::byte> buffer, std::uint32_t user, Foreign::Most most) const {
    return foreign_->receive(socket_.get(), buffer, user, most);
  }
  Foreign& foreign() const noexcept { return *foreign_; }

 private:
  Foreign* foreign_;
  FileDescriptor socket_;
};

}  // namespace hamlyn::internal_::base
