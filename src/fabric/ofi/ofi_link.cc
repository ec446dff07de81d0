#include "fabric/ofi/ofi_link.h"

#include <algorithm>
#include <utility>

#include "base/link_reasons.h"
#include "fabric/ofi/packets.h"
#include "interface/deposit.h"
#include "interface/packets/element.h"

namespace hamlyn::ofi {

using interface::Core;
using interface::kUrgentInARow;
using interface::Operation;
using interface::Packet;
using interface::Payload;

namespace {

constexpr std::size_t kLongestReply = kPacketHeader + interface::kReplyPayload;

Lane lane_of(Priority level) noexcept { return level == Priority::normal ? Lane::normal : Lane::urgent; }

}  // namespace

OfiLink::OfiLink(Exchange& exchange, interface::Surroundings& surroundings, std::uint64_t peer_interface,
                 std::span<const std::byte> address, const LinkIdentity& identity, bool initiator)
    : exchange_(exchange),
      surroundings_(surroundings),
      address_(address.begin(), address.end()),
      identity_(identity),
      protocol_(identity, exchange.limits(), initiator, exchange.now()) {
  peer = peer_interface;
  by_gate = true;
  far = true;
  in_order = true;
  exchange_.add(*this);
}

OfiLink::~OfiLink() {
  exchange_.remove(*this);
  const auto drop = [&](Frame* frame) {
    if (frame == nullptr) return;
    frame->link = nullptr;
    if (!frame->under_way) exchange_.wire().give_back(*frame);
  };
  std::for_each(kept_.begin(), kept_.end(), drop);
  std::for_each(open_.begin(), open_.end(), drop);
  for (Arrivals& lane : arrivals_) {
    while (Arrival* arrival = lane.first()) {
      lane.remove(*arrival);
      exchange_.wire().give_back(*arrival);
    }
  }
  if (to_ != kNowhere) exchange_.wire().forget(to_);
}

// --- packets leave

std::uint32_t OfiLink::open_frames() const noexcept {
  return static_cast<std::uint32_t>(std::count_if(open_.begin(), open_.end(), [](auto* f) { return f; }));
}

bool OfiLink::may_open(Lane lane) const noexcept {
  // Frames that are open will need a number, too.
  const bool number = protocol_.kept() + open_frames() < exchange_.window();
  return number && protocol_.room(lane) != 0 && exchange_.wire().frame_free();
}

bool OfiLink::fits(Lane lane, std::size_t bytes) const noexcept {
  const Frame* const open = open_[index_of(lane)];
  return (open != nullptr && open->length + bytes <= exchange_.limits().frame) || may_open(lane);
}

Status OfiLink::put(const Packet& packet, const std::byte* data, const std::byte* metadata,
                    Priority level) noexcept {
  // One of several of its message, and as long as can be, mostly has others behind it. (In fast mode the
  // delta says something else.)
  const bool more =
      packet.entry != interface::kNoEntry && packet.delta != 0 && packet.lead.length == payload_limit();
  return put_message(packet, data, metadata, level, more);
}

Status OfiLink::put_answer(const Packet& packet, const std::byte* data, bool more) noexcept {
  return put_message(packet, data, nullptr, Priority::normal, more);
}

Status OfiLink::put_message(const Packet& packet, const std::byte* data, const std::byte* metadata,
                            Priority level, bool more) noexcept {
  const Status status = put_in(lane_of(level), packet, data, metadata, more);
  if (status == Status::ok) {
    ++counters->packets_out;
    counters->bytes_out += packet.lead.length;
  } else if (status == Status::queue_full) {
    ++counters->full;
    room_wanted = room_wanted || level == Priority::normal;
  }
  return status;
}

Status OfiLink::put_reply(const Packet& packet, const std::byte* data) noexcept {
  return put_in(Lane::replies, packet, data, nullptr, false);
}

Status OfiLink::put_in(Lane lane, const Packet& packet, const std::byte* data, const std::byte* metadata,
                       bool more) noexcept {
  if (broken || over_ != LinkProtocol::End::none) return Status::link_ended;
  const std::size_t bytes = bytes_of(packet.lead);
  Frame*& open = open_[index_of(lane)];
  if (open != nullptr && open->length + bytes > exchange_.limits().frame) {
    seal(lane);
    leave(lane);
  }
  if (open == nullptr) {
    if (!may_open(lane)) {
      find_out_room(lane);
      return Status::queue_full;
    }
    open = exchange_.wire().take_frame();
    open->link = this;
    open->length = kFrameHeader;
    open->puts_before = puts_;
  }
  write_packet(packet, data, metadata, open->bytes + open->length);
  open->length += static_cast<std::uint32_t>(bytes);
  ++puts_;
  // Urgent packets do not wait for company, which also bounds how many are under way.
  if (lane == Lane::urgent) seal(lane);
  const bool joins = more && open != nullptr && open->length + bytes <= exchange_.limits().frame;
  if (!joins) {
    leave(lane);
    return Status::ok;
  }
  exchange_.sending_waits_ = true;
  // The last of them is not known: it leaves at the next run.
  if (!exchange_.running_) surroundings_.departure_waits();
  return Status::ok;
}

// Has the other side asked for room, if that is what a packet waits for.
void OfiLink::find_out_room(Lane lane) noexcept {
  if (protocol_.room(lane) > 1) return;
  protocol_.want_room(exchange_.time_);
  exchange_.next_time_ = std::min(exchange_.next_time_, protocol_.next_time());
}

// Its frame gets its number, and nothing joins it any more.
void OfiLink::seal(Lane lane) noexcept {
  Frame* const frame = std::exchange(open_[index_of(lane)], nullptr);
  puts_before_[index_of(lane)][protocol_.sent_in(lane) % kMostWindow] = frame->puts_before;
  frame->sequence = protocol_.next_sequence(lane);
  frame_of(frame->sequence) = frame;
  lane_of_[frame->sequence % kMostWindow] = lane;
}

// Sends a packet that was put now, if nothing has left lately: then nobody else can be expected to join it.
// Otherwise the packet waits for the next run, for which a sleeping thread is woken, or until its frame is
// full. The last frame that the other side has room for is filled while those before it are under way.
void OfiLink::leave(Lane lane) noexcept {
  exchange_.sending_waits_ = true;
  if (exchange_.running_ || gathers_ || !protocol_.may_speak()) return;
  if (!Exchange::may_send_here()) return surroundings_.departure_waits();
  const std::uint64_t now = exchange_.now();
  if (open_[index_of(lane)] != nullptr) {
    // An acknowledgement brings it: of one who lags behind there is one to come.
    const bool small = open_[index_of(lane)]->length < exchange_.limits().enough;
    if (protocol_.room(lane) < 2 || (small && protocol_.half_full(lane))) return;
    if (now < left_at_ + exchange_.limits().gather) return surroundings_.departure_waits();
    seal(lane);
  }
  if (!send_sealed(now)) surroundings_.departure_waits();
}

void OfiLink::gather(bool on) noexcept {
  gathers_ = on;
  if (!on) leave(Lane::normal);
}

// In the order of their numbers. False: the wire takes no more now.
bool OfiLink::send_sealed(std::uint64_t now) noexcept {
  const std::uint64_t before = given_;
  while (given_ != protocol_.sent() && send_frame(*frame_of(given_ + 1), now)) ++given_;
  // To send takes longer at times than company is waited for: that time is none in which nothing was put.
  if (given_ != before) left_at_ = exchange_.now();
  return given_ == protocol_.sent();
}

bool OfiLink::find_destination() noexcept {
  if (to_ == kNowhere) to_ = exchange_.wire().insert(address_);
  return to_ != kNowhere;
}

bool OfiLink::send_frame(Frame& frame, std::uint64_t now) noexcept {
  if (!find_destination()) return false;
  encode(protocol_.stamp(lane_of_[frame.sequence % kMostWindow], frame.sequence, frame.length, now),
         frame.bytes);
  return exchange_.wire().send(to_, frame);
}

void OfiLink::send_empty(std::uint64_t now, bool last) noexcept {
  FrameHeader header = protocol_.stamp(Lane::none, 0, kFrameHeader, now);
  if (last) {
    header.flags = FrameHeader::kEnd;
    header.reason = last_word_;
    header.sequence = protocol_.sent();
  }
  std::array<std::byte, kFrameHeader> frame;
  encode(header, frame.data());
  if (find_destination()) exchange_.wire().send_short(to_, frame);
}

// Packets that wait for their turn join the frame that is being filled.
bool OfiLink::more_departs() noexcept {
  const interface::LinkLevel& waiting = way(Priority::normal);
  const std::size_t most = kPacketHeader + interface::kMetadataLimit + payload_limit() + 8;
  return waiting.state == interface::LinkLevel::State::ready &&
         open_[index_of(Lane::normal)]->length + most <= exchange_.limits().frame;
}

bool OfiLink::send_due(std::uint64_t now, bool all) noexcept {
  if (over_ != LinkProtocol::End::none || !protocol_.may_speak()) return false;
  bool waits = false;
  for (const Lane lane : {Lane::replies, Lane::normal}) {
    if (open_[index_of(lane)] == nullptr) continue;
    const bool gathers =
        lane == Lane::normal && ((!all && now < left_at_ + exchange_.limits().gather) || more_departs());
    if (!gathers && protocol_.room(lane) > 1) {
      seal(lane);
    } else {
      waits = true;
      find_out_room(lane);
    }
  }
  if (!send_sealed(now)) waits = true;
  if (protocol_.owes_acknowledgement(now)) send_empty(now);
  return waits;
}

void OfiLink::expect_end() noexcept {
  protocol_.expect_end(exchange_.now());
  exchange_.next_time_ = 0;
}

void OfiLink::doubt() noexcept {
  protocol_.doubt();
  exchange_.next_time_ = 0;
}

bool OfiLink::all_arrived() const noexcept {
  return open_frames() == 0 && protocol_.acknowledged() == protocol_.sent();
}

WhyNoLink OfiLink::why_over(WhyNoLink node) const noexcept {
  if (broken) return {LinkReason::protocol_broken, false};
  const WhyNoLink said = protocol_.last_word();
  if (said.told) return said;
  // The end of the process says nothing of why no word of it has ever come.
  const bool vague = node.reason == LinkReason::none || node.reason == LinkReason::ended ||
                     node.reason == LinkReason::stalled;
  if (!protocol_.heard() && vague) return {LinkReason::no_connection, false};
  if (node.reason != LinkReason::none) return node;
  if (over_ == LinkProtocol::End::peer_ended) return said;
  return {protocol_.doubted() ? LinkReason::node_missing : LinkReason::silent, false};
}

void OfiLink::retire(WhyNoLink why) noexcept {
  retired_ = true;
  const auto reason = static_cast<std::uint64_t>(why.reason);
  if (!why.told && base::may_be_told(reason)) last_word_ = static_cast<std::uint8_t>(reason);
}

void OfiLink::say_end() noexcept {
  const std::uint64_t now = exchange_.now();
  send_due(now, true);
  if (protocol_.may_speak() && over_ == LinkProtocol::End::none) send_empty(now, true);
}

bool OfiLink::has_room(Priority level) noexcept {
  const std::size_t most = kPacketHeader + interface::kMetadataLimit + payload_limit(level) + 8;
  const bool room = broken || over_ != LinkProtocol::End::none || fits(lane_of(level), most);
  if (!room) find_out_room(lane_of(level));
  if (level == Priority::normal && std::exchange(room_wanted, !room) && room) surroundings_.settled();
  return room;
}

bool OfiLink::has_reply_room() noexcept {
  if (broken || over_ != LinkProtocol::End::none) return false;
  if (fits(Lane::replies, kLongestReply)) return true;
  find_out_room(Lane::replies);
  return false;
}

std::uint64_t OfiLink::taken_count() noexcept {
  std::uint64_t taken = puts_;
  for (const Lane lane : {Lane::normal, Lane::urgent, Lane::replies}) {
    const Frame* const open = open_[index_of(lane)];
    const std::uint16_t handed = protocol_.handed_there(lane);
    if (handed != protocol_.sent_in(lane)) {
      taken = std::min(taken, puts_before_[index_of(lane)][handed % kMostWindow]);
    } else if (open != nullptr) {
      taken = std::min(taken, open->puts_before);
    }
  }
  return taken;
}

bool OfiLink::departed() noexcept {
  if (broken || over_ != LinkProtocol::End::none) return true;  // nothing leaves any more
  if (exchange_.running_ || !protocol_.may_speak() || !Exchange::may_send_here()) return false;
  for (const Lane lane : {Lane::replies, Lane::normal}) {
    if (open_[index_of(lane)] != nullptr) seal(lane);
  }
  if (!send_sealed(exchange_.now())) return false;
  const auto host_has_it = [](const Frame* frame) { return frame == nullptr || !frame->under_way; };
  return std::ranges::all_of(kept_, host_has_it);
}

// --- what the exchange tells

void OfiLink::free_acknowledged() noexcept {
  while (freed_ != protocol_.acknowledged()) {
    Frame*& slot = frame_of(++freed_);
    Frame* const frame = std::exchange(slot, nullptr);
    frame->link = nullptr;
    if (!frame->under_way) exchange_.wire().give_back(*frame);
  }
  given_ = std::max(given_, freed_);  // a liar may acknowledge what has a number and has not left
}

void OfiLink::take(const FrameHeader& header, Arrival& arrival, std::uint64_t now) noexcept {
  const LinkProtocol::Verdict verdict = protocol_.take(header, now);
  if (verdict > LinkProtocol::Verdict::empty) {
    ++counters->bad_frames;
    ++exchange_.bad_frames_;
  }
  if (verdict <= LinkProtocol::Verdict::empty) {
    free_acknowledged();
    protocol_.set_window(exchange_.window(), now);
    exchange_.sending_waits_ = true;  // there may be an acknowledgement to send, or room
  }
  if (retired_) exchange_.next_time_ = 0;  // it may be able to go
  if (verdict != LinkProtocol::Verdict::fresh || broken || retired_)
    return exchange_.wire().give_back(arrival);
  arrival.read = kFrameHeader;
  arrival.sequence = header.sequence;
  arrival.behind = header.behind;
  stand(header.lane, arrival);
}

// In the order of their numbers: mostly that is the order in which they come.
void OfiLink::stand(Lane lane, Arrival& arrival) noexcept {
  Arrivals& those = arrivals(lane);
  Arrival* later = nullptr;
  if (!those.empty() && those.last()->sequence > arrival.sequence) {
    later = those.first();
    while (later->sequence < arrival.sequence) later = Arrivals::next(*later);
  }
  those.insert(later, arrival);
  ++standing_;
}

// The first of a lane waits for one before it that has not come. A liar's may wait for ever, in the room that
// it has.
Arrival* OfiLink::next_in_turn(Lane lane) const noexcept {
  Arrival* const first = arrivals(lane).first();
  return first != nullptr && protocol_.in_turn(first->sequence, first->behind) ? first : nullptr;
}

void OfiLink::look_at_clock(std::uint64_t now, std::uint64_t sure) noexcept {
  if (over_ != LinkProtocol::End::none) return;
  over_ = protocol_.end(sure);
  if (over_ != LinkProtocol::End::none) {
    if (!retired_) surroundings_.attention();
    return;
  }
  if (protocol_.resend_due(now)) {
    for (std::uint64_t sequence = protocol_.acknowledged() + 1; sequence <= given_; ++sequence) {
      Frame& frame = *frame_of(sequence);
      if (!frame.under_way && !send_frame(frame, now)) break;
    }
    if (!protocol_.heard() || protocol_.asks_for_room()) send_empty(now);
    protocol_.resent(now);
  }
  if (protocol_.heartbeat_due(now)) send_empty(now);
}

// --- packets come

bool OfiLink::something_arrived() const noexcept {
  if (standing_ == 0) return false;
  const auto in_turn = [&](Lane lane) { return next_in_turn(lane) != nullptr; };
  return in_turn(Lane::normal) || in_turn(Lane::urgent) || in_turn(Lane::replies);
}

std::uint64_t OfiLink::arrived_at_most() const noexcept {
  return standing_ * (exchange_.limits().frame / kPacketHeader);
}

unsigned OfiLink::arrive(Core& core, unsigned budget) noexcept {
  if (broken) return 0;
  unsigned replies = 0;
  hand_over(core, Lane::replies, replies, ~0u);
  unsigned count = 0;
  if (next_in_turn(Lane::urgent) != nullptr && !broken) {
    arriving = Priority::urgent;
    hand_over(core, Lane::urgent, count, std::min(budget, kUrgentInARow - urgent_in_a_row_));
    arriving = Priority::normal;
    urgent_in_a_row_ += count;
    // The application hears of it before the link goes on, unless that has been the rule for long.
    if (urgent_in_a_row_ < kUrgentInARow || broken) return count + replies;
    budget = std::min(budget, count + 1);
  }
  urgent_in_a_row_ = 0;
  if (!broken) hand_over(core, Lane::normal, count, budget);
  return count + replies;
}

// Packets of one lane, until `count` is `most` or a message is complete.
void OfiLink::hand_over(Core& core, Lane lane, unsigned& count, unsigned most) noexcept {
  const std::uint64_t completions = core.completions();
  while (Arrival* arrival = next_in_turn(lane)) {
    while (arrival->read != arrival->length) {
      if (count == most || (lane == Lane::normal && core.completions() != completions)) return;
      Packet packet;
      Payload payload;
      const std::size_t bytes =
          read_packet(arrival->bytes + arrival->read, arrival->length - arrival->read, packet, payload);
      if (bytes == 0 || !deposit(core, lane, packet, payload)) {
        broken = true;
        core.note_broken(*this);
        return;
      }
      arrival->read += static_cast<std::uint32_t>(bytes);
      ++count;
    }
    arrivals(lane).remove(*arrival);
    --standing_;
    exchange_.wire().give_back(*arrival);
    protocol_.handed_over(lane, exchange_.time_);
    exchange_.sending_waits_ = true;
  }
}

// False: the peer does not keep to the protocol.
bool OfiLink::deposit(Core& core, Lane lane, const Packet& packet, const Payload& payload) noexcept {
  const interface::Lead& lead = packet.lead;
  // No ring is continued here, no area was shown, and each message carries its key.
  if (lead.operation == Operation::continue_ring || lead.operation == Operation::area_write ||
      lead.operation == Operation::opened_write) {
    return false;
  }
  if (interface::invalid_element(lead) != nullptr) return false;
  Refusal refusal;
  if (lane == Lane::replies) {
    if (interface::invalid_reply(lead) != nullptr) return false;
    refusal = element_fits(packet) ? core.deposit_reply(*this, packet, payload) : Refusal::misaligned;
  } else {
    if (interface::invalid(lead, payload_limit(arriving)) != nullptr) return false;
    ++counters->packets_in;
    counters->bytes_in += lead.length;
    refusal = element_fits(packet) ? core.deposit(*this, packet, payload) : Refusal::misaligned;
  }
  if (refusal != Refusal::none) core.refuse(*this, refusal, packet);
  return true;
}

}  // namespace hamlyn::ofi
