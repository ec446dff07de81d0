// The nodes as events: a connection of its own to the daemon, whose queue is the only buffer.
#include "hamlyn/membership.h"

#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <map>

#include "base/longest_time.h"
#include "base/socket.h"
#include "base/throw_system.h"
#include "node/greet.h"

namespace hamlyn {

namespace {

using Clock = std::chrono::steady_clock;
using State = Membership::State;
using Change = Membership::Change;

constexpr std::chrono::milliseconds kAgain{200};  // between two tries to find a daemon that has ended
constexpr std::chrono::milliseconds kTry{50};     // and how long one may take

bool there(State state) noexcept { return state == State::alive || state == State::suspect; }

Membership::Node node_of(const node::MemberReply& reply) {
  Membership::Node out;
  out.id = reply.id;
  out.state = static_cast<State>(std::min(reply.state, static_cast<std::uint32_t>(State::left)));
  out.boot = reply.boot != 0;
  out.incarnation = reply.incarnation;
  out.address.assign(reply.address, ::strnlen(reply.address, sizeof reply.address));
  return out;
}

// What has become of a node; nothing: nothing worth telling. `told`: the incarnation last told of, 0 for
// none.
std::optional<Change> change_of(const Membership::Node* before, const Membership::Node& now,
                                std::uint64_t told, std::uint32_t changes) {
  const bool was = before != nullptr && there(before->state);
  if (now.state == State::self) {
    if (told != now.incarnation) return Change::renewed;
    if (before == nullptr) return Change::came;
  } else if (there(now.state)) {
    if (told != 0 && told != now.incarnation) return Change::returned;
    if (!was) return Change::came;
    if (before->state != now.state) return now.state == State::suspect ? Change::suspected : Change::cleared;
  } else if (before != nullptr && before->state != now.state) {
    if (now.state == State::left) return Change::left;
    if (was) return Change::died;
  }
  if (changes > 1) return Change::missed;
  return std::nullopt;
}

}  // namespace

struct Membership::Parts {
  // What was read from the daemon.
  enum class Read : std::uint8_t { member, whole, nothing, gone };

  explicit Parts(const Options& options);

  void ask();
  Read read(node::MemberReply& out);
  bool find_again();
  Event lose();
  std::optional<Event> apply(const node::MemberReply& reply);
  Node* row(std::uint16_t id) noexcept;

  node::ClientOptions daemon;
  base::FileDescriptor epoll;
  base::FileDescriptor timer;   // runs while there is no daemon
  base::FileDescriptor socket;  // none: there is no daemon
  std::vector<Node> nodes;
  std::map<std::uint16_t, std::uint64_t> told;  // incarnations, by node
};

Membership::Parts::Parts(const Options& options)
    : epoll(epoll_create1(EPOLL_CLOEXEC)),
      timer(timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK)) {
  if (!epoll) base::throw_system("epoll_create1");
  if (!timer) base::throw_system("timerfd_create");
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
    if (got == Read::member) apply(reply);
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
  socket = std::move(greeted.socket);
}

// Throws Error if the daemon refuses.
Membership::Parts::Read Membership::Parts::read(node::MemberReply& out) {
  std::array<std::byte, sizeof(node::Reply)> buffer{};
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
  socket.reset();  // nobody else has it open, so it leaves the epoll with it
  nodes.clear();
  itimerspec soon{};
  soon.it_value.tv_nsec = soon.it_interval.tv_nsec = std::chrono::nanoseconds{kAgain}.count();
  timerfd_settime(timer.get(), 0, &soon, nullptr);
  Event event;
  event.change = Change::daemon_gone;
  return event;
}

Membership::Node* Membership::Parts::row(std::uint16_t id) noexcept {
  const auto found = std::ranges::find(nodes, id, &Node::id);
  return found == nodes.end() ? nullptr : &*found;
}

std::optional<Membership::Event> Membership::Parts::apply(const node::MemberReply& reply) {
  Event event;
  event.node = node_of(reply);
  event.changes = std::max(reply.changes, 1u);
  std::uint64_t& former = told[reply.id];
  event.former = former;
  Node* const before = row(reply.id);
  const std::optional<Change> change = change_of(before, event.node, former, event.changes);
  if (before != nullptr) {
    *before = event.node;
  } else {
    nodes.insert(std::ranges::upper_bound(nodes, reply.id, {}, &Node::id), event.node);
  }
  if (change || former == 0) former = reply.incarnation;
  if (!change) return std::nullopt;
  event.change = *change;
  return event;
}

Membership::Membership() : Membership(Options{}) {}
Membership::Membership(const Options& options) : parts_(std::make_unique<Parts>(options)) {}
Membership::~Membership() = default;
Membership::Membership(Membership&&) noexcept = default;
Membership& Membership::operator=(Membership&&) noexcept = default;

const std::vector<Membership::Node>& Membership::nodes() const noexcept { return parts_->nodes; }
int Membership::descriptor() const noexcept { return parts_->epoll.get(); }

std::optional<Membership::Event> Membership::next() {
  Parts& parts = *parts_;
  if (!parts.socket && !parts.find_again()) return std::nullopt;
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
    if (auto event = parts.apply(reply)) return event;
  }
}

Status Membership::wait(Event& out, std::chrono::milliseconds timeout) {
  const node::Deadline deadline = Clock::now() + base::within_clock(timeout);
  while (true) {
    if (auto event = next()) {
      out = std::move(*event);
      return Status::ok;
    }
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
