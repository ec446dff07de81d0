#include "splitc/vi/way.h"

#include <algorithm>
#include <array>

#include "base/byte_order.h"
#include "base/random.h"

namespace hamlyn::internal_::splitc {
namespace {

// A VI is called by the session of its rank, and the rank that it leads to.
vi::Address address(std::uint64_t session, std::uint32_t to) noexcept {
  std::array<std::byte, sizeof session + sizeof to> bytes;
  base::store_little(bytes.data(), session);
  base::store_little(bytes.data() + sizeof session, to);
  return vi::Address::of(0, bytes);
}

}  // namespace

ViWay::ViWay(Interface& interface, std::uint32_t ranks, std::uint32_t credits)
    : credits_(credits),
      session_(base::random_key()),
      lanes_(interface, places(ranks, credits)),
      all_(ranks) {}

ViWay::~ViWay() {
  for (Other& other : all_)
    if (other.lane != nullptr) lanes_.forget(*other.lane);
}

void ViWay::connect(std::uint32_t own, std::uint32_t rank, std::uint64_t session, const Ticket& door,
                    const OwnHeap& heap) {
  Other& other = all_[rank];
  other.lane = lanes_.make(&other, lane_size(credits_));
  other.to = std::make_unique<To>(line(rank), heap, credits_);
  other.lane->connect(address(session_, rank), address(session, own), door, credits_, false);
  static_cast<void>(lanes_.step());
}

ViWay::Connecting ViWay::connecting() noexcept {
  const bool all_told = !lanes_.step();
  for (std::uint32_t rank = 0; rank != all_.size(); ++rank) {
    Other& other = all_[rank];
    if (other.lane == nullptr) continue;
    if (other.ended || other.lane->over()) return {true, rank};
    if (other.lane->ready()) continue;
    if (!other.lane->is_connected()) return {false, rank};
    other.lane->make_ready();
  }
  return {all_told, std::nullopt};
}

bool ViWay::poll() noexcept {
  vi::Lanes::Event event;
  const bool heard = lanes_.poll(event);
  if (heard) hear(event);
  if (behind_) go_on();
  return heard;
}

void ViWay::hear(const vi::Lanes::Event& event) noexcept {
  using Kind = vi::Lanes::Event::Kind;
  if (event.kind == Kind::nothing) return;
  const auto rank = static_cast<std::uint32_t>(static_cast<const Other*>(event.lane->owner) - all_.data());
  if (event.kind == Kind::ended) return end(rank);
  if (!all_[rank].ended) hear_message(rank, *event.receive);
}

void ViWay::hear_message(std::uint32_t rank, const vi::Descriptor& receive) noexcept {
  vi::Lane& lane = *all_[rank].lane;
  To& to = *all_[rank].to;
  constexpr std::uint32_t kBits = vi::kHasImmediate | vi::kOfRemoteWrite;  // kOfReceive is a part of that
  if ((receive.status & kBits) != (vi::kHasImmediate | vi::kOfReceive)) return judge(rank, Broken::kind);
  const std::uint32_t place = lane.place_of(&receive);
  const std::uint64_t before = to.handled();
  const To::Heard heard = to.hear(receive.immediate, lane.bytes_of(receive, place), place);
  handled_ += to.handled() - before;
  if (!heard.kept) lanes_.free_later(lane, place);
  behind_ |= to.is_behind();
  judge(rank, heard.broken);
}

void ViWay::go_on() noexcept {
  behind_ = false;
  for (std::uint32_t rank = 0; rank != all_.size(); ++rank) {
    Other& other = all_[rank];
    if (other.to == nullptr || other.ended) continue;
    const std::uint64_t before = other.to->handled();
    const Broken broken =
        other.to->go_on([&](std::uint32_t place) { lanes_.free_later(*other.lane, place); });
    handled_ += other.to->handled() - before;
    behind_ |= other.to->is_behind();
    judge(rank, broken);
  }
}

void ViWay::judge(std::uint32_t rank, Broken rule) noexcept {
  if (rule == Broken::none) return;
  if (!breach_) breach_ = {rank, rule};
  all_[rank].lane->break_off();
  static_cast<void>(lanes_.step());
  end(rank);
}

void ViWay::end(std::uint32_t rank) noexcept {
  all_[rank].ended = true;
  if (!first_ended_) first_ended_ = rank;
}

void ViWay::forget(const std::uint32_t* under_way) noexcept {
  for (Other& other : all_)
    if (other.to != nullptr) other.to->forget(under_way);
}

void ViWay::forget() noexcept {
  for (Other& other : all_)
    if (other.to != nullptr) other.to->forget();
}

}  // namespace hamlyn::internal_::splitc
