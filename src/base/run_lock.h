#pragma once
// The run lock: whoever polls runs the interface, under this lock (design, section 7). It is biased: the
// thread that came first, usually the only one, takes it with a plain store and a load of private memory, no
// locked instruction. Any other thread that wants it asks the first to step aside and makes sure with a
// membarrier, private to this process, that both see each other. Taking and
// leaving it costs 2 to 4 cycles of the time-stamp counter; an exchange and a store cost 6 to 7 on the same
// AMD EPYC.
//
// The words stand in a page that fork wipes, so that a forked child fails at its first call (owner is gone).
//
// A template over a policy of memory and threads, so that tests can put an explorer in the place of both.
#include <atomic>
#include <cstdint>
#include <mutex>

#include "base/assert.h"
#include "base/memory.h"
#include "base/namespaces.h"

namespace hamlyn::internal_::base {

struct RealThreads : RealMemory {
  using Mutex = std::mutex;

  static const void* self() noexcept {
    // In the executable's own block: a look-up by call would cost more than the lock.
    static thread_local char mark __attribute__((tls_model("initial-exec")));
    return &mark;
  }
  // From here on this thread always comes as one of the interface's own, through whatever it calls.
  static void come_as_other() noexcept;
  static bool comes_as_other() noexcept;

  // Two fences that are each other's partner; the first is for the compiler alone.
  static void light_fence() noexcept { std::atomic_signal_fence(std::memory_order_seq_cst); }
  static void heavy_fence() noexcept;
  // Until the word is 0, as an acquire sees it.
  static void await_zero(const std::uint32_t& word) noexcept;

  // Words of whoever has the lock.
  template <class T>
  static T load_plain(const T& word) noexcept {
    return word;
  }
  template <class T>
  static void store_plain(T& word, T value) noexcept {
    word = value;
  }
};

struct alignas(64) RunLockWords {
  const void* owner;        // the biased thread's mark; null: nobody. Written with the mutex held
  std::uint32_t inside;     // the owner is inside without the mutex: enter, leave to keep_owner_out
  std::uint32_t revoked;    // somebody else has, or wants, the lock: those by mutex to the owner
  bool by_mutex;            // whoever is inside holds the mutex; written inside only
  std::uint32_t strangers;  // application threads other than the owner that came
  std::uint32_t alive;      // 1; 0 in a forked child
};

template <class Threads>
class BasicRunLock {
 public:
  explicit BasicRunLock(RunLockWords* words) noexcept : words_(words) {}
  BasicRunLock(const BasicRunLock&) = delete;
  BasicRunLock& operator=(const BasicRunLock&) = delete;

  // False in a forked child: the lock, and all that it guards, belong to the parent.
  bool enter() noexcept { return enter_quickly() || enter_slowly(); }

  // For the shortest ways: false unless this thread is the owner and nobody else wants the lock. Whoever is
  // told so calls enter() next, and is outside until then.
  bool enter_quickly() noexcept {
    RunLockWords& words = *words_;
    if (Threads::load_relaxed(words.owner) != Threads::self()) [[unlikely]]
      return false;
    Threads::store_relaxed(words.inside, std::uint32_t{1});
    // Pairs with the heavy fence in keep_owner_out: either we see its revocation or it sees us inside.
    Threads::light_fence();
    const bool held = Threads::load_acquire(words.revoked) == 0;  // pairs with the store in leave_slowly
    if (held) note_holder(Threads::self());
    return held;
  }
  // By whoever has entered quickly, at the same level of calls.
  void leave_quickly() noexcept {
    HAMLYN_ASSERT(words_->inside != 0, "who leaves is inside");
    note_holder(nullptr);
    Threads::store_release(words_->inside, std::uint32_t{0});  // pairs with the wait in keep_owner_out
  }

  void leave() noexcept {
    if (!Threads::load_plain(words_->by_mutex)) [[likely]] {
      leave_quickly();
      return;
    }
    leave_slowly();
  }

  // For the threads of the interface itself, which come rarely and never become the owner.
  bool enter_as_other() noexcept;
  bool try_enter_as_other() noexcept;

  bool forked() const noexcept { return words_->alive == 0; }

  // Asserts that the calling thread holds the lock. A release build asks nothing.
  void assert_held() const noexcept {
#ifdef HAMLYN_ASSERTIONS
    HAMLYN_ASSERT(holder_.load(std::memory_order_relaxed) == Threads::self(),
                  "the caller holds the run lock");
#endif
  }

 protected:
  ~BasicRunLock() = default;
  RunLockWords* words() const noexcept { return words_; }

 private:
  static constexpr std::uint32_t kStrangersBeforeFair = 16;  // then the bias costs more than it saves

  bool enter_slowly() noexcept;
  bool enter_by_mutex(bool other) noexcept;
  bool keep_owner_out(bool wait) noexcept;
  void leave_slowly() noexcept;

#ifdef HAMLYN_ASSERTIONS
  void note_holder(const void* holder) noexcept { holder_.store(holder, std::memory_order_relaxed); }
  std::atomic<const void*> holder_{nullptr};  // relaxed: a thread asks for its own mark alone
#else
  static void note_holder(const void*) noexcept {}
#endif

  RunLockWords* const words_;
  typename Threads::Mutex mutex_;
};

extern template class BasicRunLock<RealThreads>;

class RunLock final : public BasicRunLock<RealThreads> {
 public:
  RunLock();
  ~RunLock();
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

}  // namespace hamlyn::internal_::base
