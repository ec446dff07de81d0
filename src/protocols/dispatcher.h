#pragma once
// What stands behind a hamlyn::Manager: the walk from a notification to its receiver (paper 0, section 3.3),
// and the lock under which the state of every protocol object is read and written.
//
// The lock is of the kind that the interface has: plain stores for the thread that came first. It is taken
// before the interface's own, never inside it. A thread that is inside `process_arrival` holds it already.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/namespaces.h"
#include "base/run_lock.h"
#include "base/stays.h"
#include "hamlyn/protocols/manager.h"
#include "hamlyn/protocols/receiver.h"
#include "library/engine.h"

namespace hamlyn::internal_::protocols {

[[noreturn]] void throw_forked();

inline std::chrono::nanoseconds left_until(library::Deadline deadline) noexcept {
  if (!deadline) return std::chrono::nanoseconds::max();
  return std::max<std::chrono::nanoseconds>(*deadline - library::Clock::now(), {});
}

// Something small that is to leave and found no room yet. Whoever runs the manager tries again.
class Due {
 public:
  virtual ~Due() = default;
  // True: nothing is due any more. Under the lock.
  virtual bool settle() noexcept = 0;
  // Lets go what waits for company. False: too much is under way for that.
  virtual bool leave_early() noexcept { return settle(); }
  // Counts the batches that were begun, of what waits for company.
  virtual std::uint64_t batches() const noexcept { return 0; }
  // The interface thread looks at its batches.
  bool lingers() const noexcept { return lingers_; }

 private:
  friend class Dispatcher;
  bool listed_ = false;
  bool before_wait_ = false;
  bool lingers_ = false;
  std::uint64_t seen_ = 0;  // batches, at the last look
  library::Clock::time_point look_;
  std::chrono::nanoseconds pause_{};  // before it
  std::chrono::nanoseconds longest_{};
};

class Dispatcher final : private library::Engine::Helped {
 public:
  explicit Dispatcher(const Manager::Options& options);
  ~Dispatcher();

  Interface interface;
  NotificationQueue queue;
  Terminus terminus;
  base::Stays stays;  // calls that wait for whatever happens

  // Holds the lock, also of a thread that holds it already; false in a forked child.
  class Guard {
   public:
    explicit Guard(Dispatcher& of) noexcept
        : of_(of),
          again_(of.holder_.load(std::memory_order_relaxed) == self() && !of.lock_.forked()),
          held_(again_ || of.lock_.enter()) {
      if (!again_ && held_) of_.holder_.store(self(), std::memory_order_relaxed);
    }
    ~Guard() {
      if (again_ || !held_) return;
      of_.holder_.store(nullptr, std::memory_order_relaxed);
      of_.lock_.leave();
    }
    Guard(const Guard&) = delete;
    Guard& operator=(const Guard&) = delete;
    explicit operator bool() const noexcept { return held_; }
    bool nested() const noexcept { return of_.giving_; }  // inside process_arrival

   private:
    Dispatcher& of_;
    const bool again_;
    const bool held_;
  };

  using CallStay = base::Stay<Guard, Dispatcher>;  // a call that waits on an object
  static base::Stays& stays_of(Receiver& receiver) noexcept { return *receiver.stays_; }

  // Under the lock from here on, but for what waits.

  // What comes at the slot of that number, whose tickets nobody has yet, is `receiver`'s. Throws Error.
  void add(std::uint32_t number, Receiver& receiver);
  void remove(std::uint32_t number) noexcept;
  void retire(Receiver& receiver) noexcept;  // not under the lock

  // Gives the next notification to its receiver. False: there was none.
  bool poll() noexcept;
  // Gives everything that has come so far.
  void give_all() noexcept;
  // How many were given so far, and dues settled.
  std::uint64_t happened() const noexcept { return happened_; }
  // Whoever runs the manager settles it. Room for `due` was kept by `expect_due`.
  void add(Due& due) noexcept;
  void expect_due();
  void remove(Due& due) noexcept;
  // Settled once before somebody waits, and at no other time. At most one of each object that expects dues.
  void add_before_wait(Due& due) noexcept {
    if (due.before_wait_) [[likely]]
      return;
    due.before_wait_ = true;
    before_wait_.push_back(&due);
  }

  // Has the interface thread settle `due` when the bound is over and its batch is still the same. While
  // batches leave by themselves the looks are fewer, down to one in kFewerLooks bounds.
  static constexpr int kFewerLooks = 8;
  void linger(Due& due, std::chrono::nanoseconds bound) noexcept;
  // Shows `see` what has come at that slot and was not given yet, which stays where it is.
  template <class See>
  void overhear(std::uint32_t slot, See see) noexcept {
    const base::RunLockGuard guard(engine_.lock());
    if (!guard) return;
    queue.inside().see_standing([&](const Notification& standing) {
      if (standing.slot == slot) see(standing);
    });
  }

  // Gives everything that has come if some of it came at that slot. An arrival that is only overheard keeps
  // its place in the queue, and its sender has but a few.
  void hear(std::uint32_t slot) noexcept {
    bool some = false;
    if (!giving_) overhear(slot, [&](const Notification&) { some = true; });
    if (some) [[unlikely]]
      give_all();
  }

  // Whether there is a link with that interface. Without one, what is to be said there need not be: whoever
  // would hear of it hears of the link's end, or has gone.
  bool linked(std::uint64_t peer) noexcept;

  // Says `word` at `ticket`, now or when there is room, on behalf of an object that is about to go.
  void farewell(const Ticket& ticket, std::uint64_t word) noexcept;

  // Runs the manager until `ready()`, called under the lock, says something else than pending. Also
  // timed_out, cancelled, forked; invalid inside process_arrival. `call` counts as one that waits, unless it
  // does already. `begun`: it was begun for this wait, since when there had been so many cancels.
  template <class Ready>
  Status wait(CallStay& call, Ready ready, library::Deadline deadline,
              std::optional<std::uint32_t> begun = {}) noexcept;
  template <class Ready>
  Status wait(Receiver& on, Ready ready, library::Deadline deadline) noexcept {
    CallStay call(*this, *on.stays_);
    return wait(call, ready, deadline);
  }
  // The same, first with what is there already: without a look at the clock if that will do, or if there is
  // no time to wait.
  template <class Ready>
  Status receive(Receiver& on, Ready ready, std::chrono::nanoseconds timeout) noexcept;
  // Those who wait look again at what they wait for.
  void look_again() noexcept {
    if (waiters_ == 0) return;
    events_.fetch_add(1, std::memory_order_relaxed);
    engine_.look_again();
  }
  // Ends all calls that wait on an object which is about to go, and waits until they have left it. Not under
  // the lock, if there may be any. False: in a forked child, where nothing is to be freed.
  bool see_off(base::Stays& calls) noexcept {
    return calls.see_off<Guard>(*this, [this] { look_again(); });
  }
  void cancel() noexcept;
  std::uint32_t waiters() const noexcept { return waiters_; }

  // Notifications that are given while the lock is held once.
  static constexpr int kMostAtOnce = 64;

 private:
  static const void* self() noexcept {
    static thread_local char mark __attribute__((tls_model("initial-exec")));
    return &mark;
  }
  Left try_again() noexcept override;
  library::Deadline look_at_those_who_linger() noexcept;
  bool over(Due& due, library::Clock::time_point now) noexcept;
  // Something is due: whoever waits looks again, and if nobody does, the interface thread helps.
  void call_for_help() noexcept {
    look_again();
    engine_.want_help();
  }
  void give(const Notification& notification) noexcept;
  void settle_dues() noexcept;
  void settle_before_wait() noexcept;
  bool settle_farewells() noexcept;

  struct Farewell {
    Ticket ticket;
    std::uint64_t word;
  };

  library::Engine& engine_;
  base::RunLock lock_;
  std::atomic<const void*> holder_{
      nullptr};          // the thread that holds it, which alone finds its own mark there
  bool giving_ = false;  // it is inside process_arrival
  struct Attached {
    Receiver* receiver = nullptr;
    std::uint32_t number = 0;
  };
  std::vector<Attached> attached_;  // by slot's index
  std::uint64_t happened_ = 0;
  std::vector<Due*> dues_;
  std::vector<Due*> before_wait_;
  std::vector<Due*> lingering_;
  std::size_t expected_dues_ = 0;
  std::vector<Farewell> farewells_;
  std::uint32_t waiters_ = 0;             // threads that are in, or about to enter, the engine's wait
  std::atomic<std::uint32_t> events_{0};  // moves when those should look again; before the engine wakes them
  std::uint32_t cancels_ = 0;
};

template <class Ready>
Status Dispatcher::receive(Receiver& on, Ready ready, std::chrono::nanoseconds timeout) noexcept {
  CallStay call(*this, *on.stays_);
  std::uint32_t cancels;
  {
    const Guard guard(*this);
    if (!guard) return Status::forked;
    cancels = cancels_;
    Status status = ready();
    int left = guard.nested() ? 0 : kMostAtOnce;
    for (; status == Status::pending && left != 0 && poll(); --left) status = ready();
    const bool one_look = timeout <= std::chrono::nanoseconds{0};
    // One look goes through all that may stand in the queue: what is for this call may stand behind others'.
    if (status == Status::pending && one_look && left == 0 && !guard.nested()) {
      for (std::size_t more = queue.capacity(); status == Status::pending && more != 0 && poll(); --more)
        status = ready();
    }
    if (status != Status::pending) return status;
    if (call.going()) return Status::cancelled;
    if (guard.nested()) return one_look ? Status::timed_out : Status::invalid;
    if (!before_wait_.empty()) settle_before_wait();
    if (one_look) return Status::timed_out;
    call.begin();  // before anybody can retire it or cancel
  }
  return wait(call, ready, library::deadline_in(timeout), cancels);
}

template <class Ready>
Status Dispatcher::wait(CallStay& call, Ready ready, library::Deadline deadline,
                        std::optional<std::uint32_t> begun) noexcept {
  bool first = !begun, ends = begun.has_value();  // otherwise it ends with its caller's
  std::uint32_t cancels = begun.value_or(0);
  // While something is due, which no arrival tells the time for, a sleep is short; the next one longer.
  std::chrono::microseconds short_sleep{100};
  for (Status waited = Status::ok;;) {
    std::uint32_t seen;
    bool due;
    {
      const Guard guard(*this);
      if (!guard) return Status::forked;
      if (first) {
        cancels = cancels_;
        first = false;
        ends = !call.begun();
        call.begin();
      }
      Status status = call.going() ? Status::cancelled : ready();
      // Also behind a poll that gave nothing: it may have settled what was due. After so many, others have
      // their turn, and the deadline is looked at: a peer may send what is nobody's without end.
      bool more = !guard.nested();
      for (int left = kMostAtOnce; status == Status::pending && more && left != 0; --left) {
        more = poll();
        status = ready();
      }
      if (status == Status::pending && guard.nested()) status = Status::invalid;
      if (status == Status::pending && cancels_ != cancels) status = Status::cancelled;
      if (status == Status::pending && waited != Status::ok) status = waited;
      if (status != Status::pending) {
        if (ends) call.end();
        return status;
      }
      if (more) {
        waited = deadline && library::Clock::now() >= *deadline ? Status::timed_out : Status::ok;
        continue;
      }
      settle_before_wait();
      due = !dues_.empty() || !farewells_.empty();
      seen = events_.load(std::memory_order_relaxed);
      ++waiters_;
    }
    const auto look = [&] {
      return !queue.inside().empty() || events_.load(std::memory_order_relaxed) != seen ? Status::ok
                                                                                        : Status::pending;
    };
    library::Deadline until = deadline;
    if (due) {
      const library::Deadline soon = library::deadline_in(short_sleep);
      if (!deadline || *soon < *deadline) until = soon;
      short_sleep = std::min(2 * short_sleep, std::chrono::microseconds{20000});
    }
    waited = engine_.wait(look, until);
    if (waited == Status::timed_out && until != deadline) waited = Status::ok;
    const Guard guard(*this);
    if (!guard) return Status::forked;
    --waiters_;
  }
}

}  // namespace hamlyn::internal_::protocols
