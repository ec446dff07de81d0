#include "library/far_thread.h"

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <exception>
#include <utility>

#include "base/throw_system.h"
#include "base/uncancelled.h"
#include "library/control.h"
#include "library/engine.h"
#include "library/far_fabric.h"
#include "library/own_thread.h"

namespace hamlyn::internal_::library {

namespace {

constexpr std::uint64_t kThreadEvent = 1;

}  // namespace

FarThread::FarThread(Engine& engine) : engine_(engine) {
  base::FileDescriptor event(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!event) base::throw_system("eventfd");
  own_event_.adopt(std::move(event));
  base::FileDescriptor epoll(epoll_create1(EPOLL_CLOEXEC));
  if (!epoll) base::throw_system("epoll_create1");
  epoll_.adopt(std::move(epoll));
  epoll_event watched{};
  watched.events = EPOLLIN;
  watched.data.u64 = kThreadEvent;
  if (epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, own_event_.get(), &watched) != 0)
    base::throw_system("epoll_ctl");
}

bool FarThread::start() noexcept {
  try {
    thread_ = start_own_thread("hamlyn-far", [this] { main(); });
  } catch (const std::exception&) {
    return false;
  }
  return true;
}

FarThread::~FarThread() { stop(); }

void FarThread::stop() noexcept {
  const base::Uncancelled guard;
  stop_.store(true);
  raise(own_event_);
  call();
  if (thread_.joinable()) thread_.join();
}

void FarThread::call() noexcept {
  word_.fetch_add(1);
  futex_wake(word_);
}

void FarThread::watch() noexcept {
  watch_.store(Watch::asked);
  call();
}

// Else what is relayed to the one who sleeps on the descriptor would wait until something comes.
void FarThread::watch_no_more() noexcept {
  if (watch_.load() == Watch::none) return;
  if (watch_.exchange(Watch::none) == Watch::watching) raise(own_event_);
}

void FarThread::relay() noexcept {
  relay_.store(true);
  call();
}

void FarThread::open() noexcept {
  try {
    engine_.sleepers_.open();
    auto far =
        std::make_unique<FarFabric>(engine_.far_address_, engine_.far_wanted_engine_, engine_.far_dead_);
    if (!watch_arrivals(epoll_.get(), far->descriptor())) base::throw_system("epoll_ctl");
    engine_.lock_.enter_as_other();
    engine_.far_ = std::move(far);
    engine_.core_.set_gate(&engine_.far_->exchange());
    engine_.wake_everybody();
    engine_.lock_.leave();
  } catch (const std::exception& error) {
    error_ = error.what();
  }
  done_.store(true, std::memory_order_release);
  engine_.control_->attention();
}

void FarThread::main() noexcept {
  base::RealThreads::come_as_other();
  open();
  while (true) {
    const std::uint32_t value = word_.load();
    if (stop_.load()) return;
    // Taken before the look at what is to be relayed: a relay that was asked for before the watch is seen.
    Watch asked = Watch::asked;
    const bool watches = watch_.compare_exchange_strong(asked, Watch::watching);
    if (relay_.exchange(false)) engine_.sleepers_.wake_all();
    if (watches && error_.empty()) {
      watch_arrivals_once();
      continue;
    }
    futex_sleep(Watched{}, word_, value, std::nullopt);
  }
}

void FarThread::watch_arrivals_once() noexcept {
  epoll_event event{};
  if (epoll_.ours()) epoll_wait(epoll_.get(), &event, 1, -1);
  if (event.data.u64 == kThreadEvent && own_event_.ours()) {
    std::uint64_t number;
    [[maybe_unused]] const ssize_t got = read(own_event_.get(), &number, sizeof number);
  }
  Watch watching = Watch::watching;
  watch_.compare_exchange_strong(watching, Watch::none);  // unless it was asked for anew
  engine_.far_came();
}

}  // namespace hamlyn::internal_::library
