#include "tool/stop.h"

#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <string>

#include "tool/failure.h"

namespace hamlyn::tool {
namespace {

constexpr int kSignals[] = {SIGINT, SIGTERM, SIGHUP};
constexpr int kAgainMs = 20;

// A handler can reach nothing but these.
std::atomic<int> wake{-1};                // by Stop, to ring
std::atomic<bool> stop_requested{false};  // on_signal to requested and watch
std::atomic<bool> leaving{false};         // ~Stop to watch, before it rings

void ring() noexcept {
  const int errnum = errno;
  const std::uint64_t one = 1;
  [[maybe_unused]] const auto written = ::write(wake.load(), &one, sizeof one);
  errno = errnum;
}

void on_signal(int) {
  stop_requested.store(true);
  ring();
}

void on_kick(int) {}  // its arrival is all: the system call that the thread is in returns EINTR

void handle(int number, void (*handler)(int)) {
  struct sigaction action {};
  action.sa_handler = handler;  // no SA_RESTART: blocking calls are to come back
  sigemptyset(&action.sa_mask);
  ::sigaction(number, &action, nullptr);
}

}  // namespace

Stop::Stop() : main_thread_(::pthread_self()) {
  const int descriptor = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (descriptor < 0) throw system_failure("no eventfd", errno);
  wake.store(descriptor);
  leaving.store(false);
  watcher_ = std::thread([this] { watch(); });
  handle(SIGUSR1, on_kick);
  for (const int number : kSignals) handle(number, on_signal);
}

Stop::~Stop() {
  for (const int number : kSignals) handle(number, SIG_IGN);  // it is leaving already
  leaving.store(true);
  ring();
  watcher_.join();
  ::close(wake.exchange(-1));
}

void check_stop(const char* doing) {
  if (Stop::requested()) throw interrupted(std::string("interrupted while ") + doing);
}

bool Stop::requested() noexcept { return stop_requested.load(); }

void Stop::cancel(Manager* manager) {
  const std::lock_guard lock(mutex_);
  manager_ = manager;
}

void Stop::end_waits() noexcept {
  const std::lock_guard lock(mutex_);
  if (manager_) manager_->cancel();
  ::pthread_kill(main_thread_, SIGUSR1);
}

// A cancellation or a kick that comes a moment before the main thread blocks is lost, so they are repeated.
void Stop::watch() noexcept {
  pollfd waiting{wake.load(), POLLIN, 0};
  while (!leaving.load() && !stop_requested.load()) ::poll(&waiting, 1, -1);
  while (!leaving.load()) {
    end_waits();
    ::poll(nullptr, 0, kAgainMs);
  }
}

}  // namespace hamlyn::tool
