#pragma once
// Calls that wait inside an object which another thread may destroy meanwhile. Whoever destroys the object
// ends these calls, and frees nothing before the last of them has left. A call that begins later is not known
// here.
//
// A call counts from where it begins to wait, under the lock that guards the object. A call that finds at
// once what it wants pays for a comparison. `Guard` holds that lock, or is false in a forked child.
#include <sched.h>

#include <atomic>
#include <cstdint>

#include "base/assert.h"
#include "base/namespaces.h"

namespace hamlyn::internal_::base {

class PendingCalls {
 public:
  // A waiting call asks at each look, and then says `cancelled`. Under the lock, or after the call was woken.
  bool closing() const noexcept { return closing_.load(std::memory_order_relaxed); }
  // Under the lock.
  std::uint32_t count() const noexcept { return count_; }

  // Ends the calls and waits until the last has left. `wake`, called under the lock, has the waiting calls
  // look again. False in a forked child, where nothing is to be ended or freed. The calling thread has not
  // got the lock.
  template <class Guard, class Lock, class Wake>
  bool close_and_drain(Lock& lock, Wake wake) noexcept {
    for (;;) {
      {
        const Guard guard(lock);
        if (!guard) return false;
        closing_.store(true, std::memory_order_relaxed);
        if (count_ == 0) return true;
        wake();
      }
      sched_yield();
    }
  }

 private:
  template <class Guard, class Lock>
  friend class PendingCall;

  std::uint32_t count_ = 0;
  // Relaxed, close_and_drain to closing: who looks without the lock is woken after it was written, and looks
  // under the lock before leaving.
  std::atomic<bool> closing_{false};
};

// One call. Between its beginning and its end the object stays.
template <class Guard, class Lock>
class PendingCall {
 public:
  PendingCall(Lock& lock, PendingCalls& calls) noexcept : lock_(lock), calls_(calls) {}
  ~PendingCall() {
    if (!begun_) return;
    const Guard guard(lock_);
    if (guard) --calls_.count_;
  }
  PendingCall(const PendingCall&) = delete;
  PendingCall& operator=(const PendingCall&) = delete;

  bool closing() const noexcept { return calls_.closing(); }
  // Under the lock.
  bool begun() const noexcept { return begun_; }
  void begin() noexcept {
    if (begun_) return;
    lock_.assert_held();
    ++calls_.count_;
    begun_ = true;
  }
  void end() noexcept {
    if (!begun_) return;
    lock_.assert_held();
    HAMLYN_ASSERT(calls_.count_ != 0, "a call ends once");
    --calls_.count_;
    begun_ = false;
  }
  // Begins a call that has not got the lock. False in a forked child.
  bool enter() noexcept {
    const Guard guard(lock_);
    if (guard) begin();
    return static_cast<bool>(guard);
  }

 private:
  Lock& lock_;
  PendingCalls& calls_;
  bool begun_ = false;
};

}  // namespace hamlyn::internal_::base
