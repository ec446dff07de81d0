#include "library/engine.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/assert.h"
#include "base/random.h"
#include "base/uncancelled.h"
#include "library/control/control.h"
#include "library/far/far_fabric.h"
#include "library/far/far_thread.h"
#include "library/memory/durable_area.h"
#include "library/wait/interface_thread.h"
#include "library/wait/own_thread.h"

namespace hamlyn::internal_::library {

namespace {

constexpr std::chrono::milliseconds kShallow{2};  // then the interface thread need not tick for us
constexpr std::chrono::milliseconds kDemotedLook{1};
constexpr unsigned kEmptyRings =
    64;  // doorbells without anything behind them, until they are not listened to

interface::CounterPage& page_of(const shm::OwnedMemory& memory) {
  return *static_cast<interface::CounterPage*>(memory.mapping.data());
}

// Writes the fields that a reader of the page checks first, and who we are. (Its interface is known after the
// attachment.)
void introduce(interface::CounterPage& page) noexcept {
  page.magic = interface::kCounterMagic;
  page.version = interface::kCounterVersion;
  page.pid = static_cast<std::uint32_t>(getpid());
  std::strncpy(page.program, program_invocation_short_name, sizeof page.program - 1);
}

}  // namespace

Engine::Engine(const Interface::Options& options)
    : counter_memory_(shm::make_sealed_memory(interface::kCounterPageBytes)),
      counters_(page_of(counter_memory_)),
      core_(*this, counters_),
      spin_time_(kSpin, options.spin, kSpin, SpinTime::Drop::to_least),
      far_dead_(options.dead) {
  introduce(counters_);
  core_.set_outstanding(options.requests);
  if (simulation != nullptr) {
    control_ = simulation->make_host_services(*this, options);
  } else {
    control_ = std::make_unique<Control>(*this, options);
  }
  thread_ = std::make_unique<InterfaceThread>(*this);
}

Engine::~Engine() {
  if (lock_.forked()) {  // the threads are the parent's: nothing to stop here, nothing to wait for
    (void)thread_.release();
    (void)control_.release();
    (void)far_thread_.release();
    (void)far_.release();
    (void)counter_memory_.mapping.release();  // not inherited: whatever lies there now is somebody else's
    return;
  }
  thread_.reset();
  if (far_thread_ != nullptr) far_thread_->stop();  // the control thread still looks at it
  control_.reset();
  far_thread_.reset();
  close_far();
}

std::uint64_t Engine::id() const noexcept { return control_->interface_id(); }

std::uint64_t Engine::random_key() {
  return simulation == nullptr ? base::random_key() : simulation->random_key();
}
void Engine::want_link(std::uint64_t peer) noexcept { control_->want_link(peer); }
void Engine::attention() noexcept { control_->attention(); }
void Engine::must_sync(interface::Store& store) noexcept { static_cast<DurableArea&>(store).wake(); }

bool Engine::run_for_memory() noexcept {
  lock_.assert_held();
  using Served = shm::ShortWay::Served;
  const bool alone = !somebody_waits() && role_.load(std::memory_order_relaxed) == SleeperRole::nobody;
  const Served served = short_way_.serve(alone);
  if (served == Served::elsewhere) return run_polled();
  activity_.store(activity_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  if (served == Served::replies_due) run_polled();
  return served != Served::nothing;
}

// --- sleeping

void Engine::arm_links(Watched& watched, std::uint32_t epoch) noexcept {
  watched.count = 0;
  for (interface::Link* link : core_.links()) {
    shm::ShmLink* const local = link->local();
    if (local == nullptr) continue;
    if (local->empty_rings >= kEmptyRings || local->sweep.demoted || watched.count == Watched::kMost) {
      links_demoted_ = true;
      continue;
    }
    watched.doorbells[watched.count++] = {local->doorbell(), local->arm(epoch)};
  }
}

void Engine::disarm_links() noexcept {
  for (interface::Link* link : core_.links()) {
    if (shm::ShmLink* const local = link->local()) local->disarm();
  }
}

bool Engine::sleep_armed(SleeperRole role, const std::atomic<std::uint32_t>& word, std::uint32_t value,
                         Deadline deadline) noexcept {
  lock_.assert_held();
  Watched watched;
  links_demoted_ = false;
  epoch_ += 2;  // its lowest bit says something else
  if (epoch_ == 0) epoch_ = 2;
  const std::uint32_t mine = epoch_;
  role_.store(role, std::memory_order_relaxed);
  core_.leave_run();  // whoever polls next wakes us first
  arm_links(watched, epoch_);
  shm::Sleeper<>::armed();
  if (far_ != nullptr && !words_only_ && (watched.count != 0 || links_demoted_)) {
    words_only_ = true;
    // The thread that helps those on words cannot hear of them any more.
    if (!sleepers_.wake_all()) far_thread_->relay();
  }
  FarSleepers::Sleeper* const sleeper =
      far_ != nullptr && !words_only_ ? sleepers_.take(far_->descriptor()) : nullptr;
  if (!core_.something_to_do() && (far_ == nullptr || far_->prepare_sleep(deadline))) {
    if (links_demoted_) {
      const Deadline look = Clock::now() + kDemotedLook;
      if (!deadline || *look < *deadline) deadline = look;
    }
    if (far_ != nullptr) sleeper == nullptr ? far_thread_->watch() : far_thread_->watch_no_more();
    lock_.leave();
    if (sleeper != nullptr) {
      sleepers_.sleep(*sleeper, word, value, deadline);
      sleepers_.give_back(*sleeper);
    } else {
      futex_sleep(watched, word, value, deadline);
    }
    if (role == SleeperRole::interface_thread) {
      lock_.enter_as_other();
    } else {
      lock_.enter();
    }
  } else if (sleeper != nullptr) {
    sleepers_.give_back(*sleeper);
  }
  // Somebody who polls has woken up for us, and may have fallen asleep in the same role since: by its epoch
  // we know our own sleep from another's, whose watch must stay.
  if (role_.load(std::memory_order_relaxed) != role || epoch_ != mine) return false;
  disarm_links();
  role_.store(SleeperRole::nobody, std::memory_order_relaxed);
  judge_wakeup(watched);
  return true;
}

void Engine::wake(std::atomic<std::uint32_t>& word) noexcept {
  futex_wake(word);
  if (!sleepers_.any(word)) return;  // after the word has moved, which is sequentially consistent
  if (has_left_descriptors() || !sleepers_.wake(word)) far_thread_->relay();
}

void Engine::far_came() noexcept {
  for (auto* const word : {&application_word_, &thread_word_}) {
    word->fetch_add(1);
    futex_wake(*word);
  }
}

// A peer that rings without cause costs us a wake-up each time: in the end we stop listening and look by the
// clock.
void Engine::judge_wakeup(const Watched& watched) noexcept {
  lock_.assert_held();
  for (interface::Link* link : core_.links()) {
    shm::ShmLink* const local = link->local();
    if (local == nullptr) continue;
    std::optional<std::uint32_t> slept_on;
    for (std::size_t i = 0; i < watched.count && !slept_on; ++i)
      if (watched.doorbells[i].address == local->doorbell()) slept_on = watched.doorbells[i].value;
    local->judge_ring(slept_on);
  }
}

// Somebody polls while another is, or should be, asleep: the links need not ring any more.
void Engine::wake_up() noexcept {
  lock_.assert_held();
  const SleeperRole role = role_.load(std::memory_order_relaxed);
  disarm_links();
  role_.store(SleeperRole::nobody, std::memory_order_relaxed);
  if (role == SleeperRole::interface_thread) {
    // The interface thread must tick again, in case this thread leaves without a word.
    thread_word_.fetch_add(1);
    wake(thread_word_);
  } else {
    wake_waiting();
  }
}

void Engine::wake_waiting() noexcept {
  application_word_.fetch_add(1);
  wake(application_word_);
  if (!helper_waits_.load(std::memory_order_relaxed)) return;
  thread_word_.fetch_add(1);
  wake(thread_word_);
}

// --- deadlines of entries. The interface thread looks at them at each tick; whoever sleeps as the one who
// notices arrivals sleeps no longer than until the next one.

Status Engine::fail_entry_at(std::uint32_t slot, std::uint32_t entry, Deadline time) noexcept {
  lock_.assert_held();
  const std::uint64_t at =
      time ? static_cast<std::uint64_t>(time->time_since_epoch().count()) : interface::Deadlines::kNever;
  const std::uint64_t before = core_.next_deadline();
  const Status status = core_.fail_at(slot, entry, at);
  note_next_deadline();
  if (core_.next_deadline() < before) wake_everybody();  // whoever sleeps would sleep too long
  return status;
}

Deadline Engine::or_entrys(Deadline deadline) const noexcept {
  lock_.assert_held();
  const std::uint64_t next = core_.next_deadline();
  if (next == interface::Deadlines::kNever) return deadline;
  const Clock::time_point entrys{Clock::duration(static_cast<Clock::rep>(next))};
  return deadline && *deadline < entrys ? deadline : entrys;
}

void Engine::note_next_deadline() noexcept {
  const Clock::time_point next = or_entrys(std::nullopt).value_or(Clock::time_point::max());
  next_deadline_.store(next.time_since_epoch().count(), std::memory_order_relaxed);
}

bool Engine::expire() noexcept {
  lock_.assert_held();
  if (!deadline_passed()) return false;
  const bool failed = core_.expire(static_cast<std::uint64_t>(Clock::now().time_since_epoch().count()));
  note_next_deadline();
  if (failed) wake_everybody();
  return failed;
}

void Engine::set_attached(bool attached) noexcept {
  lock_.enter_as_other();
  attached_ = attached;
  core_.tell_attachment(attached);
  wake_everybody();
  lock_.leave();
}

void Engine::let_signals_in() noexcept {
  signals_wait_.store(true);
  thread_word_.fetch_add(1);
  wake(thread_word_);
}

void Engine::end_rest() noexcept {
  if (rests() && control_rests_.exchange(false)) control_->attention();
}

// --- help for what is above

void Engine::set_pending_work(PendingWork* work) noexcept {
  const std::lock_guard guard(pending_work_mutex_);
  pending_work_.store(work);
}

void Engine::want_help() noexcept {
  help_wanted_.store(true);
  thread_word_.fetch_add(1);
  wake(thread_word_);
}

void Engine::want_help_at(Clock::time_point time) noexcept {
  if (!bring_help_forward(time)) return;
  thread_word_.fetch_add(1);
  wake(thread_word_);
}

bool Engine::bring_help_forward(Clock::time_point time) noexcept {
  const Clock::rep wanted = time.time_since_epoch().count();
  Clock::rep at = help_at_.load();
  while (wanted < at) {
    if (help_at_.compare_exchange_weak(at, wanted)) return true;
  }
  return false;
}

void Engine::help(Help how) noexcept {
  const Clock::rep at = help_at_.load();
  const bool now = at != kNoHelp && Clock::now().time_since_epoch().count() >= at;
  // From here on help may be wanted anew.
  if (now) help_at_.store(kNoHelp);
  if (!help_wanted_.exchange(false) && !now) return;
  const std::lock_guard guard(pending_work_mutex_);
  PendingWork* const work = pending_work_.load();
  if (work == nullptr) return;
  if (how == Help::before_sleep) wait_to_help();
  const PendingWork::Left left = work->try_again();
  if (left.for_room) {
    help_wanted_.store(true);
    lock_.enter_as_other();
    have_room_told();
    lock_.leave();
  } else {
    stop_waiting_to_help();
  }
  if (left.at) bring_help_forward(*left.at);
}

void Engine::wait_to_help() noexcept {
  lock_.enter_as_other();
  count_waiting(1);
  helper_waits_.store(true, std::memory_order_relaxed);
  lock_.leave();
}

void Engine::stop_waiting_to_help() noexcept {
  if (!helper_waits_.load(std::memory_order_relaxed)) return;
  lock_.enter_as_other();
  HAMLYN_ASSERT(somebody_waits(), "this thread is among those who wait");
  count_waiting(-1);
  helper_waits_.store(false, std::memory_order_relaxed);
  lock_.leave();
}

Deadline Engine::or_help(Deadline deadline) const noexcept {
  const Clock::rep at = help_at_.load();
  if (at == kNoHelp) return deadline;
  const Clock::time_point time{Clock::duration{at}};
  return deadline && *deadline < time ? deadline : time;
}

// Somebody wants room only since the one who notices arrivals has fallen asleep: that one arms its watch
// anew. False: nobody does.
bool Engine::have_room_told() noexcept {
  lock_.assert_held();
  if (role_.load(std::memory_order_relaxed) != SleeperRole::application) return false;
  for (interface::Link* link : core_.links()) {
    if (link->local() == nullptr || !link->local()->must_arm_anew()) continue;
    wake_up();
    return true;
  }
  return false;
}

// Under the lock, with nothing to do.
bool Engine::sleep_in_wait(Deadline deadline, std::uint32_t value, bool deep) noexcept {
  lock_.assert_held();
  if (expire()) return false;
  if (role_.load(std::memory_order_relaxed) == SleeperRole::application) {
    // Another thread is the sleeper; whoever brings something wakes us through the word.
    if (have_room_told()) return false;
    count_waiting(1);
    lock_.leave();
    futex_sleep(Watched{}, application_word_, value, deadline);
    lock_.enter();
    count_waiting(-1);
    return false;
  }
  // The interface thread has taken the role while this one looked outside of the lock. It would sleep on, by
  // a watch that is no longer its own, when this sleep is over (test/model/waiting.pml).
  if (role_.load(std::memory_order_relaxed) == SleeperRole::interface_thread) wake_up();
  const auto end_deep = [this] {  // the interface thread ticks again
    if (!deep_.exchange(false, std::memory_order_relaxed)) return;
    thread_word_.fetch_add(1);
    wake(thread_word_);
  };
  const Deadline first = or_entrys(deadline);
  if (deep) {
    deep_.store(true, std::memory_order_relaxed);
    const bool own = sleep_armed(SleeperRole::application, application_word_, value, first);
    // Another thread may have relieved this one before it woke up, and sleep as deep by now.
    if (own || role_.load(std::memory_order_relaxed) != SleeperRole::application) end_deep();
    if (somebody_waits()) wake_waiting();  // one of them is to be the sleeper now
    return false;
  }
  end_deep();  // of a sleeper that was relieved and has not woken up yet
  const Clock::time_point shallow = Clock::now() + kShallow;
  const bool ends_before = first && *first <= shallow;
  const bool undisturbed =
      sleep_armed(SleeperRole::application, application_word_, value, ends_before ? first : shallow);
  if (somebody_waits()) wake_waiting();
  return undisturbed && Clock::now() >= shallow;
}

Outcome Engine::spin_for_reply(interface::Requests& requests, RemoteHandle handle,
                               PendingCall& call) noexcept {
  constexpr unsigned kTurnsPerRun = 4;
  Clock::time_point first{}, begin{};
  std::uint64_t landed = 0;
  const interface::Requests::Place place = requests.find(handle);
  for (unsigned turn = 1;; ++turn) {
    if (!lock_.enter()) return {Status::forked, Refusal::none, 0};
    activity_.store(activity_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    // A sleeper is woken by a whole run alone: a packet that is taken here may be the one that it sleeps for.
    const bool alone = !somebody_waits() && role_.load(std::memory_order_relaxed) == SleeperRole::nobody;
    interface::Link* const link = requests.link(place);
    shm::ShmLink* const local = link != nullptr ? link->local() : nullptr;
    // From another host nothing comes but by a run.
    if (turn % kTurnsPerRun == 0 || !alone || local == nullptr) {
      run_polled();
    } else {
      short_way_.await_answer(*local, turn == 1);
    }
    const Outcome outcome = requests.outcome(place);
    if (outcome.status != Status::pending) {
      if (requests.let_go(place)) settled();  // somebody may wait for its place
      shm::PollRest& rest = short_way_.rest();
      rest.answered();
      rest.taken(1);
      rest.review();
      reply_spin_.store(kMostReplySpin, std::memory_order_relaxed);
      call.end();
      lock_.leave();
      return outcome;
    }
    const std::uint32_t rest = short_way_.rest().pauses();
    const std::uint64_t landed_now = link != nullptr ? link->remote.landed : 0;
    call.begin();
    lock_.leave();
    shm::PollRest::rest(rest);
    if (turn % kTurnsPerRun != 0) continue;
    const Clock::time_point now = Clock::now();
    if (turn == kTurnsPerRun) first = now;
    if (turn == kTurnsPerRun || (landed != landed_now && now - first < kMostLandingSpin)) begin = now;
    landed = landed_now;
    if (now - begin >= reply_spin_.load(std::memory_order_relaxed)) return outcome;
  }
}

void Engine::cancel() noexcept {
  cancels_.fetch_add(1, std::memory_order_relaxed);
  wake_waiting();
  control_->cancel();
}

// --- other hosts

void Engine::want_far(const std::string& address, const std::string& engine) {
  far_address_ = address;
  far_wanted_engine_ = engine;
  far_wanted_.store(true);
  thread_word_.fetch_add(1);
  wake(thread_word_);
}

void Engine::start_far() {
  if (!far_wanted_.exchange(false)) return;
  std::unique_ptr<FarThread> thread;
  try {
    thread = std::make_unique<FarThread>(*this);
  } catch (const Error&) {
    far_failed_.store(true);  // whoever wants it asks again
    return control_->attention();
  }
  FarThread& started = *thread;
  lock_.enter_as_other();
  far_thread_.swap(thread);  // an earlier one could not open it
  lock_.leave();
  if (!started.start()) {
    far_failed_.store(true);
    control_->attention();
  }
}

bool Engine::is_far(std::uint64_t peer) noexcept {
  const base::RunLockGuard guard(lock_);
  const interface::Link* const link = guard ? core_.find_link(peer) : nullptr;
  return link != nullptr && link->far;
}

Status Engine::departed(std::uint64_t peer) noexcept {
  const base::RunLockGuard guard(lock_);
  if (!guard) return Status::forked;
  interface::Link* const link = core_.find_link(peer);
  if (link == nullptr) return Status::link_ended;
  return link->departed() ? Status::ok : Status::queue_full;
}

// Packets that were sent still arrive, as long as the other side lives.
void Engine::close_far() noexcept {
  if (far_ == nullptr) return;
  const base::Uncancelled guard;
  FarSleepers::Sleeper* sleeper = nullptr;
  if (sleepers_.closed()) {  // libfabric would close what is the program's by now
    core_.set_gate(nullptr);
    (void)far_.release();
    return;
  }
  // Each link of those that close goes at its own time, and none is added to them any more.
  while (far_->exchange().closing()) {
    if (sleeper == nullptr && (sleeper = sleepers_.take(far_->descriptor())) == nullptr) break;
    far_->exchange().pump();
    far_->exchange().send_due(true);
    far_->exchange().look_at_clocks(far_->exchange().now());
    Deadline next = Clock::now() + std::chrono::milliseconds(10);
    if (far_->exchange().closing() && far_->prepare_sleep(next))
      sleepers_.sleep(*sleeper, thread_word_, thread_word_.load(), next);
  }
  if (sleeper != nullptr) sleepers_.give_back(*sleeper);
  core_.set_gate(nullptr);
  far_.reset();
}

}  // namespace hamlyn::internal_::library
