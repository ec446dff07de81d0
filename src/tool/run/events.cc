#include "tool/run/events.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "tool/failure.h"

namespace hamlyn::tool {

Events::Events(int front) : front_(front), news_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  sigset_t set;
  ::sigemptyset(&set);
  ::sigaddset(&set, SIGCHLD);
  children_.reset(::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!children_ || !news_) throw system_failure("signalfd", errno);
}

bool is_ending(int signal) noexcept {
  constexpr std::array kEnding{SIGHUP, SIGINT, SIGQUIT, SIGTERM};
  return std::ranges::find(kEnding, signal) != kEnding.end();
}

int Events::Came::ending() const noexcept {
  const auto found = std::ranges::find_if(signals, is_ending, &Passed::number);
  return found == signals.end() ? 0 : found->number;
}

void Events::news() const noexcept {
  const std::uint64_t one = 1;
  [[maybe_unused]] const auto written = ::write(news_.get(), &one, sizeof one);
}

Events::Came Events::wait(Streams& streams, std::chrono::milliseconds timeout, int other) {
  std::vector<pollfd> all{
      {children_.get(), POLLIN, 0}, {news_.get(), POLLIN, 0}, {front_, POLLIN, 0}, {other, POLLIN, 0}};
  const std::size_t own = all.size();
  streams.watch(all);
  Came out;
  if (::poll(all.data(), all.size(), static_cast<int>(timeout.count())) <= 0) return out;
  signalfd_siginfo info{};
  while (::read(children_.get(), &info, sizeof info) == sizeof info) {
  }
  std::uint64_t count = 0;
  [[maybe_unused]] const auto got = ::read(news_.get(), &count, sizeof count);
  if (all[2].revents != 0) {
    Passed passed;
    ssize_t taken = 0;
    while ((taken = ::recv(front_, &passed, sizeof passed, MSG_DONTWAIT)) == sizeof passed)
      out.signals.push_back(passed);
    out.front_ended = taken == 0 || (taken < 0 && errno != EAGAIN);
  }
  streams.serve(std::span(all).subspan(own));
  return out;
}

}  // namespace hamlyn::tool
