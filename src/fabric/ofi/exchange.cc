#include "fabric/ofi/exchange.h"

#include <algorithm>

#include "fabric/ofi/frame.h"
#include "fabric/ofi/ofi_link.h"

namespace hamlyn::ofi {

namespace {
thread_local bool sending_left_to_others = false;
// A look that brings something may leave more behind it; so many have brought all that had come before them.
constexpr unsigned kEnoughLooks = 64;
}  // namespace

Exchange::Exchange(Wire& wire, const Limits& limits) : wire_(wire), limits_(limits) {}

Exchange::~Exchange() { retired_.clear(); }

void Exchange::retire(std::unique_ptr<OfiLink> link, WhyNoLink why) {
  link->retire(why);
  retired_.push_back({std::move(link), now() + limits_.linger()});
  next_time_ = 0;
}

void Exchange::leave_sending_to_others() noexcept { sending_left_to_others = true; }
bool Exchange::may_send_here() noexcept { return !sending_left_to_others; }

std::uint32_t Exchange::window() const noexcept {
  const auto share = static_cast<std::uint32_t>(limits_.shared / std::max<std::size_t>(links_.size(), 1));
  return std::clamp(share, limits_.least_window, limits_.window);
}

void Exchange::add(OfiLink& link) {
  links_.reserve(links_.size() + 1);
  link_of_.emplace(link.identity().number, &link);
  links_.push_back(&link);
  next_time_ = 0;
  sending_waits_ = true;
  wire_.expect(static_cast<std::uint32_t>(links_.size()));
}

void Exchange::remove(OfiLink& link) noexcept {
  link_of_.erase(link.identity().number);
  std::erase(links_, &link);
}

bool Exchange::arrive(interface::Core& core) noexcept {
  if (!may_send_here()) return false;
  running_ = true;
  pump();
  core.note_frames(bad_frames_, strangers_);
  bool moved = false;
  for (OfiLink* link : links_) {
    if (link->something_arrived() && !link->retired_)
      moved |= link->arrive(core, interface::Core::kSweepBudget) != 0;
  }
  if (moved) core.depart();
  running_ = false;
  if (sending_waits_) {
    send_due(moved);
  } else {
    time_ = wire_.now();
  }
  if (time_ >= next_time_) look_at_clocks(time_);
  return moved;
}

bool Exchange::pump() noexcept {
  const std::uint64_t began = time_;  // or a little later
  const bool brought = wire_.poll(*this);
  note_look(began, brought);
  return brought;
}

void Exchange::note_look(std::uint64_t began, bool brought) noexcept {
  if (busy_looks_ == 0) busy_since_ = began;
  if (brought && ++busy_looks_ != kEnoughLooks) return;
  sure_ = brought ? busy_since_ : began;
  busy_looks_ = 0;
}

void Exchange::send_due(bool all) noexcept {
  time_ = wire_.now();
  sending_waits_ = false;
  bool waits = false;
  for (OfiLink* link : links_) {
    waits |= link->send_due(time_, all);
    next_time_ = std::min(next_time_, link->protocol_.next_time());
  }
  sending_waits_ = waits;
}

void Exchange::look_at_clocks(std::uint64_t now) noexcept {
  next_time_ = kNever;
  for (OfiLink* link : links_) {
    link->look_at_clock(now, std::min(now, sure_));
    link->send_due(now, true);
    if (link->over_ == LinkProtocol::End::none)
      next_time_ = std::min(next_time_, link->protocol_.next_time());
  }
  std::erase_if(retired_, [&](const Retired& retired) {
    OfiLink& link = *retired.link;
    if (link.over_ == LinkProtocol::End::none && !link.all_arrived() &&
        std::min(now, sure_) < retired.until) {
      next_time_ = std::min(next_time_, retired.until);
      return false;
    }
    link.say_end();
    return true;
  });
}

std::uint64_t Exchange::next_time() const noexcept { return next_time_; }

bool Exchange::something_to_do() const noexcept {
  return std::any_of(links_.begin(), links_.end(),
                     [](const OfiLink* link) { return link->something_arrived() && !link->retired_; });
}

void Exchange::arrived(Arrival& arrival) noexcept {
  FrameHeader header;
  if (decode({arrival.bytes, arrival.length}, header) == nullptr) {
    const auto found = link_of_.find(header.link);
    if (found != link_of_.end()) {
      time_ = wire_.now();
      return found->second->take(header, arrival, time_);
    }
  }
  ++strangers_;
  wire_.give_back(arrival);
}

void Exchange::let_go(Frame& frame) noexcept {
  frame.under_way = false;
  if (frame.link == nullptr) wire_.give_back(frame);
}

}  // namespace hamlyn::ofi
