// The node's server, as far as it sends: queues of what was not read yet, descriptors under way, and who is
// dropped for not reading.
#include <linux/sockios.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <array>
#include <utility>

#include "node/server/server.h"

namespace hamlyn::node {
namespace {

constexpr int kMaxLooks = 64;     // at sockets, each time that the clock says so
constexpr int kLooksOfUser = 16;  // and at those of one user

// Whether the other side of a Unix socket has read everything.
bool all_read(int socket) {
  int left = 0;
  return ::ioctl(socket, SIOCOUTQ, &left) == 0 && left == 0;
}

}  // namespace

// A message that was not sent: what lies in the end of a link is a stranger's already.
void Server::discard(Outgoing& message) {
  if (message.end) foreign_.drop(std::move(message.end));
}

void Server::send(std::uint64_t id, std::span<const std::byte> message,
                  std::optional<std::uint64_t> counters_of) {
  const auto found = peers_.find(id);
  if (found == peers_.end()) return;
  Outgoing out{{message.begin(), message.end()}, {}, {}, false};
  if (counters_of) out.memory = peers_.at(*counters_of).counters;
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
      return Outgoing{{bytes.begin(), bytes.end()}, pidfd, std::move(end), false};
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
  const std::uint32_t uid = peer.who.uid;
  if (!has_room(id, uid)) return true;
  const bool late = peer.stuck || peer.unproven != Unproven::nothing || crowded_.contains(id);
  peer.awaited |= late;
  return late;
}

// If not, the clock tells when it has.
bool Server::has_room(std::uint64_t id, std::uint32_t uid) {
  if (in_flight_.has_room(id, uid)) return true;
  late_.set(id, uid, 1);
  full_.insert(uid);
  return false;
}

// Also of a connection that is over: its socket is kept until then.
bool Server::has_read(std::uint64_t id) {
  if (const auto peer = peers_.find(id); peer != peers_.end()) return all_read(peer->second.socket.get());
  const auto left = leftovers_.find(id);
  if (left == leftovers_.end()) return true;
  if (!all_read(left->second.get())) return false;
  foreign_.drop(std::move(left->second));
  leftovers_.erase(left);
  return true;
}

// Looks whether those who were slow have read: by the clock, because no socket tells, and at so many at a
// time.
void Server::look_who_has_read(Time time) {
  if (time < next_look_ || (full_.empty() && crowded_.empty())) return;
  next_look_ = time + kLookAgain;
  flush_crowded();
  std::size_t users = full_.size();
  for (int looks = 0; looks < kMaxLooks && users != 0; looks += kLooksOfUser, --users) {
    auto user = full_.upper_bound(last_full_);
    if (user == full_.end()) user = full_.begin();
    last_full_ = *user;
    look_at_late(last_full_);
  }
}

void Server::look_at_late(std::uint32_t uid) {
  in_flight_.look_at(uid, kLooksOfUser);
  for (int i = 0; i < kLooksOfUser; ++i) {
    const auto id = late_.next_of(uid);
    if (!id) break;
    if (!in_flight_.has_room(*id, uid)) continue;
    late_.set(*id, uid, 0);
    flush(*id);
    if (late_.of(*id) == 0) node_->caught_up(*id);
  }
  if (late_.of_user(uid) == 0) full_.erase(uid);
}

// The kernel takes no more descriptors of ours: for none of them, when not for the first.
void Server::flush_crowded() {
  while (!crowded_.empty()) {
    const std::uint64_t id = *crowded_.begin();
    crowded_.erase(crowded_.begin());
    flush_late(id);
    if (crowded_.contains(id)) return drop_slowest();
  }
}

// Drops the connection that reads least. (What it has not read stays counted until its process ends.)
void Server::drop_slowest() {
  for (int looks = 0; looks < kLooksOfUser; ++looks) {
    const auto most = in_flight_.unread().largest();
    if (!most) return;
    in_flight_.look(*most, user_of(*most));
    if (in_flight_.unread().largest() != most) continue;
    if (peers_.contains(*most)) slow_.insert(*most);
    return;
  }
}

void Server::flush_late(std::uint64_t id) {
  flush(id);
  const auto found = peers_.find(id);
  if (found == peers_.end() || found->second.stuck || found->second.unproven != Unproven::nothing ||
      !std::exchange(found->second.awaited, false))
    return;
  node_->caught_up(id);
}

void Server::post(Peer& peer, std::uint64_t id, Outgoing message) {
  const std::uint32_t uid = peer.who.uid;
  peer.queue.push_back(std::move(message));
  if (!peer.stuck) flush(id);
  if (!peer.queue.empty()) peer.queue.back().waited = true;
  queued_.set(id, uid, peer.queue.size());
  const auto slow = queued_.must_go(id, uid);
  if (slow && (slow_.empty() || *slow == id)) slow_.insert(*slow);
}

void Server::flush(std::uint64_t id) {
  const auto found = peers_.find(id);
  if (found == peers_.end()) return;
  Peer& peer = found->second;
  const std::uint32_t uid = peer.who.uid;
  bool no_room = false;  // in its socket
  while (!peer.queue.empty()) {
    Outgoing& next = peer.queue.front();
    // A queued message is counted when it leaves: many may begin to read at the same time. Without room an
    // introduction waits, and a list comes without that page. An introduction that has not waited was asked
    // for with room for it, and goes to both sides or to none.
    if (next.end && next.waited && !has_room(id, uid)) break;
    if (!next.end && next.memory && !in_flight_.has_room(id, uid)) next.memory.reset();
    std::array<int, 2> fds{};
    std::size_t count = 0;
    if (next.end) fds[count++] = next.end.get();
    if (next.memory) fds[count++] = next.memory->get();
    const auto state =
        base::send_message(peer.socket.get(), next.bytes, std::span{fds}.first(count), MSG_DONTWAIT);
    if (state == base::SocketState::crowded) {
      crowded_.insert(id);
      queued_.set(id, uid, peer.queue.size());
      return;
    }
    no_room = state == base::SocketState::again;
    if (no_room) break;
    if (state != base::SocketState::ok) {
      discard(next);  // what cannot be sent to a process that has gone is of no use to anybody
    } else if (count != 0) {
      in_flight_.sent(id, uid, count);
      if (next.end) foreign_.let_go(std::move(next.end));
    }
    peer.queue.pop_front();
  }
  queued_.set(id, uid, peer.queue.size());
  if (std::exchange(peer.stuck, no_room) != no_room) arm(id, peer);
}

}  // namespace hamlyn::node
