#include "library/far/far_thread.h"

#include <sys/epoll.h>

#include <algorithm>
#include <exception>
#include <utility>
#include <vector>

#include "base/throw_system.h"
#include "base/uncancelled.h"
#include "library/control/control.h"
#include "library/engine.h"
#include "library/far/far_fabric.h"
#include "library/wait/own_thread.h"

namespace hamlyn::internal_::library {

namespace {

constexpr std::uint64_t kThreadEvent = 1;

}  // namespace

FarThread::FarThread(Engine& engine) : engine_(engine) {
  base::FileDescriptor epoll(epoll_create1(EPOLL_CLOEXEC));
  if (!epoll) base::throw_system("epoll_create1");
  epoll_.adopt(std::move(epoll));
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
  stop_.store(true);  // before it is asked whether the thread watches: one of both sees the other
  watch_no_more();
  call();
  if (thread_.joinable()) thread_.join();
}

void FarThread::call() noexcept {
  word_.fetch_add(1);
  futex_wake(word_);
}

void FarThread::watch() noexcept {
  Watch none =
      Watch::none;  // one that watches goes on: what it sees moves the words of whoever sleeps by then
  if (watch_.compare_exchange_strong(none, Watch::asked)) call();
}

// Else what is relayed to the one who sleeps on the descriptor would wait until something comes.
void FarThread::watch_no_more() noexcept {
  if (watch_.load() == Watch::none) return;
  if (watch_.exchange(Watch::none) == Watch::watching) event_.ring();
}

void FarThread::relay() noexcept {
  relay_.store(true);
  if (watch_.load() == Watch::watching) event_.ring();
  call();
}

// Throws Error, and then the thread has the process's descriptors still.
void FarThread::leave_process() {
  own_epoll_ = epoll_.get();
  own_events_ = engine_.sleepers_.events();
  std::vector<unsigned> keep{static_cast<unsigned>(own_epoll_)};
  for (const int event : own_events_) keep.push_back(static_cast<unsigned>(event));
  if (!epoll_.ours() || std::ranges::count(own_events_, -1) != 0)
    throw Error(ErrorCode::system, "the program has closed what the way to other hosts needs");
  if (!leave_descriptors(keep)) throw Error(ErrorCode::out_of_memory, "no memory for a table of descriptors");
}

void FarThread::open() noexcept {
  try {
    engine_.sleepers_.open();
    auto far =
        std::make_unique<FarFabric>(engine_.far_address_, engine_.far_wanted_engine_, engine_.far_dead_);
    if (!watch_arrivals(epoll_.get(), far->descriptor())) base::throw_system("epoll_ctl");
    leave_process();
    try {
      event_.listen();
      epoll_event watched{};
      watched.events = EPOLLIN;
      watched.data.u64 = kThreadEvent;
      if (epoll_ctl(own_epoll_, EPOLL_CTL_ADD, event_.descriptor(), &watched) != 0)
        base::throw_system("epoll_ctl");
    } catch (const std::exception&) {
      (void)far.release();  // its descriptors are of another table
      throw;
    }
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
    if (stop_.load()) break;
    // Taken before the look at what is to be relayed: a relay that was asked for before the watch is seen.
    Watch asked = Watch::asked;
    const bool watches = watch_.compare_exchange_strong(asked, Watch::watching);
    if (relay_.exchange(false)) engine_.sleepers_.wake_all(own_events_);
    if (watches && error_.empty()) {
      watch_arrivals_once();
      continue;
    }
    futex_sleep(Watched{}, word_, value, std::nullopt);
  }
  event_.close();
}

void FarThread::watch_arrivals_once() noexcept {
  epoll_event event{};
  if (!stop_.load()) epoll_wait(own_epoll_, &event, 1, -1);
  if (event.data.u64 == kThreadEvent) event_.take();
  Watch watching = Watch::watching;
  watch_.compare_exchange_strong(watching, Watch::none);  // unless it was asked for anew
  engine_.far_came();
}

}  // namespace hamlyn::internal_::library
