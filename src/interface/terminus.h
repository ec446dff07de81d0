#pragma once
// A send terminus (paper 0, section 2.3): a private work queue. Each destination is a sub-queue of its own in
// effect: within one pass the first message to a destination may move, and a stalled one holds up nobody
// else.
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "hamlyn/share.h"
#include "hamlyn/status.h"
#include "hamlyn/terminus.h"
#include "hamlyn/ticket.h"
#include "interface/core.h"

namespace hamlyn::interface {

struct Gathering;

class Terminus {
 public:
  Terminus(Core& core, std::size_t entries);
  ~Terminus();
  Terminus(const Terminus&) = delete;
  Terminus& operator=(const Terminus&) = delete;

  Status send(const Ticket& ticket, std::span<const std::byte> data, const SendOptions& options,
              SendHandle* handle) noexcept {
    return send(ticket, 0, data, options, handle);
  }
  Status send(const Share& share, std::span<const std::byte> data, const SendOptions& options,
              SendHandle* handle) noexcept;
  Status cancel(SendHandle handle) noexcept;

  // Send buffer areas by tag, and messages out of them (terminus_areas.cc).
  Status bind(std::uint32_t tag, std::uint32_t area);
  Status unbind(std::uint32_t tag) noexcept;
  Status send_gathered(const Ticket& ticket, std::span<const Piece> pieces, const SendOptions& options,
                       SendHandle* handle) noexcept;
  void area_gone(std::uint32_t area) noexcept;

  Status send_fast(const Ticket& ticket, std::span<const std::byte> data, std::uint64_t word,
                   std::uint64_t offset) noexcept;
  // For up to 16 bytes to the destination of last time: where they may go now, and over which link. Null:
  // something is in the way, and send_fast says what. Calls nothing.
  __attribute__((always_inline)) Outlet* quick_way(const Ticket& ticket, std::size_t length,
                                                   std::uint64_t offset, Link*& link) noexcept {
    if (last_.peer != ticket.interface || last_.slot_word != slot_word(ticket) || last_.key != ticket.key ||
        !ticket.fast() || last_.outlet->left == 0 || pending_ != 0 || length > kInlineData ||
        offset > ticket.bound || length > ticket.bound - offset) [[unlikely]] {
      return nullptr;
    }
    link = last_.link;
    return last_.outlet;
  }

  Status status(SendHandle handle) const noexcept;
  // Whether a link to there is up and, for fast mode, places are granted. Asks for what is missing.
  Status ready(const Ticket& ticket) noexcept;
  // The same, and whether there is a free place and room now.
  Status place_free(const Ticket& ticket) noexcept;

  // Moves one packet for each destination after another while there is room. True if any moved.
  bool depart() noexcept;
  void link_ended(const Link& link) noexcept;
  // The receiving interface has spoken of a message that asked for it.
  void delivered(const Link& link, std::uint32_t message, Status status) noexcept;
  void forget_link() noexcept { last_ = {}; }
  void link_refused(std::uint64_t peer) noexcept;

  // Somebody who waits for a link without a message that waits with it. Told here if there will be none.
  struct LinkWait {
    std::uint64_t peer = 0;
    bool refused = false;
    LinkWait* next = nullptr;
  };
  void add(LinkWait& wait) noexcept;
  void remove(LinkWait& wait) noexcept;

 private:
  struct Work {
    Ticket ticket;
    const std::byte* data = nullptr;
    std::size_t length = 0;
    std::size_t sent = 0;
    std::uint64_t offset = 0;    // from the slot's base
    Link* link = nullptr;        // null: not made yet
    std::uint64_t sequence = 0;  // of its handle; 0: never used
    std::uint32_t next = 0;      // pending after it, or free after it
    std::uint32_t previous = 0;  // pending before it
    Status status = Status::ok;
    std::uint32_t message = 0;
    std::uint32_t count = 0;         // what its packets add up to, modulo 2^32
    std::uint32_t packets_left = 0;  // 0: nothing has left yet
    std::uint32_t parts = 0;         // pieces out of areas, if it is gathered
    std::uint32_t part = 0;          // the one that is being sent
    std::uint64_t part_sent = 0;
    std::uint32_t packets_sent = 0;  // of a gathered message
    bool from_area = false;          // the other side was told to read an area
    bool in_place = false;           // its data is there already; `mapping` says by which mapping
    std::uint16_t mapping = 0;
    bool lent = false;       // all has left; the buffers are not free before it was taken
    std::uint64_t mark = 0;  // of the link, behind the last packet that does not carry its data
    std::size_t packet_size = 0;
    std::uint8_t metadata_length = 0;
    bool acknowledged = false;
    bool left = false;  // whole, and not acknowledged yet
    std::array<std::byte, kMetadataLimit> metadata;
  };

  // Where the last fast-mode message went; at first nowhere, where there are no places.
  static Outlet nowhere;
  struct Last {
    std::uint64_t peer = 0;
    std::uint64_t slot_word = 0;
    std::uint64_t key = 0;
    Link* link = nullptr;
    Outlet* outlet = &nowhere;
  };

  // Entries in a row: those that are pending, in the order they were sent in, or those that are free, the
  // longest free first, so that handles tell of failures for as long as can be.
  struct Row {
    std::uint32_t first = kNobody;
    std::uint32_t last = kNobody;
  };
  static constexpr std::uint32_t kNobody = 0xFFFFFFFFu;
  void append(Row& row, Work& work) noexcept;
  void remove(Row& row, Work& work) noexcept;
  std::uint32_t index_of(const Work& work) const noexcept {
    return static_cast<std::uint32_t>(&work - work_.data());
  }

  Status send(const Ticket& ticket, std::uint32_t count, std::span<const std::byte> data,
              const SendOptions& options, SendHandle* handle) noexcept;
  bool put_gathered(Work& work) noexcept;
  bool store_in_place(Work& work, const Ticket& ticket, std::span<const std::byte> data,
                      std::uint64_t offset) noexcept;
  bool put_in_place(Work& work) noexcept;
  bool put_question(Work& work) noexcept;
  Status put_from_area(Work& work, Packet& packet, std::size_t bytes) noexcept;
  Status put_through_ring(Work& work, Packet& packet, std::size_t bytes) noexcept;
  bool stands_in_shown_area(const Work& work) noexcept;
  void lend(Work& work) noexcept;
  bool take_back() noexcept;

  Status check(const Ticket& ticket, std::uint64_t length, const SendOptions& options) const noexcept;
  Status post(Work& work, const Ticket& ticket, std::uint32_t count, std::uint64_t length,
              const SendOptions& options, SendHandle* handle) noexcept;
  bool take_link(Work& work) noexcept;
  Status remember(const Ticket& ticket) noexcept;
  Status without_place() noexcept;
  Status too_long(Link& link, std::size_t bytes) noexcept;
  bool waits_for(const Link& link) const noexcept;
  bool depart_once() noexcept;
  bool put_one_packet(Work& work) noexcept;
  void start(Work& work) noexcept;
  void finish(Work& work, Status status) noexcept;
  void await_delivery(Work& work) noexcept;

  Core& core_;
  std::vector<Work> work_;
  Row waiting_;
  Row left_;  // gone, and not acknowledged yet
  Row free_;
  Row lent_;  // sent, but their buffers are still read
  std::uint32_t pending_ = 0;
  std::vector<const void*> seen_;  // destinations that had their turn in this pass
  Last last_;
  LinkWait* link_waits_ = nullptr;
  std::unique_ptr<Gathering> gathering_;  // once an area was bound
};

}  // namespace hamlyn::interface
