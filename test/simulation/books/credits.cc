// Places of notification queues are conserved (design, section 4): what was granted is free or in use, both
// ends of a link agree on which, and a queue keeps none for anybody who has gone.
#include "test/simulation/books/world.h"

namespace hamlyn::simulation {

namespace {

void check_link(World& world, Process& process, const interface::Link& link) {
  Process& peer = world.process(link.peer);
  for (const std::uint32_t record : link.places) {
    const interface::ReceiveCredit& places = process.core().places()[record];
    demand(places.standing == 0, "a place is in use though all was read");
    demand(!places.credit_due(), "free places were not told of");
  }
  const auto other = peer.links.find(process.number());
  if (other == peer.links.end()) return;
  for (const auto& credit : link.credits) {
    if (!credit->open() || credit->refused) continue;
    demand(credit->record < other->second.link().places.size(),
           "a sender has places that the receiver does not know");
    const interface::ReceiveCredit& places =
        peer.core().places()[other->second.link().places[credit->record]];
    demand(credit->granted == places.granted, "a sender was granted another number of places");
    demand(credit->freed + credit->granted - credit->left == places.freed + places.standing,
           "sender and receiver count different messages");
    demand(credit->freed == places.told, "sender and receiver count different free places");
  }
}

void check_queue(Process& process, const interface::Queue& queue) {
  std::size_t promised = 0;
  for (const interface::ReceiveCredit& places : process.core().places()) {
    if (places.queue == &queue) promised += places.over ? places.standing : places.granted;
  }
  demand(promised == queue.reserved(), "a queue keeps places for nobody");
  demand(queue.common_used() == 0 && queue.empty(), "a queue that was read is not empty");
}

}  // namespace

void check_credits_at_rest(World& world) {
  for (const auto& process : world.processes()) {
    if (!process->alive) continue;
    for (const auto& [peer, end] : process->links) check_link(world, *process, end.link());
    for (const interface::Queue* queue : process->queues) check_queue(*process, *queue);
  }
}

}  // namespace hamlyn::simulation
