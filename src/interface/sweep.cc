#include "interface/sweep.h"

#include <algorithm>
#include <utility>

#include "base/assert.h"
#include "base/memory.h"
#include "interface/core.h"
#include "interface/gate.h"

namespace hamlyn::internal_::interface {

namespace {

constexpr std::uint32_t kZero = 0;
constexpr ColdLook kNever{&kZero, &kZero, 1, 0};

bool arrived(const ColdLook& look) noexcept {
  return base::RealMemory::load_relaxed(*look.turn_at) == look.turn ||
         base::RealMemory::load_relaxed(*look.announced_at) != look.announced;
}

}  // namespace

ColdLook Link::cold_look() const noexcept { return {&kZero, &kZero, 0, 0}; }

void Sweep::add(Link& link) {
  cold_.reserve(links_.size() + 1);
  demoted_.reserve(links_.size() + 1);
  links_.push_back(&link);
  cold_.push_back(link.by_gate ? kNever : link.cold_look());
  // Packets that come by the gate need no look of their own, as if the link were hot.
  link.sweep = {static_cast<std::uint32_t>(links_.size() - 1), link.by_gate, false};
  ++sources_;
  last_ = nullptr;
}

void Sweep::remove(Link& link) noexcept {
  if (link.sweep.hot && !link.by_gate) cool(link);
  std::erase(demoted_, &link);
  --sources_;
  // The last one takes its place.
  const std::uint32_t index = link.sweep.index;
  HAMLYN_ASSERT(links_[index] == &link, "a link knows its place");
  HAMLYN_ASSERT(cold_.size() == links_.size(), "each link has one look");
  links_[index] = links_.back();
  links_[index]->sweep.index = index;
  cold_[index] = cold_.back();
  links_.pop_back();
  cold_.pop_back();
  if (next_ >= links_.size()) next_ = 0;
  last_ = nullptr;
}

void Sweep::set_gate(Gate* gate) noexcept {
  gate_ = gate;
  sources_ = links_.size() + (gate != nullptr ? 1 : 0);
}

void Sweep::cool(Link& link) noexcept {
  HAMLYN_ASSERT(link.sweep.hot && !link.by_gate, "links of the gate are never among the hot");
  HAMLYN_ASSERT(std::find(hot_.begin(), hot_.begin() + hot_count_, &link) != hot_.begin() + hot_count_,
                "a hot link is among the hot");
  *std::find(hot_.begin(), hot_.begin() + hot_count_, &link) = hot_[hot_count_ - 1];
  --hot_count_;
  link.sweep.hot = false;
  cold_[link.sweep.index] = link.cold_look();
}

void Sweep::warm(Link& link) noexcept {
  if (link.sweep.hot || link.sweep.demoted) return;
  if (hot_count_ == kHot) {
    // Not the last one: it may be looked at without our knowing (Shortcut).
    victim_ = (victim_ + 1) % kHot;
    if (hot_[victim_] == last_) victim_ = (victim_ + 1) % kHot;
    cool(*hot_[victim_]);
  }
  HAMLYN_ASSERT(hot_count_ < kHot, "one was cooled to make room");
  hot_[hot_count_++] = &link;
  link.sweep.hot = true;
  cold_[link.sweep.index] = kNever;
}

void Sweep::cool_down() noexcept {
  for (std::size_t i = hot_count_; i-- > 0;) {
    Link& link = *hot_[i];
    if (!link.sweep.brought && &link != last_) cool(link);
    link.sweep.brought = false;
  }
}

bool Sweep::arrive(Core& core, Link& link) noexcept {
  const unsigned taken = link.arrive(core, Core::kSweepBudget);
  if (taken == 0) return false;
  link.sweep.brought = true;
  last_ = &link;
  if (link.sweep.on_trial) [[unlikely]]
    judge(link, taken);
  return true;
}

void Sweep::refused(Link& link) noexcept {
  if (link.by_gate) return;
  SweepPlace& place = link.sweep;
  if (!std::exchange(place.on_trial, true)) place.judged_at = link.counters->packets_in;
  ++place.refused;
}

// Returns how many were good.
std::uint32_t Sweep::judge(Link& link, unsigned taken) noexcept {
  SweepPlace& place = link.sweep;
  const std::uint32_t bad = std::exchange(place.refused, 0);
  // Packets may have come straight from the link, too: its refused ones are among the bad. Answers are in
  // `taken` alone.
  const std::uint64_t now = link.counters->packets_in;
  const std::uint64_t came = std::max<std::uint64_t>(taken, now - std::exchange(place.judged_at, now));
  const auto good = static_cast<std::uint32_t>(
      std::min<std::uint64_t>(came - std::min<std::uint64_t>(bad, came), kMostGuilt));
  place.guilt = std::min(place.guilt + bad, kMostGuilt);
  place.guilt -= std::min(place.guilt, kGoodWeighs * good);
  if (place.guilt == 0) {
    place.on_trial = false;
    if (!std::exchange(place.demoted, false)) return good;
    std::erase(demoted_, &link);
    cold_[place.index] = link.cold_look();
  } else if (place.guilt >= kDemotedFrom && !place.demoted) {
    if (place.hot) cool(link);
    cold_[place.index] = kNever;
    place.demoted = true;
    HAMLYN_ASSERT(demoted_.size() < demoted_.capacity(), "add() has made the room");
    demoted_.push_back(&link);  // there is room (add)
    if (last_ == &link) last_ = nullptr;
  }
  return good;
}

// Returns how many good packets there were.
std::uint32_t Sweep::look_at_demoted(Core& core, unsigned budget) noexcept {
  HAMLYN_ASSERT(!demoted_.empty(), "whoever looks has seen that there are some");
  Link& link = *demoted_[next_demoted_++ % demoted_.size()];
  const unsigned taken = link.arrive(core, budget);
  return taken != 0 ? judge(link, taken) : 0;
}

bool Sweep::idle(Core& core) noexcept {
  return !demoted_.empty() && look_at_demoted(core, Core::kSweepBudget) != 0;
}

// The link may have brought nothing but replies: then only those are reported.
bool Sweep::look_at(Core& core, Link& link) noexcept {
  if (arrive(core, link)) {
    warm(link);
    return true;
  }
  if (!link.sweep.hot && !link.sweep.demoted) cold_[link.sweep.index] = link.cold_look();
  return false;
}

bool Sweep::run(Core& core) noexcept {
  bool moved = false;
  for (std::size_t i = 0; i < hot_count_; ++i) moved |= arrive(core, *hot_[i]);
  HAMLYN_ASSERT(hot_count_ <= sources_, "hot links are among all links");
  if (hot_count_ == sources_) return moved;
  moved |= slice(core);
  if (gate_ != nullptr) moved |= gate_->arrive(core);
  quiet_ = moved ? 0 : quiet_ + 1;
  if (++runs_ % kCoolEvery == 0) cool_down();
  if (!demoted_.empty() && runs_ % kDemotedEvery == 0) moved |= look_at_demoted(core, kDemotedBudget) != 0;
  return moved;
}

// The words of the look so many links on. Each stands in a page of its own: of a thousand links the nearest
// caches do not hold them from one look to the next.
void Sweep::fetch(std::size_t ahead) const noexcept {
  const std::size_t at = next_ + ahead;
  const ColdLook& look = cold_[at < cold_.size() ? at : at - cold_.size()];
  __builtin_prefetch(look.turn_at);
  __builtin_prefetch(look.announced_at);
}

bool Sweep::slice(Core& core) noexcept {
  HAMLYN_ASSERT(links_.empty() || next_ < links_.size(), "the slice begins at a link");
  bool moved = false;
  const bool many = links_.size() >= kFetchedFrom;
  const std::size_t grown = kLeastSlice << std::min(quiet_ / kGrowEvery, kMostDoublings);
  for (std::size_t left = std::min(grown, links_.size()); left != 0; --left) {
    if (many) fetch(kLeastSlice);
    if (arrived(cold_[next_])) [[unlikely]]
      moved |= look_at(core, *links_[next_]);
    if (++next_ == links_.size()) next_ = 0;
  }
  return moved;
}

}  // namespace hamlyn::internal_::interface
