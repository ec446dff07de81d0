#include "library/far_sleepers.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>

#include "base/throw_system.h"

namespace hamlyn::library {

using Clock = std::chrono::steady_clock;

namespace {

void raise(const base::FileDescriptor& event) noexcept {
  const std::uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = write(event.get(), &one, sizeof one);
}

}  // namespace

void FarSleepers::open() {
  for (Sleeper& sleeper : sleepers_) {
    if (!sleeper.event_) sleeper.event_.reset(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    if (!sleeper.event_) base::throw_system("eventfd");
  }
}

FarSleepers::Sleeper* FarSleepers::take() noexcept {
  const auto free = std::find_if(sleepers_.begin(), sleepers_.end(),
                                 [](Sleeper& sleeper) { return !sleeper.taken_.exchange(true); });
  return free == sleepers_.end() ? nullptr : &*free;
}

void FarSleepers::sleep(Sleeper& sleeper, int descriptor, const Word& word, std::uint32_t value,
                        std::optional<Clock::time_point> deadline) noexcept {
  sleeper.word_.store(&word);  // pairs with the load in wake: one of us sees the other
  if (word.load() == value) {
    pollfd both[] = {{descriptor, POLLIN, 0}, {sleeper.event_.get(), POLLIN, 0}};
    timespec left{};
    if (deadline) {
      const auto time = std::max(Clock::duration::zero(), *deadline - Clock::now());
      left.tv_sec = static_cast<time_t>(time / std::chrono::seconds(1));
      left.tv_nsec = static_cast<long>((time % std::chrono::seconds(1)).count());
    }
    ppoll(both, 2, deadline ? &left : nullptr, nullptr);
  }
  sleeper.word_.store(nullptr);
  std::uint64_t count;  // what comes after this wakes the next one of this place for nothing, once
  [[maybe_unused]] const ssize_t got = read(sleeper.event_.get(), &count, sizeof count);
  sleeper.taken_.store(false);
}

bool FarSleepers::any(const Word& word) const noexcept {
  return std::any_of(sleepers_.begin(), sleepers_.end(),
                     [&](const Sleeper& sleeper) { return sleeper.word_.load() == &word; });
}

void FarSleepers::wake(const Word& word) noexcept {
  for (const Sleeper& sleeper : sleepers_) {
    if (sleeper.word_.load() == &word) raise(sleeper.event_);
  }
}

void FarSleepers::wake_all() noexcept {
  for (const Sleeper& sleeper : sleepers_) {
    if (sleeper.word_.load() != nullptr) raise(sleeper.event_);
  }
}

}  // namespace hamlyn::library
