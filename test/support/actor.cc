#include "test/support/actor.h"

#include <grp.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <exception>
#include <utility>

#include "base/socket.h"

namespace hamlyn::test {

bool Line::put_bytes(std::span<const std::byte> bytes) const {
  return base::send_message(socket_.get(), bytes) == base::SocketState::ok;
}

bool Line::take_bytes(std::span<std::byte> bytes, std::chrono::milliseconds patience) const {
  pollfd readable{socket_.get(), POLLIN, 0};
  if (::poll(&readable, 1, static_cast<int>(patience.count())) <= 0) return false;
  const base::Received got = base::receive_message(socket_.get(), bytes, MSG_DONTWAIT);
  return got.state == base::SocketState::ok && got.bytes == bytes.size();
}

bool Line::gone() const {
  pollfd end{socket_.get(), 0, 0};
  return ::poll(&end, 1, 0) == 1;
}

Actor::Actor(const Part& part, int user) : Actor(base::socket_pair(), part, user) {}

Actor::Actor(std::pair<base::FileDescriptor, base::FileDescriptor> ends, const Part& part, int user)
    : line_(std::move(ends.first)) {
  const pid_t parent = ::getpid();
  pid_ = ::fork();
  if (pid_ != 0) return;
  line_ = Line{base::FileDescriptor{}};
  int status = 99;
  try {
    Line line(std::move(ends.second));
    const auto id = static_cast<unsigned>(user);
    if (user >= 0 && (::setgroups(0, nullptr) != 0 || ::setgid(id) != 0 || ::setuid(id) != 0)) ::_exit(98);
    // After the change of user, which clears both.
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    ::prctl(PR_SET_DUMPABLE, 1);
    if (::getppid() != parent) ::_exit(97);
    status = part(line);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "actor %d: %s\n", ::getpid(), error.what());
  }
  ::_exit(status);
}

Actor::Actor(Actor&& other) noexcept
    : line_(std::move(other.line_)),
      pid_(std::exchange(other.pid_, -1)),
      stopped_(other.stopped_),
      status_(other.status_) {}

Actor::~Actor() {
  if (pid_ <= 0 || status_) return;
  ::kill(pid_, SIGKILL);
  ::waitpid(pid_, nullptr, 0);
}

void Actor::signal(int number) const { ::kill(pid_, number); }

void Actor::look() {
  int status = 0;
  if (status_ || ::waitpid(pid_, &status, WNOHANG | WUNTRACED) != pid_) return;
  if (WIFSTOPPED(status)) {
    stopped_ = true;
  } else {
    status_ = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
  }
}

bool Actor::stopped() {
  look();
  return std::exchange(stopped_, false);
}

bool Actor::running() {
  look();
  return !status_;
}

int Actor::wait() {
  if (eventually([this] { return !running(); })) return *status_;
  ::kill(pid_, SIGKILL);
  return -1;
}

}  // namespace hamlyn::test
