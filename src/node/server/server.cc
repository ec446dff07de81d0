#include "node/server/server.h"

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

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <cstring>
#include <fstream>

#include "base/throw_system.h"
#include "node/client/address.h"
#include "node/mind/replies.h"
#include "node/server/attest.h"
#include "node/server/first_number.h"
#include "node/server/state_files.h"

namespace hamlyn::node {
namespace {

constexpr std::uint64_t kListener = 1;
constexpr std::uint64_t kSignals = 2;
constexpr std::uint64_t kCluster = 3;
constexpr std::uint64_t kClerk = 4;
constexpr std::uint64_t kPlace = 5;
constexpr std::uint64_t kDeath = std::uint64_t{1} << 63;  // with a connection's number: its process has ended
constexpr std::uint64_t kRoom = std::uint64_t{1} << 62;   // a turn: its socket has room
constexpr int kSendBuffer = 32 << 10;                     // about 80 messages; each may hold two descriptors
constexpr std::uint64_t kForConnection = 4;  // socket, pidfd, counter page, and one for what is under way
constexpr std::size_t kMaxDeparted =
    1024;                            // processes whose connection has ended, and whose end is waited for
constexpr Time kDepartedTime{2000};  // for which a process's death is waited for
constexpr auto kTurnTime = std::chrono::microseconds(20);  // of one user, before another's turn
constexpr int kMaxBatches = 64;                            // of events that are taken before the next turn
// Turns that are no user's: new connections, and what waits in the node.
constexpr std::uint64_t kNewcomers = std::uint64_t{1} << 32;
constexpr std::uint64_t kHeld = std::uint64_t{2} << 32;

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

// A counter page is the only memory that is taken. The node refuses it with any message but a hello.
std::uint64_t most_memory(std::span<const std::byte> /*message*/) { return kMostCounterBytes; }

NodeOptions node_options(const ServerOptions& options, std::uint64_t descriptors) {
  NodeOptions out;
  out.quotas = options.config.quotas;
  out.total = options.config.total;
  if (descriptors / kForConnection < out.total.interfaces) {
    out.total.interfaces = descriptors / kForConnection;
    out.descriptors = descriptors;
  }
  out.rights = options.config.rights;
  out.links = options.config.links;
  out.cut_after = options.config.cut_after;
  if (!options.service) out.rights = {.everyone = false, .users = {::geteuid()}, .groups = {}};
  out.key = load_key(options.socket);
  out.first_number = draw_first_number(options.config.cluster.id);
  out.overflow_uid = overflow_uid();
  out.recovering = marked(options.socket);
  if (out.recovering) out.left = NameFile::left_at(options.socket);
  out.uid = ::geteuid();
  out.pid = static_cast<std::uint32_t>(::getpid());
  out.version = options.version;
  out.protocol = options.protocol;
  out.engine = options.config.cluster.engine;
  return out;
}

}  // namespace

Server::Server(const ServerOptions& options)
    : options_(options),
      descriptors_(raise_descriptor_limit()),
      in_flight_(descriptors_, ::geteuid(), [this](std::uint64_t id) { return has_read(id); }) {
  if (::sodium_init() < 0) throw Error(ErrorCode::system, "libsodium cannot start");
  check_place(options_.socket);
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
  const NodeOptions options_of_node = node_options(options_, descriptors_);
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
  if (place_ != nullptr && place_->has_socket()) ::unlink(options_.socket.c_str());
  const bool ours =
      place_ != nullptr && place_->has_lock();  // otherwise another daemon's files may lie there
  if (cluster_) cluster_->leave(now());
  if (ours && node_->empty()) keep_mark(node_->recovering());
  if (ours && !marked_) names_->discard();
  for (auto& [id, peer] : peers_) {
    for (Outgoing& message : peer.queue) discard(message);
    foreign_.drop(std::move(peer.socket));
  }
  for (auto& [id, socket] : leftovers_) foreign_.drop(std::move(socket));
  if (listener_) foreign_.drop(std::move(listener_));
  foreign_.close_pending();
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
  place_ = std::make_unique<PlaceWatch>(options_.socket);
  ::unlink(options_.socket.c_str());  // of a daemon that was killed: we hold its lock
  if (::bind(listener_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    listener_.reset();
    base::throw_system(("bind " + options_.socket).c_str());
  }
  place_->bound();
  if (options_.attested == Attesting::by_messages && !show_senders(listener_.get(), true))
    base::throw_system("SO_PASSCRED");
  if (::chmod(options_.socket.c_str(), options_.service ? 0666 : 0600) != 0) base::throw_system("chmod");
  if (::listen(listener_.get(), SOMAXCONN) != 0) base::throw_system("listen");
  if (!watch(listener_.get(), kListener, EPOLLIN | EPOLLONESHOT, EPOLL_CTL_ADD))
    base::throw_system("epoll_ctl");
  if (place_->descriptor() < 0) return spdlog::warn("no inotify: a socket that is removed is not made again");
  if (!watch(place_->descriptor(), kPlace, EPOLLIN, EPOLL_CTL_ADD)) base::throw_system("epoll_ctl");
}

// Somebody has touched our socket, its lock or their folder. Whoever removes the folder removes these first,
// and would find it filled again: so a rest comes before they are made anew.
void Server::notice_place() {
  if (place_->disturbed() && !place_->is_whole()) place_due_ = now() + kPlaceRest;
}

// Binds the socket again, under the lock: nobody else serves there. Where that cannot be, this daemon leaves,
// for whoever comes next.
void Server::keep_place() {
  place_due_ = Time::max();
  if (place_->is_whole()) return;
  try {
    if (!place_->has_folder()) throw Error(ErrorCode::system, "its folder has been removed or moved");
    if (!place_->has_lock()) {
      lock_ = lock_socket(options_.socket);
      place_->locked();
    }
    spdlog::warn("the socket {} or its lock was removed: it is made again", options_.socket);
    if (place_->has_socket()) return;
    check_place(options_.socket);
    watch(listener_.get(), kListener, 0, EPOLL_CTL_DEL);
    foreign_.drop(std::move(listener_));  // whoever waits there tries again
    listen();
  } catch (const Error& error) {
    spdlog::error("nobody finds {} any more: {}", options_.socket, error.what());
    end_because("its place is lost");
  }
}

void Server::run(const sigset_t& signals) {
  const base::FileDescriptor signal{::signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK)};
  if (!signal) base::throw_system("signalfd");
  if (!watch(signal.get(), kSignals, EPOLLIN, EPOLL_CTL_ADD)) base::throw_system("epoll_ctl");
  while (!ended_) {
    take_events();
    serve_next();
    look_after_others();
  }
}

// Takes in what has happened before the next turn, so that a user who has been quiet has it. Each connection
// is told of once, and again when it has been served.
void Server::take_events() {
  std::array<epoll_event, 64> events;
  for (int batch = 0; batch < kMaxBatches; ++batch) {
    const int wait = batch == 0 && turns_.empty() ? wait_time() : 0;
    const int count = ::epoll_wait(epoll_.get(), events.data(), static_cast<int>(events.size()), wait);
    if (count < 0 && errno != EINTR) base::throw_system("epoll_wait");
    for (int i = 0; i < count; ++i) take(events[static_cast<std::size_t>(i)]);
    if (count < static_cast<int>(events.size())) return;
  }
}

void Server::take(const epoll_event& event) {
  const std::uint64_t about = event.data.u64;
  if (about == kSignals) return end_because("told to");
  if (about == kPlace) return notice_place();
  if (about == kListener) return turns_.add(kNewcomers, kListener);
  if (about == kCluster) return cluster_->receive_some(now());
  if (about == kClerk) return options_.clerk->receive_some(now());
  if ((about & kDeath) != 0) return turns_.add(user_of(about & ~kDeath), about);
  const auto found = peers_.find(about);
  if (found == peers_.end()) return;
  Peer& peer = found->second;
  // Replies that wait for room are sent in a turn of the peer's user, too.
  if ((event.events & EPOLLOUT) != 0 && !std::exchange(peer.room_in_turn, true))
    turns_.add(peer.who.uid, about | kRoom);
  const bool over = peer.in_turn && (event.events & (EPOLLHUP | EPOLLERR)) != 0;
  if ((event.events & ~EPOLLOUT) != 0 && !std::exchange(peer.in_turn, true)) turns_.add(peer.who.uid, about);
  if (!over) arm(about, peer);
}

// The next user's turn, of one connection.
void Server::serve_next() {
  const auto turn = turns_.next();
  if (!turn) return;
  const auto begin = std::chrono::steady_clock::now();
  if (turn->user == kNewcomers) {
    accept_one();
  } else if (turn->user == kHeld) {
    held_in_turn_ = false;
    node_->go_on();
  } else if ((turn->what & kDeath) != 0) {
    ended(turn->what & ~kDeath);
  } else if ((turn->what & kRoom) != 0) {
    send_more(turn->what & ~kRoom);
  } else {
    receive_some(turn->what, begin + kTurnTime);
  }
  if (node_->has_more() && !std::exchange(held_in_turn_, true)) turns_.add(kHeld, 0);
  turns_.charge(*turn, static_cast<std::uint64_t>((std::chrono::steady_clock::now() - begin).count()));
}

// Its socket has room again.
void Server::send_more(std::uint64_t id) {
  if (const auto found = peers_.find(id); found != peers_.end()) found->second.room_in_turn = false;
  flush_late(id);
  if (const auto found = peers_.find(id); found != peers_.end()) arm(id, found->second);
}

void Server::end_because(const char* why) {
  spdlog::info("hamlynd ends: {}", why);
  ended_ = true;
}

// By the clock, or when nothing else is to be done.
void Server::look_after_others() {
  while (!slow_.empty()) node_->too_slow(slow_.extract(slow_.begin()).value());
  const Time time = now();
  if (!turns_.empty() && time == looked_) return;
  looked_ = time;
  look_who_has_read(time);
  if (place_due_ <= time) keep_place();
  if (listener_due_ <= time) {
    listener_due_ = Time::max();
    turns_.add(kNewcomers, kListener);
  }
  node_->tick(time);
  if (!node_->names_unknown()) names_->complete();
  if (cluster_) cluster_->tick(time);
  if (cluster_ && options_.clerk != nullptr) options_.clerk->tick(time);
  while (!departures_.empty() && departures_.begin()->first <= time) forget(departures_.begin()->second);
  close_pending(time);
  if (node_->empty())
    keep_mark(node_->recovering());
  else
    idle_since_ = time;
  if (options_.idle_exit.count() > 0 && time - idle_since_ >= options_.idle_exit) end_because("idle");
}

// Each time costs a thread and a look at all descriptors: many sockets go together.
void Server::close_pending(Time time) {
  if (foreign_.pending_closes() < kManyToClose && time < next_closing_) return;
  next_closing_ = time + kLookAgain;
  foreign_.close_pending();
}

// How long epoll may sleep, in ms.
int Server::wait_time() const {
  Time until = Time::max();
  if (!full_.empty() || !crowded_.empty()) until = next_look_;
  if (foreign_.pending_closes() != 0) until = std::min(until, next_closing_);
  if (const auto deadline = node_->deadline()) until = std::min(until, *deadline);
  if (options_.idle_exit.count() > 0 && node_->empty())
    until = std::min(until, idle_since_ + options_.idle_exit);
  if (cluster_) until = std::min(until, cluster_->deadline());
  if (cluster_ && options_.clerk != nullptr) until = std::min(until, options_.clerk->deadline(now()));
  until = std::min({until, place_due_, listener_due_});
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

// Takes up to one connection; the listener waits for its next turn if there may be more. The spare descriptor
// comes first: without it nobody could be told that there are no others.
void Server::accept_one() {
  keep_spare();
  if (!spare_) return accept_later();
  base::FileDescriptor socket{::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK)};
  if (!socket && errno == EAGAIN) return hear_of_newcomers();
  if (!socket && (errno == EMFILE || errno == ENFILE)) return accept_in_vain();
  if (!socket && errno != EINTR && errno != ECONNABORTED) return accept_later();
  turns_.add(kNewcomers, kListener);
  if (socket) welcome(std::move(socket));
}

void Server::keep_spare() {
  if (!spare_) spare_.reset(::open("/dev/null", O_RDONLY | O_CLOEXEC));
}

// Nobody waits to be accepted now.
void Server::hear_of_newcomers() { watch(listener_.get(), kListener, EPOLLIN | EPOLLONESHOT, EPOLL_CTL_MOD); }

// Takes a connection in place of the spare descriptor, only to say that there are no others. (The kernel
// wants a descriptor before it says that there is no connection.)
void Server::accept_in_vain() {
  spare_.reset();
  base::FileDescriptor socket{::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK)};
  if (!socket && errno == EAGAIN) {
    keep_spare();
    return hear_of_newcomers();
  }
  if (!socket) return accept_later();
  turn_away_for_descriptors(socket.get());
  foreign_.drop(std::move(socket));
  foreign_.close_pending();  // so that the spare one can be had again, in most cases at once
  turns_.add(kNewcomers, kListener);
}

// The kernel gives no descriptor, and the socket that was dropped last may still be held by what a stranger
// has sent into it. Those who wait in the listener go on waiting, and no event tells of them meanwhile.
void Server::accept_later() { listener_due_ = now() + kLookAgain; }

void Server::turn_away(int socket, ErrorCode error, std::string_view text) {
  node_->not_attested();
  Welcome out;
  out.protocol = options_.protocol;
  out.error = static_cast<std::uint32_t>(error);
  put_text(out.text, text);
  base::send_message(socket, bytes_of(out), {}, MSG_DONTWAIT);
}

void Server::turn_away_for_descriptors(int socket) {
  turn_away(socket, ErrorCode::node_full,
            "the node daemon has no descriptors left, of " + std::to_string(descriptors_) +
                " that it may have: end some processes, or end it and raise its starter's ulimit -n");
}

void Server::welcome(base::FileDescriptor socket) {
  // To refuse it costs less than to find out who it is.
  const auto uid = uid_of(socket.get());
  if (!uid || !node_->takes_stranger(*uid)) return foreign_.drop(std::move(socket));
  errno = 0;
  auto attested = attest(socket.get(), options_.attested);
  if (!attested) {
    // Otherwise the kernel does not name it to this daemon: it is of another namespace, or has ended.
    if (errno == EMFILE || errno == ENFILE)
      turn_away_for_descriptors(socket.get());
    else
      turn_away(socket.get(), ErrorCode::not_permitted,
                "the node daemon cannot tell which process this is: it runs in another pid namespace. Start "
                "the daemon outside of it, where it sees all processes");
    return foreign_.drop(std::move(socket));
  }
  const std::uint64_t id = next_id_++;
  // A forked child may keep the socket open when the process has ended: its pidfd tells.
  if (!watch(socket.get(), id, EPOLLIN | EPOLLONESHOT, EPOLL_CTL_ADD) ||
      !watch(attested->pidfd.get(), id | kDeath, EPOLLIN | EPOLLONESHOT, EPOLL_CTL_ADD)) {
    watch(socket.get(), id, 0, EPOLL_CTL_DEL);
    return foreign_.drop(std::move(socket));
  }
  ::setsockopt(socket.get(), SOL_SOCKET, SO_SNDBUF, &kSendBuffer, sizeof kSendBuffer);
  Peer& peer = peers_[id];
  peer.who = attested->who;
  if (options_.attested == Attesting::by_messages) peer.unproven = Unproven::hello;
  peer.socket = std::move(socket);
  peer.pidfd = std::make_shared<base::FileDescriptor>(std::move(attested->pidfd));
  keep_mark(true);
  node_->connected(id, attested->who, now());
}

void Server::arm(std::uint64_t id, const Peer& peer) {
  const bool waits = peer.stuck && !peer.room_in_turn;
  const std::uint32_t wanted = (peer.in_turn ? 0u : EPOLLIN) | (waits ? EPOLLOUT : 0u);
  if (wanted != 0) watch(peer.socket.get(), id, wanted | EPOLLONESHOT, EPOLL_CTL_MOD);
}

// Whether the process that has connected has sent that message; if not, the connection is dropped. It is
// proven by the first message that was sent after its pid was opened, if it lives when that is read: so the
// pid was its own all the time. Until then nobody is introduced to it.
bool Server::prove(std::uint64_t id, const base::Received& got) {
  Peer& peer = peers_.at(id);
  if (got.sender != peer.who.pid || !is_alive(peer.pidfd->get())) {
    node_->malformed(id, "another process speaks than the one that has connected");
    return false;
  }
  if (peer.unproven == Unproven::hello) {
    peer.unproven = Unproven::next;
    if (nothing_said(peer.socket.get())) return true;
    node_->malformed(id, "a request before the answer to its hello");
    return false;
  }
  peer.unproven = Unproven::nothing;
  show_senders(peer.socket.get(), false);
  if (std::exchange(peer.awaited, false)) node_->caught_up(id);
  return peers_.contains(id);
}

// Until nothing is left, or its user's time is over.
void Server::receive_some(std::uint64_t id, std::chrono::steady_clock::time_point until) {
  do {
    const auto found = peers_.find(id);
    if (found == peers_.end()) return;
    Peer& peer = found->second;
    std::array<std::byte, sizeof(Request) + 1> buffer;
    const bool proven = peer.unproven == Unproven::nothing;
    base::Received got = foreign_.receive(peer.socket.get(), buffer, peer.who.uid, most_memory,
                                          proven ? base::Senders::unsaid : base::Senders::said);
    if (got.state == base::SocketState::again) {
      peer.in_turn = false;
      return arm(id, peer);
    }
    if (got.state == base::SocketState::closed) return leave(id);
    if (got.state == base::SocketState::starved) {  // most often a hello with its counter page
      turn_away_for_descriptors(peer.socket.get());
      return leave(id);
    }
    if (got.state == base::SocketState::malformed || got.fd_count > 1) {
      return node_->malformed(id, "a message that is too long, or has descriptors that it may not have");
    }
    if (!proven && !prove(id, got)) return;
    const bool counters = got.fd_count == 1;
    if (counters && (peer.counters != nullptr || !sound_counters(got.fds[0].get()))) {
      return node_->malformed(id, "a counter page that is not sealed");
    }
    if (counters) peer.counters = std::make_shared<base::FileDescriptor>(std::move(got.fds[0]));
    node_->received(id, std::span{buffer}.first(got.bytes), counters, now());
  } while (std::chrono::steady_clock::now() < until);
  if (const auto found = peers_.find(id); found != peers_.end()) turns_.add(found->second.who.uid, id);
}

// The connection is over. Most often because the process is; if not, it may come back for its names.
void Server::leave(std::uint64_t id) {
  const auto found = peers_.find(id);
  if (found == peers_.end()) return;
  if (!is_alive(found->second.pidfd->get())) return ended(id);
  end(id);
  node_->broken(id);
}

void Server::ended(std::uint64_t id) {
  end(id);
  forget(id);
  node_->disconnected(id);
}

// Closing a pidfd is not enough: whoever was introduced to that process has it open, too, and it would stay
// in our epoll set, and be ready for ever.
void Server::forget(std::uint64_t id) {
  const auto departed = departed_.find(id);
  if (departed == departed_.end()) return;
  const auto& [uid, pidfd, until] = departed->second;
  watch(pidfd->get(), id | kDeath, 0, EPOLL_CTL_DEL);
  in_flight_.look(id, uid);
  departures_.erase({until, id});
  departed_.erase(departed);
}

std::uint32_t Server::user_of(std::uint64_t id) const {
  if (const auto peer = peers_.find(id); peer != peers_.end()) return peer->second.who.uid;
  const auto departed = departed_.find(id);
  return departed == departed_.end() ? 0 : departed->second.uid;
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
  const std::uint32_t uid = peer.who.uid;
  watch(peer.socket.get(), id, 0, EPOLL_CTL_DEL);
  for (Outgoing& message : peer.queue) discard(message);
  queued_.set(id, uid, 0);
  late_.set(id, uid, 0);
  if (in_flight_.unread().of(id) != 0) {
    // Until it has read them, or has ended: they are counted against us.
    ::shutdown(peer.socket.get(), SHUT_RDWR);
    leftovers_[id] = std::move(peer.socket);
  } else {
    foreign_.drop(std::move(peer.socket));
  }
  const Time until = now() + kDepartedTime;
  departed_[id] = {uid, std::move(peer.pidfd), until};
  departures_.insert({until, id});
  peers_.erase(found);
  in_flight_.look(id, uid);
  // Processes that come and go without end would fill the table of descriptors: the oldest is not waited for.
  if (departed_.size() > kMaxDeparted) forget(departures_.begin()->second);
}

}  // namespace hamlyn::node
