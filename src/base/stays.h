#pragma once
// The calls that wait inside an object, and whether it is going: whoever destroys it ends them, and frees
// nothing before the last has left. What is called only after that has begun is not known here.
//
// A call counts from where it begins to wait, under the lock that guards the object: one that finds at once
// what it wants pays for a comparison. `Guard` holds that lock, or is false in a forked child.
#include <sched.h>

#include <atomic>
#include <cstdint>

#include "base/namespaces.h"

namespace hamlyn::internal_::base {

class Stays {
 public:
  // Whoever waits asks it at each look, and then says `cancelled`. Under the lock, or after it was woken.
  bool going() const noexcept { return going_.load(std::memory_order_relaxed); }
  // Under the lock.
  std::uint32_t count() const noexcept { return count_; }

  // Ends them. `wake`, called under the lock, has those who wait look again. False: in a forked child there
  // is nothing to end, and nothing to free. By a thread that has not got the lock.
  template <class Guard, class Lock, class Wake>
  bool see_off(Lock& lock, Wake wake) noexcept {
    for (;;) {
      {
        const Guard guard(lock);
        if (!guard) return false;
        going_.store(true, std::memory_order_relaxed);
        if (count_ == 0) return true;
        wake();
      }
      sched_yield();
    }
  }

 private:
  template <class Guard, class Lock>
  friend class Stay;

  std::uint32_t count_ = 0;
  // Relaxed, see_off to going: those who look without the lock are woken after it was written, and look under
  // it before they leave.
  std::atomic<bool> going_{false};
};

// One call. Between its beginning and its end the object stays.
template <class Guard, class Lock>
class Stay {
 public:
  Stay(Lock& lock, Stays& stays) noexcept : lock_(lock), stays_(stays) {}
  ~Stay() {
    if (!begun_) return;
    const Guard guard(lock_);
    if (guard) --stays_.count_;
  }
  Stay(const Stay&) = delete;
  Stay& operator=(const Stay&) = delete;

  bool going() const noexcept { return stays_.going(); }
  // Under the lock.
  bool begun() const noexcept { return begun_; }
  void begin() noexcept {
    if (begun_) return;
    ++stays_.count_;
    begun_ = true;
  }
  void end() noexcept {
    if (!begun_) return;
    --stays_.count_;
    begun_ = false;
  }
  // The same, of a call that has not got the lock. False: in a forked child.
  bool enter() noexcept {
    const Guard guard(lock_);
    if (guard) begin();
    return static_cast<bool>(guard);
  }

 private:
  Lock& lock_;
  Stays& stays_;
  bool begun_ = false;
};

}  // namespace hamlyn::internal_::base
