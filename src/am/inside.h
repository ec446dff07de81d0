#pragma once
// The insides of bundles and endpoints: machines, and how threads wait for what they do. One lock guards all
// machines of a bundle; it is taken before the interface's own, and is held while a handler runs.
#include <array>
#include <atomic>
#include <memory>
#include <optional>
#include <vector>

#include "am/machine.h"
#include "am/slots_port.h"
#include "am/vi_port.h"
#include "base/namespaces.h"
#include "base/pending_calls.h"
#include "base/run_lock.h"
#include "hamlyn/am/endpoint.h"
#include "library/setting.h"
#include "library/wait/waiting.h"

namespace hamlyn {

namespace am {

struct Bundle::Inside : std::enable_shared_from_this<Bundle::Inside> {
  using Guard = internal_::base::RunLockGuard;
  using Pending = internal_::base::PendingCall<Guard, internal_::base::RunLock>;

  explicit Inside(Interface& from, bool wants_events)
      : interface(from), waiting(from.waiting()), events(wants_events) {}

  // All of these under the lock.
  //
  // Handles what is next at each endpoint. False: there was nothing.
  bool poll_all() noexcept;
  // Whether there is something to handle. Hears what no handler is called for. Runs nothing.
  bool look() noexcept;

  Interface& interface;
  internal_::library::Waiting& waiting;
  internal_::base::RunLock lock;
  std::vector<Endpoint::Inside*> endpoints;  // under the lock
  std::atomic<bool> events;                  // relaxed: a hint to a later wait
  internal_::base::PendingCalls calls;
  // The thread that is in a handler, or null. Relaxed: a thread looks whether it is itself.
  std::atomic<const void*> handler{nullptr};
};

// While a handler runs, in the thread that holds the bundle's lock. That thread enters no other bundle:
// whoever has its lock may be in a handler, too, and want this one's.
class Handling {
 public:
  explicit Handling(Bundle::Inside& bundle) noexcept : bundle_(bundle), outer_(innermost) {
    bundle.handler.store(internal_::base::RealThreads::self(), std::memory_order_relaxed);
    innermost = this;
  }
  ~Handling() {
    // In a simulation a thread runs several processes, whose handlers end in any order.
    const Handling** at = &innermost;
    while (*at != this) at = &(*at)->outer_;
    *at = outer_;
    bundle_.handler.store(nullptr, std::memory_order_relaxed);
  }
  Handling(const Handling&) = delete;
  Handling& operator=(const Handling&) = delete;

  // Whether this thread is in a handler, and not in a child that was forked in one.
  static bool any() noexcept {
    const Handling* at = innermost;
    while (at != nullptr && at->bundle_.waiting.forked()) at = at->outer_;
    return at != nullptr;
  }
  // Whether this thread is in a handler, and must not enter a bundle of that interface. In a simulation it
  // runs several processes: what interface a handler is of says whether it is of the same.
  static bool bars(const Interface& interface) noexcept {
    const Handling* at = innermost;
    while (at != nullptr && !at->is_beside(interface)) at = at->outer_;
    return at != nullptr;
  }

 private:
  static inline thread_local const Handling* innermost __attribute__((tls_model("initial-exec"))) = nullptr;

  bool is_beside(const Interface& interface) const noexcept {
    return internal_::library::simulation == nullptr ? !bundle_.waiting.forked()
                                                     : &bundle_.interface == &interface;
  }

  Bundle::Inside& bundle_;
  mutable const Handling* outer_;
};

struct Token::Inside {
  Endpoint::Inside* of = nullptr;
};

class Entry;

// Parts that endpoints of all ways have.
struct Endpoint::Inside {
  // A call that waits holds the endpoint, and the bundle that it is in.
  using Pending = internal_::base::PendingCall<Entry, const Inside>;
  class Call;
  // Parts that endpoints of one way have beside these.
  template <class Port>
  struct Of;
  using Leaving = internal_::am::Leaving;
  using Try = internal_::am::Try;

  Inside(Endpoint& of, Bundle::Inside& bundle, Way by) noexcept;
  // Throws Error, std::bad_alloc.
  static std::unique_ptr<Inside> make(Endpoint& of, Bundle::Inside& bundle, const EndpointOptions& options);
  virtual ~Inside() = default;

  // Calls `what` with this as the Of that it is: by a comparison, so that all of it is inlined.
  template <class What>
  __attribute__((always_inline)) decltype(auto) with(What what);

  // --- under the lock

  void assert_held() const noexcept { in.load(std::memory_order_relaxed)->lock.assert_held(); }
  // Also under the other bundle's.
  Result move(Bundle::Inside& from, Bundle::Inside& to) noexcept;

  // --- under no lock

  // Tries until it is taken, and polls meanwhile.
  template <class Attempt>
  Result until_taken(Call& call, Attempt attempt) noexcept;
  template <class Attempt>
  bool sleep(Call& call, Attempt attempt, Try& tried) noexcept;
  // Calls `what` with the Of that this is.
  template <class What>
  Result locked(What what) noexcept;
  Result request(std::uint32_t index, Leaving& leaving) noexcept;
  Result hear_all() noexcept;

  const Way way;
  Endpoint& self;
  // Changed by move_to, under the locks of both bundles. Release there, acquire in Entry, which looks again
  // when it has the lock.
  std::atomic<Bundle::Inside*> in;
  // Bundles that this was in, for a thread that is about to take the lock of one that it has left.
  std::vector<std::shared_ptr<Bundle::Inside>> been_in;  // under the lock
  internal_::base::PendingCalls calls;
  std::array<Handler, internal_::am::kHandlers> handlers;
  std::uint32_t handler_count = internal_::am::kHandlers;
  ReturnHandler on_return;
  Hook before, after;
  Token token;
  Token::Inside token_inside;
  std::uint32_t requests = 0;  // since the last poll
};

template <class Port>
struct Endpoint::Inside::Of final : Endpoint::Inside {
  using Machine = internal_::am::Machine<Port>;
  using Delivery = typename Machine::Delivery;
  using Moving = typename Machine::Moving;

  // Throws Error, std::bad_alloc.
  Of(Endpoint& of, Bundle::Inside& bundle, Way by, const internal_::am::Limits& limits)
      : Inside(of, bundle, by),
        port(bundle.interface, by),
        machine(port, limits, internal_::am::own_membership()) {}

  // --- under the lock

  // Handles what is next. False: there was nothing.
  bool poll() noexcept;
  bool look() noexcept;
  __attribute__((always_inline)) void handle(Delivery& to) noexcept;
  void call_handler(Delivery& to) noexcept;
  void hand_back() noexcept;
  // Whether functions run that were given to this endpoint. They must stay until they have returned.
  bool calls_out() const noexcept { return delivery != nullptr || handing_back; }
  void hear_the_last() noexcept;
  void release_lent() noexcept;
  Result request_to_async(std::uint32_t index, Leaving& leaving) noexcept;

  // --- under no lock

  Result request_long(std::uint32_t index, Leaving& leaving) noexcept;

  // Data that leaves, and is nobody else's.
  struct Lent {
    std::unique_ptr<std::byte[]> bytes;
    Moving moving;
  };
  std::vector<Lent> lent;  // goes behind the port, which reads it
  Port port;
  Machine machine;
  Delivery* delivery = nullptr;              // that a handler looks at
  bool handing_back = false;                 // a handler looks at what has come back
  std::optional<typename Port::Event> held;  // that a thread took which waited
};

template <class What>
__attribute__((always_inline)) inline decltype(auto) Endpoint::Inside::with(What what) {
  if (way == Way::slots) [[likely]]
    return what(static_cast<Of<internal_::am::SlotsPort>&>(*this));
  return what(static_cast<Of<internal_::am::ViPort>&>(*this));
}

// Holds the lock of a bundle, or of the one that an endpoint is in; also in a handler of that bundle, whose
// thread has it already.
class Entry {
 public:
  explicit Entry(Bundle::Inside& bundle) noexcept : bundle_(&bundle) { enter(); }
  explicit Entry(const Endpoint::Inside& endpoint) noexcept;
  ~Entry() {
    if (held_) bundle_->lock.leave();
  }
  Entry(const Entry&) = delete;
  Entry& operator=(const Entry&) = delete;
  explicit operator bool() const noexcept { return held_ || in_handler_; }
  Bundle::Inside& bundle() const noexcept { return *bundle_; }
  bool in_handler() const noexcept { return in_handler_; }
  // Why not.
  Result why() const noexcept {
    return in_handler_ || Handling::bars(bundle_->interface) ? Result::in_use : Result::not_init;
  }

 private:
  void enter() noexcept {
    in_handler_ = bundle_->handler.load(std::memory_order_relaxed) == internal_::base::RealThreads::self();
    // A handler of another bundle does not wait for this one.
    if (!in_handler_ && !Handling::bars(bundle_->interface)) [[likely]]
      held_ = bundle_->lock.enter();
  }

  Bundle::Inside* bundle_;
  bool in_handler_ = false;
  bool held_ = false;
};

__attribute__((always_inline)) inline Entry::Entry(const Endpoint::Inside& endpoint) noexcept
    : bundle_(endpoint.in.load(std::memory_order_acquire)) {
  enter();
  while (held_ && endpoint.in.load(std::memory_order_acquire) != bundle_) [[unlikely]] {  // it has moved
      bundle_->lock.leave();
      bundle_ = endpoint.in.load(std::memory_order_acquire);
      held_ = bundle_->lock.enter();
    }
}

// One call that waits.
class Endpoint::Inside::Call {
 public:
  explicit Call(Inside& endpoint) noexcept
      : cancels(endpoint.in.load(std::memory_order_acquire)->waiting.cancels()),
        here_(endpoint, endpoint.calls) {}

  // Under the lock of that bundle. False: the endpoint has moved to it since; `leave`, and begin again.
  bool begin(Bundle::Inside& bundle) noexcept {
    here_.begin();
    if (!there_) {
      bundle_ = &bundle;
      there_.emplace(bundle.lock, bundle.calls);
      there_->begin();
    }
    return bundle_ == &bundle;
  }
  void leave() noexcept { there_.reset(); }
  bool closing() const noexcept { return here_.closing() || there_->closing(); }
  Bundle::Inside& bundle() const noexcept { return *bundle_; }

  const std::uint32_t cancels;  // of the interface's calls, when this one began
  bool waited = false;          // and was counted

 private:
  Bundle::Inside* bundle_ = nullptr;
  std::optional<Bundle::Inside::Pending> there_;
  Pending here_;  // goes before `there_`: it takes that bundle's lock
};

}  // namespace am

}  // namespace hamlyn
