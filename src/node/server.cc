#include "node/server.h"

#include <fcntl.h>
#include <sodium.h>
#include <spdlog/spdlog.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <climits>
#include <cstring>
#include <fstream>

#include "base/throw_system.h"
#include "node/attest.h"
#include "node/state_files.h"

namespace hamlyn::node {
namespace {

constexpr std::uint64_t kListener = 1;
constexpr std::uint64_t kSignals = 2;
constexpr std::uint64_t kDeath = std::uint64_t{1} << 63;  // with a connection's number: its process has ended
constexpr std::size_t kMaxQueued = 1024;                  // messages that one process has not read
constexpr int kSendBuffer = 32 << 10;                     // about 80 messages; each may hold two descriptors
constexpr int kTurn = 32;  // messages of one process, or new connections, before it is another's turn

std::uint32_t overflow_uid() {
  std::ifstream file("/proc/sys/kernel/overflowuid");
  std::uint32_t out = 65534;
  file >> out;
  return out;
}

// The number of connections of all users, each of them with its quota, is far above the usual limit of
// descriptors.
void raise_descriptor_limit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);
}

NodeOptions node_options(const ServerOptions& options) {
  NodeOptions out;
  out.quotas = options.config.quotas;
  out.rights = options.config.rights;
  out.cut_after = options.config.cut_after;
  if (!options.service) out.rights = {.everyone = false, .users = {::geteuid()}, .groups = {}};
  out.key = load_key(options.socket);
  // Numbers of another run of the daemon start elsewhere: 2^31 places, 2^32 numbers each.
  out.first_number = (std::uint64_t{::randombytes_uniform(0x7FFFFFFF)} + 1) << 32;
  out.overflow_uid = overflow_uid();
  out.recovering = marked(options.socket);
  out.uid = ::geteuid();
  out.pid = static_cast<std::uint32_t>(::getpid());
  out.version = options.version;
  return out;
}

}  // namespace

Server::Server(const ServerOptions& options) : options_(options) {
  if (::sodium_init() < 0) throw Error(ErrorCode::system, "libsodium cannot start");
  raise_descriptor_limit();
  lock_ = lock_socket(options_.socket);
  marked_ = marked(options_.socket);
  node_ = std::make_unique<Node>(node_options(options_), *this, now());
  epoll_.reset(::epoll_create1(EPOLL_CLOEXEC));
  if (!epoll_) base::throw_system("epoll_create1");
  spare_.reset(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  listen();
  idle_since_ = now();
  spdlog::info("hamlynd {} serves {} at {}", options_.version,
               options_.service ? "all users" : "its own user", options_.socket);
}

Server::~Server() {
  // First the path, so that whoever comes now starts another daemon; then the connections that wait to be
  // accepted break, and whoever made them tries again.
  if (listener_) ::unlink(options_.socket.c_str());
  if (node_ != nullptr && node_->empty()) keep_mark(node_->recovering());
}

void Server::listen() {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (options_.socket.size() >= sizeof address.sun_path) {
    throw Error(ErrorCode::invalid_argument,
                "the path of a socket has at most 107 characters: " + options_.socket);
  }
  std::memcpy(address.sun_path, options_.socket.data(), options_.socket.size());
  listener_.reset(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!listener_) base::throw_system("socket");
  ::unlink(options_.socket.c_str());  // of a daemon that was killed: we hold its lock
  if (::bind(listener_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    listener_.reset();
    base::throw_system(("bind " + options_.socket).c_str());
  }
  if (::chmod(options_.socket.c_str(), options_.service ? 0666 : 0600) != 0) base::throw_system("chmod");
  if (::listen(listener_.get(), SOMAXCONN) != 0) base::throw_system("listen");
  if (!watch(listener_.get(), kListener, EPOLLIN, EPOLL_CTL_ADD)) base::throw_system("epoll_ctl");
}

void Server::run(const sigset_t& signals) {
  const base::FileDescriptor signal{::signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK)};
  if (!signal) base::throw_system("signalfd");
  if (!watch(signal.get(), kSignals, EPOLLIN, EPOLL_CTL_ADD)) base::throw_system("epoll_ctl");
  std::array<epoll_event, 64> events;
  for (;;) {
    const int count = ::epoll_wait(epoll_.get(), events.data(), static_cast<int>(events.size()), wait_time());
    if (count < 0 && errno != EINTR) base::throw_system("epoll_wait");
    for (int i = 0; i < count; ++i) {
      const auto [what, data] = events[static_cast<std::size_t>(i)];
      if (data.u64 == kSignals) return spdlog::info("hamlynd ends: told to");
      if (data.u64 == kListener) {
        accept_some();
      } else if ((data.u64 & kDeath) != 0) {
        leave(data.u64 & ~kDeath);
      } else {
        if ((what & EPOLLOUT) != 0) flush_late(data.u64);
        if ((what & ~EPOLLOUT) != 0) receive_some(data.u64);
      }
    }
    while (!slow_.empty()) node_->too_slow(slow_.extract(slow_.begin()).value());
    node_->tick(now());
    if (node_->empty())
      keep_mark(node_->recovering());
    else
      idle_since_ = now();
    if (options_.idle_exit.count() > 0 && now() - idle_since_ >= options_.idle_exit) {
      return spdlog::info("hamlynd ends: idle");
    }
  }
}

// How long epoll may sleep, in ms.
int Server::wait_time() const {
  Time until = Time::max();
  if (const auto deadline = node_->deadline()) until = *deadline;
  if (options_.idle_exit.count() > 0 && node_->empty())
    until = std::min(until, idle_since_ + options_.idle_exit);
  if (until == Time::max()) return -1;
  return static_cast<int>(std::clamp<Time::rep>((until - now()).count(), 0, INT_MAX));
}

Time Server::now() const {
  return std::chrono::duration_cast<Time>(std::chrono::steady_clock::now().time_since_epoch());
}

bool Server::watch(int fd, std::uint64_t tag, std::uint32_t events, int operation) {
  epoll_event event{};
  event.events = events;
  event.data.u64 = tag;
  return ::epoll_ctl(epoll_.get(), operation, fd, &event) == 0;
}

// The mark is made before the first process can be told anything, and stays until none could come back.
void Server::keep_mark(bool wanted) {
  if (wanted == marked_) return;
  wanted ? mark(options_.socket) : unmark(options_.socket);
  marked_ = wanted;
}

void Server::accept_some() {
  for (int i = 0; i < kTurn; ++i) {
    base::FileDescriptor socket{::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK)};
    if (!socket && (errno == EMFILE || errno == ENFILE)) {
      // Take it only to close it: it would otherwise wake us for ever.
      spare_.reset();
      socket.reset(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
      socket.reset();
      spare_.reset(::open("/dev/null", O_RDONLY | O_CLOEXEC));
      continue;
    }
    if (!socket && (errno == EINTR || errno == ECONNABORTED)) continue;
    if (!socket) return;
    auto attested = attest(socket.get());
    if (!attested) continue;
    const std::uint64_t id = next_id_++;
    // A forked child may keep the socket open when the process has ended: its pidfd tells.
    if (!watch(socket.get(), id, EPOLLIN, EPOLL_CTL_ADD) ||
        !watch(attested->pidfd.get(), id | kDeath, EPOLLIN, EPOLL_CTL_ADD)) {
      continue;
    }
    ::setsockopt(socket.get(), SOL_SOCKET, SO_SNDBUF, &kSendBuffer, sizeof kSendBuffer);
    Peer& peer = peers_[id];
    peer.who = attested->who;
    peer.socket = std::move(socket);
    peer.pidfd = std::make_shared<base::FileDescriptor>(std::move(attested->pidfd));
    keep_mark(true);
    node_->connected(id, attested->who, now());
  }
}

void Server::receive_some(std::uint64_t id) {
  for (int i = 0; i < kTurn; ++i) {
    const auto found = peers_.find(id);
    if (found == peers_.end()) return;
    Peer& peer = found->second;
    std::array<std::byte, sizeof(Request) + 1> buffer;
    base::Received got = base::receive_message(peer.socket.get(), buffer, MSG_DONTWAIT);
    if (got.state == base::SocketState::again) return;
    if (got.state == base::SocketState::closed) return leave(id);
    if (got.state == base::SocketState::malformed || got.fd_count > 1) {
      return node_->malformed(id, "a message that is too long or has too many descriptors");
    }
    const bool counters = got.fd_count == 1;
    if (counters && (peer.counters != nullptr || !sound_counters(got.fds[0].get()))) {
      return node_->malformed(id, "a counter page that is not sealed");
    }
    if (counters) peer.counters = std::make_shared<base::FileDescriptor>(std::move(got.fds[0]));
    node_->received(id, std::span{buffer}.first(got.bytes), counters, now());
  }
}

void Server::leave(std::uint64_t id) {
  if (peers_.erase(id) != 0) node_->disconnected(id);
  slow_.erase(id);
}

void Server::drop(std::uint64_t id, const char* why) {
  const auto found = peers_.find(id);
  if (found == peers_.end()) return;
  const Identity& who = found->second.who;
  if (why != nullptr && told_.insert(who.uid).second) {
    spdlog::warn("dropped process {} ({}) of user {}: {} (said once per user)", who.pid, who.program, who.uid,
                 why);
  }
  slow_.erase(id);
  peers_.erase(found);
}

void Server::send(std::uint64_t id, std::span<const std::byte> message,
                  std::optional<std::uint64_t> counters_of) {
  const auto found = peers_.find(id);
  if (found == peers_.end()) return;
  Outgoing out{{message.begin(), message.end()}, {}};
  if (counters_of) out.fds.push_back(peers_.at(*counters_of).counters);
  post(found->second, id, std::move(out));
}

const char* Server::introduce(std::uint64_t asker, const Reply& to_asker, std::uint64_t peer,
                              const Reply& to_peer) {
  Peer& one = peers_.at(asker);
  Peer& other = peers_.at(peer);
  try {
    auto [here, there] = base::socket_pair();
    const auto message = [](const Reply& reply, base::FileDescriptor& end, const Shared& pidfd) {
      const auto bytes = std::as_bytes(std::span{&reply, 1});
      return Outgoing{{bytes.begin(), bytes.end()},
                      {std::make_shared<base::FileDescriptor>(std::move(end)), pidfd}};
    };
    // The peer first: it can be ready before the asker sends.
    post(other, peer, message(to_peer, there, one.pidfd));
    post(one, asker, message(to_asker, here, other.pidfd));
    return nullptr;
  } catch (const Error&) {
    return "the node daemon has no descriptors left";
  }
}

bool Server::behind(std::uint64_t id) {
  Peer& peer = peers_.at(id);
  peer.awaited |= peer.stuck;
  return peer.stuck;
}

void Server::flush_late(std::uint64_t id) {
  flush(id);
  const auto found = peers_.find(id);
  if (found == peers_.end() || found->second.stuck || !std::exchange(found->second.awaited, false)) return;
  node_->caught_up(id);
}

void Server::post(Peer& peer, std::uint64_t id, Outgoing message) {
  peer.queue.push_back(std::move(message));
  if (!peer.stuck) flush(id);
  if (peer.queue.size() > kMaxQueued) slow_.insert(id);
}

void Server::flush(std::uint64_t id) {
  const auto found = peers_.find(id);
  if (found == peers_.end()) return;
  Peer& peer = found->second;
  while (!peer.queue.empty()) {
    const Outgoing& next = peer.queue.front();
    std::array<int, base::kMaxDescriptors> fds{};
    for (std::size_t i = 0; i < next.fds.size(); ++i) fds[i] = next.fds[i]->get();
    const auto state = base::send_message(peer.socket.get(), next.bytes,
                                          std::span{fds}.first(next.fds.size()), MSG_DONTWAIT);
    if (state == base::SocketState::again) break;
    peer.queue.pop_front();  // what cannot be sent to a process that has gone is of no use to anybody
  }
  if (peer.stuck == !peer.queue.empty()) return;
  peer.stuck = !peer.stuck;
  watch(peer.socket.get(), id, peer.stuck ? EPOLLIN | EPOLLOUT : EPOLLIN, EPOLL_CTL_MOD);
}

}  // namespace hamlyn::node
