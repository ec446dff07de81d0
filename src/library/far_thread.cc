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

FarThread::FarThread(Engine& engine) : engine_(engine) {
  base::FileDescriptor event(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!event) base::throw_system("eventfd");
  stop_event_.adopt(std::move(event));
  base::FileDescriptor epoll(epoll_create1(EPOLL_CLOEXEC));
  if (!epoll) base::throw_system("epoll_create1");
  epoll_.adopt(std::move(epoll));
  epoll_event watched{};
  watched.events = EPOLLIN;
  if (epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, stop_event_.get(), &watched) != 0)
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
  const std::uint64_t one = 1;
  if (stop_event_.ours()) {
    [[maybe_unused]] const ssize_t written = write(stop_event_.get(), &one, sizeof one);
  }
  ask(relay_);
  if (thread_.joinable()) thread_.join();
}

void FarThread::ask(std::atomic<bool>& what) noexcept {
  what.store(true);
  word_.fetch_add(1);
  futex_wake(word_);
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
    if (relay_.exchange(false)) engine_.sleepers_.wake_all();
    if (watch_.exchange(false) && error_.empty()) {
      epoll_event event;
      if (epoll_.ours()) epoll_wait(epoll_.get(), &event, 1, -1);
      engine_.far_came();
      continue;
    }
    futex_sleep(Watched{}, word_, value, std::nullopt);
  }
}

}  // namespace hamlyn::internal_::library
