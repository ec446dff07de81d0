#include "library/wait/waiting.h"

#include "base/longest_time.h"
#include "library/engine.h"

namespace hamlyn::internal_::library {

Deadline deadline_in(std::chrono::nanoseconds timeout) noexcept {
  if (timeout > base::kLongestTime) return std::nullopt;
  return Clock::now() + std::max(timeout, std::chrono::nanoseconds{0});
}

// As many of these as may be are more than there are nanoseconds.
Deadline deadline_in(std::chrono::milliseconds timeout) noexcept {
  if (timeout > base::kLongestTime) return std::nullopt;
  return deadline_in(std::chrono::nanoseconds{base::within_clock(timeout)});
}

Status Waiting::until(PendingCall& call, base::FunctionRef<Status(const Locked&)> ready,
                      Deadline deadline) noexcept {
  return engine_.wait(
      call, [&] { return ready(engine_.locked()); }, deadline);
}

Status Waiting::until(base::FunctionRef<Status()> ready, Deadline deadline, std::uint32_t cancels) noexcept {
  return engine_.wait_on(ready, deadline, cancels, Engine::ReadyUnder::own_lock);
}

std::uint32_t Waiting::cancels() const noexcept { return engine_.cancels(); }
void Waiting::changed() noexcept { engine_.look_again(); }
void Waiting::changed(const Locked&) noexcept { engine_.wake_everybody(); }
bool Waiting::linked(const Locked&, std::uint64_t peer) const noexcept {
  return engine_.core().find_link(peer) != nullptr;
}
bool Waiting::somebody_waits() const noexcept { return engine_.somebody_waits(); }
bool Waiting::close_and_drain(base::PendingCalls& calls) noexcept { return engine_.close_and_drain(calls); }
void Waiting::set_pending_work(PendingWork* work) noexcept { engine_.set_pending_work(work); }
void Waiting::want_help() noexcept { engine_.want_help(); }
void Waiting::want_help_at(Clock::time_point time) noexcept { engine_.want_help_at(time); }

// --- the wait itself

// Sleeps only behind a look of which whatever changes moves the word that the sleep watches: `ready` has had
// the run lock since, or this thread counted as one that waits while `ready` had not. So nothing changes in
// between. A cancel takes no lock: it is looked for once the word has been read.
Status Engine::wait_on(base::FunctionRef<Status()> ready, Deadline deadline, std::uint32_t cancels,
                       ReadyUnder under) noexcept {
  const bool own_lock = under == ReadyUnder::own_lock;
  const auto was_cancelled = [&] { return cancels_.load(std::memory_order_relaxed) != cancels; };
  Clock::time_point spins_since{}, spin_until{}, sleeps_since{};
  bool deep = false;
  while (true) {
    if (!lock_.enter()) return Status::forked;
    std::uint32_t value = application_word_.load(std::memory_order_relaxed);
    // Another thread sleeps as the one who notices arrivals: it goes on doing so, and we sleep beside it. To
    // relieve it would wake it, to relieve us in turn. (Of links to other hosts only who sleeps last knows
    // the times.)
    const bool beside = role_.load(std::memory_order_relaxed) == SleeperRole::application && far_ == nullptr;
    const bool moved = beside ? run_beside() : run_polled();
    Status status;
    if (!own_lock) {
      status = ready();
    } else if (!look_outside(ready, status)) {
      return Status::forked;
    }
    if (status == Status::pending && was_cancelled()) status = Status::cancelled;
    Clock::time_point now{};
    if (status == Status::pending) now = Clock::now();
    if (status == Status::pending && deadline && now >= *deadline) status = Status::timed_out;
    if (status != Status::pending) {
      if (status == Status::timed_out) spin_time_.in_vain();
      if (status == Status::ok && sleeps_since != Clock::time_point{})
        spin_time_.came_after(Clock::now() - sleeps_since);
      lock_.leave();
      return status;
    }
    if (moved || spin_until == Clock::time_point{}) {
      spins_since = now;
      spin_until = now + spin_time_.now();
      deep = false;
    }
    const bool sleeps = (beside && !moved) || now >= spin_until;
    if (sleeps && own_lock) {
      value = application_word_.load(std::memory_order_relaxed);
      count_waiting(1);
      if (!look_outside(ready, status)) return Status::forked;
      count_waiting(-1);
      if (status == Status::pending && was_cancelled()) status = Status::cancelled;
    }
    if (sleeps && status == Status::pending) {
      deep = sleep_in_wait(deadline, value, deep);
      if (!deep) spin_until = {};
      if (sleeps_since == Clock::time_point{}) sleeps_since = spins_since;
    }
    lock_.leave();
    if (status != Status::pending) return status;
    if (!sleeps) base::pause();
  }
}

// Counts the calling thread among those who wait, so that changes are counted. Not under the lock.
class Engine::WaitsForChanges {
 public:
  explicit WaitsForChanges(Engine& engine) noexcept : engine_(engine) {
    const base::RunLockGuard guard(engine_.lock_);
    if (!guard) return;
    engine_.count_waiting(1);
    held_ = true;
  }
  ~WaitsForChanges() {
    const base::RunLockGuard guard(engine_.lock_);
    if (!guard || !held_) return;
    engine_.count_waiting(-1);
    // Only while it is armed: otherwise something has come since, and is to be looked for first.
    if (sleeps_elsewhere && engine_.change_wanted_) engine_.leave_watch();
  }
  WaitsForChanges(const WaitsForChanges&) = delete;
  WaitsForChanges& operator=(const WaitsForChanges&) = delete;

  bool sleeps_elsewhere = false;  // on the descriptor

 private:
  Engine& engine_;
  bool held_ = false;
};

// Looks only when something has changed. A look may poll, which relieves a thread that sleeps as the one who
// notices arrivals: if that alone had both look again, two threads would wake each other for ever.
Status Engine::wait_any(base::FunctionRef<bool()> ready, Deadline deadline) {
  const std::uint32_t cancels = this->cancels();
  if (lock_.forked()) return Status::forked;
  if (ready()) return Status::ok;
  bool over = deadline && Clock::now() >= *deadline;
  WaitsForChanges counted(*this);
  for (;;) {
    std::uint64_t seen = 0;
    {
      const base::RunLockGuard guard(lock_);
      if (!guard) return Status::forked;
      seen = changes_;
      if (over) arm_change_descriptor();
    }
    if (ready()) return Status::ok;
    // Each look may have put small records together.
    PendingWork* const work = pending_work_.load();
    const Status may = work == nullptr ? Status::ok : work->before_wait();
    counted.sleeps_elsewhere = over;
    if (over) return Status::timed_out;
    if (may != Status::ok) return may;
    const auto changed = [&] { return changes_ != seen ? Status::ok : Status::pending; };
    const Status status = wait_on(changed, deadline, cancels, ReadyUnder::run_lock);
    if (status != Status::ok && status != Status::timed_out) return status;
    over = status == Status::timed_out;
  }
}

// Leaves the lock for the look, and enters it again; false in a forked child.
bool Engine::look_outside(base::FunctionRef<Status()> ready, Status& status) noexcept {
  lock_.leave();
  status = ready();
  return lock_.enter();
}

}  // namespace hamlyn::internal_::library
