#pragma once
// A process's own interface: it alone checks and places what arrives (paper 0, section 2).
//
// Threads: every member may be called from any thread. A program with one thread pays nothing for that.
// Fork: a forked child has no interface; its copy answers Status::forked or throws ErrorCode::forked.
// Owner: who made it; everything made from it goes before it.
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>

#include "hamlyn/values/consent.h"
#include "hamlyn/values/error.h"
#include "hamlyn/values/link_reason.h"
#include "hamlyn/values/rights.h"
#include "hamlyn/values/status.h"
#include "hamlyn/values/ticket.h"

namespace hamlyn {

namespace internal_::library {
class Engine;
class Waiting;
}  // namespace internal_::library

// Whose a registered name is, as the daemon of its node attests it. Anybody may register a name that is free:
// who cares which user it leads to looks here before sending anything there.
struct Registrant {
  std::uint64_t interface = 0;  // its number, as Notification::peer has it
  std::uint32_t uid = 0;        // the user
  std::uint32_t gid = 0;        // its primary group
  std::uint32_t pid = 0;        // on its own host
};

// How this process stands with its node's daemon. Without it links go on; names and new links do not
// (docs/rules.md, "Cut off from the daemon").
struct Attachment {
  bool attached = true;  // as far as it is known: a daemon may have ended a moment ago
  ErrorCode reason{};    // while it is not: why the last try to attach failed
  std::string text;      // the sentence to it
};

// How a name is looked for (docs/names.md).
struct LookupOptions {
  std::chrono::milliseconds timeout{0};  // for somebody to register it
  std::uint16_t node = 0;  // a hint: the node where it is likely to be, looked at first; 0: none
  bool cached = false;     // what was read on other nodes in the last second will do
};

// A function that `wait_any` asks: it returns a bool, and nothing that only turns into one, such as a Status.
template <class Ready>
concept Question = std::is_same_v < std::invoke_result_t<Ready&>,
bool > ;

// Attaches this process to its host's node. One is enough; there may be several.
class Interface {
 public:
  struct Options {
    std::string node =
        {};  // the daemon's socket; empty: as HAMLYN_NODE names it, else the service's or one's own
    bool start_node = true;                   // start this user's own daemon when there is none
    std::chrono::milliseconds timeout{5000};  // for attaching
    std::chrono::milliseconds stall{10000};   // work pending that long without progress ends a link; 0: never
    std::size_t mtu = 32768;                  // bytes of payload per packet, a multiple of 64 up to 32768
    std::uint32_t links = 1024;               // at most so many at a time, and as RLIMIT_NOFILE allows
    std::chrono::milliseconds dead{1000};  // a process of another host that is not heard for so long is dead
    Consent consent = {};                  // which users may open links with this interface
    // Gets, fetch-ops and fences under way by one link, of each level and direction: 16 to 64. As many of the
    // other side's are taken; of one's own no more leave than the other side takes.
    std::uint32_t requests = 16;
    // A thread that waits spins so long before it sleeps, up to 1 s, while what it waits for comes in that
    // time: for a server whose processor has nothing else to do. 0: about as long as a wake-up costs.
    std::chrono::microseconds spin{0};
  };

  // Attaches to this host's node. Throws Error: node_unreachable, node_not_trusted, version_mismatch,
  // quota_interfaces, node_full, not_permitted, timed_out, invalid_argument, out_of_memory, system. (Times
  // of more than 100 years, and of `dead` more than 30 days, are cut to that.)
  Interface();
  explicit Interface(Options options);
  ~Interface();  // ends all links; everything made from it must be gone
  Interface(const Interface&) = delete;
  Interface& operator=(const Interface&) = delete;

  // The node's number of this interface, as peers see it in Notification::peer.
  std::uint64_t id() const noexcept;

  // Whether this process is attached to its node's daemon now. A daemon that is away for less than half a
  // second makes no difference. Throws std::bad_alloc.
  Attachment attachment() const;
  // Waits until it is, or is not. ok, timed_out, cancelled, forked. Each queue of this interface is told as
  // well (Notification::Kind::attachment).
  Status wait_attached(bool attached, std::chrono::nanoseconds timeout) noexcept;

  // Registers `ticket` under `name` ([A-Za-z0-9._-], 1 to 64 characters) until withdrawn or this process
  // ends. A name that this interface has registered already leads to `ticket` and has `rights` from here on.
  // Throws Error: name_taken, name_invalid, quota_names, node_unreachable, timed_out, cancelled,
  // invalid_argument (the ticket), out_of_memory, forked.
  void publish(std::string_view name, const Ticket& ticket, Rights rights = {});
  // Takes back a name that this interface has registered. Throws Error: name_unknown, node_unreachable,
  // timed_out, cancelled, out_of_memory, forked.
  void withdraw(std::string_view name);

  // The ticket registered under `name`, on this node or another of its cluster; waits up to `timeout` for
  // somebody to register it. `who`, if not null, is told whose it is.
  // Throws Error: timed_out (with a time of 0: name_unknown), not_permitted, cancelled, node_unreachable,
  // out_of_memory, forked.
  [[nodiscard]] Ticket lookup(std::string_view name,
                              std::chrono::milliseconds timeout = std::chrono::milliseconds{0},
                              Registrant* who = nullptr);
  // Looks up with options.
  [[nodiscard]] Ticket lookup(std::string_view name, const LookupOptions& options, Registrant* who = nullptr);

  // Why there is no link with that interface (Ticket::interface, Notification::peer), or why the last one was
  // refused: remembered of the last 64 with whom this process wanted one, and of 64 others. Of 0: what this
  // process had too little of to have the last link that others wanted; until it has one again. An end stands
  // while the next link is asked for.
  WhyNoLink why(std::uint64_t peer) const noexcept;

  // Waits until `ready()`, a function of the caller's that returns a bool, says true: for any of several
  // queues, receivers, senders and segments of this interface, or for the program's own state. Not for what
  // others store into a mapped segment: a store wakes nobody. `ready` is called under no lock, first at once,
  // then whenever something may have changed. It may receive, poll and send without waiting (a zero
  // time-out), and it may throw. ok, timed_out (0: one look), cancelled, forked; invalid: inside
  // `process_arrival` of a receiver, where nothing may wait.
  // Small records of streams leave before the wait.
  template <Question Ready>
  [[nodiscard]] Status wait_any(Ready ready, std::chrono::nanoseconds timeout) {
    return wait_any([](void* of) { return (*static_cast<Ready*>(of))(); }, std::addressof(ready), timeout);
  }
  // Has all that wait look again. Called by a thread that has changed a state of the program's own, at which
  // a `ready` looks.
  void changed() noexcept;
  // A descriptor for epoll: readable when something may have changed since a `wait_any` has answered
  // timed_out. Before going back to epoll, call `wait_any` with a time of 0 until it does. `cancel` is not
  // told by it. Owned by the interface. Throws Error: system, forked.
  int descriptor();

  // Ends every wait (lookup, connect, receive, wait) that is going on in other threads with `cancelled`.
  void cancel() noexcept;

  // Runs the interface once: arrivals, then departures. Polling a queue or waiting does it too. Returns
  // whether anything moved.
  bool run() noexcept;

  // For the library alone.
  internal_::library::Engine& engine() noexcept { return *engine_; }
  internal_::library::Waiting& waiting() noexcept;  // what a layer above waits by

 private:
  Status wait_any(bool (*ready)(void*), void* of, std::chrono::nanoseconds timeout);

  std::unique_ptr<internal_::library::Engine> engine_;
};

}  // namespace hamlyn
