#include "library/memory/durable_area.h"

#include "library/memory/area_file.h"
#include "library/wait/own_thread.h"

namespace hamlyn::internal_::library {

namespace {
constexpr std::size_t kRanges = 64;  // at the first; more when more wait
}

DurableArea::DurableArea(Engine& engine, std::span<std::byte> memory, base::FileDescriptor file)
    : engine_(engine), memory_(memory) {
  data = memory.data();
  ranges_.reserve(kRanges);
  const int number = file.get();
  if (simulation != nullptr) file_ = std::move(file);
  task_ = start_task(engine.lock(), "hamlyn-sync", [this, number] {
    if (simulation == nullptr) take(number);
    if (file_) main();
    file_.reset();
  });
  if (simulation != nullptr) return;
  taken_.acquire();
  if (!file_) throw Error(ErrorCode::out_of_memory, "no memory for a durable area's descriptors");
}

void DurableArea::take(int file) noexcept {
  if (leave_descriptors({static_cast<unsigned>(file)})) file_.reset(file);
  taken_.release();
}

DurableArea::~DurableArea() {
  stop_.store(true, std::memory_order_release);
  wake();
  task_.reset();
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
  own_ranges_.clear();
  engine_.lock().enter_as_other();
  const bool landed = due;
  if (landed) engine_.core().begin_sync(*this, ranges_);
  own_ranges_.swap(asked_);
  const std::uint64_t begun = last_asked_;
  const bool asked = begun != last_over_;
  const bool good = !failed;
  engine_.lock().leave();
  if (!landed && !asked) return false;
  const bool done = good && put_in_file(file_, memory_, ranges_) &&
                    put_in_file(file_, memory_, own_ranges_) && put_on_disk(file_);
  engine_.lock().enter_as_other();
  last_over_ = begun;
  // A sleeper does not know that a message waits for room, nor that its own bytes are safe.
  if (!engine_.core().end_sync(*this, done) || asked) engine_.departure_waits();
  engine_.settled();
  engine_.lock().leave();
  return true;
}

Status DurableArea::sync(interface::StoredRange range, Deadline deadline) {
  std::uint64_t mine = 0;
  {
    const base::RunLockGuard guard(engine_.lock());
    if (!guard) return Status::forked;
    asked_.push_back(range);
    mine = ++last_asked_;
  }
  wake();
  const auto over = [&] {
    if (failed) return Status::not_durable;
    return last_over_ >= mine ? Status::ok : Status::pending;
  };
  return engine_.wait(over, deadline);
}

}  // namespace hamlyn::internal_::library
