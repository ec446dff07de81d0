#pragma once
// A link to a process of another host, as the interface sees it. Packets gather in frames, one that is being
// filled for each lane; a frame leaves when it is full, or when nothing else is about to join it.
#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "fabric/ofi/exchange.h"
#include "fabric/ofi/link_protocol.h"
#include "fabric/ofi/wire.h"
#include "interface/core.h"
#include "interface/link.h"

namespace hamlyn::ofi {

class OfiLink final : public interface::Link {
 public:
  // `peer`: the interface at the other side, at `address`.
  OfiLink(Exchange& exchange, interface::Surroundings& surroundings, std::uint64_t peer,
          std::span<const std::byte> address, const LinkIdentity& identity, bool initiator);
  ~OfiLink() override;

  using Link::put;
  Status put(const interface::Packet& packet, const std::byte* data, const std::byte* metadata,
             Priority level) noexcept override;
  Status put_reply(const interface::Packet& packet, const std::byte* data) noexcept override;
  Status put_answer(const interface::Packet& packet, const std::byte* data, bool more) noexcept override;
  unsigned arrive(interface::Core& core, unsigned budget) noexcept override;
  bool something_arrived() const noexcept override;
  std::uint64_t arrived_at_most() const noexcept override;
  bool has_room(Priority level) noexcept override;
  bool has_reply_room() noexcept override;
  bool has_answer_room() noexcept override {
    return over_ == LinkProtocol::End::none && Link::has_answer_room();
  }
  using Link::payload_limit;
  std::size_t payload_limit() const noexcept override { return exchange_.limits().mtu; }
  std::size_t urgent_payload_limit() const noexcept override { return kUrgentPayload; }
  std::size_t payload_limit_ever() const noexcept override { return exchange_.limits().mtu; }
  bool made() const noexcept override { return protocol_.heard(); }
  std::uint64_t put_count() const noexcept override { return puts_; }
  std::uint64_t taken_count() noexcept override;
  bool departed() noexcept override;
  void gather(bool on) noexcept override;

  // Whether it is over; whoever keeps the links ends it.
  LinkProtocol::End over() const noexcept { return over_; }
  // Why: what the other side has said of itself, or `node`, what its node has said or this process has found,
  // rather than what follows from a silence. `no_connection` if nothing has ever come and none of them says
  // more than that the link is over.
  WhyNoLink why_over(WhyNoLink node = {}) const noexcept;
  // Something waits for the other side to take it.
  bool work_pending() const noexcept { return room_wanted || !all_arrived(); }
  // Everything that was put here has come to the other side.
  bool all_arrived() const noexcept;
  // The other side's node has said that it leaves: the link is over when nothing comes any more.
  void expect_end() noexcept;
  // The other side's node is silent: the link is over if nothing comes by it either.
  void doubt() noexcept;
  // The interface knows it no more: what comes is let fall, what was put still leaves.
  void retire(WhyNoLink why) noexcept;
  // Says that this side has ended it, and why if that is for this side to say, behind what was put.
  void say_end() noexcept;
  // Frames that have come for it and were refused.
  std::uint64_t refused_frames() const noexcept { return counters->bad_frames; }

  // The numbers that both ends have: frames that were given one, and how many of the other side's have come.
  const LinkProtocol& protocol() const noexcept { return protocol_; }
  const LinkIdentity& identity() const noexcept { return identity_; }

 private:
  friend class Exchange;
  using Arrivals = base::Chain<Arrival, &Arrival::in_lane>;

  // For the exchange.
  void take(const FrameHeader& header, Arrival& arrival, std::uint64_t now) noexcept;
  bool send_due(std::uint64_t now, bool all) noexcept;  // true: something still waits
  // `sure`: until then nothing else has come.
  void look_at_clock(std::uint64_t now, std::uint64_t sure) noexcept;

  bool may_open(Lane lane) const noexcept;
  bool more_departs() noexcept;
  bool fits(Lane lane, std::size_t bytes) const noexcept;
  // `more`: another is put right behind it.
  Status put_message(const interface::Packet& packet, const std::byte* data, const std::byte* metadata,
                     Priority level, bool more) noexcept;
  Status put_in(Lane lane, const interface::Packet& packet, const std::byte* data, const std::byte* metadata,
                bool more) noexcept;
  void find_out_room(Lane lane) noexcept;
  void seal(Lane lane) noexcept;
  void leave(Lane lane) noexcept;
  bool send_sealed(std::uint64_t now) noexcept;
  bool find_destination() noexcept;
  bool send_frame(Frame& frame, std::uint64_t now) noexcept;
  void send_empty(std::uint64_t now, bool last = false) noexcept;
  void free_acknowledged() noexcept;
  std::uint32_t open_frames() const noexcept;
  void hand_over(interface::Core& core, Lane lane, unsigned& count, unsigned most) noexcept;
  void stand(Lane lane, Arrival& arrival) noexcept;
  // The next of a lane that may be handed over; null: none stands there, or one before it has not come.
  Arrival* next_in_turn(Lane lane) const noexcept;
  bool deposit(interface::Core& core, Lane lane, const interface::Packet& packet,
               const interface::Payload& payload) noexcept;
  Arrivals& arrivals(Lane lane) noexcept { return arrivals_[index_of(lane)]; }
  const Arrivals& arrivals(Lane lane) const noexcept { return arrivals_[index_of(lane)]; }
  Frame*& frame_of(std::uint64_t sequence) noexcept { return kept_[sequence % kMostWindow]; }

  Exchange& exchange_;
  interface::Surroundings& surroundings_;
  std::vector<std::byte> address_;
  Destination to_ = kNowhere;  // until something is sent there
  const LinkIdentity identity_;
  LinkProtocol protocol_;
  LinkProtocol::End over_ = LinkProtocol::End::none;

  std::array<Frame*, kLanes> open_{};        // being filled
  std::array<Frame*, kMostWindow> kept_{};   // sealed, by number, until they are acknowledged
  std::array<Lane, kMostWindow> lane_of_{};  // theirs
  // Packets that were put before those of a frame, by its number in its lane.
  std::array<std::array<std::uint64_t, kMostWindow>, kLanes> puts_before_{};
  std::uint64_t given_ = 0;    // to the wire, up to this number
  std::uint64_t freed_ = 0;    // and forgotten, up to this one
  std::uint64_t left_at_ = 0;  // when something was sent last
  std::uint64_t puts_ = 0;

  std::array<Arrivals, kLanes> arrivals_;
  std::uint32_t standing_ = 0;  // frames in them
  unsigned urgent_in_a_row_ = 0;
  bool retired_ = false;
  bool gathers_ = false;
  std::uint8_t last_word_ = 0;  // the LinkReason that the other side is told; 0: none
};

}  // namespace hamlyn::ofi
