#include "fabric/ofi/link_protocol.h"

#include <algorithm>
#include <bit>
#include <numeric>

#include "base/link_reasons.h"

namespace hamlyn::ofi {

namespace {
// Frames that each side may send before it has heard of the other, and always.
constexpr std::uint32_t kFirstWindow = 8;
static_assert(kMostWindow < 64, "the frames that came out of order have a bit each");

// From one count modulo 2^16 to another.
std::uint16_t distance(std::uint16_t from, std::uint16_t to) noexcept {
  return static_cast<std::uint16_t>(to - from);
}
}  // namespace

LinkProtocol::LinkProtocol(const LinkIdentity& identity, const Limits& limits, bool initiator,
                           std::uint64_t now) noexcept
    : identity_(identity),
      limits_(limits),
      heartbeat_(Limits::heartbeat(std::min(limits.dead, 1000 * kMillisecond))),
      initiator_(initiator),
      window_there_(kFirstWindow),
      resend_at_(initiator ? now : kNever),
      resend_after_(limits.hello),
      progress_at_(now),
      window_(kFirstWindow),
      most_window_(kFirstWindow),
      heard_at_(now) {}

// --- sending

std::uint32_t LinkProtocol::room(Lane lane) const noexcept {
  const std::uint32_t share = share_of(lane, window_there_);
  const std::uint32_t standing = distance(handed_there_[index_of(lane)], sent_in_[index_of(lane)]);
  if (standing >= share || kept() >= kMostWindow) return 0;
  return std::min(share - standing, kMostWindow - kept());
}

void LinkProtocol::want_room(std::uint64_t now) noexcept {
  if (room_wanted_ || !heard_) return;
  room_wanted_ = true;
  if (resend_at_ == kNever) resend_at_ = now + resend_after_;
}

std::uint64_t LinkProtocol::next_sequence(Lane lane) noexcept {
  ++sent_in_[index_of(lane)];
  std::uint64_t& last = last_in_[index_of(lane)];
  ++sent_;
  behind_[sent_ % kMostWindow] = last > acknowledged_ ? static_cast<std::uint8_t>(sent_ - last) : 0;
  return last = sent_;
}

std::uint64_t LinkProtocol::progress() const noexcept {
  return std::accumulate(handed_there_.begin(), handed_there_.end(), acknowledged_);
}

FrameHeader LinkProtocol::stamp(Lane lane, std::uint64_t sequence, std::size_t length,
                                std::uint64_t now) noexcept {
  FrameHeader header;
  header.lane = lane;
  header.length = static_cast<std::uint32_t>(length);
  header.link = identity_.number;
  header.from = identity_.own_incarnation;
  header.to = identity_.peer_incarnation;
  header.sequence = sequence;
  const bool asks = now >= late_at() || (asks_for_room() && resend_due(now));
  if (lane == Lane::none && heard_ && asks) header.flags = FrameHeader::kAsk;
  if (lane != Lane::none) header.behind = behind_[sequence % kMostWindow];
  header.acknowledged = told_received_ = received_;
  header.window = static_cast<std::uint16_t>(window_);
  header.patience = static_cast<std::uint32_t>(limits_.dead / kMillisecond);
  header.handed = handed_;
  most_window_ = std::max(most_window_, window_);
  untold_handed_ = 0;
  untold_since_ = kNever;
  spoke_ = now;
  if (lane != Lane::none && resend_at_ == kNever) {
    resend_at_ = now + resend_after_;
    progress_at_ = now;
  }
  return header;
}

void LinkProtocol::resent(std::uint64_t now) noexcept {
  // Until the other side was heard it may just not know the link yet: soon again, but ever more rarely.
  if (!heard_) resend_after_ = std::min(2 * resend_after_, limits_.resend);
  if (heard_ && now >= progress_at_ + limits_.dead / 2)
    resend_after_ = std::min(limits_.resend, limits_.urging());
  const bool nothing = heard_ && acknowledged_ == sent_ && !room_wanted_;
  resend_at_ = nothing ? kNever : now + resend_after_;
}

// --- receiving

bool LinkProtocol::seen(std::uint64_t sequence) const noexcept {
  return sequence <= received_ || (ahead_ >> (sequence - received_ - 1) & 1) != 0;
}

void LinkProtocol::see(std::uint64_t sequence) noexcept {
  ahead_ |= std::uint64_t{1} << (sequence - received_ - 1);
  const int in_order = std::countr_one(ahead_);
  received_ += static_cast<std::uint64_t>(in_order);
  ahead_ >>= in_order;  // fewer than 64: the window is smaller
}

LinkProtocol::Verdict LinkProtocol::take(const FrameHeader& header, std::uint64_t now) noexcept {
  if (header.link != identity_.number) return Verdict::other_link;
  if (header.from != identity_.peer_incarnation || header.to != identity_.own_incarnation)
    return Verdict::other_node;
  if (header.acknowledged > sent_) return Verdict::impossible;
  const bool packets = header.lane != Lane::none;
  if (packets && header.sequence > received_ + kMostWindow) return Verdict::not_granted;
  if (packets && !seen(header.sequence)) {
    const std::size_t lane = index_of(header.lane);
    if (distance(handed_[lane], received_in_[lane]) >= share_of(header.lane, most_window_))
      return Verdict::not_granted;
  }

  heard_at_ = now;
  doubted_ = false;
  heartbeat_ = std::min(Limits::heartbeat(limits_.dead), Limits::heartbeat(header.patience * kMillisecond));
  if (!heard_) {
    heard_ = true;
    resend_after_ = limits_.resend;
    untold_since_ = 0;  // it wants to know that it was heard
  }
  for (std::size_t lane = 0; lane < kLanes; ++lane) {
    // An older frame may come later, and says what is over.
    const std::uint16_t standing = distance(handed_there_[lane], sent_in_[lane]);
    if (distance(handed_there_[lane], header.handed[lane]) > standing) continue;
    room_wanted_ = room_wanted_ && handed_there_[lane] == header.handed[lane];
    handed_there_[lane] = header.handed[lane];
  }
  window_there_ = std::clamp<std::uint32_t>(header.window, kFirstWindow, kMostWindow);
  if (header.acknowledged > acknowledged_) {
    acknowledged_ = header.acknowledged;
    progress_at_ = now;
    resend_after_ = limits_.resend;
    resend_at_ = now + resend_after_;
  }
  if (acknowledged_ == sent_ && !room_wanted_) resend_at_ = kNever;
  if ((header.flags & FrameHeader::kEnd) != 0) {
    peer_end_ = header.sequence;
    peer_reason_ = header.reason;
  }
  if ((header.flags & FrameHeader::kAsk) != 0) untold_since_ = 0;
  if (!packets) return Verdict::empty;
  if (seen(header.sequence)) {
    untold_since_ = 0;  // what it was told was lost
    return Verdict::repeated;
  }
  see(header.sequence);
  ++received_in_[index_of(header.lane)];
  if (untold_since_ == kNever) untold_since_ = now;
  return Verdict::fresh;
}

void LinkProtocol::handed_over(Lane lane, std::uint64_t now) noexcept {
  ++handed_[index_of(lane)];
  ++untold_handed_;
  untold_since_ = std::min(untold_since_, now);
}

void LinkProtocol::set_window(std::uint32_t window, std::uint64_t now) noexcept {
  window = std::clamp(window, kFirstWindow, kMostWindow);
  if (window == window_) return;
  window_ = window;
  untold_since_ = std::min(untold_since_, now);
}

// --- time

bool LinkProtocol::owes_acknowledgement(std::uint64_t now) const noexcept {
  if (untold_since_ == kNever || !may_speak()) return false;
  // Before the sender has to wait: the narrowest lane has half of this. What has come is handed over soon,
  // and one acknowledgement does for both.
  return now >= untold_since_ + limits_.acknowledge || received_ - told_received_ >= window_ / 4 ||
         untold_handed_ >= window_ / 8;
}

std::uint64_t LinkProtocol::next_time() const noexcept {
  std::uint64_t next = std::min(resend_at_, silent_at());
  if (acknowledged_ != sent_) next = std::min(next, progress_at_ + limits_.dead);
  next = std::min(next, farewell_at());
  if (may_speak()) next = std::min(next, speak_at());
  if (may_speak() && untold_since_ != kNever) next = std::min(next, untold_since_ + limits_.acknowledge);
  return next;
}

std::uint64_t LinkProtocol::speak_at() const noexcept {
  const std::uint64_t usual = spoke_ + heartbeat_;
  return heard_ ? std::min(usual, std::max(late_at(), spoke_ + limits_.urging())) : usual;
}

std::uint64_t LinkProtocol::silent_at() const noexcept {
  return heard_at_ + limits_.dead + (heard_ && !doubted_ ? Limits::heartbeat(limits_.dead) : 0);
}

std::uint64_t LinkProtocol::farewell_at() const noexcept {
  if (leaving_at_ == kNever) return kNever;
  return std::min(std::max(leaving_at_, heard_at_) + limits_.farewell, leaving_at_ + limits_.farewell_most);
}

LinkProtocol::End LinkProtocol::end(std::uint64_t now) const noexcept {
  if (peer_end_ <= received_ || now >= farewell_at()) return End::peer_ended;
  // Not heard, or heard but deaf: connectivity may be lost one way only.
  const bool deaf = acknowledged_ != sent_ && now >= progress_at_ + limits_.dead;
  return deaf || now >= silent_at() ? End::peer_dead : End::none;
}

WhyNoLink LinkProtocol::last_word() const noexcept {
  if (!base::may_be_told(peer_reason_)) return {LinkReason::ended, false};
  return {base::link_reason(peer_reason_), true};
}

}  // namespace hamlyn::ofi
