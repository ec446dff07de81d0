#pragma once
// The engine of a hamlyn::Interface: the interface's state machine, its run lock, and the two threads that
// serve it. The interface thread runs the machine when nobody polls. The control thread keeps the links and
// talks to the node (design, section 7).
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>

#include "base/function_ref.h"
#include "base/marked_descriptor.h"
#include "base/namespaces.h"
#include "base/pending_calls.h"
#include "base/run_lock.h"
#include "fabric/shm/sealed_memory.h"
#include "fabric/shm/short_way.h"
#include "hamlyn/core/interface.h"
#include "interface/core.h"
#include "interface/remote/requests.h"
#include "library/control/name_claims.h"
#include "library/far/far_sleepers.h"
#include "library/setting.h"
#include "library/wait/futex.h"
#include "library/wait/leave_pace.h"
#include "library/wait/spin_time.h"
#include "library/wait/waiting.h"

namespace hamlyn::internal_::library {

class Control;
class FarFabric;
class FarThread;
class InterfaceThread;
class HostServices;

// Which sleeper would notice an arrival now, apart from threads that poll. Changed under the run lock.
enum class SleeperRole : std::uint8_t { nobody, interface_thread, application };

// An answer may need a wake-up at the other side before it is on its way: worth as much again, and a half, as
// long as such answers do come in that time.
inline constexpr std::chrono::microseconds kMostReplySpin{30};
// A long one is worth waiting for while parts of it land; but no longer than this, for others have a time
// limit.
inline constexpr std::chrono::microseconds kMostLandingSpin{500};

class Engine final : public interface::Surroundings {
 public:
  explicit Engine(const Interface::Options& options);
  ~Engine() override;

  base::RunLock& lock() noexcept { return lock_; }
  // Under the lock.
  interface::Core& core() noexcept {
    lock_.assert_held();
    return core_;
  }
  // Counts of this interface, which anybody may read without the lock.
  interface::CounterPage& counters() noexcept {
    return counters_;
  }
  // The control thread, or whoever does its work.
  HostServices& control() noexcept { return *control_; }
  // Whether this process has a daemon, as it was told last. Under the lock.
  bool attached() const noexcept {
    lock_.assert_held();
    return attached_;
  }
  void set_attached(bool attached) noexcept;
  NameClaims& name_claims() noexcept { return name_claims_; }
  std::uint64_t id() const noexcept;
  // Whether the link with that interface is one between hosts.
  bool is_far(std::uint64_t peer) noexcept;
  // ok: what was put on the link with that interface has left this process (Link::departed); queue_full: not
  // yet. A run brings what the wire has let go of, of which the link's descriptor tells.
  Status departed(std::uint64_t peer) noexcept;

  // Runs the interface for a thread that polls. Under the lock.
  bool run_polled() noexcept {
    lock_.assert_held();
    activity_.store(activity_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    if (role_.load(std::memory_order_relaxed) != SleeperRole::nobody) [[unlikely]]
      wake_up();
    const bool moved = core_.run();
    if (moved && somebody_waits()) [[unlikely]]
      something_changed();
    return moved;
  }
  // Runs the interface beside a thread that sleeps and goes on noticing arrivals; that thread hears of what
  // it may wait for. Under the lock.
  bool run_beside() noexcept {
    lock_.assert_held();
    const bool moved = core_.run();
    if (moved) {
      wake_up();
      count_change();
    }
    return moved;
  }
  // A message waits for room or for a link. Whoever sleeps does not know: it must arm its watch for room,
  // too. Under the lock.
  void departure_waits() noexcept override {
    lock_.assert_held();
    if (role_.load(std::memory_order_relaxed) != SleeperRole::nobody) wake_up();
  }
  // Sees to replies that peers are to hear because something was taken or done here without a run.
  void replies_may_wait() noexcept {
    if (core_.replies_wait()) [[unlikely]]
      departure_waits();
  }
  // Runs the interface for a thread that looks at memory where something is to land, and at no queue: mostly
  // it is only what the link brings that brought something last. Under the lock.
  bool run_for_memory() noexcept;
  // The short ways of packets, and what a poll finds there. Under the lock.
  shm::ShortWay& short_way() noexcept {
    lock_.assert_held();
    return short_way_;
  }
  __attribute__((always_inline)) shm::ShortWay::Look look_cached(interface::Queue& queue,
                                                                 std::span<Notification> out,
                                                                 bool found) noexcept {
    const shm::ShortWay::Look look = short_way_.look(queue, out, found);
    if (look.looked)
      activity_.store(activity_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    if (look.moved && somebody_waits()) [[unlikely]]
      something_changed();
    return look;
  }
  // An entry fails if it is not complete by then; nothing: it has no such time any more. Under the lock.
  Status fail_entry_at(std::uint32_t slot, std::uint32_t entry, Deadline time) noexcept;

  // The waits of this interface, as a layer above sees them.
  Waiting& waiting() noexcept { return waits_; }
  const Locked& locked() const noexcept {
    lock_.assert_held();
    static const Locked kProof;
    return kProof;
  }
  std::uint32_t cancels() const noexcept { return cancels_.load(std::memory_order_relaxed); }

  // Runs the interface and waits until `ready()`, which is called under the lock, says something else than
  // pending. Also timed_out, cancelled, forked. The first look stands where it is called, the rest in
  // wait_on.
  template <class Ready>
  Status wait(Ready ready, Deadline deadline) noexcept;
  // Waits in a call on an object that may go. `call` begins when there is something to wait for.
  template <class Ready>
  Status wait(PendingCall& call, Ready ready, Deadline deadline) noexcept {
    const auto look = [&] {
      if (call.closing()) [[unlikely]]
        return Status::cancelled;
      const Status status = ready();
      if (status == Status::pending) call.begin();
      return status;
    };
    return wait(look, deadline);
  }
  // Goes on until there have been more cancels than so many.
  enum class ReadyUnder : std::uint8_t { run_lock, own_lock };
  Status wait_on(base::FunctionRef<Status()> ready, Deadline deadline, std::uint32_t cancels,
                 ReadyUnder under) noexcept;
  // Waits until `ready`, called under no lock, says true: it may poll, receive and send, and looks again
  // whenever something has changed. With a time that is over the descriptor is armed before the last look.
  Status wait_any(base::FunctionRef<bool()> ready, Deadline deadline);
  // A descriptor that is readable when something has changed since `wait_any` answered timed_out. Throws
  // Error.
  int change_descriptor();
  // Whether a thread waits, or the descriptor of changes is armed. Also outside of the lock: a thread that
  // begins to wait looks again after it has counted itself.
  bool somebody_waits() const noexcept { return waiting_.load(std::memory_order_relaxed) != 0; }
  // Ends all calls that wait on an object which is about to go, and waits until they have left it. False: in
  // a forked child, where nothing is to be freed.
  bool close_and_drain(base::PendingCalls& calls) noexcept {
    return calls.close_and_drain<base::RunLockGuard>(lock_, [this] { wake_everybody(); });
  }
  void cancel() noexcept;
  // Has all waiting threads look again: something that a wait's `ready` looks at may have changed without an
  // arrival.
  void look_again() noexcept {
    const base::RunLockGuard guard(lock_);
    if (guard) wake_everybody();
  }

  // Looks for the answer of a remote operation, first where it will stand, for as long as answers have lately
  // been worth to be spun for. Then it may still be pending; otherwise it is held no more, and `call` has
  // ended.
  Outcome spin_for_reply(interface::Requests& requests, RemoteHandle handle, PendingCall& call) noexcept;
  // Counts a wait that spun in vain: the answer came later.
  void reply_was_slow() noexcept {
    const auto half = reply_spin_.load(std::memory_order_relaxed) / 2;
    reply_spin_.store(std::max(half, std::chrono::nanoseconds{kSpin}), std::memory_order_relaxed);
  }

  // A descriptor that is readable when the queue may hold something.
  int descriptor(interface::Queue& queue);
  // A queue with a descriptor was found empty: whoever waits on it wants to hear of the next notification.
  // Under the lock.
  void arm_descriptor(interface::Queue& queue) noexcept;

  // Everybody sleeps, nothing is pending with any peer, and no thread looks at anything by the clock.
  bool rests() const noexcept { return control_rests_.load(std::memory_order_relaxed); }

  // interface::Surroundings
  std::uint64_t random_key() override;
  void want_link(std::uint64_t peer) noexcept override;
  void attention() noexcept override;
  void signal(interface::Queue& queue) noexcept override;
  void must_sync(interface::Store& store) noexcept override;
  // Wakes those who sleep beside the one who notices arrivals, and that one: any of them may wait for it.
  void settled() noexcept override { wake_everybody(); }
  // Signals the descriptors, of queues and of changes, that the control thread has left to the interface
  // thread.
  void signal_what_is_due() noexcept;

  using PendingWork = Waiting::PendingWork;
  void set_pending_work(PendingWork* work) noexcept;  // null: it goes; waits until it is not being called
  void want_help() noexcept;
  // Wakes the interface thread if it would look later than that.
  void want_help_at(Clock::time_point time) noexcept;

 private:
  static constexpr Clock::rep kNoHelp = Clock::time_point::max().time_since_epoch().count();

  friend class FarThread;
  friend class InterfaceThread;
  friend class Control;
  friend class Waiting;

  // From the control thread: signals wait for the process, and nobody is left to take them but the interface
  // thread.
  void let_signals_in() noexcept;

  // Links to other hosts. From the control thread: the way there is to be opened.
  void want_far(const std::string& address, const std::string& engine);
  // By the interface thread.
  void start_far();
  // Something has come from another host while those who sleep sleep on words.
  void far_came() noexcept;
  // Wakes those who sleep on a word of ours, wherever they do.
  void wake(std::atomic<std::uint32_t>& word) noexcept;
  void close_far() noexcept;

  // Falls asleep as the one who notices arrivals; wakes for one of them, for `word` moving, or at the
  // deadline. Called under the lock, which it leaves and enters again. The caller has found nothing to do.
  // False: somebody has relieved it of its role.
  bool sleep_armed(SleeperRole role, const std::atomic<std::uint32_t>& word, std::uint32_t value,
                   Deadline deadline) noexcept;
  void arm_links(Watched& watched, std::uint32_t epoch) noexcept;
  void disarm_links() noexcept;
  void wake_up() noexcept;
  // A thread that polls goes to sleep on a descriptor: from now on the interface thread notices arrivals,
  // which would tick first. Under the lock, after the last look.
  void leave_watch() noexcept;
  void wake_waiting() noexcept;
  bool have_room_told() noexcept;
  bool look_outside(base::FunctionRef<Status()> ready, Status& status) noexcept;
  // The links have changed under those who sleep. Under the lock.
  void wake_everybody() noexcept {
    lock_.assert_held();
    if (role_.load(std::memory_order_relaxed) != SleeperRole::nobody) wake_up();
    if (somebody_waits()) something_changed();
  }
  // Counts a change, of which the armed descriptor tells; `something_changed` has all who wait look for it,
  // too. Under the lock.
  void count_change() noexcept {
    lock_.assert_held();
    ++changes_;
    if (change_wanted_) [[unlikely]]
      signal_change();
  }
  void something_changed() noexcept {
    count_change();
    wake_waiting();
  }
  // Threads that wait, or stop; the armed descriptor is one. Under the lock.
  void count_waiting(int change) noexcept {
    lock_.assert_held();
    HAMLYN_ASSERT(change > 0 || somebody_waits(), "only who was counted is counted off");
    waiting_.store(waiting_.load(std::memory_order_relaxed) + static_cast<std::uint32_t>(change),
                   std::memory_order_relaxed);
  }
  class WaitsForChanges;
  void arm_change_descriptor() noexcept;
  void leave_signals() noexcept;  // to the interface thread
  void signal_change() noexcept;
  // Fails the entries whose time has come. True if there were any. Under the lock.
  bool expire() noexcept;
  bool deadline_passed() const noexcept {
    return Clock::now().time_since_epoch().count() >= next_deadline_.load(std::memory_order_relaxed);
  }
  void note_next_deadline() noexcept;
  // The earlier of `deadline` and that of any entry. Under the lock.
  Deadline or_entrys(Deadline deadline) const noexcept;
  void judge_wakeup(const Watched& watched) noexcept;
  // Which of all sleeps of those who notice arrivals this is; 0: nobody sleeps. Under the lock.
  std::uint32_t sleep_of_now() const noexcept {
    lock_.assert_held();
    return role_.load(std::memory_order_relaxed) != SleeperRole::nobody ? epoch_ : 0;
  }
  // By the interface thread, which is woken after every sleep: the control thread is to look again.
  void end_rest() noexcept;
  // By the interface thread. Before a sleep without an end the thread counts as one that waits from before
  // the try on, until it has slept: whatever changes meanwhile wakes it (test/model/waiting.pml).
  enum class Help : std::uint8_t { for_now, before_sleep };
  void help(Help how) noexcept;
  void wait_to_help() noexcept;
  void stop_waiting_to_help() noexcept;
  bool bring_help_forward(Clock::time_point time) noexcept;  // false: it comes no later anyway
  Deadline or_help(Deadline deadline) const noexcept;
  // Sleeps for a thread that waits; not `deep`: for a short time, while which the interface thread ticks, in
  // case the application leaves without a word. True: it has slept so long and nothing came. In any case the
  // caller looks again before the next sleep: what it waits for may have been taken by others meanwhile.
  bool sleep_in_wait(Deadline deadline, std::uint32_t value, bool deep) noexcept;

  base::RunLock lock_;
  Waiting waits_{*this, lock_};
  shm::OwnedMemory counter_memory_;
  interface::CounterPage& counters_;
  interface::Core core_;
  shm::ShortWay short_way_{core_};
  std::atomic<std::chrono::nanoseconds> reply_spin_{kMostReplySpin};  // also outside of the lock

  // Relaxed: what they say is acted upon under the lock, or looked at again at the next tick, and the words
  // below are moved by read-modify-writes after they have changed (test/model/roles.pml).
  std::atomic<std::uint64_t> activity_{0};  // runs by threads that poll; the interface thread looks at it
  // The run after which a thread has left its watch; before thread_word_ moves.
  std::atomic<std::uint64_t> left_after_{~0ull};
  LeavePace leave_pace_;                                // under the lock
  std::atomic<SleeperRole> role_{SleeperRole::nobody};  // written under the lock
  std::atomic<bool> deep_{false};  // the application sleeps for long: the interface thread need not tick
  std::uint32_t epoch_ = 0;
  // Threads that sleep without being the sleeper, look a last time before, or wait for any change; and the
  // armed descriptor of changes. Written under the lock; relaxed, for a thread that waits looks after it.
  std::atomic<std::uint32_t> waiting_{0};
  SpinTime spin_time_;
  std::uint64_t changes_ = 0;              // while somebody waits. Under the lock
  std::atomic<bool> helper_waits_{false};  // the interface thread is among them. Written under the lock
  // Futexes: fetch_add after what is to be seen has changed; read by wait and InterfaceThread::main before
  // they look, and compared by the kernel when they sleep.
  std::atomic<std::uint32_t> application_word_{0};  // moves when sleeping application threads should look
  std::atomic<std::uint32_t> thread_word_{0};       // moves when the interface thread should look
  std::atomic<std::uint32_t> cancels_{0};           // cancel to wait, before application_word_ moves
  std::atomic<Clock::rep> next_deadline_{Clock::time_point::max().time_since_epoch().count()};  // of entries
  // Each is set before thread_word_ moves, and looked at by the interface thread after it has read that.
  std::atomic<bool> stop_{false};
  std::atomic<bool> signals_due_{false};
  std::atomic<bool> help_wanted_{false};
  std::atomic<bool> signals_wait_{false};
  std::atomic<Clock::rep> help_at_{kNoHelp};
  // Set by the control thread under the lock, while somebody sleeps; cleared by it, or by the interface
  // thread, which looks at it after it has read thread_word_: that moves when the sleep is over.
  std::atomic<bool> control_rests_{false};
  base::MarkedDescriptor change_descriptor_;  // under the lock, as the next
  bool change_wanted_ = false;                // it is armed: the next change is to be told by it
  NameClaims name_claims_;
  std::mutex pending_work_mutex_;
  std::atomic<PendingWork*> pending_work_{nullptr};  // written under the mutex
  bool attached_ = true;
  bool links_demoted_ = false;  // some links ring without cause and are looked at by the clock

  std::string far_address_, far_wanted_engine_;  // written before far_wanted_
  const std::chrono::milliseconds far_dead_;
  std::atomic<bool> far_wanted_{false};  // want_far to start_far, which sees far_address_ then
  std::atomic<bool> far_failed_{
      false};                       // start_far to Control::look_at_far: there is not even a thread for it
  std::unique_ptr<FarFabric> far_;  // under the lock
  std::unique_ptr<FarThread> far_thread_;  // the interface thread makes it, under the lock
  bool words_only_ = false;  // there was a link that rings: nobody sleeps on descriptors any more
  FarSleepers sleepers_;

  std::unique_ptr<HostServices> control_;
  std::unique_ptr<InterfaceThread> thread_;
};

template <class Ready>
Status Engine::wait(Ready ready, Deadline deadline) noexcept {
  const std::uint32_t before = cancels();
  if (!lock_.enter()) return Status::forked;
  if (role_.load(std::memory_order_relaxed) == SleeperRole::application && far_ == nullptr) {
    run_beside();  // wait_on says why
  } else {
    run_polled();
  }
  const Status status = ready();
  lock_.leave();
  if (status != Status::pending) return status;
  return wait_on(ready, deadline, before, ReadyUnder::run_lock);
}

}  // namespace hamlyn::internal_::library
