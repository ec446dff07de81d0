#include "test/simulation/books/world.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <string>
#include <tuple>
#include <utility>

#include "test/simulation/books/operations.h"
#include "test/simulation/books/program.h"

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
  weather.orders_differ = chance.one_in(2);
  return weather;
}

// Of the wire between hosts, one tick of the world is so long.
constexpr std::uint64_t kTick = 10'000;
constexpr std::uint64_t kPatience = 1000;  // ticks that a peer may stand still before a link is given up
constexpr std::uint64_t kLapse = 400;      // for which who runs rarely may not run

RoughNet::Weather wire_of(sim::Generator& chance, const sim::Weather& weather) {
  const auto one_in = [&](std::uint64_t least) {
    return chance.one_in(3) ? 0 : chance.between(least, 10 * least);
  };
  RoughNet::Weather wire;
  wire.most_delay = kTick * weather.most_delay;
  wire.orders_differ = weather.orders_differ;
  wire.lost_one_in = one_in(5);
  wire.repeated_one_in = one_in(5);
  wire.not_now_one_in = one_in(3);
  wire.frame = 4096;
  return wire;
}

ofi::Limits limits_of(const sim::Weather& weather) {
  return {.frame = 4096,
          .mtu = weather.mtu,
          .dead = 2 * kPatience * kTick,
          .farewell = 200 * kTick,
          .resend = 100 * kTick,
          .hello = 10 * kTick,
          .acknowledge = 5 * kTick,
          .gather = kTick / 2};
}

}  // namespace

void Counts::add(const Counts& other) noexcept {
  operations += other.operations;
  completed += other.completed;
  failed += other.failed;
  cuts += other.cuts;
  deaths += other.deaths;
  stops += other.stops;
  refusals += other.refusals;
  restarts += other.restarts;
  stalls += other.stalls;
  partitions += other.partitions;
}

World::World(std::uint64_t seed, Trace::Reader reader)
    : trace_(std::move(reader)),
      chance_(seed),
      steps_seed_(chance_.next()),
      net_(std::make_unique<sim::SimNet>(chance_.next(), weather_of(chance_))),
      hosts_(chance_.one_in(2) ? 1 : chance_.between(2, 3)),
      wire_(hosts_ == 1 ? nullptr
                        : std::make_unique<RoughNet>(chance_.next(), wire_of(chance_, net_->weather()))),
      topology_(hosts_ != 1        ? Topology::hosts
                : net_->in_order() ? Topology::in_order
                                   : Topology::overtaking),
      met_on_wire_(kMostProcesses * kMostProcesses),
      operations_(make_operations(*this)) {
  if (wire_ != nullptr) {
    wire_->on_mishap = [this](RoughNet::Mishap mishap, std::uint64_t from, std::uint64_t to) {
      constexpr Fault kFault[] = {Fault::lost, Fault::repeated, Fault::overtaken};
      met_on_wire_[from * kMostProcesses + to].set(
          static_cast<std::size_t>(kFault[static_cast<std::size_t>(mishap)]));
    };
  }
  for (std::uint64_t count = chance_.between(2, 4); count != 0; --count) come();
}

World::~World() = default;

void World::begin_step(std::uint32_t number) noexcept { chance_ = chance_of_step(steps_seed_, number); }

// Where one was drawn that does not, the next: so that what a step draws changes little when others are left
// out.
Process& World::any_living() {
  std::uint64_t at = chance_.below(processes_.size());
  while (!processes_[at]->alive) at = (at + 1) % processes_.size();
  return *processes_[at];
}

Process* World::any_other(const Process& than) {
  Process& found = any();
  if (&found == &than) return nullptr;
  return found.alive || (found.followed && chance_.one_in(2)) ? &found : nullptr;
}

bool World::unsure(const Process& from, const Process& to) const {
  if (!to.alive) return true;
  const auto end = from.links.find(to.number());
  if (end == from.links.end()) return false;
  const auto other = to.links.find(from.number());
  return end->second.over() || other == to.links.end() || other->second.number != end->second.number ||
         other->second.over();
}

bool World::apart(const Process& one, const Process& other) const {
  return one.links.count(other.number()) == 0 && other.links.count(one.number()) == 0;
}

// --- time

void World::pass(std::uint64_t time) {
  net_->pass(time);
  if (wire_ == nullptr) return;
  wire_->pass(1 + net_->now() * kTick - wire_->now());
  std::erase_if(partitions_, [&](const Partition& partition) {
    if (net_->now() < partition.until) return false;
    for (const auto& [from, to] : partition.ways) wire_->mend(from, to);
    return true;
  });
}

void World::be_kind() {
  if (wire_ == nullptr) return;
  RoughNet::Weather& weather = wire_->weather();
  weather.lost_one_in = weather.repeated_one_in = weather.not_now_one_in = 0;
  for (Partition& partition : partitions_) partition.until = 0;
  pass(0);
}

bool World::wire_is_quiet() {
  for (const auto& process : processes_) {
    if (!process->alive) continue;
    if (process->exchange != nullptr && process->exchange->closing()) return false;
    for (const auto& [peer, end] : process->links) {
      if (!end.quiet() || other_end(*process, peer, end) == nullptr) return false;
    }
  }
  return true;
}

bool World::run(Process& process) {
  if (now() > process.ran_at + kLapse) excuse_links(process);
  process.ran_at = now();
  const bool moved = process.core().run();
  for (auto& [number, end] : process.links) {
    if (end.near != nullptr || !end.over() || std::exchange(end.known_over, true)) continue;
    note(process, "finds its link to % over", {number});
    Process& peer = this->process(number);
    demand(end.may_end || now() < excused_until_ || now() > peer.ran_at + kLapse ||
               wire_->weather().lost_one_in != 0,
           "a link between hosts ended though nothing had happened");
    may_lose(process, peer);
  }
  return moved;
}

LinkEnd* World::other_end(const Process& process, std::uint64_t peer, const LinkEnd& end) {
  auto& links = this->process(peer).links;
  const auto other = links.find(process.number());
  return other != links.end() && other->second.number == end.number ? &other->second : nullptr;
}

void World::excuse_links(Process& process) {
  for (auto& [peer, end] : process.links) {
    end.may_end = true;
    if (LinkEnd* const other = other_end(process, peer, end)) other->may_end = true;
  }
}

// --- what has happened

void World::struck(Fault fault, const Process& one, const Process& other) {
  Kinds kinds;
  for (const auto& operation : operations_) {
    operation->under_way(one, other, kinds);
    operation->under_way(other, one, kinds);
  }
  coverage.met(kinds, fault, topology_);
}

void World::struck(Fault fault, const Process& process) {
  for (const auto& other : processes_) {
    if (other.get() != &process) struck(fault, process, *other);
  }
}

void World::look_at_mishaps() {
  for (const auto& process : processes_) {
    for (auto& [peer, end] : process->links) {
      if (end.near != nullptr && end.near->overtaken() != std::exchange(end.overtaken, end.near->overtaken()))
        struck(Fault::overtaken, *process, this->process(peer));
    }
  }
  for (std::size_t pair = 0; wire_ != nullptr && pair != met_on_wire_.size(); ++pair) {
    if (met_on_wire_[pair].none()) continue;
    for (const Fault fault : {Fault::lost, Fault::repeated, Fault::overtaken}) {
      if (met_on_wire_[pair].test(static_cast<std::size_t>(fault)))
        struck(fault, *processes_[pair / kMostProcesses], *processes_[pair % kMostProcesses]);
    }
    met_on_wire_[pair].reset();
  }
}

// --- faults

void World::come() {
  if (processes_.size() == kMostProcesses) return;
  processes_.push_back(std::make_unique<Process>(processes_.size() + 1, chance_));
  Process& process = *processes_.back();
  if (wire_ != nullptr) {
    // The first two are apart.
    process.host = processes_.size() <= 2 ? processes_.size() - 1 : chance_.below(hosts_);
    process.open_port(*wire_, limits_of(net_->weather()));
  }
  note(process, "comes to host %", {process.host});
  for (const auto& operation : operations_) operation->come(process);
}

// Nothing of it runs any more; what it had put into its links may arrive or not.
void World::kill(Process& process) {
  const auto living =
      std::count_if(processes_.begin(), processes_.end(), [](auto& each) { return each->alive; });
  if (living <= 2) return;
  struck(Fault::death, process);
  be_dead(process);
}

void World::restart(Process& process) {
  if (processes_.size() == kMostProcesses) return;
  struck(Fault::restart, process);
  ++counts.restarts;
  be_dead(process);
  process.followed = true;
  come();
  processes_.back()->host = process.host;
}

void World::be_dead(Process& process) {
  note(process, "dies");
  ++counts.deaths;
  process.alive = false;
  for (auto& [peer, end] : process.links) {
    LinkEnd* const other = other_end(process, peer, end);
    // Its node may say so, which is sooner than by its silence.
    if (other != nullptr && end.far != nullptr && chance_.one_in(2)) other->far->expect_end();
  }
  excuse_links(process);
  process.die();
  // What waits for a link, or stands in one that is already over, is lost as well.
  for (const auto& other : processes_) {
    if (other.get() == &process) continue;
    may_lose(process, *other);
    link_over(process, *other);
  }
}

void World::stop(Process& process) {
  const bool stalls = chance_.one_in(3);
  note(process, stalls ? "stops for long" : "stops");
  ++(stalls ? counts.stalls : counts.stops);
  struck(stalls ? Fault::stall : Fault::stop, process);
  excuse_links(process);
  process.stopped = true;
  process.stopped_at = now();
  process.stopped_until = now() + (stalls ? chance_.between(kPatience, 4 * kPatience) : 0);
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
  struck(Fault::cut, process, peer);
  may_lose(process, peer);
  LinkEnd& end = process.links[peer.number()];
  if (end.near != nullptr) {
    net_->cut(*end.near);
  } else {
    forget_link(process, peer);
  }
}

void World::part() {
  if (hosts_ == 1) return;
  const std::uint64_t one = chance_.below(hosts_);
  const std::uint64_t other = (one + 1 + chance_.below(hosts_ - 1)) % hosts_;
  const bool both_ways = chance_.one_in(2);
  Partition partition{{}, now() + chance_.between(10, chance_.one_in(2) ? kPatience / 2 : 4 * kPatience)};
  trace_.note(now(), 0, "nothing gets from host % to % until %", {one, other, partition.until});
  ++counts.partitions;
  for (const auto& from : processes_) {
    for (const auto& to : processes_) {
      if (!from->alive || !to->alive || from->host != one || to->host != other) continue;
      partition.ways.emplace_back(from->port->address(), to->port->address());
      if (both_ways) partition.ways.emplace_back(to->port->address(), from->port->address());
      struck(Fault::partition, *from, *to);
    }
  }
  for (const auto& [from, to] : partition.ways) wire_->cut(from, to);
  // A short one, by itself, must be lived through.
  if (now() < last_parted_ + 2 * kPatience || partition.until > now() + kLapse)
    excused_until_ = std::max(excused_until_, partition.until + 2 * kPatience);
  last_parted_ = std::max(last_parted_, partition.until);
  partitions_.push_back(std::move(partition));
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
  for (const auto& [peer, end] : process.links) {
    demand(!end.link().broken, "a link between honest processes is broken");
    if (end.over() && (at_once || chance_.one_in(2))) over.push_back(peer);
  }
  for (const std::uint64_t peer : over) end_link(process, this->process(peer));
  if (!at_once) give_up_stalled(process);
  show_areas(process, at_once);
  for (const std::uint64_t number : std::exchange(process.party.wanted, {})) {
    Process& peer = this->process(number);
    const bool granted = peer.alive && (at_once || !chance_.one_in(16));
    if (!granted) {
      note(process, "is refused a link to %", {number});
      ++counts.refusals;
      struck(Fault::link_refused, process, peer);
      process.core().refuse_link(number,
                                 {peer.alive ? LinkReason::not_permitted : LinkReason::no_process, false});
      may_lose(process, peer);
      link_over(process, peer);
    } else {
      // One of another host that has not found out yet that there is no link is told by its node.
      if (process.host != peer.host && process.links.count(number) == 0 && !peer.stopped &&
          peer.links.count(process.number()) != 0)
        end_link(peer, process);
      if (apart(process, peer)) join(process, peer);
    }
  }
}

// Within a host; each peer in its own time.
void World::show_areas(Process& process, bool at_once) {
  for (auto& [number, end] : process.links) {
    LinkEnd* const other = other_end(process, number, end);
    if (end.near == nullptr || other == nullptr || (!at_once && chance_.one_in(2))) continue;
    interface::Link& link = end.link();
    auto& shown = other->link().shown;
    if (shown == nullptr && link.areas_wanted == 0) continue;
    if (shown == nullptr) shown = std::make_unique<interface::ShownAreas>();
    for (std::uint32_t n = 0; n != interface::kAreaLimit; ++n) {
      const interface::SendArea& area = process.core().area(n);
      const std::uint64_t bit = std::uint64_t{1} << n;
      if (area.data == nullptr || (*shown)[n].generation != area.generation) (*shown)[n] = {};
      if ((link.areas_wanted & ~link.areas_shown & bit) == 0) continue;
      (*shown)[n] = {area.data, area.size, area.generation};
      link.set_areas_shown(link.areas_shown | bit);
      note(process, "shows its area % to %", {n, number});
    }
  }
}

// Over memory nobody hears whether the other side runs, but that it takes nothing. (Between hosts its silence
// is heard.)
void World::give_up_stalled(Process& process) {
  for (const auto& [number, end] : process.links) {
    Process& peer = this->process(number);
    const bool stalls = peer.stopped && now() > peer.stopped_at + kPatience;
    if (end.near != nullptr && !end.over() && stalls && chance_.one_in(2)) return cut(process, peer);
  }
}

void World::end_link(Process& process, Process& peer) {
  LinkEnd& end = process.links[peer.number()];
  if (end.far != nullptr && !std::exchange(end.known_over, true)) may_lose(process, peer);
  process.core().drain(end.link());
  forget_link(process, peer);
}

void World::forget_link(Process& process, Process& peer) {
  LinkEnd& end = process.links[peer.number()];
  if (LinkEnd* const other = other_end(process, peer.number(), end)) other->may_end = true;
  WhyNoLink why{LinkReason::cut, false};
  if (end.far != nullptr && end.over()) why = end.far->why_over();
  process.core().end_link(end.link(), why);
  ++process.ends;
  if (end.far != nullptr) process.exchange->retire(std::move(end.far), why);
  process.links.erase(peer.number());
  note(process, "ends its link to %", {peer.number()});
  link_over(process, peer);
}

void World::join(Process& one, Process& other) {
  LinkEnd to_other, to_one;
  to_other.number = to_one.number = chance_.next();
  to_other.may_end = to_one.may_end = !partitions_.empty();
  if (one.host == other.host) {
    std::tie(to_other.near, to_one.near) = net_->join(one.number(), other.number());
    to_other.near->in_order = to_one.near->in_order = net_->in_order();
  } else {
    const auto far = [&](Process& from, const Process& to, bool initiator) {
      const ofi::LinkIdentity identity{to_other.number, from.host + 1, to.host + 1};
      return std::make_unique<ofi::OfiLink>(*from.exchange, from.party, to.number(), to.port->whole_address(),
                                            identity, initiator);
    };
    to_other.far = far(one, other, true);
    to_one.far = far(other, one, false);
  }
  // Each process is another user's.
  const auto user = [](const Process& process) {
    const auto number = static_cast<std::uint32_t>(process.number());
    return interface::User { number, number % 2 };
  };
  to_other.link().user = user(other);
  to_one.link().user = user(one);
  one.core().add_link(to_other.link());
  other.core().add_link(to_one.link());
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
      case Notification::Kind::resource_exhausted:
        // Somebody wanted places of a queue that had none left. (A message for which there was none is
        // missed.)
        if (n->cause == Refusal::no_place) break;
        [[fallthrough]];
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
