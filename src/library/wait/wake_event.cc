#include "library/wait/wake_event.h"

#include <signal.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>

#include "base/throw_system.h"
#include "library/setting.h"

namespace hamlyn::internal_::library {

namespace {
constexpr int kSignal = SIGSTKFLT;  // neither the kernel nor any program uses it
}

void WakeEvent::listen() {
  if (simulation != nullptr) {
    signals_.reset(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    if (!signals_) base::throw_system("eventfd");
    return;
  }
  sigset_t ours;
  sigemptyset(&ours);
  sigaddset(&ours, kSignal);
  signals_.reset(signalfd(-1, &ours, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!signals_) base::throw_system("signalfd");
  const std::lock_guard guard(mutex_);
  process_ = getpid();
  thread_ = static_cast<pid_t>(syscall(SYS_gettid));
}

void WakeEvent::close() noexcept {
  const std::lock_guard guard(mutex_);
  thread_ = 0;
  signals_.reset();
}

void WakeEvent::take() noexcept {
  signalfd_siginfo one;  // longer than an eventfd's number
  while (read(signals_.get(), &one, sizeof one) > 0) {
  }
}

void WakeEvent::ring() noexcept {
  if (simulation != nullptr) {
    const std::uint64_t one = 1;
    [[maybe_unused]] const ssize_t written = write(signals_.get(), &one, sizeof one);
    return;
  }
  if (getpid() != process_) return;
  const std::lock_guard guard(mutex_);
  if (thread_ != 0) syscall(SYS_tgkill, process_, thread_, kSignal);
}

}  // namespace hamlyn::internal_::library
