#pragma once
// What the suite needs of a fabric: to join interfaces, to let time pass, and to end links.
#include <algorithm>
#include <cstddef>
#include <memory>

#include "interface/link.h"
#include "test/support/party.h"

namespace hamlyn::test {

class Fabric {
 public:
  virtual ~Fabric() = default;

  // Links two parties, and adds the link to both. One given twice gets a link of which it is both ends.
  virtual void join(Party& one, Party& other) = 0;
  // Time passes: packets under way may arrive, links that want to grow do.
  virtual void pass() = 0;
  // All that is under way arrives.
  virtual void settle() = 0;
  // Memory for a send buffer area of a party, until the fabric goes. Links that want to show it do at pass().
  virtual std::byte* area_memory(std::size_t bytes) = 0;
  // What whoever keeps the links tells all peers when an area has gone.
  virtual void withdraw(Party& owner, std::uint32_t area) = 0;
  // One of the two is gone: its end is destroyed without a word. The other side keeps its end, with what has
  // arrived there, until it ends it.
  virtual void kill(Party& victim, Party& survivor) = 0;
  // What whoever keeps the links does at a side whose link is over: drains, ends and destroys it.
  virtual void end(Party& at, Party& peer, WhyNoLink why = {}) = 0;
};

std::unique_ptr<Fabric> make_shm_fabric(std::size_t mtu);
std::unique_ptr<Fabric> make_sim_fabric(std::size_t mtu);
std::unique_ptr<Fabric> make_ofi_fabric(std::size_t mtu);

// The ends that a fabric has made, by owner and peer.
template <class End>
class Ends {
 public:
  void add(Party& owner, Party& peer, std::unique_ptr<End> end) {
    owner.core.add_link(*end);
    ends_.push_back({&owner, peer.id, std::move(end)});
  }
  std::unique_ptr<End> take(const Party& owner, const Party& peer) {
    for (auto each = ends_.begin(); each != ends_.end(); ++each) {
      if (each->owner != &owner || each->peer != peer.id) continue;
      std::unique_ptr<End> end = std::move(each->end);
      ends_.erase(each);
      return end;
    }
    return nullptr;
  }
  bool any(const Party& owner) const {
    return std::any_of(ends_.begin(), ends_.end(), [&](const auto& each) { return each.owner == &owner; });
  }
  End* find(std::uint64_t owner, std::uint64_t peer) {
    for (auto& each : ends_) {
      if (each.owner->id == owner && each.peer == peer) return each.end.get();
    }
    return nullptr;
  }
  // Shows what is wanted; `shown` gives what a peer sees of an area.
  template <class Shown>
  void show_areas(Shown shown) {
    for (auto& each : ends_) {
      for (std::uint32_t n = 0; n < interface::kAreaLimit; ++n) {
        const std::uint64_t bit = std::uint64_t{1} << n;
        End* other = find(each.peer, each.owner->id);
        if ((each.end->areas_wanted & ~each.end->areas_shown & bit) == 0 || other == nullptr) continue;
        const interface::SendArea& area = each.owner->core.area(n);
        if (other->shown == nullptr) other->shown = std::make_unique<interface::ShownAreas>();
        (*other->shown)[n] = {shown(area), area.size, area.generation};
        each.end->set_areas_shown(each.end->areas_shown | bit);
      }
    }
  }
  void withdraw(const Party& owner, std::uint32_t area) {
    for (auto& each : ends_) {
      if (each.peer == owner.id && each.end->shown != nullptr) (*each.end->shown)[area] = {};
    }
  }
  // Calls what(owner's number, peer's number, end) for each.
  template <class What>
  void each(What what) {
    for (auto& each : ends_) what(each.owner->id, each.peer, *each.end);
  }

 private:
  struct One {
    Party* owner;
    std::uint64_t peer;
    std::unique_ptr<End> end;
  };
  std::vector<One> ends_;
};

// What a keeper does when a link is over.
template <class End>
void end_of(Ends<End>& ends, Party& at, Party& peer, WhyNoLink why) {
  const std::unique_ptr<End> end = ends.take(at, peer);
  if (end == nullptr) return;
  at.core.drain(*end);
  at.core.end_link(*end, why);
}

// A process that is gone takes its whole interface with it; here its core only loses the link. What it has
// said of its areas stands, and they stay as they are.
template <class End>
void kill_of(Ends<End>& ends, Party& victim, Party& survivor) {
  const std::unique_ptr<End> end = ends.take(victim, survivor);
  if (end == nullptr) return;
  end->areas_shown = 0;
  victim.core.end_link(*end);
}

}  // namespace hamlyn::test
