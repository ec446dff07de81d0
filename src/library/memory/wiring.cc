#include "library/memory/wiring.h"

#include <pthread.h>
#include <sys/mman.h>

#include <algorithm>
#include <mutex>
#include <new>

#include "base/immortal.h"
#include "hamlyn/values/error.h"

namespace hamlyn::internal_::library {

namespace {

constexpr std::uintptr_t kPage = 4096;

constinit std::mutex wirings_mutex;
constinit base::Immortal<std::vector<const Wiring*>> all;

// A child that is forked while another thread has the mutex could never take it.
const int wirings_hear_of_forks = pthread_atfork([] { wirings_mutex.lock(); }, [] { wirings_mutex.unlock(); },
                                                 [] { wirings_mutex.unlock(); });

}  // namespace

Wiring::Wiring() {
  if (wirings_hear_of_forks != 0) throw Error(ErrorCode::out_of_memory, "no memory to hear of forks");
  const std::lock_guard guard(wirings_mutex);
  all.value.push_back(this);
}

Wiring::~Wiring() {
  const std::lock_guard guard(wirings_mutex);
  std::erase(all.value, this);
  for (const Range& range : ranges_) unlock_unless_held(range);
}

Wiring::Range Wiring::pages_of(std::span<const std::byte> memory) noexcept {
  const auto begin = reinterpret_cast<std::uintptr_t>(memory.data());
  return {begin / kPage * kPage, (begin + memory.size() + kPage - 1) / kPage * kPage};
}

bool Wiring::lock(std::span<const std::byte> memory) noexcept {
  Range range = pages_of(memory);
  const std::lock_guard guard(wirings_mutex);
  try {
    ranges_.reserve(ranges_.size() + 1);
  } catch (const std::bad_alloc&) {
    return false;
  }
  if (mlock(reinterpret_cast<void*>(range.begin), range.end - range.begin) != 0) return false;
  std::erase_if(ranges_, [&range](const Range& other) {
    const bool touches = other.begin <= range.end && range.begin <= other.end;
    if (touches) range = {std::min(range.begin, other.begin), std::max(range.end, other.end)};
    return touches;
  });
  ranges_.push_back(range);
  return true;
}

void Wiring::unlock(std::span<const std::byte> memory) noexcept {
  const Range range = pages_of(memory);
  const std::lock_guard guard(wirings_mutex);
  try {
    ranges_.reserve(2 * ranges_.size() + 1);  // each may leave a part before and one behind
  } catch (const std::bad_alloc&) {
    return;  // they stay locked, for this area
  }
  for (std::size_t i = ranges_.size(); i-- != 0;) {
    const Range had = ranges_[i];
    if (had.end <= range.begin || range.end <= had.begin) continue;
    ranges_.erase(ranges_.begin() + static_cast<std::ptrdiff_t>(i));
    if (had.begin < range.begin) ranges_.push_back({had.begin, range.begin});
    if (range.end < had.end) ranges_.push_back({range.end, had.end});
    unlock_unless_held({std::max(had.begin, range.begin), std::min(had.end, range.end)});
  }
}

bool Wiring::holds(std::span<const std::byte> memory) const noexcept {
  const Range wanted = pages_of(memory);
  const std::lock_guard guard(wirings_mutex);
  return std::ranges::any_of(
      ranges_, [&](const Range& range) { return range.begin <= wanted.begin && wanted.end <= range.end; });
}

// With the mutex, and with no area's range that is let go of in the list.
void Wiring::unlock_unless_held(Range range) noexcept {
  for (std::uintptr_t at = range.begin; at < range.end;) {
    std::uintptr_t held_until = at, free_until = range.end;
    for (const Wiring* other : all.value) {
      for (const Range& held : other->ranges_) {
        if (held.begin <= at && at < held.end)
          held_until = std::max(held_until, held.end);
        else if (held.begin > at)
          free_until = std::min(free_until, held.begin);
      }
    }
    if (held_until == at) munlock(reinterpret_cast<void*>(at), free_until - at);
    at = held_until != at ? held_until : free_until;
  }
}

}  // namespace hamlyn::internal_::library
