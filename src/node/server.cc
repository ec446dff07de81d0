#include "node/server.h"

#include <fcntl.h>
#include <linux/sockios.h>
#include <poll.h>
#include <sodium.h>
#include <spdlog/spdlog.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <cstring>
#include <fstream>

#include "base/throw_system.h"
#include "node/address.h"
#include "node/attest.h"
#include "node/state_files.h"

namespace hamlyn::node {
namespace {

constexpr std::uint64_t kListener = 1;
constexpr std::uint64_t kSignals = 2;
constexpr std::uint64_t kCluster = 3;
constexpr std::uint64_t kClerk = 4;
constexpr std::uint64_t kDeath = std::uint64_t{1} << 63;  // with a connection's number: its process has ended
constexpr std::size_t kMaxQueued = 1024;                  // messages that one process has not read
constexpr std::uint64_t kMaxQueuedOfUser = 16384;         // those of one user
constexpr std::uint64_t kMaxQueuedOfAll = 262144;         // and of all, some 80 MB
constexpr int kSendBuffer = 32 << 10;                     // about 80 messages; each may hold two descriptors
// Descriptors that were sent and not read are counted by the kernel against the daemon, up to RLIMIT_NOFILE;
// at that limit nobody can be introduced. (list replies have one, introductions two.)
constexpr std::uint64_t kMaxUnread = 64;     // of one process
constexpr std::uint64_t kUnreadShare = 8;    // the part of the limit that one user may have
constexpr std::uint64_t kUnreadShares = 2;   // and with those of its processes that have read everything
constexpr std::uint64_t kUnreadScarce = 16;  // a user may have so much less once all have used up half
constexpr std::uint64_t kForConnection = 4;  // socket, pidfd, counter page, and one for what is under way
constexpr std::size_t kMaxDeparted =
    1024;                            // processes whose connection has ended, and whose end is waited for
constexpr Time kDepartedTime{2000};  // for which a process's death is waited for
constexpr int kLookAgain = 5;        // ms, while introductions wait for somebody's reading
constexpr int kTurn = 32;  // messages of one process, or new connections, before it is another's turn

std::uint32_t overflow_uid() {
  std::ifstream file("/proc/sys/kernel/overflowuid");
  std::uint32_t out = 65534;
  file >> out;
  return out;
}

// The number of connections of all users, each of them with its quota, is far above the usual limit of
// descriptors.
std::uint64_t raise_descriptor_limit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return 1024;
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);
  return limit.rlim_cur;
}

// A hello may have a counter page, and no other message any memory.
std::uint64_t most_memory(std::span<const std::byte> message) {
  return message.size() == sizeof(Hello) ? kMostCounterBytes : 0;
}

// Bytes that the other side of a Unix socket has not read yet.
bool all_read(int socket) {
  int left = 0;
  return ::ioctl(socket, SIOCOUTQ, &left) == 0 && left == 0;
}

NodeOptions node_options(const ServerOptions& options, std::uint64_t descriptors) {
  NodeOptions out;
  out.quotas = options.config.quotas;
  out.total = options.config.total;
  out.total.interfaces = std::min(out.total.interfaces, descriptors / kForConnection);
  out.rights = options.config.rights;
  out.cut_after = options.config.cut_after;
  if (!options.service) out.rights = {.everyone = false, .users = {::geteuid()}, .groups = {}};
  out.key = load_key(options.socket);
  // Numbers of another run of the daemon start elsewhere: 2^31 places, 2^32 numbers each.
  out.first_number = (std::uint64_t{::randombytes_uniform(0x7FFFFFFF)} + 1) << 32;
  if (const std::uint64_t node = options.config.cluster.id; node != 0) {  // and its id in the upper 16 bits
    out.first_number = node << kNodeShift | (std::uint64_t{::randombytes_uniform(0xFFFFFE)} + 1) << 24;
  }
  out.overflow_uid = overflow_uid();
  out.recovering = marked(options.socket);
  if (out.recovering) out.left = NameFile::left_at(options.socket);
  out.uid = ::geteuid();
  out.pid = static_cast<std::uint32_t>(::getpid());
  out.version = options.version;
  out.engine = options.config.cluster.engine;
  return out;
}

}  // namespace

Server::Server(const ServerOptions& options) : options_(options) {
  if (::sodium_init() < 0) throw Error(ErrorCode::system, "libsodium cannot start");
  check_place(options_.socket);
  const std::uint64_t descriptors = raise_descriptor_limit();
  most_unread_ = descriptors / kUnreadShare;
  lock_ = lock_socket(options_.socket);
  marked_ = marked(options_.socket);
  const ClusterConfig& cluster = options_.config.cluster;
  if (cluster.id != 0 && cluster.secret.empty() && options_.service) {
    throw Error(ErrorCode::not_permitted,
                "cluster.secret: a daemon that serves all users needs one, or any user of this host could be "
                "another node and all its users: name a file");
  }
  if (by_rxm(cluster.engine) && options_.service) {
    throw Error(
        ErrorCode::not_permitted,
        "cluster.engine: " + cluster.engine +
            " trusts an index from the wire, and users of this host that are strangers to each other can "
            "reach its ports: not for a daemon that serves all users");
  }
  if (cluster.id != 0)
    cluster_ = std::make_unique<ClusterPort>(options_.config.cluster, options_.socket, now());
  const NodeOptions options_of_node = node_options(options_, descriptors);
  names_ = std::make_unique<NameFile>(options_.socket, options_of_node.left);
  node_ = std::make_unique<Node>(options_of_node, *this, now(), cluster_.get());
  if (cluster_) cluster_->serve(*node_);
  ClerkPort* const clerk = cluster_ ? options_.clerk : nullptr;
  if (clerk != nullptr)
    clerk->serve(*node_, cluster_->clerk_options(options_.config.cluster.clerk_after, options_.socket));
  epoll_.reset(::epoll_create1(EPOLL_CLOEXEC));
  if (!epoll_) base::throw_system("epoll_create1");
  spare_.reset(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  if (cluster_ && !watch(cluster_->descriptor(), kCluster, EPOLLIN, EPOLL_CTL_ADD))
    base::throw_system("epoll_ctl");
  if (clerk != nullptr && !watch(clerk->descriptor(), kClerk, EPOLLIN, EPOLL_CTL_ADD))
    base::throw_system("epoll_ctl");
  listen();
  idle_since_ = now();
  spdlog::info("hamlynd {} serves {} at {}", options_.version,
               options_.service ? "all users" : "its own user", options_.socket);
}

Server::~Server() {
  // First the path, so that whoever comes now starts another daemon; then the connections that wait to be
  // accepted break, and whoever made them tries again.
  if (listener_) ::unlink(options_.socket.c_str());
  if (cluster_) cluster_->leave(now());
  if (node_ != nullptr && node_->empty()) keep_mark(node_->recovering());
  if (names_ != nullptr && !marked_) names_->discard();
  for (auto& [id, peer] : peers_) {
    for (Outgoing& message : peer.queue) discard(message);
    foreign_.drop(std::move(peer.socket));
  }
  for (Leftover& left : leftovers_) foreign_.drop(std::move(left.socket));
  if (listener_) foreign_.drop(std::move(listener_));
  foreign_.bury();
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
      } else if (data.u64 == kCluster) {
        cluster_->receive_some(now());
      } else if (data.u64 == kClerk) {
        options_.clerk->receive_some(now());
      } else if ((data.u64 & kDeath) != 0) {
        ended(data.u64 & ~kDeath);
      } else {
        if ((what & EPOLLOUT) != 0) flush_late(data.u64);
        if ((what & ~EPOLLOUT) != 0) receive_some(data.u64);
      }
    }
    flush_crowded();
    while (!slow_.empty()) node_->too_slow(slow_.extract(slow_.begin()).value());
    node_->tick(now());
    if (!node_->names_unknown()) names_->complete();
    if (cluster_) cluster_->tick(now());
    if (cluster_ && options_.clerk != nullptr) options_.clerk->tick(now());
    forget_departed();
    foreign_.bury();
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
  if (!full_.empty() || !crowded_.empty() || foreign_.unburied() != 0) return kLookAgain;
  Time until = Time::max();
  if (const auto deadline = node_->deadline()) until = *deadline;
  if (options_.idle_exit.count() > 0 && node_->empty())
    until = std::min(until, idle_since_ + options_.idle_exit);
  if (cluster_) until = std::min(until, cluster_->deadline());
  if (cluster_ && options_.clerk != nullptr) until = std::min(until, options_.clerk->deadline(now()));
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

void Server::name_given(const OwnedName& name) { names_->put(name); }

void Server::name_freed(std::string_view name) { names_->remove(name); }

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
      if (socket) foreign_.drop(std::move(socket));
      foreign_.bury();
      spare_.reset(::open("/dev/null", O_RDONLY | O_CLOEXEC));
      continue;
    }
    if (!socket && (errno == EINTR || errno == ECONNABORTED)) continue;
    if (!socket) return;
    auto attested = attest(socket.get());
    if (!attested) {
      foreign_.drop(std::move(socket));
      continue;
    }
    const std::uint64_t id = next_id_++;
    // A forked child may keep the socket open when the process has ended: its pidfd tells.
    if (!watch(socket.get(), id, EPOLLIN, EPOLL_CTL_ADD) ||
        !watch(attested->pidfd.get(), id | kDeath, EPOLLIN, EPOLL_CTL_ADD)) {
      watch(socket.get(), id, 0, EPOLL_CTL_DEL);
      foreign_.drop(std::move(socket));
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
    base::Received got = foreign_.receive(peer.socket.get(), buffer, peer.who.uid, most_memory);
    if (got.state == base::SocketState::again) return;
    if (got.state == base::SocketState::closed) return leave(id);
    if (got.state == base::SocketState::malformed || got.fd_count > 1) {
      return node_->malformed(id, "a message that is too long, or has descriptors that it may not have");
    }
    const bool counters = got.fd_count == 1;
    if (counters && (peer.counters != nullptr || !sound_counters(got.fds[0].get()))) {
      return node_->malformed(id, "a counter page that is not sealed");
    }
    if (counters) peer.counters = std::make_shared<base::FileDescriptor>(std::move(got.fds[0]));
    node_->received(id, std::span{buffer}.first(got.bytes), counters, now());
  }
}

// The connection is over. Most often because the process is; if not, it may come back for its names.
void Server::leave(std::uint64_t id) {
  const auto found = peers_.find(id);
  if (found == peers_.end()) return;
  pollfd death{found->second.pidfd->get(), POLLIN, 0};
  if (::poll(&death, 1, 0) == 1) return ended(id);
  end(id);
  node_->broken(id);
}

void Server::ended(std::uint64_t id) {
  end(id);
  if (const auto found = departed_.find(id); found != departed_.end()) found->second.until = Time::min();
  forget_departed();
  node_->disconnected(id);
}

// Closing a pidfd is not enough: whoever was introduced to that process has it open, too, and it would stay
// in our epoll set, and be ready for ever.
void Server::forget_departed() {
  for (auto at = departed_.begin(); at != departed_.end();) {
    if (at->second.until > now()) {
      ++at;
      continue;
    }
    at = forget(at);
  }
}

std::map<std::uint64_t, Server::Departed>::iterator Server::forget(
    std::map<std::uint64_t, Departed>::iterator departed) {
  watch(departed->second.pidfd->get(), departed->first, 0, EPOLL_CTL_DEL);
  if (unread_.contains(departed->second.uid)) count_unread(departed->second.uid);
  return departed_.erase(departed);
}

void Server::drop(std::uint64_t id, const char* why) {
  const auto found = peers_.find(id);
  if (found == peers_.end()) return;
  const Identity& who = found->second.who;
  if (why != nullptr && told_.insert(who.uid).second) {
    spdlog::warn("dropped process {} ({}) of user {}: {} (said once per user)", who.pid, who.program, who.uid,
                 why);
  }
  end(id);
}

void Server::not_reached(std::uint64_t id, const std::string& why) {
  const auto found = peers_.find(id);
  if (found == peers_.end() || !unreached_.insert(found->second.who.uid).second) return;
  const Identity& who = found->second.who;
  spdlog::warn("process {} ({}) of user {} cannot be reached from other nodes: {} (said once per user)",
               who.pid, who.program, who.uid, why);
}

void Server::end(std::uint64_t id) {
  slow_.erase(id);
  crowded_.erase(id);
  const auto found = peers_.find(id);
  if (found == peers_.end()) return;
  Peer& peer = found->second;
  watch(peer.socket.get(), id, 0, EPOLL_CTL_DEL);
  for (Outgoing& message : peer.queue) discard(message);
  count_queued(peer.who.uid, -static_cast<std::int64_t>(peer.queue.size()));
  if (peer.unread != 0) {
    // Until it has read them, or has ended: they are counted against us.
    ::shutdown(peer.socket.get(), SHUT_RDWR);
    leftovers_.push_back({peer.who.uid, std::move(peer.socket), peer.unread});
  } else {
    foreign_.drop(std::move(peer.socket));
  }
  const std::uint32_t uid = peer.who.uid;
  const bool unread = peer.unread != 0;
  departed_[id] = {uid, std::move(peer.pidfd), now() + kDepartedTime};
  // Who comes and goes without end would fill the table of descriptors; the oldest is not waited for.
  if (departed_.size() > kMaxDeparted) forget(departed_.begin());
  peers_.erase(found);
  if (unread) count_unread(uid);
}

// A message that was not sent: what lies in the end of a link is a stranger's already.
void Server::discard(Outgoing& message) {
  if (message.end) foreign_.drop(std::move(message.end));
}

void Server::send(std::uint64_t id, std::span<const std::byte> message,
                  std::optional<std::uint64_t> counters_of) {
  const auto found = peers_.find(id);
  if (found == peers_.end()) return;
  Outgoing out{{message.begin(), message.end()}, {}, {}};
  if (counters_of && !reads_late(found->second)) out.memory = peers_.at(*counters_of).counters;
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
      return Outgoing{{bytes.begin(), bytes.end()}, pidfd, std::move(end)};
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
  const bool unread = reads_late(peer);
  if (unread) full_.insert(peer.who.uid);
  const bool late = unread || peer.stuck || crowded_.contains(id);
  peer.awaited |= late;
  return late;
}

bool Server::reads_late(const Peer& peer) {
  if (!unread_too_much(peer)) return false;
  count_unread(peer.who.uid);
  if (!unread_too_much(peer)) return false;
  if (scarce(peer.who.uid)) count_unread();
  return unread_too_much(peer);
}

// By what was counted last. Whoever has read everything has some room left when others of its user read
// nothing.
bool Server::unread_too_much(const Peer& peer) const {
  const auto found = unread_.find(peer.who.uid);
  std::uint64_t most = peer.unread != 0 ? most_unread_ : most_unread_ * kUnreadShares;
  if (scarce(peer.who.uid)) most /= kUnreadScarce;
  return peer.unread >= kMaxUnread || (found != unread_.end() && found->second >= most);
}

// Users who have not read what they were sent have used up half of what all may have. (By what was counted
// last: that may be long ago.) Root and the daemon's own user are not held to it.
bool Server::scarce(std::uint32_t uid) const {
  return uid != 0 && uid != ::geteuid() && unread_of_all_ >= most_unread_ * kUnreadShare / 2;
}

void Server::count_unread() {
  std::vector<std::uint32_t> users;
  for (const auto& [uid, sum] : unread_) users.push_back(uid);
  for (const std::uint32_t uid : users) count_unread(uid);
}

// Looks who has read what. A socket tells only whether all of it has been read.
void Server::count_unread(std::uint32_t uid) {
  std::uint64_t sum = 0;
  for (auto& [id, peer] : peers_) {
    if (peer.who.uid != uid || peer.unread == 0) continue;
    if (all_read(peer.socket.get())) peer.unread = 0;
    sum += peer.unread;
  }
  std::erase_if(leftovers_, [&](Leftover& left) {
    if (left.uid != uid) return false;
    const bool over = all_read(left.socket.get());
    if (over) foreign_.drop(std::move(left.socket));
    if (!over) sum += left.unread;
    return over;
  });
  if (const auto before = unread_.find(uid); before != unread_.end()) unread_of_all_ -= before->second;
  unread_of_all_ += sum;
  sum != 0 ? void(unread_[uid] = sum) : void(unread_.erase(uid));
}

void Server::count_queued(std::uint32_t uid, std::int64_t change) {
  if (change == 0) return;
  const auto more = static_cast<std::uint64_t>(change);  // modulo 2^64
  queued_of_all_ += more;
  if ((queued_[uid] += more) == 0) queued_.erase(uid);
}

// What waits for somebody to read: looked at by the clock, because no socket tells.
void Server::flush_crowded() {
  for (const std::uint64_t id : std::exchange(crowded_, {})) flush_late(id);
  if (!crowded_.empty()) drop_slowest();
  for (const std::uint32_t uid : std::exchange(full_, {})) {
    count_unread(uid);
    std::vector<std::uint64_t> awaited;
    for (const auto& [id, peer] : peers_) {
      if (peer.who.uid == uid && peer.awaited && !peer.stuck) awaited.push_back(id);
    }
    for (const std::uint64_t id : awaited) {
      const auto found = peers_.find(id);
      if (found == peers_.end()) continue;
      if (unread_too_much(found->second)) {
        full_.insert(uid);
      } else {
        found->second.awaited = false;
        node_->caught_up(id);
      }
    }
  }
}

// The kernel takes no more descriptors of ours: whoever reads least has to go. (What it has not read stays
// counted until its process ends.)
void Server::drop_slowest() {
  count_unread();
  const auto most = std::ranges::max_element(peers_, {}, [](const auto& each) { return each.second.unread; });
  if (most != peers_.end() && most->second.unread != 0) slow_.insert(most->first);
}

void Server::flush_late(std::uint64_t id) {
  flush(id);
  const auto found = peers_.find(id);
  if (found == peers_.end() || found->second.stuck || !std::exchange(found->second.awaited, false)) return;
  node_->caught_up(id);
}

void Server::post(Peer& peer, std::uint64_t id, Outgoing message) {
  const std::uint32_t uid = peer.who.uid;
  peer.queue.push_back(std::move(message));
  count_queued(uid, 1);
  if (!peer.stuck) flush(id);
  if (peer.queue.size() > kMaxQueued) slow_.insert(id);
  if (!slow_.empty()) return;
  if (const auto of = queued_.find(uid); of != queued_.end() && of->second > kMaxQueuedOfUser)
    drop_longest([uid](const Peer& each) { return each.who.uid == uid; });
  if (queued_of_all_ > kMaxQueuedOfAll) drop_longest([](const Peer&) { return true; });
}

// Of those processes, the one that has most to read.
template <class Which>
void Server::drop_longest(Which&& which) {
  std::uint64_t longest = 0;
  std::size_t most = 0;
  for (const auto& [id, peer] : peers_) {
    if (peer.queue.size() > most && which(peer)) {
      longest = id;
      most = peer.queue.size();
    }
  }
  if (most != 0) slow_.insert(longest);
}

void Server::flush(std::uint64_t id) {
  const auto found = peers_.find(id);
  if (found == peers_.end()) return;
  Peer& peer = found->second;
  while (!peer.queue.empty()) {
    Outgoing& next = peer.queue.front();
    std::array<int, 2> fds{};
    std::size_t count = 0;
    if (next.end) fds[count++] = next.end.get();
    if (next.memory) fds[count++] = next.memory->get();
    const auto state =
        base::send_message(peer.socket.get(), next.bytes, std::span{fds}.first(count), MSG_DONTWAIT);
    if (state == base::SocketState::crowded) {
      crowded_.insert(id);
      return;
    }
    if (state == base::SocketState::again) break;
    if (state != base::SocketState::ok) {
      discard(next);  // what cannot be sent to a process that has gone is of no use to anybody
    } else if (count != 0) {
      peer.unread += count;
      unread_[peer.who.uid] += count;
      unread_of_all_ += count;
      if (next.end) foreign_.let_go(std::move(next.end));
    }
    peer.queue.pop_front();
    count_queued(peer.who.uid, -1);
  }
  if (peer.stuck == !peer.queue.empty()) return;
  peer.stuck = !peer.stuck;
  watch(peer.socket.get(), id, peer.stuck ? EPOLLIN | EPOLLOUT : EPOLLIN, EPOLL_CTL_MOD);
}

}  // namespace hamlyn::node
