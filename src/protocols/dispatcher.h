#pragma once
// The dispatcher of a hamlyn::Manager: the walk from a notification to its receiver (paper 0, section 3.3),
// and the lock under which the state of every protocol object is read and written.
//
// The lock is of the kind that the interface has: plain stores for the thread that came first. It is taken
// before the interface's own, never inside it. A thread that is inside `process_arrival` holds it already.
#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "base/namespaces.h"
#include "base/pending_calls.h"
#include "base/run_lock.h"
#include "hamlyn/protocols/manager.h"
#include "hamlyn/protocols/receiver.h"
#include "library/no_link.h"
#include "library/slot_number.h"
#include "library/wait/waiting.h"

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
  // The interface thread looks at its batches. When too much is under way it waits for room for the batch
  // that there is, and the next one is to be told of.
  bool lingers() const noexcept { return lingers_ && !crowded_; }

 private:
  friend class Dispatcher;
  bool listed_ = false;
  bool before_wait_ = false;
  bool lingers_ = false;
  bool crowded_ = false;    // its time is over, and too much is under way
  std::uint64_t seen_ = 0;  // batches, at the last look
  library::Clock::time_point look_;
  std::chrono::nanoseconds pause_{};  // before it
  std::chrono::nanoseconds longest_{};
};

class Dispatcher final : private library::Waiting::PendingWork {
 public:
  explicit Dispatcher(const Manager::Options& options);
  ~Dispatcher();

  Interface interface;
  library::Waiting& waiting;
  NotificationQueue queue;
  Terminus terminus;
  base::PendingCalls calls;  // calls that wait for whatever happens

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

  // A call that waits on an object of the manager's.
  class PendingCall final : public base::PendingCall<Guard, Dispatcher> {
   public:
    PendingCall(Dispatcher& of, base::PendingCalls& calls) noexcept
        : base::PendingCall<Guard, Dispatcher>(of, calls), waiting_(of.waiting) {}
    // Under the lock. A cancel ends the call from here on.
    void begin() noexcept {
      if (begun()) return;
      cancels_ = waiting_.cancels();
      base::PendingCall<Guard, Dispatcher>::begin();
    }
    std::uint32_t cancels() const noexcept { return cancels_; }

   private:
    using base::PendingCall<Guard, Dispatcher>::enter;
    const library::Waiting& waiting_;
    std::uint32_t cancels_ = 0;
  };
  static base::PendingCalls& calls_of(Receiver& receiver) noexcept { return *receiver.calls_; }

  // Asserts that the calling thread holds the lock.
  void assert_held() const noexcept { lock_.assert_held(); }

  // Under the lock from here on, but for what waits.

  // Gives `receiver` all that comes at the slot of that number, whose tickets nobody has yet. Throws Error.
  void add(std::uint32_t number, Receiver& receiver);
  void remove(std::uint32_t number) noexcept;
  void retire(Receiver& receiver) noexcept;  // not under the lock

  // Gives the next notification to its receiver. False: there was none.
  bool poll() noexcept;
  // Gives everything that has come so far.
  void give_all() noexcept;
  // How many were given so far, and dues settled.
  std::uint64_t happened() const noexcept { return happened_; }
  // Leaves `due` to the next thread that runs the manager, which settles it. Room for `due` was kept by
  // `expect_due`.
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

  // Settles those before a wait for anything of the manager's that does not run it. Takes the lock.
  void settle_before_other_wait() noexcept { static_cast<void>(before_wait()); }
  // Settles those before a wait.
  void settle_before_wait() noexcept {
    if (!before_wait_.empty()) settle_all_before_wait();
  }

  // Has the interface thread settle `due` when the bound is over and its batch is still the same. While
  // batches leave by themselves the looks are fewer, down to one in kFewerLooks bounds.
  static constexpr int kFewerLooks = 8;
  void linger(Due& due, std::chrono::nanoseconds bound) noexcept;
  // Shows `see` what has come at that slot and was not given yet, which stays where it is.
  template <class See>
  void overhear(std::uint32_t slot, See see) noexcept {
    const library::Lock lock(waiting);
    if (!lock) return;
    queue.look(lock.held(), [&](const Notification& standing) {
      if (standing.slot == slot) see(standing);
    });
  }

  // Shows `see` the same for an object that is about to go, under the manager's lock alone: it may send.
  template <class See>
  void hear_last(std::uint32_t slot, See see) noexcept {
    std::array<Notification, kMostAtOnce> standing;
    std::size_t count = 0;
    overhear(slot, [&](const Notification& each) {
      if (count != standing.size()) standing[count++] = each;
    });
    for (std::size_t i = 0; i != count; ++i) see(standing[i]);
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
  bool linked(std::uint64_t peer) noexcept { return library::linked(interface, peer); }

  // Says `word` at `ticket`, now or when there is room, on behalf of an object that is about to go.
  void farewell(const Ticket& ticket, std::uint64_t word) noexcept;

  // Takes over an object that its owner has given up while an answer to it may be on its way. The interface
  // thread goes on with it until its `settle` says that none is. A thread of the program's destroys it then,
  // when it waits next. Of too many the first goes at once.
  void keep_until_settled(std::unique_ptr<Due> leaving) noexcept;
  // Counts the objects that are kept so, settled ones among them.
  std::size_t leaving() const noexcept { return leaving_.size(); }

  // Runs the manager until `ready()`, called under the lock, says something else than pending: whatever it
  // looks at, arrivals, places, room in a link, or what another thread does. Also timed_out, cancelled,
  // forked; invalid inside process_arrival. `call` counts as one that waits, unless it does already.
  Status wait(PendingCall& call, base::FunctionRef<Status()> ready, library::Deadline deadline) noexcept;
  Status wait(Receiver& on, base::FunctionRef<Status()> ready, library::Deadline deadline) noexcept {
    PendingCall call(*this, *on.calls_);
    return wait(call, ready, deadline);
  }
  // Waits as `wait` does, but looks first at what is there already: without the clock if that will do, or if
  // there is no time to wait.
  template <class Ready>
  Status receive(base::PendingCalls& on, Ready ready, std::chrono::nanoseconds timeout) noexcept;
  template <class Ready>
  Status receive(Receiver& on, Ready ready, std::chrono::nanoseconds timeout) noexcept {
    return receive(*on.calls_, ready, timeout);
  }
  // Has all other threads that wait look again. Whoever changes, under the lock, what a `ready` looks at
  // calls it.
  void look_again() noexcept {
    if (waiters_ != 0 || waiting.somebody_waits()) waiting.changed();
  }
  // Ends all calls that wait on an object which is about to go, and waits until they have left it. Not under
  // the lock, if there may be any. False: in a forked child, where nothing is to be freed.
  bool close_and_drain(base::PendingCalls& of) noexcept {
    return of.close_and_drain<Guard>(*this, [this] { look_again(); });
  }
  void cancel() noexcept;
  // Counts the threads of the program's in `wait`.
  std::uint32_t waiters() const noexcept { return waiters_ - (helper_waits_ ? 1 : 0); }

  // Notifications that are given while the lock is held once.
  static constexpr int kMostAtOnce = 64;

 private:
  static const void* self() noexcept {
    static thread_local char mark __attribute__((tls_model("initial-exec")));
    return &mark;
  }
  Left try_again() noexcept override;
  Status before_wait() noexcept override;
  Left look_at_those_who_linger() noexcept;
  bool over(Due& due, library::Clock::time_point now) noexcept;
  // Something is due: whoever waits looks again, and if nobody does, the interface thread helps.
  void call_for_help() noexcept {
    look_again();
    waiting.want_help();
  }
  void give(const Notification& notification) noexcept;
  bool give_standing() noexcept;
  Status look(const PendingCall& call, base::FunctionRef<Status()> ready) noexcept;
  void settle_dues() noexcept;
  void drop_settled() noexcept;
  void settle_all_before_wait() noexcept;
  bool settle_farewells() noexcept;

  struct Farewell {
    Ticket ticket;
    std::uint64_t word;
  };

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
  std::vector<std::unique_ptr<Due>> leaving_;
  // Threads in `wait`, but for the one that looks just now; and the interface thread, if it left something.
  std::uint32_t waiters_ = 0;
  std::chrono::nanoseconds comes_back_{};  // of the interface thread, which found the manager in use
  bool helper_waits_ = false;              // the interface thread is among them
};

template <class Ready>
Status Dispatcher::receive(base::PendingCalls& on, Ready ready, std::chrono::nanoseconds timeout) noexcept {
  PendingCall call(*this, on);
  {
    const Guard guard(*this);
    if (!guard) return Status::forked;
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
    if (call.closing()) return Status::cancelled;
    if (guard.nested()) return one_look ? Status::timed_out : Status::invalid;
    settle_before_wait();
    if (one_look) return Status::timed_out;
    call.begin();  // before anybody can retire it or cancel
  }
  return wait(call, ready, library::deadline_in(timeout));
}

}  // namespace hamlyn::internal_::protocols
