#include "simulation/host/simulated_services.h"

#include <algorithm>

#include "base/longest_time.h"
#include "library/engine.h"

namespace hamlyn::simulation {

using library::Engine;

SimulatedServices::SimulatedServices(Host& host, Inhabitant& process, Engine& engine)
    : host_(host), process_(process), engine_(engine), areas_(engine, handed_out_) {
  process_.services = this;
  process_.leaves = false;
  host_.open_far(process_);
  const base::RunLockGuard guard(engine_.lock());
  engine_.core().set_gate(this);
}

SimulatedServices::~SimulatedServices() {
  process_.leaves = true;
  host_.end_links(process_);
  host_.close_far(process_);
  {
    const base::RunLockGuard guard(engine_.lock());
    engine_.core().set_gate(nullptr);
  }
  process_.services = nullptr;
  std::erase_if(host_.names_, [&](const auto& each) { return each.second.holder == process_.number; });
}

bool SimulatedServices::arrive(interface::Core& core) noexcept {
  bool moved = false;
  for (const auto& [peer, end] : process_.links) {
    if (end.near != nullptr) moved |= end.near->arrive(core, interface::Core::kSweepBudget) != 0;
  }
  if (process_.exchange != nullptr) {
    moved |= process_.exchange->arrive(core);
    host_.look_at_far(process_);
  }
  return moved;
}

bool SimulatedServices::wait(library::Setting::Time until) noexcept {
  if (!process_.alive || host_.now() >= until) return false;
  host_.sleep(word_, word_.load(), until);
  return true;
}

// --- names

void SimulatedServices::publish(std::string_view name, const Ticket& ticket, Rights) {
  const auto [at, fresh] = host_.names_.try_emplace(std::string(name), Host::Name{ticket, process_.number});
  if (!fresh && at->second.holder != process_.number)
    throw Error(ErrorCode::name_taken, "somebody has registered that name");
  at->second.ticket = ticket;  // one's own, which leads elsewhere from now on
  for (const auto& each : host_.inhabitants()) {
    if (each->services == nullptr) continue;
    each->services->move();
    each->services->look_for_names();
  }
}

void SimulatedServices::withdraw(std::string_view name) {
  const auto found = host_.names_.find(name);
  if (found == host_.names_.end() || found->second.holder != process_.number)
    throw Error(ErrorCode::name_unknown, "this process has not registered that name");
  host_.names_.erase(found);
}

Ticket SimulatedServices::lookup(std::string_view name, const LookupOptions& options, Registrant* who) {
  const library::Setting::Time until = host_.now() + base::within_clock(options.timeout);
  for (;;) {
    const auto found = host_.names_.find(name);
    if (found != host_.names_.end()) {
      if (who != nullptr) who->interface = found->second.holder;
      return found->second.ticket;
    }
    if (wait(until)) continue;
    const bool waited = options.timeout.count() > 0;  // it answers as the machine does
    throw Error(waited ? ErrorCode::timed_out : ErrorCode::name_unknown, "nobody has registered that name");
  }
}

std::shared_ptr<library::NameRequest> SimulatedServices::begin_lookup(std::string_view name) {
  const auto request = std::make_shared<library::NameRequest>();
  request->name = name;
  lookups_.push_back(request);
  look_for_names();
  return request;
}

Ticket SimulatedServices::end_lookup(const std::shared_ptr<library::NameRequest>& request) {
  if (!process_.alive) throw Error(ErrorCode::node_unreachable, "this process has died");
  return request->ticket;
}

void SimulatedServices::give_up_lookup(const std::shared_ptr<library::NameRequest>& request) noexcept {
  lookups_.remove(request);
}

void SimulatedServices::look_for_names() {
  if (lookups_.empty()) return;
  host_.after(host_.soon(), [&host = host_, number = process_.number] {
    SimulatedServices* const services = host.inhabitant(number).services;
    if (services != nullptr) services->find_names();
  });
}

void SimulatedServices::find_names() {
  const auto found = std::erase_if(lookups_, [&](const auto& request) {
    const auto at = host_.names_.find(request->name);
    if (at == host_.names_.end()) return false;
    request->ticket = at->second.ticket;
    return request->done = true;
  });
  if (found != 0) engine_.look_again();
}

// --- areas

shm::Mapping SimulatedServices::make_area(std::size_t bytes, std::uint32_t& number) {
  shm::OwnedMemory made = shm::make_sealed_memory(bytes);
  {
    const base::RunLockGuard guard(engine_.lock());
    number = engine_.core().add_area(static_cast<const std::byte*>(made.mapping.data()), bytes);
  }
  send_areas_[number] = {std::move(made.memfd), nullptr};
  return std::move(made.mapping);
}

const std::byte* SimulatedServices::Area::as_shown(std::vector<shm::Mapping>& all, std::size_t bytes) {
  if (shown == nullptr) {
    all.push_back(std::move(shm::map_foreign_memory(memfd, bytes).mapping));
    shown = static_cast<const std::byte*>(all.back().data());
  }
  return shown;
}

void SimulatedServices::drop_area(std::uint32_t number) noexcept {
  {
    const base::RunLockGuard guard(engine_.lock());
    engine_.core().drop_area(number);
  }
  send_areas_[number] = {};
  engine_.look_again();
}

// Within a host. The other side maps them, and says that it has; until then all goes through the link.
void SimulatedServices::show_areas(std::uint64_t peer) {
  showing_.erase(peer);
  const auto found = process_.links.find(peer);
  if (found == process_.links.end() || !process_.alive) return;
  LinkEnd* const other = host_.other_end(process_, peer, found->second);
  if (other == nullptr) return;  // its end is on its way here
  if (process_.stopped || host_.inhabitant(peer).stopped) return attention();
  interface::Link& link = found->second.link();
  Engine& engine = host_.inhabitant(peer).services->engine();
  const bool oneself = &engine == &engine_;
  engine.lock().enter_as_other();
  if (!oneself) engine_.lock().enter_as_other();
  auto& shown = other->link().shown;
  if (shown == nullptr) shown = std::make_unique<interface::ShownAreas>();
  const std::uint64_t wanted = link.areas_wanted & ~link.areas_shown;
  for (std::uint32_t i = 0; i != interface::kAreaLimit; ++i) {
    if ((wanted >> i & 1) == 0) continue;
    const interface::SendArea& own = engine_.core().area(i);
    (*shown)[i] = {send_areas_[i].as_shown(host_.shown_, own.size), own.size, own.generation};
  }
  link.set_areas_shown(link.areas_shown | wanted);
  if (!oneself) engine_.lock().leave();
  engine.lock().leave();
  host_.trace_.note(host_.time(), process_.number, "shows areas to %", {peer});
}

std::shared_ptr<library::MappingRequest> SimulatedServices::begin_import(const Ticket& ticket) {
  const auto import = std::make_shared<library::MappingRequest>();
  import->ticket = ticket;
  imports_.push_back(import);
  if (process_.links.count(ticket.interface) != 0) {
    ask(import);
  } else {
    want_link(ticket.interface);
  }
  return import;
}

void SimulatedServices::give_up_import(const MappingRequest& import) noexcept {
  imports_.remove(import);
  import->given_up = true;
}

library::ImportAnswer SimulatedServices::end_import(const MappingRequest& import) {
  give_up_import(import);
  if (!process_.alive || import->answer.error != ErrorCode{})
    throw Error(ErrorCode::not_permitted,
                std::string("a slot was not mapped: ") + text(import->answer.not_mapped));
  return std::move(import->answer);
}

// The question and its answer are on their way for a while.
void SimulatedServices::ask(const MappingRequest& import) {
  import->keeper = &process_.links.at(import->ticket.interface).link();
  host_.after(host_.soon(), [this, import] {
    if (import->done || import->given_up) return;
    Inhabitant& owner = host_.inhabitant(import->ticket.interface);
    if (owner.services == nullptr || owner.links.count(process_.number) == 0)
      return;  // the end of the link is on its way here
    if (owner.stopped) return ask(import);
    if (owner.host == process_.host) {
      owner.services->answer(import);
    } else {
      import->answer.error = ErrorCode::not_permitted;
      import->answer.not_mapped = NotMapped::other_host;
    }
    host_.after(host_.soon(), [this, import] {
      if (!import->done && !import->given_up) finish(*import, import->answer.error);
    });
  });
}

void SimulatedServices::answer(const MappingRequest& import) {
  library::ImportAnswer& answer = import->answer;
  const library::MappedAreas::Shown shown =
      areas_.find(import->ticket, process_.links.begin()->second.link().user);
  answer.error = ErrorCode::not_permitted;
  answer.not_mapped = shown.why;
  if (shown.area == nullptr) return;
  shm::ForeignMemory page = shm::map_foreign_memory(shown.area->page_memfd, shown.area->page.size());
  shm::ForeignMemory memory =
      shm::map_foreign_memory(shown.area->memfd, shown.area->memory.size(), shown.area->writers);
  if (!page.mapping || !memory.mapping) return;
  answer.error = {};
  answer.memory = std::move(memory.mapping);
  answer.page = std::move(page.mapping);
  answer.writers = shown.area->writers;
  answer.offset = shown.offset;
  answer.bound = shown.bound;
  answer.generation = shown.area->words.generation;
}

void SimulatedServices::finish(library::MappingRequest& import, ErrorCode error) noexcept {
  import.answer.error = error;
  import.done = true;
  engine_.look_again();
}

void SimulatedServices::link_made(std::uint64_t peer) {
  for (const MappingRequest& import : imports_) {
    if (import->ticket.interface == peer && import->keeper == nullptr && !import->done) ask(import);
  }
}

void SimulatedServices::fail_imports(std::uint64_t peer) noexcept {
  for (const MappingRequest& import : imports_) {
    if (import->ticket.interface == peer && !import->done) finish(*import, ErrorCode::not_permitted);
  }
}

// --- links

void SimulatedServices::want_link(std::uint64_t peer) noexcept {
  if (!process_.alive) {  // it gets no answer, in no time
    host_.after(0, [peer, &process = process_] {
      if (process.services != nullptr) process.services->refuse(peer, LinkReason::no_process);
    });
    return;
  }
  if (!wanted_.insert(peer).second) return;
  host_.after(host_.soon(),
              [peer, &host = host_, number = process_.number] { host.introduce(number, peer); });
}

void SimulatedServices::refuse(std::uint64_t peer, LinkReason reason) noexcept {
  fail_imports(peer);
  engine_.lock().enter_as_other();
  engine_.core().refuse_link(peer, {reason, false});
  engine_.lock().leave();
  engine_.look_again();
}

void SimulatedServices::attention() noexcept {
  for (const auto& [peer, end] : process_.links) {
    const interface::Link& link = end.link();
    host_.demand(!link.broken, "a link between honest processes is broken");
    const bool wanted = (link.areas_wanted & ~link.areas_shown) != 0;
    if (end.near == nullptr || !wanted || !showing_.insert(peer).second) continue;
    host_.after(host_.soon(), [&host = host_, number = process_.number, peer = peer] {
      SimulatedServices* const services = host.inhabitant(number).services;
      if (services != nullptr) services->show_areas(peer);
    });
  }
}

}  // namespace hamlyn::simulation
