#include "library/link_keeper.h"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstring>
#include <iterator>

#include "base/socket.h"

namespace hamlyn::library {

LinkKeeper::LinkKeeper(node::Event introduction, std::uint64_t interface, std::size_t mtu)
    : peer_(introduction.peer),
      number_(introduction.link),
      uid_(introduction.peer_uid),
      pid_(introduction.peer_pid),
      mtu_(mtu),
      socket_(std::move(introduction.socket)),
      pidfd_(std::move(introduction.pidfd)) {
  shm::OwnedMemory page = shm::ShmLink::prepare_page(interface, mtu);
  my_page_ = std::move(page.mapping);
  say(LinkWord::page, 0, page.memfd.get());  // if the peer has gone already, reading will tell
}

bool LinkKeeper::say(LinkWord word, std::uint64_t value, int memfd) noexcept {
  LinkMessage message;
  message.word = word;
  message.value = value;
  const auto bytes = std::as_bytes(std::span(&message, 1));
  const std::span<const int> fds = memfd < 0 ? std::span<const int>{} : std::span<const int>(&memfd, 1);
  return base::send_message(socket_.get(), bytes, fds, MSG_DONTWAIT) == base::SocketState::ok;
}

bool LinkKeeper::peer_dead() const noexcept {
  pollfd process{pidfd_.get(), POLLIN, 0};
  return poll(&process, 1, 0) == 1;
}

LinkKeeper::End LinkKeeper::read(interface::Surroundings& surroundings) {
  while (true) {
    LinkMessage message;
    base::Received received =
        base::receive_message(socket_.get(), std::as_writable_bytes(std::span(&message, 1)), MSG_DONTWAIT);
    if (received.state == base::SocketState::again) return End::none;
    if (received.state == base::SocketState::closed) return End::peer_gone;
    if (received.state == base::SocketState::malformed || received.bytes != sizeof message ||
        invalid(message) != nullptr || received.fd_count != descriptors_of(message.word))
      return End::protocol_broken;
    End end = End::none;
    switch (message.word) {
      case LinkWord::page:
        end = take_page(std::move(received.fds[0]), surroundings);
        break;
      case LinkWord::ring:
        end = take_ring(std::move(received.fds[0]), message.value);
        break;
      case LinkWord::ring_taken:
        if (!offered_ring_ || ring_taken_) return End::protocol_broken;
        ring_taken_ = true;
        break;
    }
    if (end != End::none) return end;
  }
}

LinkKeeper::End LinkKeeper::take_page(base::FileDescriptor memfd, interface::Surroundings& surroundings) {
  if (link_ != nullptr) return End::protocol_broken;
  shm::ForeignMemory theirs = shm::map_foreign_memory(memfd, sizeof(shm::Page));
  if (theirs.refusal != nullptr) return End::protocol_broken;
  const shm::ShmLink::PageCheck page = shm::ShmLink::check_page(theirs.mapping, peer_);
  if (page.refusal != nullptr) return End::protocol_broken;
  mtu_ = std::min(mtu_, page.mtu);
  link_ = std::make_unique<shm::ShmLink>(surroundings, peer_, mtu_, std::move(my_page_),
                                         std::move(theirs.mapping));
  fresh_ = true;
  return End::none;
}

LinkKeeper::End LinkKeeper::take_ring(base::FileDescriptor memfd, std::uint64_t cells) {
  // Sizes from the table only, and each longer than the one before: a peer decides neither how much we map
  // nor how often.
  const bool known = std::find(std::begin(shm::kGrownCells), std::end(shm::kGrownCells), cells) !=
                     std::end(shm::kGrownCells);
  if (link_ == nullptr || peers_ring_ || !known || cells <= peers_cells_) return End::protocol_broken;
  shm::ForeignMemory ring = shm::map_foreign_memory(memfd, cells * interface::kCell);
  if (ring.refusal != nullptr) return End::protocol_broken;
  peers_ring_ = std::move(ring.mapping);
  peers_cells_ = cells;
  return End::none;
}

bool LinkKeeper::offer_ring(std::uint32_t cells) {
  try {
    shm::OwnedMemory ring = shm::make_sealed_memory(cells * interface::kCell);
    if (!say(LinkWord::ring, cells, ring.memfd.get())) return false;
    offered_ring_ = std::move(ring.mapping);
    return true;
  } catch (const Error&) {
    return false;
  }
}

LinkKeeper::End LinkKeeper::settle_rings() noexcept {
  if (peers_ring_) {
    // A second one before the first is in use breaks the protocol.
    if (!link_->continue_in(std::move(peers_ring_))) return End::protocol_broken;
    peers_ring_ = shm::Mapping();
    say(LinkWord::ring_taken, 0, -1);
  }
  if (ring_taken_) {
    ring_taken_ = false;
    link_->continue_out(std::move(offered_ring_));
    offered_ring_ = shm::Mapping();
  }
  return End::none;
}

}  // namespace hamlyn::library
