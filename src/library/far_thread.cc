#include "library/far_thread.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <exception>

#include "base/throw_system.h"
#include "library/control.h"
#include "library/engine.h"
#include "library/far_fabric.h"
#include "library/own_thread.h"

namespace hamlyn::library {

FarThread::FarThread(Engine& engine) : engine_(engine), stop_event_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  if (!stop_event_) base::throw_system("eventfd");
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
  stop_.store(true);
  const std::uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = write(stop_event_.get(), &one, sizeof one);
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
    auto far = std::make_unique<FarFabric>(engine_.far_address_, engine_.far_dead_);
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
  base::RunLock::come_as_other();
  open();
  while (true) {
    const std::uint32_t value = word_.load();
    if (stop_.load()) return;
    if (relay_.exchange(false)) engine_.sleepers_.wake_all();
    if (watch_.exchange(false) && error_.empty()) {
      pollfd both[] = {{engine_.far_->descriptor(), POLLIN, 0}, {stop_event_.get(), POLLIN, 0}};
      poll(both, 2, -1);
      engine_.far_came();
      continue;
    }
    futex_sleep(Watched{}, word_, value, std::nullopt);
  }
}

}  // namespace hamlyn::library
