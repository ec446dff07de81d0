#include "test/simulation/program.h"

#include <stdexcept>
#include <string>

namespace hamlyn::test {

namespace {

void demand(bool as_it_should_be, const char* what) {
  if (!as_it_should_be) throw std::runtime_error(what);
}

sim::Weather weather_of(sim::Generator& chance) {
  sim::Weather weather;
  weather.most_delay = chance.between(1, 200);
  weather.mtu = 64 * chance.between(1, 16);
  weather.window = chance.between(2, 40);
  weather.reply_window = chance.between(1, 12);
  return weather;
}

}  // namespace

Program::Process::Process(std::uint64_t number, sim::Generator& chance) : party(number) {
  for (auto& queue : queues) queue = party.core.make_queue(std::size_t{16} << chance.below(3));
  const auto mode = static_cast<Mode>(chance.below(3));
  counted = std::make_unique<TestSlot>(party, area, queues[chance.below(2)],
                                       Slot::Options{.mode = mode, .entries = kEntries});
  const auto places = static_cast<std::uint32_t>(chance.between(1, 8));
  fast =
      std::make_unique<TestSlot>(party, fast_area, queues[chance.below(2)], Slot::Options{.places = places});
  for (auto& terminus : termini)
    terminus = std::make_unique<interface::Terminus>(party.core, chance.between(1, 63));
  for (std::uint32_t entry = 0; mode != Mode::guarded && entry < kEntries; ++entry)
    counted->arm(entry, {entry * kRegion, kRegion});
}

void Program::Process::drop_links() {
  for (auto& [peer, link] : links) party.core.end_link(*link);
  links.clear();
}

Program::Program(std::uint64_t seed) : chance_(seed) {
  net_ = std::make_unique<sim::SimNet>(chance_.next(), weather_of(chance_));
  const std::uint64_t count = chance_.between(2, 4);
  for (std::uint64_t number = 1; number <= count; ++number)
    processes_.push_back(std::make_unique<Process>(number, chance_));
}

Program::~Program() {
  for (auto& process : processes_) process->drop_links();
}

void Program::run() {
  for (std::uint64_t i = 0; i < kSteps; ++i) step();
  settle();
  check_end();
}

void Program::step() {
  const std::uint64_t dice = chance_.below(1000);
  Process& process = pick();
  if (!process.alive) return;
  if (dice < 250) {
    send_counted(process);
  } else if (dice < 450) {
    send_fast(process);
  } else if (dice < 650) {
    process.party.core.run();
  } else if (dice < 780) {
    read(process, *process.queues[chance_.below(2)], chance_.between(1, 20));
  } else if (dice < 850) {
    arm(process);
  } else if (dice < 930) {
    net_->pass(chance_.between(1, 200));
  } else if (dice < 985) {
    keep_links(process, false);
  } else if (dice < 998) {
    if (!process.links.empty()) {
      const std::size_t nth = chance_.below(process.links.size());
      cut(process, std::next(process.links.begin(), static_cast<std::ptrdiff_t>(nth))->first);
    }
  } else {
    kill(process);
  }
}

// --- sending

void Program::send_counted(Process& from) {
  const std::size_t to = chance_.below(processes_.size());
  Process& receiver = *processes_[to];
  const auto entry = static_cast<std::uint32_t>(chance_.below(kEntries));
  if (&receiver == &from || receiver.entry_used[entry]) return;
  auto message = std::make_unique<Message>();
  message->from = number_of(from.party.id);
  message->to = to;
  message->fast = false;
  message->entry = entry;
  message->terminus = from.termini[chance_.below(2)].get();
  const std::uint64_t length = chance_.one_in(2) ? chance_.below(80) : chance_.below(kRegion + 1);
  message->data = pattern(length, chance_.next());
  message->metadata = pattern(chance_.one_in(2) ? 0 : chance_.below(61), chance_.next());
  const Ticket ticket = receiver.counted->ticket(entry);
  // In a guarded slot the ticket's bounds are the slot's; elsewhere they are the entry's.
  const std::uint64_t offset = ticket.base == 0 && ticket.bound > kRegion ? entry * kRegion : 0;
  const Status status = message->terminus->send(
      ticket, message->data, {.offset = offset, .metadata = message->metadata}, &message->handle);
  note(static_cast<std::uint64_t>(status));
  if (status == Status::queue_full) return;
  demand(status == Status::ok || status == Status::pending || status == Status::link_ended,
         "a send was answered with something else");
  message->may_be_lost = over(from, to);
  demand(status != Status::link_ended || message->may_be_lost, "a link that lives says that it has ended");
  receiver.entry_used[entry] = status != Status::link_ended;
  message->over = status == Status::link_ended;
  messages_.push_back(std::move(message));
}

void Program::send_fast(Process& from) {
  const std::size_t to = chance_.below(processes_.size());
  Process& receiver = *processes_[to];
  if (&receiver == &from) return;
  auto message = std::make_unique<Message>();
  message->from = number_of(from.party.id);
  message->to = to;
  message->fast = true;
  message->entry = Ticket::kFast;
  message->terminus = from.termini[0].get();
  message->data = pattern(chance_.below(17), chance_.next());
  const std::uint64_t number = messages_.size();
  const Status status =
      message->terminus->send_fast(receiver.fast->ticket(), message->data, number, number % kFastPlaces * 16);
  note(static_cast<std::uint64_t>(status));
  if (status == Status::ok) {
    message->may_be_lost = over(from, to);
    messages_.push_back(std::move(message));
    return;
  }
  demand(status == Status::connecting || status == Status::no_place || status == Status::queue_full ||
             status == Status::link_ended || status == Status::refused,
         "a fast send was answered with something else");
}

// Whether the other side is gone, or the link to it was cut and its end is not known yet.
bool Program::over(Process& from, std::size_t to) {
  const auto link = from.links.find(to);
  return !processes_[to]->alive || (link != from.links.end() && link->second->cut());
}

// --- receiving

void Program::read(Process& process, interface::Queue& queue, std::size_t most) {
  for (; most != 0; --most) {
    const std::optional<Notification> n = take(process.party, &queue);
    if (!n) return;
    note(n->word + n->entry + static_cast<std::uint64_t>(n->kind));
    switch (n->kind) {
      case Notification::Kind::message:
        take_message(process, *n);
        break;
      case Notification::Kind::failed:
        take_failure(process, *n);
        break;
      case Notification::Kind::link_ended:
        ++process.ends_told;
        break;
      case Notification::Kind::protocol_error:
        throw std::runtime_error(std::string("an honest packet was refused: ") + name(n->cause));
    }
  }
}

Program::Message* Program::message_for(std::size_t to, std::uint32_t entry) noexcept {
  for (auto each = messages_.rbegin(); each != messages_.rend(); ++each) {
    if (!(*each)->fast && (*each)->to == to && (*each)->entry == entry && !(*each)->over) return each->get();
  }
  return nullptr;
}

void Program::take_message(Process& process, const Notification& n) {
  const std::size_t to = number_of(process.party.id);
  Message* message = nullptr;
  if (n.fast) {
    demand(n.word < messages_.size(), "a fast message came that nobody sent");
    message = messages_[n.word].get();
    demand(message->fast && message->to == to, "a fast message came to somebody else");
    demand(same(process.fast->bytes(n), message->data), "a fast message is not intact");
  } else {
    message = message_for(to, n.entry);
    demand(message != nullptr, "a message came that nobody sent");
    demand(same(process.counted->bytes(n), message->data), "a message is not intact");
    demand(same(process.counted->metadata(n.entry), message->metadata), "its metadata is not intact");
    message->over = true;
    process.to_arm.push_back(n.entry);
  }
  demand(processes_[message->from]->party.id == n.peer, "a message came from somebody else");
  demand(!message->delivered, "a message came twice");
  message->delivered = true;
  ++delivered_;
}

void Program::take_failure(Process& process, const Notification& n) {
  Message* message = message_for(number_of(process.party.id), n.entry);
  demand(message != nullptr && message->may_be_lost, "an entry failed whose link lives");
  message->over = true;
  ++lost_;
  process.to_arm.push_back(n.entry);
}

void Program::arm(Process& process) {
  for (const std::uint32_t entry : process.to_arm) {
    demand(process.counted->arm(entry) == Status::ok, "an entry that was read cannot be armed");
    process.entry_used[entry] = false;
  }
  process.to_arm.clear();
}

// --- links

void Program::keep_links(Process& process, bool at_once) {
  const std::size_t own = number_of(process.party.id);
  for (auto each = process.links.begin(); each != process.links.end();) {
    const auto [peer, link] = std::pair(each->first, each->second.get());
    demand(!link->broken, "a link between honest processes is broken");
    if (!link->cut() || (!at_once && chance_.one_in(2))) {
      ++each;
      continue;
    }
    process.party.core.drain(*link);
    process.party.core.end_link(*link);
    ++process.ends;
    each = process.links.erase(each);
    free_lost_entries(process, peer);
    if (processes_[peer]->alive) free_lost_entries(*processes_[peer], own);
  }
  const std::set<std::uint64_t> wanted = std::exchange(process.party.wanted, {});
  for (const std::uint64_t interface : wanted) {
    const std::size_t peer = number_of(interface);
    if (!processes_[peer]->alive) {
      process.party.core.refuse_link(interface);
      continue;
    }
    const bool ended_there = processes_[peer]->links.count(own) == 0;
    if (process.links.count(peer) == 0 && ended_there) join(own, peer);
  }
}

void Program::join(std::size_t one, std::size_t other) {
  Process& first = *processes_[one];
  Process& second = *processes_[other];
  auto [to_second, to_first] = net_->join(first.party.id, second.party.id);
  first.party.core.add_link(*to_second);
  second.party.core.add_link(*to_first);
  first.links[other] = std::move(to_second);
  second.links[one] = std::move(to_first);
}

void Program::cut(Process& process, std::size_t peer) {
  const std::size_t own = number_of(process.party.id);
  net_->cut(*process.links[peer]);
  for (auto& message : messages_) {
    if ((message->from == own && message->to == peer) || (message->from == peer && message->to == own))
      message->may_be_lost = true;
  }
}

// Nothing of it runs any more; what it had put into its links may arrive or not.
void Program::kill(Process& process) {
  std::size_t living = 0;
  for (const auto& each : processes_) living += each->alive ? 1u : 0u;
  if (living <= 2) return;
  process.alive = false;
  const std::size_t own = number_of(process.party.id);
  for (auto& [peer, link] : process.links) cut(process, peer);
  process.drop_links();
  // A message to it that waits for a link, or stands in a link that is already over, is lost as well.
  for (auto& message : messages_) {
    if (message->from == own || message->to == own) message->may_be_lost = true;
  }
}

// Both ends of a link are over: an entry that has not heard of its message will not hear of it.
void Program::free_lost_entries(Process& process, std::size_t peer) {
  if (process.links.count(peer) != 0) return;
  const std::size_t own = number_of(process.party.id);
  if (processes_[peer]->alive && processes_[peer]->links.count(own) != 0) return;
  for (auto& message : messages_) {
    if (message->fast || message->over || message->from != peer || message->to != own) continue;
    if (processes_[peer]->alive && message->terminus->status(message->handle) == Status::pending) continue;
    if (process.counted->entry(message->entry).state != interface::EntryState::armed) continue;
    demand(message->may_be_lost, "a message is lost though its link lives");
    message->over = true;
    ++lost_;
    process.entry_used[message->entry] = false;
  }
}

// --- the end

// Everybody reads, arms, runs and joins until nothing moves any more.
void Program::settle() {
  for (int quiet = 0, turns = 0; quiet < 5; ++turns) {
    demand(turns < 100000, "it never comes to rest");
    bool moved = net_->step();
    net_->settle();
    for (auto& process : processes_) {
      if (!process->alive) continue;
      keep_links(*process, true);
      moved |= process->party.core.run();
      for (interface::Queue* queue : process->queues) {
        moved |= !queue->empty();
        read(*process, *queue, 100000);
      }
      arm(*process);
    }
    quiet = moved ? 0 : quiet + 1;
  }
}

void Program::check_end() {
  for (auto& message : messages_) {
    const Process& from = *processes_[message->from];
    const Process& to = *processes_[message->to];
    if (from.alive && !message->fast) {
      const Status status = message->terminus->status(message->handle);
      demand(status != Status::pending, "a message is pending for ever");
      demand(status == Status::ok || message->may_be_lost, "a send failed though its link lived");
    }
    if (to.alive && from.alive)
      demand(message->delivered || message->may_be_lost, "a message was lost though its link lived");
  }
  for (auto& process : processes_) {
    if (!process->alive) continue;
    interface::CounterPage& counters = process->party.counters();
    demand(process->party.refused_in_all() == 0, "something was refused");
    demand(counters.events_lost == 0, "a notification was lost");
    demand(counters.links_ended == process->ends, "ends were not counted");
    demand(counters.links == process->links.size(), "links were not counted");
    demand(process->ends_told >= process->ends, "the end of a link was not told");
    demand(!process->party.core.departures_wait(), "something waits to depart");
    demand(!process->party.core.something_to_do(), "something was left undone");
  }
}

}  // namespace hamlyn::test
