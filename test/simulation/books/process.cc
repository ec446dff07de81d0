#include "test/simulation/books/process.h"

#include "test/simulation/books/violation.h"

namespace hamlyn::simulation {

Process::Process(std::uint64_t number, sim::Generator& chance) : party(number) {
  for (auto& queue : queues) queue = core().make_queue(std::size_t{16} << chance.below(3));
  for (auto& terminus : termini)
    terminus = std::make_unique<interface::Terminus>(core(), chance.between(1, 63),
                                                     static_cast<Priority>(chance.below(kPriorities)));
}

Process::~Process() { die(); }

void Process::open_port(RoughNet& wire, const ofi::Limits& limits) {
  port = wire.make_port();
  exchange = std::make_unique<ofi::Exchange>(*port, limits);
  core().set_gate(exchange.get());
}

void Process::die() {
  drop_links();
  core().set_gate(nullptr);
  exchange.reset();
  port.reset();
}

Area& Process::make_area(std::size_t bytes) { return *areas_.emplace_back(std::make_unique<Area>(bytes)); }

OwnedSlot& Process::make_slot(Operation& owner, Area& area, const Slot::Options& options,
                              sim::Generator& chance) {
  interface::Queue* queue = queues[chance.below(queues.size())];
  OwnedSlot& slot = *slots_.emplace_back(std::make_unique<OwnedSlot>(party, area, queue, options));
  owners_[slot.number()] = &owner;
  return slot;
}

OwnedPostedSlot& Process::make_posted_slot(Operation& owner, const PostedSlot::Options& options,
                                           sim::Generator& chance) {
  interface::Queue* queue = queues[chance.below(queues.size())];
  OwnedPostedSlot& slot =
      *posted_slots_.emplace_back(std::make_unique<OwnedPostedSlot>(party, queue, options));
  owners_[slot.number()] = &owner;
  return slot;
}

Operation* Process::owner_of(std::uint32_t slot) const noexcept {
  const auto found = owners_.find(slot);
  return found == owners_.end() ? nullptr : found->second;
}

void Process::drop_links() {
  for (auto& [peer, end] : links) {
    end.link().areas_shown = 0;  // it has no time to say anything of its areas, and they stay as they are
    core().end_link(end.link());
  }
  links.clear();
}

void Process::check() {
  for (const auto& area : areas_) {
    if (!area->intact()) throw Overwritten("a byte outside of what was granted has changed");
  }
  for (const interface::Queue* queue : queues)
    demand(queue->reserved() + queue->common_used() <= queue->capacity(),
           "a queue has promised more places than it has");
  for (const auto& [peer, end] : links) {
    const interface::Link& link = end.link();
    for (const auto& credit : link.credits)
      demand(credit->left <= credit->granted || credit->refused, "more places were used than granted");
    for (const std::uint32_t record : link.places) {
      const interface::ReceiveCredit& places = core().places()[record];
      demand(places.standing <= places.granted, "more notifications came than places were granted");
    }
  }
}

void Process::check_rest() {
  check();
  interface::CounterPage& counters = party.counters();
  std::uint64_t late = party.refused(Refusal::stale_message);
  excused.insert(Refusal::no_place);  // a queue that has none left says so
  if (keys_changed) excused.insert(Refusal::bad_key);
  for (const Refusal cause : excused) late += party.refused(cause);
  demand(party.refused_in_all() == late, "something was refused");
  demand(counters.events_lost == 0, "a notification was lost");
  demand(counters.links_ended == ends, "ends were not counted");
  demand(counters.links == links.size(), "links were not counted");
  demand(ends_told >= ends, "the end of a link was not told");
  demand(!core().departures_wait(), "something waits to depart");
  for (const interface::Link* link : core().links())
    demand(link->lost_messages.empty(), "a message is remembered of which nothing more comes");
  // Each link may have room that nobody wants any more, which is said once.
  std::size_t links_left = links.size();
  while (links_left != 0 && core().something_to_do()) --links_left;
  demand(!core().something_to_do(), "something was left undone");
  for (const auto& slot : slots_) {
    for (std::uint32_t entry = 0; entry < slot->record().entry_count; ++entry) {
      const interface::MetadataEntry& metadata = slot->entry(entry);
      demand(metadata.state != interface::EntryState::filling,
             "an entry waits for a message that nobody sends");
      demand(metadata.accumulator == 0 || metadata.state == interface::EntryState::failed ||
                 metadata.state == interface::EntryState::armed,
             "an accumulator is not back at zero");
    }
  }
}

void Process::leave() {
  drop_links();
  if (port != nullptr) {
    demand(port->arrivals_out() == 0, "a frame that came was not given back");
    demand(port->overruns == 0, "more frames came than were granted");
  }
  for (auto& terminus : termini) terminus.reset();
  own_termini_.clear();
  slots_.clear();
  posted_slots_.clear();
  for (interface::Queue*& queue : queues) {
    demand(queue->reserved() == 0, "a queue keeps places for links that have gone");
    demand(core().drop_queue(queue), "a queue is held by a slot that has gone");
  }
  const interface::CounterPage& counters = party.counters();
  demand(counters.slots == 0 && counters.queues == 0 && counters.links == 0, "something was left behind");
}

}  // namespace hamlyn::simulation
