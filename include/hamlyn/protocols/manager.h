#pragma once
// Where a program that uses the protocols begins: the interface, and one notification queue for all receivers
// made from it (paper 0, section 3.3). Whatever arrives is given to its receiver without a search: the
// notification names the slot, the slot its receiver, whose `process_arrival` is called.
//
// Who runs it: every call that receives, polls or waits, on any object of this manager, for all of them.
// While nobody does, data goes on landing, and is told of later.
//
// Threads: a manager may be used by any number of threads, and so may all that is made from it; each object
// is destroyed by one, while no other uses it but to wait on it (those waits end with `cancelled`). A program
// with one thread pays a few cycles per call for that. Fork: a forked child has none (Status::forked).
// Owner: who made it; everything made from it goes before it.
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

#include "hamlyn/core/interface.h"
#include "hamlyn/core/notification_queue.h"
#include "hamlyn/core/terminus.h"
#include "hamlyn/values/seed.h"

namespace hamlyn {

namespace internal_::protocols {
class Dispatcher;
}

// One attachment to the node, and what runs all receivers of it.
class Manager {
 public:
  struct Options {
    Interface::Options interface = {};  // how it attaches
    std::size_t places =
        8192;  // of its queue. A stream takes about 140 of them at its receiver, 32 at its sender
  };

  // Attaches to this host's node. Throws Error, as Interface.
  Manager();
  explicit Manager(const Options& options);
  // Everything made from it must be gone. What that said on leaving and no peer has taken yet has 100 ms.
  ~Manager();
  Manager(const Manager&) = delete;
  Manager& operator=(const Manager&) = delete;

  // Registers a seed under a name, as Interface::publish does a ticket. Throws Error, also seed_invalid.
  void publish(std::string_view name, const Seed& seed, Rights rights = {});
  // Takes the name back: as Interface::withdraw.
  void withdraw(std::string_view name);
  // The seed registered under `name`; waits up to `timeout` for somebody to register it. Throws Error as
  // Interface::lookup, also seed_wrong_kind: a plain ticket is registered there.
  [[nodiscard]] Seed lookup(std::string_view name,
                            std::chrono::milliseconds timeout = std::chrono::seconds{30});

  // Gives the next message that has arrived to its receiver, the papers' poll_nowait. False: there was none,
  // and since the last call none was given to any receiver.
  bool poll() noexcept;
  // Waits until one was given, to any receiver. ok, timed_out, cancelled, forked; invalid: from inside
  // `process_arrival`, where nothing may wait.
  Status wait(std::chrono::nanoseconds timeout) noexcept;
  // How much has happened to receivers so far, by whoever ran the manager; `wait_beyond` waits until it is
  // more than `known`, and answers as `wait`. For loops of your own: what happens between a look and the
  // wait is not missed.
  std::uint64_t happened() const noexcept;
  Status wait_beyond(std::uint64_t known, std::chrono::nanoseconds timeout) noexcept;
  // A descriptor for epoll, readable when something may have arrived. Before going back to epoll, take from
  // each receiver until it has nothing more (a zero time-out), and anew as long as `poll` says true: what it,
  // or a look for another receiver, has brought wakes nobody any more. Owned by the manager. Throws Error:
  // system, forked.
  int descriptor();
  // Ends every wait that is going on in other threads, of all objects of this manager, with `cancelled`.
  void cancel() noexcept;

  // Its interface, for what the protocols have not. It lives as long as the manager.
  Interface& interface() noexcept;
  NotificationQueue& queue() noexcept;  // for slots of receivers of your own; never poll it yourself
  // The one that the protocols' own short messages leave by.
  Terminus& terminus() noexcept;
  // For the library alone.
  internal_::protocols::Dispatcher& inside() noexcept { return *dispatcher_; }

 private:
  std::unique_ptr<internal_::protocols::Dispatcher> dispatcher_;
  std::uint64_t happened_by_poll_ = 0;  // under its lock
};

}  // namespace hamlyn
