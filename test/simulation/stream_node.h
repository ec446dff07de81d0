#pragma once
// A process of the simulation that has streams: the port that the library's streams have, over a simulated
// interface, and the walk from a notification to the stream that it is for.
#include <cstring>
#include <functional>
#include <map>
#include <memory>

#include "fabric/sim/sim_link.h"
#include "interface/terminus.h"
#include "protocols/port.h"
#include "test/simulation/books/owned_slot.h"

namespace hamlyn::test {

class StreamNode {
 public:
  using Arrived = std::function<void(const Notification&)>;

  explicit StreamNode(std::uint64_t number) : party(number), queue(party.core.make_queue(512)) {}
  ~StreamNode() { end_link(); }
  StreamNode(const StreamNode&) = delete;
  StreamNode& operator=(const StreamNode&) = delete;

  // Gives the next notification to whom it is for. False: there is none.
  bool give() {
    const auto next = simulation::take(party, queue);
    if (!next) return false;
    if (next->kind == Notification::Kind::protocol_error ||
        next->kind == Notification::Kind::resource_exhausted)
      ++refusals;
    if (next->kind != Notification::Kind::message && next->kind != Notification::Kind::failed) return true;
    const auto found = owners.find(next->slot);
    if (found != owners.end()) found->second(*next);
    return true;
  }
  void end_link() {
    if (link == nullptr) return;
    party.core.drain(*link);
    party.core.end_link(*link);
    link.reset();
  }

  simulation::Party party;
  interface::Queue* queue;
  std::unique_ptr<sim::SimLink> link;
  std::map<std::uint32_t, Arrived> owners;  // by slot's number
  std::uint64_t refusals = 0;
};

class SimPort {
 public:
  SimPort(StreamNode& node, StreamNode::Arrived arrived, std::size_t entries)
      : node_(node), arrived_(std::move(arrived)), terminus_(node.party.core, entries) {}

  class Landing {
   public:
    Landing(StreamNode& node, std::size_t bytes, const Slot::Options& options)
        : node_(node), area_(bytes), slot_(node.party, area_, node.queue, options) {}
    ~Landing() {
      EXPECT_TRUE(area_.intact());
      node_.owners.erase(slot_.number());
    }
    Landing(const Landing&) = delete;
    Landing& operator=(const Landing&) = delete;

    std::uint32_t number() const noexcept { return slot_.number(); }
    Ticket ticket() noexcept { return slot_.ticket(); }
    Ticket ticket(std::uint32_t entry) noexcept { return slot_.ticket(entry); }
    std::span<std::byte> bytes() noexcept { return area_.bytes(); }
    std::uint64_t word(std::uint32_t entry) noexcept {
      std::uint64_t out = 0;
      if (slot_.metadata(entry).size() == sizeof out)
        std::memcpy(&out, slot_.metadata(entry).data(), sizeof out);
      return out;
    }
    Status arm(std::uint32_t entry) noexcept { return slot_.arm(entry); }
    Status arm(std::uint32_t entry, Limits limits) noexcept { return slot_.arm(entry, limits); }
    Status disarm(std::uint32_t entry) noexcept { return slot_.disarm(entry); }
    Status expect(std::uint32_t entry, std::uint64_t peer) noexcept {
      return node_.party.core.expect(slot_.index(), entry, peer);
    }

   private:
    StreamNode& node_;
    simulation::Area area_;
    simulation::OwnedSlot slot_;
  };

  Status send_fast(const Ticket& ticket, std::span<const std::byte> data, std::uint64_t word,
                   std::uint64_t offset) noexcept {
    return terminus_.send_fast(ticket, data, word, offset);
  }
  Status send(const Ticket& ticket, std::span<const std::byte> data, const SendOptions& options,
              SendHandle* handle) noexcept {
    return terminus_.send(ticket, data, options, handle);
  }
  Status send_piece(const Ticket& ticket, const Piece& piece, const SendOptions& options,
                    SendHandle* handle) noexcept {
    return terminus_.send_gathered(ticket, {&piece, 1}, options, handle);
  }
  void bind(std::uint32_t area) { EXPECT_EQ(terminus_.bind(0, area), Status::ok); }
  Status status(SendHandle handle) const noexcept { return terminus_.status(handle); }
  Refusal refusal(SendHandle handle) const noexcept { return terminus_.refusal(handle); }
  Status connect(const Ticket& ticket) noexcept { return terminus_.ready(ticket); }
  bool linked(std::uint64_t peer) noexcept { return node_.party.core.find_link(peer) != nullptr; }
  std::unique_ptr<Landing> make_landing(std::size_t bytes, const Slot::Options& options) {
    auto landing = std::make_unique<Landing>(node_, bytes, options);
    node_.owners[landing->number()] = arrived_;
    return landing;
  }

 private:
  StreamNode& node_;
  StreamNode::Arrived arrived_;
  interface::Terminus terminus_;
};

}  // namespace hamlyn::test
