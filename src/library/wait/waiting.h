#pragma once
// Where a thread sleeps, and what wakes it: the one way to wait, for every layer above the interface
// (docs/architecture.md, section 7, "Where a thread sleeps and what wakes it").
//
// A caller tries once by itself. Only if that fails it calls `until` with a function that looks whether its
// state has changed. `until` runs the interface, looks, spins for a moment, and sleeps. Whatever arrives or
// leaves has all sleepers look again, and so does `changed`.
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>

#include "base/function_ref.h"
#include "base/namespaces.h"
#include "base/pending_calls.h"
#include "base/run_lock.h"
#include "hamlyn/values/status.h"
#include "library/wait/deadline.h"

namespace hamlyn::internal_::library {

class Engine;
class Waiting;

// Proof that the calling thread holds the run lock of an interface. A function that needs the lock asks for
// it.
class Locked {
 public:
  Locked(const Locked&) = delete;
  Locked& operator=(const Locked&) = delete;

 private:
  friend class Engine;
  friend class Lock;
  Locked() = default;
  ~Locked() = default;
};

// Holds the run lock; false in a forked child.
class Lock final {
 public:
  explicit Lock(Waiting& waiting) noexcept;
  explicit operator bool() const noexcept { return static_cast<bool>(guard_); }
  const Locked& held() const noexcept { return locked_; }  // only if it is

 private:
  base::RunLockGuard guard_;
  Locked locked_;
};

// A call on an object that the run lock guards, and that another thread may destroy meanwhile: that ends the
// call with `cancelled`.
class PendingCall final : public base::PendingCall<base::RunLockGuard, base::RunLock> {
 public:
  PendingCall(Waiting& waiting, base::PendingCalls& calls) noexcept;
  PendingCall(base::RunLock& lock, base::PendingCalls& calls) noexcept
      : base::PendingCall<base::RunLockGuard, base::RunLock>(lock, calls) {}
};

// How long to spin before sleeping: about as long as a wake-up costs (competitive spinning, paper 1,
// section 5.2).
inline constexpr std::chrono::microseconds kSpin{8};

// One per interface.
class Waiting final {
 public:
  Waiting(Engine& engine, base::RunLock& lock) noexcept : engine_(engine), lock_(lock) {}
  Waiting(const Waiting&) = delete;
  Waiting& operator=(const Waiting&) = delete;

  // Returns what `ready` says when that is not `pending`. `ready` is called under the run lock, as often as
  // something may have changed. Also timed_out, cancelled (`call`'s object closes, or Interface::cancel),
  // forked.
  Status until(PendingCall& call, base::FunctionRef<Status(const Locked&)> ready, Deadline deadline) noexcept;

  // Waits for an object whose state has a lock of its own, which is taken before the run lock. `ready` is
  // called under neither: it takes that lock, looks, and leaves it. It may send, and take what stands in a
  // queue, but it does not poll: the interface is run here. `cancels`: how many there had been when the call
  // began.
  Status until(base::FunctionRef<Status()> ready, Deadline deadline, std::uint32_t cancels) noexcept;
  std::uint32_t cancels() const noexcept;

  // State that somebody's `ready` looks at has changed without an arrival: all who wait look again. The
  // change is made before, under the lock that `ready` looks under.
  void changed() noexcept;
  void changed(const Locked&) noexcept;
  // Whether there is a link with the interface of that number.
  bool linked(const Locked&, std::uint64_t peer) const noexcept;
  // Whether there is anybody to hear of a change. For who made it, under the lock that `ready` looks under.
  bool somebody_waits() const noexcept;

  // Ends the calls that wait on an object which is about to go, and waits until they have left. False in a
  // forked child, where nothing is to be freed.
  bool close_and_drain(base::PendingCalls& calls) noexcept;

  static Clock::time_point now() noexcept { return Clock::now(); }
  // Whether this process is a forked child, to whom nothing of the interface belongs.
  bool forked() const noexcept { return lock_.forked(); }

  // Somebody above the interface has something to say that found no room, or that waits for company, and may
  // never call again: the interface thread lets it try. For room: whenever something has moved, until nothing
  // is left. For company: when the time has come.
  class PendingWork {
   public:
    struct Left {
      bool for_room = false;
      Deadline at;
    };
    virtual Left try_again() noexcept = 0;  // returns what is left. Under no lock of ours
    // A thread is about to wait for any change of the interface: lets go what waits for company. invalid:
    // that thread must not wait, for others wait for it.
    virtual Status before_wait() noexcept = 0;

   protected:
    ~PendingWork() = default;
  };
  void set_pending_work(PendingWork* work) noexcept;  // null: it goes; waits until it is not being called
  void want_help() noexcept;
  // Wakes the interface thread if it would look later than that.
  void want_help_at(Clock::time_point time) noexcept;

 private:
  friend class Lock;
  friend class PendingCall;
  friend std::unique_ptr<Task> start_task(Waiting& waiting, const char* name, std::function<void()> main);

  Engine& engine_;
  base::RunLock& lock_;
};

inline Lock::Lock(Waiting& waiting) noexcept : guard_(waiting.lock_) {}
inline PendingCall::PendingCall(Waiting& waiting, base::PendingCalls& calls) noexcept
    : PendingCall(waiting.lock_, calls) {}

}  // namespace hamlyn::internal_::library
