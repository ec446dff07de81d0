#pragma once
// The control thread's side of one link: the socket and the pidfd that tell of the peer's end, the exchange
// of pages, and growth. The peer's process holds the other ends, so that death is told without the daemon:
// the socket is silent while a forked child lives, the pidfd when the peer execs (design, section 7).
#include <array>
#include <chrono>
#include <cstdint>
#include <list>
#include <memory>
#include <span>
#include <vector>

#include "base/file_descriptor.h"
#include "base/foreign.h"
#include "base/namespaces.h"
#include "base/socket.h"
#include "fabric/shm/sealed_memory.h"
#include "fabric/shm/shm_link.h"
#include "library/control/handed_out.h"
#include "library/control/link_message.h"
#include "library/control/stall_clock.h"
#include "library/memory/area_budget.h"
#include "library/memory/mapped_area.h"
#include "node/client/client.h"

namespace hamlyn::internal_::library {

// Tells the process at the other end of that socket why this one ends the link, or makes none, if that is for
// a process to say of itself or the other one.
void say_farewell(int socket, WhyNoLink why) noexcept;

class LinkKeeper {
 public:
  // The most bytes of send buffer areas that a peer may show on one link.
  static constexpr std::uint64_t kPeersAreaBytes = std::uint64_t{1} << 30;
  // The most bytes of a mapped slot's area.
  static constexpr std::uint64_t kImportBytes = std::uint64_t{1} << 36;

  // no_memory: no fault of the peer's. unread: its user has not read what it was handed, and that for long.
  enum class End { none, peer_gone, protocol_broken, no_memory, unread };

  // Makes this side's page and shows it to the peer, if it is this side's turn: who has asked for the link
  // shows its page first, before the other one spends anything. Throws Error. `serial`: names it in its
  // process. `budget` and `handed_out` are of all its links. `own_end`: of a link with oneself, whose keeper
  // is both sides': it speaks by that end of the pair and hears itself by the other.
  LinkKeeper(node::Event introduction, base::ForeignSocket socket, std::uint64_t serial,
             std::uint64_t interface, std::size_t mtu, AreaBudget& budget, HandedOut& handed_out,
             base::FileDescriptor own_end = {});
  ~LinkKeeper();
  LinkKeeper(const LinkKeeper&) = delete;
  LinkKeeper& operator=(const LinkKeeper&) = delete;

  // Reads what the peer says. Returns whether and how the link has ended. `surroundings` for a link that is
  // made.
  End read(interface::Surroundings& surroundings);

  // Whether it is this side's turn to show its page, and the peer's user was handed as much as it may be.
  bool waits_to_show() const noexcept { return !shown_page_ && (asked_for_ || peers_page_); }
  // Tries again.
  End begin(interface::Surroundings& surroundings);

  // The link, once both pages are there.
  shm::ShmLink* link() noexcept { return link_.get(); }
  bool fresh() noexcept { return std::exchange(fresh_, false); }

  // Whether the peer's user may be handed a longer ring now. If not, it is asked again later.
  bool may_offer_ring();
  bool offers_later() const noexcept { return offers_later_; }
  // Why reading has found the link over.
  WhyNoLink why() const noexcept { return why_; }
  // Tells the peer why this side ends the link, if that is for this side to say.
  void say_farewell(WhyNoLink why) noexcept;
  // Whether this process asked for the link.
  bool asked() const noexcept { return asked_for_; }

  // Growth: makes a ring and shows it to the peer. False: no memory; the link stays as it is.
  bool offer_ring(std::uint32_t cells);
  // The peer has said that it has that ring.
  bool ring_taken() const noexcept { return ring_taken_; }
  // Does, under the run lock, what the peer said of rings and areas.
  End settle() noexcept;
  // And to be answered then. Not under the run lock: a peer says by how many of its descriptors it watches
  // the socket how long it takes to say something there.
  void answer() noexcept;
  // Unmaps the areas that are forgotten since. Not under the run lock: that can take long, and a peer says
  // how often.
  void unmap_forgotten() noexcept;

  // Send buffer areas: shows one of ours to the peer; tells it that one has gone.
  void show_area(std::uint32_t number, const interface::SendArea& area, int memfd) noexcept;
  void withdraw_area(std::uint32_t number) noexcept;

  // Mapped slots. Asks the peer for one; false: not now.
  bool ask_import(MappingRequest& import) noexcept;
  // Gives the peer's requests, to be answered; nothing more is read before. Answers of the peer come checked
  // and mapped.
  std::vector<LinkMessage> take_import_requests() noexcept { return std::exchange(import_requests_, {}); }
  void put_back(std::vector<LinkMessage> requests) noexcept { import_requests_ = std::move(requests); }
  bool import_waits() const noexcept { return !import_requests_.empty(); }
  void answer_import(const LinkMessage& message, std::span<const int> fds) noexcept { say(message, fds); }
  std::vector<ImportAnswer> take_import_answers() noexcept { return std::exchange(import_answers_, {}); }

  // Nobody but this process knows of it: the node neither counts nor ends it.
  bool with_oneself() const noexcept { return static_cast<bool>(own_end_); }

  std::uint64_t serial() const noexcept { return serial_; }
  std::uint64_t peer() const noexcept { return peer_; }
  std::uint64_t number() const noexcept { return number_; }
  std::uint32_t uid() const noexcept { return user_.uid; }
  const interface::User& user() const noexcept { return user_; }
  std::uint32_t pid() const noexcept { return pid_; }
  int socket() const noexcept { return socket_.get(); }
  int pidfd() const noexcept { return pidfd_.get(); }
  std::size_t mtu() const noexcept { return mtu_; }
  std::chrono::steady_clock::time_point made = std::chrono::steady_clock::now();

  std::uint64_t reported = 0;  // refused packets that the node has heard of

  StallClock stall{made};

 private:
  void unmap(shm::Mapping& memory) noexcept;
  bool say_withdrawn(std::uint32_t number) noexcept;
  bool say(LinkWord word, std::uint64_t value, int memfd) noexcept;
  bool say(const LinkMessage& message, std::span<const int> fds = {}) noexcept;
  base::SocketState send(const LinkMessage& message, std::span<const int> fds) noexcept;
  End take_import(base::Received& received, const LinkMessage& message);
  void show_page();
  void watch(int memfd, std::uint64_t bytes);
  End take_page(base::FileDescriptor memfd, interface::Surroundings& surroundings);
  End take_ring(base::FileDescriptor memfd, std::uint64_t cells);
  End take_area(const base::FileDescriptor& memfd, const LinkMessage& message);
  End forget_area(const LinkMessage& message);

  End over(End how, WhyNoLink why) noexcept;
  End broken() noexcept { return over(End::protocol_broken, {LinkReason::protocol_broken, false}); }

  std::uint64_t serial_;
  std::uint64_t peer_;
  std::uint64_t number_;
  std::uint64_t own_;  // number of this interface
  interface::User user_;
  std::uint32_t pid_;
  std::size_t mtu_;
  AreaBudget& budget_;
  HandedOut& handed_out_;
  bool asked_for_;  // by this side
  WhyNoLink why_;
  base::ForeignSocket socket_;
  base::FileDescriptor own_end_;
  base::FileDescriptor pidfd_;
  std::vector<LeftBehind::Piece> pieces_;  // memory that was made for this link
  shm::OwnedMemory my_page_;               // until the link is made of it; its descriptor, until it is shown
  bool shown_page_ = false;
  shm::Mapping peers_page_;  // likewise
  std::size_t peers_mtu_ = 0;
  bool offers_later_ = false;
  shm::OwnedMemory offered_ring_;  // until the peer has mapped it
  shm::Mapping peers_ring_;        // until settle_rings
  std::uint64_t peers_cells_ = 0;  // of the longest ring that it has shown
  bool ring_taken_ = false;
  bool ring_settled_ = false;  // the peer's, and it has not been told
  bool fresh_ = false;
  std::array<std::uint16_t, interface::kAreaLimit> areas_shown_{};  // the generation that the peer was shown
  // The generation whose end the peer has not been told of, for want of room in the socket.
  std::array<std::uint16_t, interface::kAreaLimit> areas_unsaid_{};
  std::uint64_t areas_taken_ = 0;  // said to be mapped, to be settled
  struct PeersArea {
    shm::Mapping mapping;
    std::uint16_t generation = 0;
  };
  std::array<PeersArea, interface::kAreaLimit> peers_areas_;
  std::vector<std::uint64_t> imports_asked_;  // their numbers
  std::vector<LinkMessage> import_requests_;
  std::vector<ImportAnswer> import_answers_;
  std::unique_ptr<interface::ShownAreas> shown_;  // until the link has it
  std::vector<LinkMessage> answers_;              // to be said when what they say is settled
  std::list<shm::Mapping> former_areas_;          // withdrawn; until that is settled
  std::list<shm::Mapping> unused_areas_;          // and nobody reads them any more
  bool peers_areas_changed_ = false;
  std::uint64_t peers_area_bytes_ = 0;
  std::unique_ptr<shm::ShmLink> link_;
};

}  // namespace hamlyn::internal_::library
