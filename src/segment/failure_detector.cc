#include "hamlyn/failure_detector.h"

#include <condition_variable>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include "library/engine.h"
#include "library/own_thread.h"
#include "segment/suspicions.h"

namespace hamlyn {

using segment::Suspicions;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

namespace {

// Who waits for an answer does not hear that it should stop.
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
        suspicions(options, steady_clock::now()) {}

  void run();
  bool sleep_until(Suspicions::Time time);
  std::optional<Status> read();
  template <class Event>
  void tell(Event event);

  const FailureDetectorOptions options;
  const Callback callback;
  Import source;
  Terminus link;
  Segment landing;
  std::mutex mutex;  // of what follows
  std::condition_variable stops;
  bool stopped = false;
  Suspicions suspicions;
  std::thread thread;
};

// False: it is time to stop.
bool FailureDetector::Watch::sleep_until(Suspicions::Time time) {
  std::unique_lock lock(mutex);
  return !stops.wait_until(lock, time, [&] { return stopped; });
}

// Tells the callback, if `event` says that there is something to tell.
template <class Event>
void FailureDetector::Watch::tell(Event event) {
  std::unique_lock lock(mutex);
  if (!event(suspicions)) return;
  const Suspicion now = suspicions.suspicion();
  lock.unlock();
  callback(now);
}

// How a read ended; nothing: it is time to stop.
std::optional<Status> FailureDetector::Watch::read() {
  RemoteHandle handle;
  bool refused = false;
  for (bool asked = false;;) {
    if (!asked) {
      const Status status = source.read(options.offset, landing, 0, sizeof(std::uint64_t), &handle);
      asked = status == Status::pending;
      // That there will be no link, or that the segment has gone: then the read that finds a link says so.
      if (status == Status::connecting) {
        if (refused) return Status::link_ended;
        refused = link.connect(source.ticket(), kSlice) == Status::refused;
      } else if (!asked && status != Status::queue_full) {
        return status;
      }
    }
    if (asked) {
      const Status status = source.wait(handle, kSlice).status;
      if (status != Status::timed_out && status != Status::cancelled) return status;
    }
    tell([](Suspicions& all) { return all.look(steady_clock::now()); });
    if (!asked) source.run();
    if (!sleep_until(steady_clock::now() + (asked ? milliseconds{0} : kAgain))) return std::nullopt;
  }
}

void FailureDetector::Watch::run() {
  const auto next = [&] {
    const std::lock_guard guard(mutex);
    return suspicions.next();
  };
  while (sleep_until(next())) {
    tell([](Suspicions& all) {
      all.begin(steady_clock::now());
      return false;
    });
    const std::optional<Status> status = read();
    if (!status) return;
    // Pairs with the reply that put it there (copy_to_shared), which read() has waited for.
    const std::uint64_t word = landing.at<std::uint64_t>(0).load(std::memory_order_acquire);
    tell([&](Suspicions& all) { return all.answered(steady_clock::now(), *status, word); });
  }
}

FailureDetector::FailureDetector(Import& import, const FailureDetectorOptions& options, Callback callback)
    : watch_(std::make_unique<Watch>(import, options, std::move(callback))) {
  watch_->thread = library::start_own_thread("hamlyn-watch", [watch = watch_.get()] { watch->run(); });
}

FailureDetector::~FailureDetector() {
  if (watch_->source.interface().engine().lock().forked()) {
    watch_->thread.detach();  // it is the parent's
    return;
  }
  {
    const std::lock_guard guard(watch_->mutex);
    watch_->stopped = true;
  }
  watch_->stops.notify_all();
  watch_->thread.join();
}

Suspicion FailureDetector::suspicion() const {
  const std::lock_guard guard(watch_->mutex);
  return watch_->suspicions.suspicion();
}

}  // namespace hamlyn
