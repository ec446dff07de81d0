#include "simulation/world.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <string>
#include <utility>

#include "simulation/operations.h"

namespace hamlyn::simulation {

namespace {

sim::Weather weather_of(sim::Generator& chance) {
  sim::Weather weather;
  weather.most_delay = chance.between(1, 200);
  if (chance.one_in(3)) weather.least_delay = weather.most_delay;
  weather.mtu = 64 * chance.between(1, chance.one_in(3) ? 2 : 16);
  weather.window = chance.between(2, 40);
  weather.reply_window = chance.between(1, 12);
  weather.urgent_window = chance.between(1, 8);
  weather.urgent_mtu = 64 * chance.between(1, 5);
  return weather;
}

}  // namespace

World::World(std::uint64_t seed, Trace::Reader reader)
    : trace_(std::move(reader)),
      chance_(seed),
      steps_seed_(chance_.next()),
      net_(std::make_unique<sim::SimNet>(chance_.next(), weather_of(chance_))),
      operations_(make_operations(*this)) {
  for (std::uint64_t count = chance_.between(2, 4); count != 0; --count) come();
}

World::~World() = default;

void World::begin_step(std::uint32_t number) noexcept {
  // Hashed, so that no step's numbers are those of another.
  chance_ = sim::Generator(sim::Generator(steps_seed_ ^ (number + 1) * 0xD1342543DE82EF95u).next());
}

Process* World::any_other(const Process& than) {
  Process& found = any();
  return &found != &than && found.alive ? &found : nullptr;
}

bool World::unsure(const Process& from, const Process& to) const {
  const auto link = from.links.find(to.number());
  return !to.alive || (link != from.links.end() && link->second->cut());
}

bool World::apart(const Process& one, const Process& other) const {
  return one.links.count(other.number()) == 0 && other.links.count(one.number()) == 0;
}

// --- faults

void World::come() {
  if (processes_.size() == kMostProcesses) return;
  processes_.push_back(std::make_unique<Process>(processes_.size() + 1, chance_));
  note(*processes_.back(), "comes");
  for (const auto& operation : operations_) operation->come(*processes_.back());
}

// Nothing of it runs any more; what it had put into its links may arrive or not.
void World::kill(Process& process) {
  const auto living =
      std::count_if(processes_.begin(), processes_.end(), [](auto& each) { return each->alive; });
  if (living <= 2) return;
  note(process, "dies");
  ++counts.deaths;
  process.alive = false;
  for (auto& [peer, link] : process.links) net_->cut(*link);
  process.drop_links();
  // What waits for a link, or stands in one that is already over, is lost as well.
  for (const auto& other : processes_) {
    if (other.get() == &process) continue;
    may_lose(process, *other);
    link_over(process, *other);
  }
}

void World::stop(Process& process) {
  note(process, "stops");
  ++counts.stops;
  process.stopped = true;
}

void World::go_on(Process& process) {
  note(process, "goes on");
  process.stopped = false;
}

void World::cut_any(Process& process) {
  if (process.links.empty()) return;
  const auto nth = static_cast<std::ptrdiff_t>(chance_.below(process.links.size()));
  cut(process, this->process(std::next(process.links.begin(), nth)->first));
}

void World::cut(Process& process, Process& peer) {
  note(process, "loses its link to %", {peer.number()});
  ++counts.cuts;
  net_->cut(*process.links[peer.number()]);
  may_lose(process, peer);
}

void World::may_lose(Process& one, Process& other) {
  for (const auto& operation : operations_) {
    operation->may_lose(one, other);
    operation->may_lose(other, one);
  }
}

void World::link_over(Process& one, Process& other) {
  if (!apart(one, other)) return;
  for (const auto& operation : operations_) {
    operation->link_over(one, other);
    operation->link_over(other, one);
  }
}

// --- links

void World::keep_links(Process& process, bool at_once) {
  std::vector<std::uint64_t> over;
  for (const auto& [peer, link] : process.links) {
    demand(!link->broken, "a link between honest processes is broken");
    if (link->cut() && (at_once || chance_.one_in(2))) over.push_back(peer);
  }
  for (const std::uint64_t peer : over) end_link(process, this->process(peer));
  for (const std::uint64_t number : std::exchange(process.party.wanted, {})) {
    Process& peer = this->process(number);
    const bool granted = peer.alive && (at_once || !chance_.one_in(16));
    if (!granted) {
      note(process, "is refused a link to %", {number});
      ++counts.refusals;
      process.core().refuse_link(number);
      may_lose(process, peer);
      link_over(process, peer);
    } else if (apart(process, peer)) {
      join(process, peer);
    }
  }
}

void World::end_link(Process& process, Process& peer) {
  sim::SimLink& link = *process.links[peer.number()];
  process.core().drain(link);
  process.core().end_link(link);
  ++process.ends;
  process.links.erase(peer.number());
  note(process, "ends its link to %", {peer.number()});
  link_over(process, peer);
}

void World::join(Process& one, Process& other) {
  auto [to_other, to_one] = net_->join(one.number(), other.number());
  // Each process is another user's.
  const auto user = [](const Process& process) {
    const auto number = static_cast<std::uint32_t>(process.number());
    return interface::User { number, number % 2 };
  };
  to_other->user = user(other);
  to_one->user = user(one);
  to_other->in_order = to_one->in_order = net_->in_order();
  one.core().add_link(*to_other);
  other.core().add_link(*to_one);
  one.links[other.number()] = std::move(to_other);
  other.links[one.number()] = std::move(to_one);
  note(one, "has a link to %", {other.number()});
}

// --- notifications

bool World::read(Process& process, interface::Queue& queue, std::size_t most) {
  bool any = false;
  for (; most != 0; --most) {
    const std::optional<Notification> n = take(process.party, &queue);
    if (!n) return any;
    any = true;
    switch (n->kind) {
      case Notification::Kind::link_ended:
        process.ends_told += n->word;
        break;
      case Notification::Kind::protocol_error:
        // Late packets of a group that has failed: their senders cannot know.
        if (n->cause == Refusal::stale_message) break;
        if (n->cause == Refusal::bad_key && process.keys_changed) break;
        if (process.excused.count(n->cause) != 0) break;
        throw Violation(std::string("an honest packet was refused: ") + name(n->cause));
      default: {
        Operation* owner = process.owner_of(n->slot);
        demand(owner != nullptr, "a notification came of a slot that nobody made");
        owner->notified(process, *n);
      }
    }
  }
  return any;
}

}  // namespace hamlyn::simulation
