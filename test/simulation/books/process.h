#pragma once
// A process of a run: its interface, its receive side, its send side, its ends of links.
#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <vector>

#include "interface/terminus.h"
#include "simulation/link_end.h"
#include "simulation/rough_wire.h"
#include "test/simulation/books/operation.h"
#include "test/simulation/books/owned_posted_slot.h"
#include "test/simulation/books/owned_slot.h"

namespace hamlyn::simulation {

class Process {
 public:
  Process(std::uint64_t number, sim::Generator& chance);
  ~Process();
  // It has links to other hosts as well.
  void open_port(RoughNet& wire, const ofi::Limits& limits);
  // Nothing of it runs any more.
  void die();

  std::uint64_t number() const noexcept { return party.id; }
  interface::Core& core() noexcept {
    return party.core;
  }

  // An area of its own, checked for its guards after each step.
  Area& make_area(std::size_t bytes);
  // A slot on it that notifies any of its queues; `owner` hears of what comes there.
  OwnedSlot& make_slot(Operation& owner, Area& area, const Slot::Options& options, sim::Generator& chance);
  // A slot with posted buffers, likewise.
  OwnedPostedSlot& make_posted_slot(Operation& owner, const PostedSlot::Options& options,
                                    sim::Generator& chance);
  Operation* owner_of(std::uint32_t slot) const noexcept;
  // A terminus that nobody else uses: its handles tell how a message ended until its owner sends again.
  interface::Terminus& make_terminus(std::size_t entries, Priority priority = Priority::normal) {
    return *own_termini_.emplace_back(std::make_unique<interface::Terminus>(core(), entries, priority));
  }
  interface::Terminus& terminus(sim::Generator& chance) noexcept {
    return *termini[chance.below(termini.size())];
  }

  // Ends all its links, without a word to its own interface's users.
  void drop_links();
  // Throws Violation if a byte outside of what it had granted has changed, or it has given more than it has.
  void check();
  // The same, and that nothing waits any more. Only true when nothing is under way.
  void check_rest();
  // Gives everything back; throws Violation if something is left.
  void leave();

  Party party;
  std::array<interface::Queue*, 2> queues;
  std::array<std::unique_ptr<interface::Terminus>, 2> termini;
  std::uint64_t host = 0;
  std::unique_ptr<RoughPort> port;  // null: it has no links to other hosts
  std::unique_ptr<ofi::Exchange> exchange;
  std::map<std::uint64_t, LinkEnd> links;  // by the peer's number
  std::uint64_t ends = 0;                  // links that ended here
  std::uint64_t ends_told = 0;             // as notifications say
  bool alive = true;
  bool followed = false;  // another process has its name by now
  bool stopped = false;
  std::uint64_t ran_at = 0;
  std::uint64_t stopped_at = 0;
  std::uint64_t stopped_until = 0;  // at least
  bool keys_changed = false;        // while packets with the former ones may be on their way
  std::set<Refusal> excused;  // what honest packets may be refused for here, since their senders cannot know

 private:
  std::vector<std::unique_ptr<Area>> areas_;
  std::vector<std::unique_ptr<OwnedSlot>> slots_;
  std::vector<std::unique_ptr<OwnedPostedSlot>> posted_slots_;
  std::map<std::uint32_t, Operation*> owners_;  // by slot's number
  std::vector<std::unique_ptr<interface::Terminus>> own_termini_;
};

}  // namespace hamlyn::simulation
