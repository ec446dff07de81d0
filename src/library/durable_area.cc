#include "library/durable_area.h"

#include "library/area_file.h"
#include "library/own_thread.h"

namespace hamlyn::library {

namespace {
constexpr std::size_t kRanges = 64;  // at the first; more when more wait
}

DurableArea::DurableArea(Engine& engine, std::span<std::byte> memory, base::FileDescriptor file)
    : engine_(engine), memory_(memory), file_(std::move(file)) {
  data = memory.data();
  ranges_.reserve(kRanges);
  thread_ = start_own_thread("hamlyn-sync", [this] { main(); });
}

DurableArea::~DurableArea() {
  stop_.store(true, std::memory_order_release);
  wake();
  thread_.join();
}

void DurableArea::wake() noexcept {
  word_.fetch_add(1, std::memory_order_release);
  futex_wake(word_);
}

void DurableArea::main() noexcept {
  while (true) {
    const std::uint32_t value = word_.load(std::memory_order_acquire);
    const bool last = stop_.load(std::memory_order_acquire);
    if (round()) continue;
    if (last) return;
    futex_sleep(Watched{}, word_, value, std::nullopt);
  }
}

// One sync, of all that waits for one. False: nothing does.
bool DurableArea::round() noexcept {
  ranges_.clear();
  engine_.lock().enter_as_other();
  const bool landed = due;
  if (landed) engine_.core().begin_sync(*this, ranges_);
  engine_.lock().leave();
  std::uint64_t begun = 0;
  {
    const std::lock_guard lock(mutex_);
    begun = last_asked_;
    if (!landed && begun == last_over_) return false;
    own_ranges_.clear();
    own_ranges_.swap(asked_);
  }
  const bool done = !failed && put_in_file(file_, memory_, ranges_) &&
                    put_in_file(file_, memory_, own_ranges_) && put_on_disk(file_);
  engine_.lock().enter_as_other();
  // Whoever sleeps does not know that something waits for room.
  if (!engine_.core().end_sync(*this, done)) engine_.departure_waits();
  engine_.lock().leave();
  const std::lock_guard lock(mutex_);
  has_failed_ |= !done;
  last_over_ = begun;
  round_over_.notify_all();
  return true;
}

Status DurableArea::sync(interface::StoredRange range, Deadline deadline) {
  std::unique_lock lock(mutex_);
  asked_.push_back(range);
  const std::uint64_t mine = ++last_asked_;
  wake();
  const auto over = [&] { return last_over_ >= mine || has_failed_; };
  if (!deadline) {
    round_over_.wait(lock, over);
  } else if (!round_over_.wait_until(lock, *deadline, over)) {
    return Status::timed_out;
  }
  return has_failed_ ? Status::not_durable : Status::ok;
}

}  // namespace hamlyn::library
