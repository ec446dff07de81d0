#pragma once
// The run lock: whoever polls runs the interface, under this lock (design, section 7). It is biased: the
// thread that came first, usually the only one, takes it with a plain store and a load of private memory, no
// locked instruction. Any other thread that wants it asks the first to step aside and makes sure with a
// membarrier, private to this process, that both see each other. Taking and
// leaving it costs 2 to 4 cycles of the time-stamp counter; an exchange and a store cost 6 to 7 on the same
// AMD EPYC.
//
// The words stand in a page that fork wipes, so that a forked child fails at its first call (owner is gone).
#include <atomic>
#include <cstdint>
#include <mutex>

namespace hamlyn::base {

class RunLock {
 public:
  RunLock();
  ~RunLock();
  RunLock(const RunLock&) = delete;
  RunLock& operator=(const RunLock&) = delete;

  // False in a forked child: the lock, and all that it guards, belong to the parent.
  bool enter() noexcept { return enter_quickly() || enter_slowly(); }

  // For the shortest ways: false unless this thread is the owner and nobody else wants the lock. Whoever is
  // told so calls enter() next, and is outside until then.
  bool enter_quickly() noexcept {
    Words& words = *words_;
    if (words.owner.load(std::memory_order_relaxed) != self()) [[unlikely]]
      return false;
    words.inside.store(1, std::memory_order_relaxed);
    // Pairs with the membarrier in enter_as_other: either we see its revocation or it sees us inside.
    std::atomic_signal_fence(std::memory_order_seq_cst);
    return words.revoked.load(std::memory_order_acquire) == 0;
  }
  // By whoever has entered quickly, at the same level of calls.
  void leave_quickly() noexcept {
    words_->inside.store(0, std::memory_order_release);  // pairs with the wait in keep_owner_out
  }

  void leave() noexcept {
    if (!words_->by_mutex) [[likely]] {
      leave_quickly();
      return;
    }
    leave_slowly();
  }

  // For the threads of the interface itself, which come rarely and never become the owner.
  bool enter_as_other() noexcept;
  bool try_enter_as_other() noexcept;

  // From here on this thread always comes as such a one, through whatever it calls.
  static void come_as_other() noexcept;

  bool forked() const noexcept { return words_->alive == 0; }

 private:
  struct alignas(64) Words {
    std::atomic<const void*> owner;  // the biased thread's mark; null: nobody. Written with the mutex held
    std::atomic<std::uint32_t>
        inside;  // the owner is inside without the mutex: enter, leave to keep_owner_out
    std::atomic<std::uint32_t> revoked;  // somebody else has, or wants, the lock: those by mutex to the owner
    bool by_mutex;                       // whoever is inside holds the mutex; written inside only
    bool by_other;
    std::uint32_t strangers;  // application threads other than the owner that came
    std::uint32_t alive;      // 1; 0 in a forked child
  };

  static const void* self() noexcept {
    // In the executable's own block: a look-up by call would cost more than the lock.
    static thread_local char mark __attribute__((tls_model("initial-exec")));
    return &mark;
  }
  bool enter_slowly() noexcept;
  bool enter_by_mutex(bool other) noexcept;
  void keep_owner_out() noexcept;
  void leave_slowly() noexcept;

  Words* words_;
  std::mutex mutex_;
};

// Holds the run lock; false in a forked child.
class RunLockGuard {
 public:
  explicit RunLockGuard(RunLock& lock) noexcept : lock_(lock), held_(lock.enter()) {}
  ~RunLockGuard() {
    if (held_) lock_.leave();
  }
  RunLockGuard(const RunLockGuard&) = delete;
  RunLockGuard& operator=(const RunLockGuard&) = delete;
  explicit operator bool() const noexcept { return held_; }

 private:
  RunLock& lock_;
  bool held_;
};

}  // namespace hamlyn::base
