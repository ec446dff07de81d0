#include "hamlyn/segment/failure_detector.h"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <optional>
#include <utility>

#include "library/wait/futex.h"
#include "library/wait/own_thread.h"
#include "library/wait/waiting.h"
#include "library/with_memory.h"
#include "segment/suspicions.h"

namespace hamlyn {

using library::Clock;
using segment::Suspicions;
using std::chrono::milliseconds;

namespace {

// How long a thread waits for an answer at a time: while it waits it does not hear that it should stop.
constexpr milliseconds kSlice{20};
constexpr milliseconds kAgain{1};  // while no read can be begun

FailureDetectorOptions checked(const FailureDetectorOptions& options, std::size_t size) {
  constexpr milliseconds kMost = std::chrono::hours(24 * 365);
  const auto good = [&](milliseconds time) { return time > milliseconds{0} && time <= kMost; };
  if (!good(options.period) || !good(options.deadline))
    throw Error(ErrorCode::invalid_argument, "a period or deadline of nothing, or of more than a year");
  if (options.must_move && options.deadline < options.period)
    throw Error(ErrorCode::invalid_argument,
                "a word that must move within less than a period is not seen to");
  if (options.offset % sizeof(std::uint64_t) != 0 || options.offset > size ||
      sizeof(std::uint64_t) > size - options.offset)
    throw Error(ErrorCode::invalid_argument, "there is no word of 8 bytes at that place of the segment");
  return options;
}

}  // namespace

// Always by packets: what is mapped can be read of a process that is stopped, too.
struct FailureDetector::Watch {
  Watch(Import& import, const FailureDetectorOptions& asked, Callback call)
      : options(checked(asked, import.size())),
        callback(std::move(call)),
        source(import.interface(), import.ticket(), {.access = Access::read_only, .map = false}),
        link(import.interface(), {.entries = 16}),
        landing(import.interface(), {.bytes = sizeof(std::uint64_t)}),
        suspicions(options, Clock::now()) {}

  void run();
  bool sleep_until(Suspicions::Time time);
  std::chrono::nanoseconds slice();
  std::optional<Status> read();
  template <class Event>
  void tell(Event event);

  const FailureDetectorOptions options;
  const Callback callback;
  Import source;
  Terminus link;
  Segment landing;
  std::atomic<std::uint32_t> stopped{0};  // ~FailureDetector to sleep_until; nothing is read by it
  std::mutex mutex;                       // of what follows
  Suspicions suspicions;
  std::unique_ptr<library::Task> task;
};

// False: it is time to stop.
bool FailureDetector::Watch::sleep_until(Suspicions::Time time) {
  do {
    library::futex_sleep(library::Watched{}, stopped, 0, time);
    if (stopped.load(std::memory_order_relaxed) != 0) return false;
  } while (Clock::now() < time);
  return true;
}

// How long to wait for something before it is looked whether it is late, or time to stop.
std::chrono::nanoseconds FailureDetector::Watch::slice() {
  const std::lock_guard guard(mutex);
  const auto left = suspicions.late_at() - Clock::now();
  return left > left.zero() ? std::min<std::chrono::nanoseconds>(left, kSlice) : kSlice;
}

// Tells the callback, if `event` says that there is something to tell.
template <class Event>
void FailureDetector::Watch::tell(Event event) {
  std::unique_lock lock(mutex);
  if (!event(suspicions)) return;
  const Suspicion now = suspicions.suspicion();
  lock.unlock();
  if (callback) callback(now);
}

// How a read ended; nothing: it is time to stop.
std::optional<Status> FailureDetector::Watch::read() {
  RemoteHandle handle;
  bool refused = false;
  for (bool asked = false;;) {
    if (!asked) {
      const Status status = source.read(options.offset, landing, 0, sizeof(std::uint64_t), &handle);
      asked = status == Status::pending;
      // Without a link nothing is known of the segment yet: only the read that finds a link can tell.
      if (status == Status::connecting) {
        if (refused) return Status::link_ended;
        const Status linked = link.connect(source.ticket(), slice());
        if (linked == Status::link_ended) return linked;
        refused = linked == Status::refused;
      } else if (!asked && status != Status::queue_full) {
        return status;
      }
    }
    if (asked) {
      const Status status = source.wait(handle, slice()).status;
      if (status != Status::timed_out && status != Status::cancelled) return status;
    }
    tell([](Suspicions& all) { return all.look(Clock::now()); });
    if (!asked) source.run();
    if (!sleep_until(Clock::now() + (asked ? milliseconds{0} : kAgain))) return std::nullopt;
  }
}

void FailureDetector::Watch::run() {
  const auto next = [&] {
    const std::lock_guard guard(mutex);
    return suspicions.next();
  };
  while (sleep_until(next())) {
    tell([](Suspicions& all) {
      all.begin(Clock::now());
      return false;
    });
    const std::optional<Status> status = read();
    if (!status) return;
    // Pairs with the reply that put it there (copy_to_shared), which read() has waited for.
    const std::uint64_t word = landing.at<std::uint64_t>(0).load(std::memory_order_acquire);
    tell([&](Suspicions& all) { return all.answered(Clock::now(), *status, word); });
  }
}

FailureDetector::FailureDetector(Import& import, const FailureDetectorOptions& options, Callback callback) try
    : watch_(std::make_unique<Watch>(import, options, std::move(callback))) {
  watch_->task = library::start_task(import.interface().waiting(), "hamlyn-watch",
                                     [watch = watch_.get()] { watch->run(); });
} catch (const std::bad_alloc&) {
  library::throw_no_memory("a failure detector");
}

FailureDetector::~FailureDetector() {
  watch_->stopped.store(1, std::memory_order_relaxed);
  library::futex_wake(watch_->stopped);
  watch_->task.reset();
}

Suspicion FailureDetector::suspicion() const {
  // Its thread may have had the mutex when the child was made.
  if (watch_->source.interface().waiting().forked()) return {};
  const std::lock_guard guard(watch_->mutex);
  return watch_->suspicions.suspicion();
}

}  // namespace hamlyn
