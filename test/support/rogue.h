#pragma once
// A process that speaks every protocol by hand, so that it can break each of them: it attaches to the node,
// asks for introductions, shows whatever it likes as its page, and writes any bytes into it.
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>

#include "fabric/shm/layout.h"
#include "fabric/shm/ring.h"
#include "fabric/shm/sealed_memory.h"
#include "hamlyn/values/ticket.h"
#include "library/control/link_message.h"
#include "node/client/client.h"

namespace hamlyn::test {

// One link, this side of it.
class RogueLink {
 public:
  explicit RogueLink(node::Event introduction);

  // Says what it is told to, with whatever descriptors.
  bool say(const library::LinkMessage& message, std::span<const int> fds) const;
  bool say(library::LinkWord word, std::uint64_t value, int fd) const;
  // Shows `page` as ours (a good one if empty), and waits for the victim's. False: the link has ended.
  bool exchange(std::uint64_t interface, shm::OwnedMemory page = {});

  // Whether the victim has ended it.
  bool ended() const;
  bool wait_for_end() const;
  int socket() const noexcept { return event_.socket.get(); }
  void hang_up() { event_.socket.reset(); }

  shm::Page& mine() noexcept { return *static_cast<shm::Page*>(mine_.mapping.data()); }
  const shm::Page& theirs() const noexcept { return *static_cast<const shm::Page*>(theirs_.data()); }
  const shm::OwnedMemory& my_memory() const noexcept { return mine_; }
  const shm::Mapping& their_mapping() const noexcept { return theirs_; }
  int their_memfd() const noexcept { return their_memfd_.get(); }
  std::uint64_t number() const noexcept { return event_.link; }
  std::uint64_t peer() const noexcept { return event_.peer; }

  // What the victim says next, waited for. Nothing: the link has ended.
  std::optional<library::LinkMessage> hear() const;
  // Goes on in a longer ring, as a busy sender does; `between` runs when the victim has taken the ring, and
  // before it is told that we go on there. False: the link has ended.
  bool grow(
      std::uint32_t cells, const std::function<void()>& between = [] {});
  // The ring that the next packets go to.
  std::span<interface::Packet> cells() noexcept { return cells_; }
  // Shows memory of its own as send buffer area 1 of generation 1. False: the victim did not take it.
  bool show_area(const shm::OwnedMemory& area);
  // Which of the areas that it has shown are good, a bit for each number.
  void say_good(std::uint64_t areas);

  // Puts one packet as an honest sender would: waits for room. False: none, the link has ended.
  bool put(const interface::Packet& packet, const void* data = nullptr, const void* metadata = nullptr);
  // The same by the urgent ring.
  bool put_urgent(const interface::Packet& packet);
  // The next reply, waited for.
  std::optional<interface::Packet> reply();
  // Wakes the victim, as a sender rings its doorbell.
  void ring();
  // Asks for notification places of a fast-mode ticket, and gives the record's name.
  std::optional<std::uint32_t> open(const Ticket& ticket, std::uint64_t credit = 0);

 private:
  node::Event event_;
  shm::OwnedMemory mine_;
  shm::OwnedMemory ring_;  // empty: the page's
  std::span<interface::Packet> cells_;
  shm::Mapping theirs_;
  base::FileDescriptor their_memfd_;
  shm::RingWriter<> out_;
  shm::RingWriter<> urgent_;
  shm::RingReader<> replies_;
};

class Rogue {
 public:
  explicit Rogue(const std::string& node);

  // Nothing: refused; `error` says why.
  std::optional<RogueLink> introduce(std::uint64_t peer, ErrorCode* error = nullptr);
  // An introduction and an exchange of good pages. Tries again while an earlier link is still being ended.
  RogueLink connect(std::uint64_t peer);
  void end(RogueLink& link);  // tells the node
  std::uint64_t id() const noexcept { return client_.interface_id(); }

 private:
  node::Client client_;
  std::uint64_t next_request_ = 1;
};

// A well-formed packet for a ticket.
interface::Packet packet_for(const Ticket& ticket, std::size_t length, std::uint32_t record = 0);

}  // namespace hamlyn::test
