#include "protocols/dispatcher.h"

#include <algorithm>
#include <utility>

namespace hamlyn::internal_::protocols {

namespace {

constexpr std::size_t kMostFarewells = 4096;
constexpr std::size_t kMostLeaving = 64;
constexpr std::chrono::milliseconds kLastWords{100};
// The interface thread found the manager in use: it comes back after so long, and after twice that each time.
constexpr std::chrono::nanoseconds kInUse{50'000};
constexpr std::chrono::nanoseconds kLongInUse{2'000'000};

}  // namespace

void throw_forked() { throw Error(ErrorCode::forked, "a forked child has no manager: make a new one"); }

Dispatcher::Dispatcher(const Manager::Options& options)
    : interface(options.interface),
      waiting(interface.waiting()),
      queue(interface, options.places),
      terminus(interface) {
  leaving_.reserve(kMostLeaving);
  waiting.set_pending_work(this);
}

// The last words of those who have gone may still want for a place: if they left with the link, their peers
// would take a good end for a death.
Dispatcher::~Dispatcher() {
  if (lock_.forked()) {
    for (std::unique_ptr<Due>& each : leaving_) (void)each.release();  // all of it is the parent's
    return;
  }
  const auto all_said = [&] { return farewells_.empty() ? Status::ok : Status::pending; };
  base::PendingCalls last;
  PendingCall call(*this, last);
  (void)wait(call, all_said, library::deadline_in(kLastWords));
  waiting.set_pending_work(nullptr);
  // The call that was seen off last may be in the lock's mutex still, which the owner of the lock does not
  // take.
  if (lock_.enter_as_other()) lock_.leave();
  const Guard guard(*this);
  leaving_.clear();
}

// --- who hears of what

void Dispatcher::add(std::uint32_t number, Receiver& receiver) {
  assert_held();
  const std::uint32_t index = library::slot_index(number);
  if (index >= attached_.size()) attached_.resize(std::size_t{index} + 1);
  Attached& attached = attached_[index];
  if (attached.receiver != nullptr && attached.number == number)
    throw Error(ErrorCode::invalid_argument, "another receiver is attached to this slot");
  attached = {&receiver, number};
}

void Dispatcher::remove(std::uint32_t number) noexcept {
  assert_held();
  const std::uint32_t index = library::slot_index(number);
  if (index < attached_.size() && attached_[index].number == number) attached_[index] = {};
}

void Dispatcher::retire(Receiver& receiver) noexcept {
  {
    const Guard guard(*this);
    if (!guard) return;
    for (Attached& each : attached_) {
      if (each.receiver == &receiver) each = {};
    }
  }
  close_and_drain(*receiver.calls_);
}

// --- giving

bool Dispatcher::poll() noexcept {
  assert_held();
  if (!dues_.empty() || !farewells_.empty()) [[unlikely]]
    settle_dues();
  Notification next;
  if (queue.poll({&next, 1}) == 0) return false;
  give(next);
  return true;
}

void Dispatcher::give_all() noexcept {
  assert_held();
  for (std::size_t most = queue.capacity(); most != 0 && poll(); --most) {
  }
}

void Dispatcher::give(const Notification& notification) noexcept {
  assert_held();
  // Ends of links and refused packets are nobody's in particular: who waits for a peer has an entry that
  // fails with its link.
  if (notification.kind != Notification::Kind::message && notification.kind != Notification::Kind::failed)
    return;
  const std::uint32_t index = library::slot_index(notification.slot);
  if (index >= attached_.size()) return;
  const auto [receiver, number] = attached_[index];
  // Notifications in the queue of a slot that has gone are nobody's.
  if (receiver == nullptr || number != notification.slot) return;
  ++happened_;
  giving_ = true;
  receiver->process_arrival(notification);
  giving_ = false;
  look_again();
}

// --- waiting

Status Dispatcher::wait(PendingCall& call, base::FunctionRef<Status()> ready,
                        library::Deadline deadline) noexcept {
  bool ends;
  {
    const Guard guard(*this);
    if (!guard) return Status::forked;
    if (guard.nested()) {
      const Status status = call.closing() ? Status::cancelled : ready();
      return status == Status::pending ? Status::invalid : status;
    }
    if (!leaving_.empty()) drop_settled();
    ends = !call.begun();
    call.begin();
    ++waiters_;
  }
  const Status status = waiting.until([&] { return look(call, ready); }, deadline, call.cancels());
  const Guard guard(*this);
  if (!guard) return Status::forked;
  --waiters_;
  if (ends) call.end();
  return status;
}

// Gives what has come until the call is ready or nothing more stands in the queue. After so many, other
// threads have their turn, and the deadline is looked at: a peer may send what is nobody's without end.
Status Dispatcher::look(const PendingCall& call, base::FunctionRef<Status()> ready) noexcept {
  const Guard guard(*this);
  if (!guard) return Status::forked;
  --waiters_;
  if (!dues_.empty() || !farewells_.empty()) settle_dues();
  Status status = call.closing() ? Status::cancelled : ready();
  int left = kMostAtOnce;
  for (; status == Status::pending && left != 0 && give_standing(); --left) status = ready();
  if (status == Status::pending) settle_before_wait();
  ++waiters_;
  if (status == Status::pending && left == 0) waiting.changed();
  return status;
}

// As `poll`, without a run of the interface.
bool Dispatcher::give_standing() noexcept {
  assert_held();
  Notification next;
  {
    const library::Lock lock(waiting);
    if (!lock || queue.take(lock.held(), next) != Status::ok) return false;
  }
  give(next);
  return true;
}

// --- what is due

void Dispatcher::expect_due() {
  assert_held();
  dues_.reserve(expected_dues_ + 1);
  before_wait_.reserve(expected_dues_ + 1);
  lingering_.reserve(expected_dues_ + 1);
  ++expected_dues_;
}

void Dispatcher::add(Due& due) noexcept {
  assert_held();
  if (due.listed_) return;
  due.listed_ = true;
  dues_.push_back(&due);
  call_for_help();
}

void Dispatcher::remove(Due& due) noexcept {
  assert_held();
  --expected_dues_;
  std::erase(dues_, &due);
  std::erase(before_wait_, &due);
  std::erase(lingering_, &due);
}

Status Dispatcher::before_wait() noexcept {
  const Guard guard(*this);
  if (!guard) return Status::forked;
  if (guard.nested()) return Status::invalid;
  settle_before_wait();
  return Status::ok;
}

void Dispatcher::settle_all_before_wait() noexcept {
  assert_held();
  for (Due* due : before_wait_) {
    due->before_wait_ = false;
    if (!due->settle()) add(*due);
  }
  before_wait_.clear();
}

void Dispatcher::settle_dues() noexcept {
  assert_held();
  const std::size_t settled = std::erase_if(dues_, [](Due* due) {
    due->listed_ = !due->settle();
    return !due->listed_;
  });
  happened_ += settled;
  if (settled != 0) look_again();  // somebody may have waited for just that
  settle_farewells();
}

// --- what waits for company

void Dispatcher::linger(Due& due, std::chrono::nanoseconds bound) noexcept {
  assert_held();
  if (due.lingers()) return;
  if (!due.lingers_) lingering_.push_back(&due);
  due.lingers_ = true;
  due.crowded_ = false;
  due.seen_ = due.batches();
  due.pause_ = bound;
  due.longest_ = bound * kFewerLooks;
  due.look_ = library::Clock::now() + bound;
  waiting.want_help_at(due.look_);
}

bool Dispatcher::over(Due& due, library::Clock::time_point now) noexcept {
  assert_held();
  if (!due.crowded_ && now < due.look_) return false;
  const std::uint64_t batches = due.batches();
  if (!due.crowded_ && batches != std::exchange(due.seen_, batches)) {
    due.pause_ = std::min(2 * due.pause_, due.longest_);
    due.look_ = now + due.pause_;
    return false;
  }
  due.lingers_ = due.crowded_ = !due.leave_early();
  return !due.lingers_;
}

// Returns when to look again; for room: when something has moved.
Dispatcher::Left Dispatcher::look_at_those_who_linger() noexcept {
  assert_held();
  const library::Clock::time_point now = library::Clock::now();
  Left left;
  std::erase_if(lingering_, [&](Due* due) {
    const bool is_over = over(*due, now);
    if (!is_over && due->crowded_) left.for_room = true;
    if (!is_over && !due->crowded_ && (!left.at || due->look_ < *left.at)) left.at = due->look_;
    return is_over;
  });
  return left;
}

// --- what is said for those who have gone

void Dispatcher::farewell(const Ticket& ticket, std::uint64_t word) noexcept {
  assert_held();
  try {
    const auto same = [&](const Farewell& each) { return each.word == word && each.ticket == ticket; };
    if (std::ranges::any_of(farewells_, same)) return;
    if (farewells_.size() == kMostFarewells) return;  // whoever waits for it learns it by the link's end
    farewells_.push_back({ticket, word});
  } catch (const std::bad_alloc&) {
    return;
  }
  if (!settle_farewells()) call_for_help();
}

bool Dispatcher::settle_farewells() noexcept {
  assert_held();
  std::erase_if(farewells_, [&](const Farewell& each) {
    if (!linked(each.ticket.interface)) return true;
    const Status status = terminus.send_fast(each.ticket, {}, each.word);
    return status != Status::queue_full && status != Status::no_place && status != Status::connecting;
  });
  return farewells_.empty();
}

void Dispatcher::drop_settled() noexcept {
  assert_held();
  std::erase_if(leaving_, [](const auto& each) { return each->settle(); });
}

void Dispatcher::keep_until_settled(std::unique_ptr<Due> leaving) noexcept {
  assert_held();
  drop_settled();
  if (leaving_.size() == kMostLeaving) leaving_.erase(leaving_.begin());
  leaving_.push_back(std::move(leaving));
  waiting.want_help();
}

Dispatcher::Left Dispatcher::try_again() noexcept {
  // A program may be long inside process_arrival: waiting for it here, this thread would not run the
  // interface.
  if (!lock_.try_enter_as_other()) {
    if (lock_.forked()) return {};
    comes_back_ = std::clamp(2 * comes_back_, kInUse, kLongInUse);
    return {.for_room = true, .at = library::Clock::now() + comes_back_};
  }
  comes_back_ = {};
  holder_.store(self(), std::memory_order_relaxed);
  if (std::exchange(helper_waits_, false)) --waiters_;
  Left left;
  if (!lingering_.empty()) left = look_at_those_who_linger();
  settle_dues();
  left.for_room |= !dues_.empty() || !farewells_.empty();
  for (const auto& each : leaving_) left.for_room |= !each->settle();
  // Notifications that were given to a receiver may have made room for those that linger.
  helper_waits_ = left.for_room;
  if (helper_waits_) ++waiters_;
  holder_.store(nullptr, std::memory_order_relaxed);
  lock_.leave();
  return left;
}

void Dispatcher::cancel() noexcept { interface.cancel(); }

}  // namespace hamlyn::internal_::protocols
