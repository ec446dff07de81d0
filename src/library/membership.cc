// The nodes as events: a connection of its own to the daemon, whose queue is the only buffer.
#include "hamlyn/core/membership.h"

#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <utility>

#include "base/longest_time.h"
#include "base/marked_descriptor.h"
#include "base/socket.h"
#include "base/throw_system.h"
#include "base/uncancelled.h"
#include "library/control/member_events.h"
#include "node/client/greet.h"

namespace hamlyn {

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kAgain{200};  // between two tries to find a daemon that has ended
constexpr std::chrono::milliseconds kTry{50};     // and how long one may take

}  // namespace

struct Membership::Parts {
  // Kind of a message that was read from the daemon.
  enum class Read : std::uint8_t { member, whole, nothing, gone };

  explicit Parts(const Options& options);

  void ask();
  Read read(node::MemberReply& out);
  bool find_again();
  Event lose();

  node::ClientOptions daemon;
  // In the process's table. When the program has closed one of them, nothing is told any more but that.
  base::MarkedDescriptor epoll;
  base::MarkedDescriptor timer;   // runs while there is no daemon
  base::MarkedDescriptor socket;  // none: there is no daemon
  library::MemberEvents events;
};

Membership::Parts::Parts(const Options& options) {
  base::FileDescriptor own_epoll(epoll_create1(EPOLL_CLOEXEC));
  if (!own_epoll) base::throw_system("epoll_create1");
  epoll.adopt(std::move(own_epoll));
  base::FileDescriptor own_timer(timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK));
  if (!own_timer) base::throw_system("timerfd_create");
  timer.adopt(std::move(own_timer));
  epoll_event event{};
  event.events = EPOLLIN;
  if (epoll_ctl(epoll.get(), EPOLL_CTL_ADD, timer.get(), &event) != 0) base::throw_system("epoll_ctl");
  daemon.socket = options.node;
  daemon.start_node = false;
  daemon.timeout = base::within_clock(options.timeout);
  const node::Deadline deadline = Clock::now() + base::within_clock(options.timeout);
  ask();
  node::MemberReply reply;
  for (Read got = Read::nothing; got != Read::whole; got = read(reply)) {
    if (got == Read::member) events.take(reply);
    if (got == Read::gone) throw Error(ErrorCode::node_unreachable, "the node daemon has gone");
    if (got == Read::nothing && !node::wait_readable(socket.get(), deadline))
      throw Error(ErrorCode::timed_out, "the node daemon does not say which nodes there are");
  }
  daemon.timeout = kTry;
}

// Attaches, and asks to be told. Throws Error.
void Membership::Parts::ask() {
  node::Hello hello;
  hello.flags = node::Hello::kObserver;
  node::Greeted greeted = node::greet(daemon, hello, -1);
  daemon.socket = greeted.path;  // the same one from now on
  node::Request request;
  request.kind = node::RequestKind::watch;
  request.request = 1;
  if (base::send_message(greeted.socket.get(), std::as_bytes(std::span{&request, 1})) !=
      base::SocketState::ok)
    throw Error(ErrorCode::node_unreachable, "the node daemon has gone");
  epoll_event event{};
  event.events = EPOLLIN;
  if (epoll_ctl(epoll.get(), EPOLL_CTL_ADD, greeted.socket.get(), &event) != 0)
    base::throw_system("epoll_ctl");
  socket.adopt(std::move(greeted.socket));
}

// Throws Error if the daemon refuses.
Membership::Parts::Read Membership::Parts::read(node::MemberReply& out) {
  std::array<std::byte, sizeof(node::Reply)> buffer{};
  if (!socket.ours()) return Read::gone;
  const base::Received got = base::receive_message(socket.get(), buffer, MSG_DONTWAIT);
  if (got.state == base::SocketState::again) return Read::nothing;
  if (got.state != base::SocketState::ok) return Read::gone;
  node::ReplyKind kind{};
  std::memcpy(&kind, buffer.data(), sizeof kind);
  if (kind == node::ReplyKind::member && got.bytes == sizeof out) {
    std::memcpy(&out, buffer.data(), sizeof out);
    return Read::member;
  }
  if (kind == node::ReplyKind::node && got.bytes == sizeof(node::NodeReply)) return Read::whole;
  if (kind != node::ReplyKind::refused || got.bytes != sizeof(node::Reply)) return Read::gone;
  node::Reply refusal;
  std::memcpy(&refusal, buffer.data(), sizeof refusal);
  throw Error(static_cast<ErrorCode>(refusal.error),
              std::string(refusal.text, ::strnlen(refusal.text, sizeof refusal.text)));
}

// False: not now.
bool Membership::Parts::find_again() {
  std::uint64_t count = 0;
  if (!timer.ours() || !epoll.ours()) return false;
  if (::read(timer.get(), &count, sizeof count) != sizeof count) return false;
  try {
    ask();
  } catch (const Error&) {
    return false;
  }
  const itimerspec never{};
  timerfd_settime(timer.get(), 0, &never, nullptr);
  return true;
}

Membership::Event Membership::Parts::lose() {
  socket.close();  // nobody else has it open, so it leaves the epoll with it
  itimerspec soon{};
  soon.it_value.tv_nsec = soon.it_interval.tv_nsec = std::chrono::nanoseconds{kAgain}.count();
  if (timer.ours()) timerfd_settime(timer.get(), 0, &soon, nullptr);
  return events.lose();
}

Membership::Membership() : Membership(Options{}) {}
Membership::Membership(const Options& options) {
  const base::Uncancelled guard;
  parts_ = std::make_unique<Parts>(options);
}
Membership::~Membership() = default;
Membership::Membership(Membership&&) noexcept = default;
Membership& Membership::operator=(Membership&&) noexcept = default;

const std::vector<Membership::Node>& Membership::nodes() const noexcept { return parts_->events.nodes(); }
int Membership::descriptor() const noexcept { return parts_->epoll.get(); }

std::optional<Membership::Event> Membership::next() {
  const base::Uncancelled guard;
  Parts& parts = *parts_;
  if (parts.socket.get() < 0 && !parts.find_again()) return std::nullopt;
  while (true) {
    node::MemberReply reply;
    auto got = Parts::Read::gone;
    try {
      got = parts.read(reply);
    } catch (const Error&) {  // refused by a daemon that was started again: it may have room later
    }
    if (got == Parts::Read::nothing) return std::nullopt;
    if (got == Parts::Read::gone) return parts.lose();
    if (got == Parts::Read::whole) continue;
    if (auto event = parts.events.take(reply)) return event;
  }
}

Status Membership::wait(Event& out, std::chrono::milliseconds timeout) {
  const base::Uncancelled guard;
  const node::Deadline deadline = Clock::now() + base::within_clock(timeout);
  while (true) {
    if (auto event = next()) {
      out = std::move(*event);
      return Status::ok;
    }
    if (!parts_->epoll.ours()) return Status::invalid;
    if (!node::wait_readable(parts_->epoll.get(), deadline)) return Status::timed_out;
  }
}

const char* name(Membership::State state) noexcept {
  constexpr const char* kNames[] = {"self", "alive", "suspect", "dead", "left"};
  return kNames[static_cast<std::size_t>(state)];
}

const char* name(Membership::Change change) noexcept {
  constexpr const char* kNames[] = {"came", "returned", "suspected", "cleared",    "died",
                                    "left", "renewed",  "missed",    "daemon_gone"};
  return kNames[static_cast<std::size_t>(change)];
}

}  // namespace hamlyn
