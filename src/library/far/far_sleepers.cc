#include "library/far/far_sleepers.h"

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "base/throw_system.h"
#include "base/uncancelled.h"
#include "library/setting.h"

namespace hamlyn::internal_::library {

namespace {

constexpr std::uint64_t kOwnEvent = 1;

void raise(int event) noexcept {
  const base::Uncancelled guard;
  const std::uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = write(event, &one, sizeof one);
}

// False: the program has closed it.
bool raise(const base::MarkedDescriptor& event) noexcept {
  if (!event.ours()) return false;
  raise(event.get());
  return true;
}

}  // namespace

bool watch_arrivals(int epoll, int descriptor) noexcept {
  epoll_event event{};
  event.events = EPOLLIN | EPOLLET;
  return epoll_ctl(epoll, EPOLL_CTL_ADD, descriptor, &event) == 0;
}

void FarSleepers::open() {
  for (Sleeper& sleeper : sleepers_) {
    if (sleeper.epoll_.ours()) continue;
    base::FileDescriptor own_event(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    if (!own_event) base::throw_system("eventfd");
    sleeper.event_.adopt(std::move(own_event));
    base::FileDescriptor epoll(epoll_create1(EPOLL_CLOEXEC));
    if (!epoll) base::throw_system("epoll_create1");
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.u64 = kOwnEvent;
    if (epoll_ctl(epoll.get(), EPOLL_CTL_ADD, sleeper.event_.get(), &event) != 0)
      base::throw_system("epoll_ctl");
    sleeper.epoll_.adopt(std::move(epoll));
  }
}

FarSleepers::Sleeper* FarSleepers::take(int descriptor) noexcept {
  const auto free = std::find_if(sleepers_.begin(), sleepers_.end(),
                                 [](Sleeper& sleeper) { return !sleeper.taken_.exchange(true); });
  if (free == sleepers_.end()) return nullptr;
  if (!free->epoll_.ours() || !free->event_.ours()) {
    give_back(*free);
    return nullptr;
  }
  if (free->watched_ != descriptor) {
    if (!watch_arrivals(free->epoll_.get(), descriptor)) {
      give_back(*free);
      return nullptr;
    }
    free->watched_ = descriptor;
  }
  const base::Uncancelled guard;
  epoll_event events[2];
  epoll_wait(free->epoll_.get(), events, 2, 0);  // what came until now is seen by the look that follows
  return &*free;
}

void FarSleepers::sleep(Sleeper& sleeper, const Word& word, std::uint32_t value,
                        std::optional<Clock::time_point> deadline) noexcept {
  const base::Uncancelled guard;
  sleeper.word_.store(&word);  // pairs with the load in wake: one of us sees the other
  epoll_event events[2];
  int count = 0;
  if (word.load() == value) {
    timespec left{};
    if (deadline) {
      const auto time = std::max(Clock::duration::zero(), *deadline - Clock::now());
      left.tv_sec = static_cast<time_t>(time / std::chrono::seconds(1));
      left.tv_nsec = static_cast<long>((time % std::chrono::seconds(1)).count());
    }
    count = epoll_pwait2(sleeper.epoll_.get(), events, 2, deadline ? &left : nullptr, nullptr);
  }
  sleeper.word_.store(nullptr);
  for (int i = 0; i < count; ++i) {
    if (events[i].data.u64 != kOwnEvent || !sleeper.event_.ours()) continue;
    std::uint64_t number;  // what comes after this wakes the next one of this place for nothing, once
    [[maybe_unused]] const ssize_t got = read(sleeper.event_.get(), &number, sizeof number);
  }
}

void FarSleepers::give_back(Sleeper& sleeper) noexcept { sleeper.taken_.store(false); }

bool FarSleepers::any(const Word& word) const noexcept {
  return std::any_of(sleepers_.begin(), sleepers_.end(),
                     [&](const Sleeper& sleeper) { return sleeper.word_.load() == &word; });
}

bool FarSleepers::wake(const Word& word) noexcept {
  bool all = true;
  for (const Sleeper& sleeper : sleepers_) {
    if (sleeper.word_.load() == &word) all &= raise(sleeper.event_);
  }
  return all;
}

bool FarSleepers::wake_all() noexcept {
  bool all = true;
  for (const Sleeper& sleeper : sleepers_) {
    if (sleeper.word_.load() != nullptr) all &= raise(sleeper.event_);
  }
  return all;
}

FarSleepers::Events FarSleepers::events() const noexcept {
  Events out;
  std::ranges::transform(sleepers_, out.begin(), [](const Sleeper& sleeper) {
    return sleeper.event_.ours() ? sleeper.event_.get() : -1;
  });
  return out;
}

void FarSleepers::wake_all(const Events& events) noexcept {
  for (std::size_t i = 0; i < kPlaces; ++i) {
    if (sleepers_[i].word_.load() != nullptr) raise(events[i]);
  }
}

bool FarSleepers::closed() const noexcept {
  return !std::ranges::all_of(
      sleepers_, [](const Sleeper& sleeper) { return sleeper.event_.ours() && sleeper.epoll_.ours(); });
}

}  // namespace hamlyn::internal_::library
