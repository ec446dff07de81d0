#pragma once
// The descriptor of a server: readable when there may be a call, or when what its clients are owed may leave.
// An epoll instance watches the queue's descriptor, and, while something is owed, that of the interface's
// changes.
#include <sys/epoll.h>

#include <cerrno>
#include <chrono>
#include <mutex>
#include <utility>

#include "base/file_descriptor.h"
#include "base/marked_descriptor.h"
#include "base/namespaces.h"
#include "base/throw_system.h"
#include "hamlyn/core/interface.h"
#include "hamlyn/core/notification_queue.h"

namespace hamlyn::internal_::rpc {

// Threads: any.
class ServerWatch {
 public:
  ServerWatch(Interface& interface, NotificationQueue& queue) noexcept
      : interface_(interface), queue_(queue) {}

  // Throws Error: system, out_of_memory, forked.
  int descriptor() {
    const std::lock_guard guard(mutex_);
    const int calls = queue_.descriptor();
    if (own_.ours()) return own_.get();
    base::FileDescriptor made(::epoll_create1(EPOLL_CLOEXEC));
    epoll_event event{EPOLLIN, {}};
    if (!made || ::epoll_ctl(made.get(), EPOLL_CTL_ADD, calls, &event) != 0) base::throw_system("epoll");
    changes_ = -1;
    own_.adopt(std::move(made));
    return own_.get();
  }
  // A thread goes back to the descriptor, and something is owed, or is not. True: look once more whether it
  // can leave, for changes are told from here on.
  bool go_back(bool owes) noexcept {
    if (own_.get() < 0) return false;  // nobody has asked for it
    const std::lock_guard guard(mutex_);
    if (!own_.ours()) return false;
    if (changes_ >= 0 && !owes) {
      static_cast<void>(::epoll_ctl(own_.get(), EPOLL_CTL_DEL, std::exchange(changes_, -1), nullptr));
    } else if (owes) {
      try {
        const int changes = interface_.descriptor();
        epoll_event event{EPOLLIN, {}};
        if (::epoll_ctl(own_.get(), EPOLL_CTL_ADD, changes, &event) == 0 || errno == EEXIST)
          changes_ = changes;
        static_cast<void>(interface_.wait_any([] { return false; }, std::chrono::nanoseconds{0}));
      } catch (const std::exception&) {  // it is told when a call comes
      }
    }
    return owes;
  }

 private:
  Interface& interface_;
  NotificationQueue& queue_;
  std::mutex mutex_;
  base::MarkedDescriptor own_;
  int changes_ = -1;  // that of the interface, while it is watched
};

}  // namespace hamlyn::internal_::rpc
