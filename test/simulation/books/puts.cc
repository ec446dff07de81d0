// Puts, scattered or not, of which nothing is said or the owner is told, fences, signals; and owners who
// inhibit, unpin, take what waits, change rights and keys, and make another slot in the place of one.
#include <algorithm>
#include <array>
#include <deque>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "interface/remote/requests.h"
#include "test/simulation/books/operations.h"
#include "test/simulation/books/put_slot.h"
#include "test/simulation/books/world.h"

namespace hamlyn::simulation {

namespace {

class Puts final : public Operation {
 public:
  explicit Puts(World& world) : world_(world) {}

  void come(Process& process) override;
  void start(Process& process) override;
  void step(Process& process) override;
  bool end(Process& process) override;
  void check(Process& process) override;
  void notified(Process& process, const Notification& notification) override;
  void may_lose(Process& from, Process& to) override;
  void link_over(Process& from, Process& to) override;
  void under_way(const Process& from, const Process& to, Kinds& kinds) const override;
  void check_rest() override;

 private:
  // A slot, from its making to its end.
  struct Owned {
    OwnedSlot* slot;
    PutSlot model;
    Ticket ticket;
  };
  struct Fence {
    Owned* target = nullptr;  // null: none is under way
    std::uint64_t to = 0;
    RemoteHandle handle;
    std::size_t before = 0;       // puts that it covers
    std::uint64_t forgotten = 0;  // PutSlot::forgotten() when it was asked
    bool open = true;             // whether its slot was
    bool last = false;            // it was asked behind the put of the run's end
  };
  // One terminus.
  struct Lane {
    interface::Terminus* terminus = nullptr;
    Fence fence;
    std::map<std::uint64_t, bool> checked;  // by peer: at the end, a put was let in and a fence said ok
    std::map<std::uint64_t, bool> let_in;
  };
  struct Place {
    Area* area = nullptr;
    std::deque<std::array<std::uint64_t, 2>> values;  // of words that it has put
    std::vector<std::unique_ptr<Owned>> slots;        // the last one is open
    Lane lanes[PutSlot::kLanes];
    Area* landings = nullptr;
    OwnedSlot* landing = nullptr;
    RemoteHandle get[PutSlot::kLanes];
    Process* peer = nullptr;  // to whom it puts
    bool opened_to_all = false;
    Owned& now() { return *slots.back(); }
  };

  void make(Process& process);
  void remake(Process& process);
  void protect(Process& process);
  void set_guests(Process& process, Owned& owned);
  void take(Process& process);
  void put(Process& from, unsigned lane, Process& to);
  bool put_data(Process& from, unsigned lane, Process& to, Owned& target, std::uint64_t page);
  bool put_word(Process& from, unsigned lane, Process& to, Owned& target, PutSlot::Word word);
  void get(Process& from, unsigned lane, Process& to);
  bool fence(Process& from, unsigned lane, Process& to, Owned& target);
  void collect(Process& process);
  void fence_over(Process& process, unsigned lane, const Outcome& outcome);
  void accept(OperationKind kind, Status status);
  Process* peer_of(Process& from);
  Owned& any_of(Process& to);

  World& world_;
  std::map<std::uint64_t, Place> places_;
};

// --- owners

void Puts::come(Process& process) {
  Place& place = places_[process.number()];
  place.area = &process.make_area(PutSlot::kBytes);
  for (Lane& lane : place.lanes)
    lane.terminus = &process.make_terminus(world_.chance().between(1, 16),
                                           static_cast<Priority>(world_.chance().below(kPriorities)));
  make(process);
  place.landings = &process.make_area(std::size_t{PutSlot::kLanes} * 8);
  place.landing = &process.make_slot(*this, *place.landings, {}, world_.chance());
}

void Puts::make(Process& process) {
  sim::Generator& chance = world_.chance();
  Place& place = places_[process.number()];
  const auto hold = static_cast<std::uint32_t>(chance.below(2000));
  const Slot::Options options{.fast = chance.one_in(2),
                              .places = static_cast<std::uint32_t>(chance.below(6)),
                              .gets = chance.one_in(2) ? 64u : 0u,
                              .puts = true,
                              .hold = hold};
  OwnedSlot& slot = process.make_slot(*this, *place.area, options, chance);
  place.slots.push_back(
      std::make_unique<Owned>(Owned{&slot, PutSlot(*place.area, process.number()), slot.ticket()}));
  place.now().model.hold = hold;
}

// Another slot in the place of this one. What its queue holds of this one is read first.
void Puts::remake(Process& process) {
  Owned& old = places_[process.number()].now();
  for (interface::Queue* queue : process.queues) world_.read(process, *queue, 100000);
  old.model.check_told();
  old.model.forget();
  old.model.open = false;
  old.slot->drop();
  process.excused.insert({Refusal::stale_generation, Refusal::bad_slot, Refusal::bad_key});
  make(process);
  world_.note(process, "makes another slot for puts");
}

void Puts::protect(Process& process) {
  sim::Generator& chance = world_.chance();
  Owned& owned = places_[process.number()].now();
  owned.model.guarded = true;
  constexpr std::uint32_t kModes[] = {0, 0400, 0440, 0444, 0620, 0660, 0622, 0666};
  owned.model.protection = {.mode = kModes[chance.below(std::size(kModes))], .users = {}};
  for (std::uint64_t count = chance.below(3); count != 0; --count)
    owned.model.protection.users.push_back({.uid = static_cast<std::uint32_t>(chance.between(1, 8)),
                                            .read = chance.one_in(2),
                                            .write = chance.one_in(2)});
  set_guests(process, owned);
}

void Puts::set_guests(Process& process, Owned& owned) {
  const auto number = static_cast<std::uint32_t>(process.number());
  owned.model.forget();
  process.excused.insert({Refusal::stale_generation, Refusal::not_permitted});
  process.core().set_guests(
      owned.slot->index(),
      owned.model.guarded
          ? std::make_unique<interface::Guests>(owned.model.protection, interface::User{number, number % 2})
          : nullptr);
  world_.note(process, "says who may put");
}

void Puts::take(Process& process) {
  Owned& owned = places_[process.number()].now();
  std::vector<std::byte> room(PutSlot::kBytes);
  HeldPut held;
  if (process.core().take_held(owned.slot->index(), held, room) == Status::ok)
    owned.model.taken(held.offset, held.length);
}

void Puts::step(Process& process) {
  collect(process);
  if (places_[process.number()].opened_to_all) return;
  check(process);
  sim::Generator& chance = world_.chance();
  Owned& owned = places_[process.number()].now();
  PutSlot& model = owned.model;
  const std::uint32_t slot = owned.slot->index();
  interface::Core& core = process.core();
  const auto wait = [&] {
    process.excused.insert({Refusal::hold_full, Refusal::not_pinned, Refusal::inhibited});
    model.trouble_all();
  };
  const std::uint64_t dice = chance.below(100);
  const std::uint64_t page = chance.below(2);
  if (dice < 12) {
    wait();
    model.inhibited = true;
    core.inhibit_puts(slot);
  } else if (dice < 30) {
    model.inhibited = false;
    core.release_puts(slot);
  } else if (dice < 42) {
    wait();
    model.unpinned[page] = true;
    core.pin_puts(slot, page * PutSlot::kPage, (page + 1) * PutSlot::kPage, false);
  } else if (dice < 64) {
    model.unpinned[page] = false;
    core.pin_puts(slot, page * PutSlot::kPage, (page + 1) * PutSlot::kPage, true);
  } else if (dice < 69) {
    take(process);
  } else if (dice < 84) {
    model.set_control(static_cast<Control>(chance.below(3)));
    core.set_control(slot, model.control());
  } else if (dice < 90) {
    protect(process);
  } else if (dice < 92) {
    model.guarded = false;
    set_guests(process, owned);
  } else if (dice < 93) {
    process.excused.insert({Refusal::stale_generation, Refusal::bad_key});
    model.forget(true);
    owned.slot->change_key();
    world_.note(process, "changes the key of its slot for puts");
    owned.ticket = owned.slot->ticket();
  } else if (dice < 95) {
    remake(process);
  }
  check(process);
}

void Puts::check(Process& process) {
  Place& place = places_[process.number()];
  Owned& owned = place.now();
  const interface::HeldPuts& held = owned.slot->record().puts->held;
  demand(held.used() <= owned.model.hold, "more waits than there is room for");
  for (Lane& lane : place.lanes) {
    for (const auto& [number, peer] : places_) {
      for (Put& put : peer.slots.back()->model.puts()) {
        if (put.from != process.number() || put.left || place.lanes[put.lane].terminus != lane.terminus)
          continue;
        const Status status = lane.terminus->status(put.handle);
        if (status == Status::pending) continue;
        put.left = true;
        if (status != Status::ok) put.excused = true;
      }
    }
  }
  owned.model.check(held.empty(), world_.in_order());
}

void Puts::notified(Process& process, const Notification& n) {
  Owned& owned = places_[process.number()].now();
  check(process);
  switch (n.kind) {
    case Notification::Kind::put:
      demand(n.slot == owned.slot->number(), "a put was told of where none came");
      demand(n.offset <= PutSlot::kBytes && n.length <= PutSlot::kBytes - n.offset,
             "a put was told of elsewhere");
      owned.model.told(n);
      ++world_.counts.completed;
      return;
    case Notification::Kind::put_held:
    case Notification::Kind::got:
      return;
    default:
      throw Violation("something else than a put was told of");
  }
}

// --- senders

void Puts::accept(OperationKind kind, Status status) {
  world_.met(kind, status);
  demand(status == Status::connecting || status == Status::no_place || status == Status::queue_full ||
             status == Status::link_ended || status == Status::refused || status == Status::stale,
         "a put was answered with something else");
}

// Mostly the one of last time: what was opened there is worth something.
Process* Puts::peer_of(Process& from) {
  Process*& peer = places_[from.number()].peer;
  if (peer == nullptr || !peer->alive || world_.chance().one_in(12)) peer = world_.any_other(from);
  return peer;
}

// Sometimes one that has gone.
Puts::Owned& Puts::any_of(Process& to) {
  Place& place = places_[to.number()];
  const std::size_t count = place.slots.size();
  return count > 1 && world_.chance().one_in(10) ? *place.slots[count - 2] : place.now();
}

void Puts::start(Process& from) {
  collect(from);
  Process* const to = peer_of(from);
  if (to == nullptr) return;
  const auto lane = static_cast<unsigned>(world_.chance().below(PutSlot::kLanes));
  const std::uint64_t dice = world_.chance().below(10);
  if (dice < 7) return put(from, lane, *to);
  if (dice == 7) return get(from, lane, *to);
  fence(from, lane, *to, any_of(*to));
}

// Some in a row, often a signal or a fence behind them.
void Puts::put(Process& from, unsigned lane, Process& to) {
  sim::Generator& chance = world_.chance();
  Owned& target = any_of(to);
  if (chance.one_in(8)) places_[from.number()].lanes[lane].terminus->ask_again(target.ticket);
  const std::uint64_t page = chance.below(2);
  for (std::uint64_t count = chance.below(7); count != 0 && put_data(from, lane, to, target, page); --count) {
  }
  for (std::uint64_t count = chance.below(4); count != 0; --count)
    put_word(from, lane, to, target, static_cast<PutSlot::Word>(chance.below(3)));
  if (chance.one_in(3)) fence(from, lane, to, target);
}

// False: it was not accepted.
bool Puts::put_data(Process& from, unsigned lane, Process& to, Owned& target, std::uint64_t page) {
  sim::Generator& chance = world_.chance();
  constexpr std::uint64_t kFirst = PutSlot::kWords * 8, kRoom = PutSlot::kLane - kFirst;
  Strides strides;
  const bool strided = chance.one_in(4);
  std::uint64_t length = chance.one_in(2) ? chance.between(1, 48) : chance.between(1, kRoom);
  const std::uint32_t element = any_element(chance);
  const auto whole = [&](std::uint64_t number) { return element == 0 ? number : number - number % element; };
  std::vector<std::uint64_t> bytes;
  if (strided) {
    strides.chunk = static_cast<std::uint32_t>(chance.between(1, 8));
    strides.chunk = std::max(static_cast<std::uint32_t>(whole(strides.chunk)), std::max(element, 1u));
    strides.x_chunks = static_cast<std::uint32_t>(chance.between(1, 4));
    strides.y_chunks = static_cast<std::uint32_t>(chance.between(1, 4));
    strides.x_stride = chance.between(strides.chunk, 12);
    strides.y_stride = strides.x_stride * strides.x_chunks;
    for (std::uint64_t y = 0; y != strides.y_chunks; ++y) {
      for (std::uint64_t x = 0; x != strides.x_chunks; ++x) {
        for (std::uint64_t i = 0; i != strides.chunk; ++i)
          bytes.push_back(y * strides.y_stride + x * strides.x_stride + i);
      }
    }
    length = strides.y_stride * strides.y_chunks;
  } else {
    length = std::max(whole(length), std::uint64_t{std::max(element, 1u)});
    for (std::uint64_t i = 0; i != length; ++i) bytes.push_back(i);
  }
  if (length > kRoom) return true;
  const std::uint64_t at = kFirst + whole(chance.below(kRoom - length + 1));
  Put* const put = target.model.begin(from.number(), lane, page, at, bytes, chance);
  if (put == nullptr) return true;  // what stands there is still on its way
  put->kind = element != 0 && world_.orders_differ() ? OperationKind::put_turned
              : strided                              ? OperationKind::scattered_put
                                                     : OperationKind::put;
  put->notify = chance.one_in(3);
  put->single = !strided && element == 0 && bytes.size() <= 48;
  put->as_sent = put->data;
  world_.as_it_comes(put->as_sent, element);
  put->tells = put->single ? 1 : bytes.size() + 2;
  interface::Terminus& terminus = *places_[from.number()].lanes[lane].terminus;
  const PutOptions options{.offset = PutSlot::place(from.number(), lane, page, at),
                           .notify = put->notify,
                           .element = element,
                           .strides = strided ? &strides : nullptr};
  const Status status = terminus.put(target.ticket, put->as_sent, options, &put->handle);
  world_.note(from, "puts % bytes to slot % of process %: status %",
              {put->data.size(), target.ticket.generation, to.number(), static_cast<std::uint64_t>(status)});
  if (status == Status::ok || status == Status::pending) {
    world_.begun(put->kind);
    put->left = status == Status::ok;
    return true;
  }
  const OperationKind kind = put->kind;
  target.model.cancel_begun();
  accept(kind, status);
  return false;
}

// True if it was accepted.
bool Puts::put_word(Process& from, unsigned lane, Process& to, Owned& target, PutSlot::Word word) {
  const std::uint64_t next = target.model.sent(from.number(), lane, word) + 1;
  // It is read when the word leaves, which may be later.
  const std::uint64_t value = word == PutSlot::sum ? 1 : next;
  const auto& values = places_[from.number()].values.emplace_back(std::array{value, value});
  const Strides both{.chunk = 8, .y_chunks = 2, .x_stride = 8, .y_stride = PutSlot::kPage};
  const bool twice = word == PutSlot::clock && world_.chance().one_in(2);
  const PutOptions options{.offset = PutSlot::place(from.number(), lane, 0, std::uint64_t{8} * word),
                           .strides = twice ? &both : nullptr,
                           .signal = word == PutSlot::clock ? Signal::none
                                     : word == PutSlot::set ? Signal::set
                                                            : Signal::add};
  const Status status = places_[from.number()].lanes[lane].terminus->put(
      target.ticket, std::as_bytes(std::span(values).first(twice ? 2 : 1)), options, nullptr);
  world_.note(from, "puts word % to slot % of process %: status %",
              {word, target.ticket.generation, to.number(), static_cast<std::uint64_t>(status)});
  const OperationKind kind = word == PutSlot::clock ? OperationKind::put : OperationKind::signal;
  const bool accepted = status == Status::ok || (status == Status::pending && word == PutSlot::clock);
  if (accepted) {
    world_.begun(kind);
    target.model.put_word(from.number(), lane, word);
    return true;
  }
  accept(kind, status);
  return false;
}

// Of a word of its own, of which the owner may be told.
void Puts::get(Process& from, unsigned lane, Process& to) {
  Place& place = places_[from.number()];
  interface::Requests& requests = place.lanes[lane].terminus->requests();
  if (requests.outcome(place.get[lane]).status == Status::pending) return;
  const Status status =
      requests.get(places_[to.number()].now().ticket, {place.landing->index(), std::uint64_t{8} * lane, 8},
                   {.offset = PutSlot::place(from.number(), lane, 0, 0), .notify = world_.chance().one_in(2)},
                   nullptr, &place.get[lane]);
  to.excused.insert({Refusal::mode_forbids, Refusal::no_place});
  if (status != Status::pending) accept(OperationKind::get, status);
}

// True if it has left.
bool Puts::fence(Process& from, unsigned lane, Process& to, Owned& target) {
  Lane& own = places_[from.number()].lanes[lane];
  if (own.fence.target != nullptr) return false;
  const Status status = own.terminus->requests().fence(target.ticket, {}, nullptr, &own.fence.handle);
  world_.note(from, "asks process % for its puts to slot %: status %",
              {to.number(), target.ticket.generation, static_cast<std::uint64_t>(status)});
  if (status != Status::pending) {
    accept(OperationKind::fence, status);
    return false;
  }
  world_.begun(OperationKind::fence);
  own.fence.target = &target;
  target.model.asks(from.number(), 1);
  own.fence.to = to.number();
  own.fence.before = target.model.puts().size();
  own.fence.forgotten = target.model.forgotten();
  own.fence.open = target.model.open;
  own.fence.last = own.let_in[to.number()];
  return true;
}

void Puts::collect(Process& process) {
  for (unsigned i = 0; i != PutSlot::kLanes; ++i) {
    Lane& lane = places_[process.number()].lanes[i];
    if (lane.fence.target == nullptr) continue;
    const Outcome outcome = lane.terminus->requests().outcome(lane.fence.handle);
    if (outcome.status != Status::pending) fence_over(process, i, outcome);
  }
}

void Puts::fence_over(Process& process, unsigned lane, const Outcome& outcome) {
  Lane& own = places_[process.number()].lanes[lane];
  Fence& fence = own.fence;
  Owned& target = *std::exchange(fence.target, nullptr);
  target.model.asks(process.number(), -1);
  world_.note(process, "hears of its puts to slot % of process %: status %, cause %",
              {target.ticket.generation, fence.to, static_cast<std::uint64_t>(outcome.status),
               static_cast<std::uint64_t>(outcome.cause)});
  switch (outcome.status) {
    case Status::ok: {
      ++world_.counts.completed;
      demand(fence.open, "a fence was answered for a slot that has gone");
      // What waited may have been forgotten since.
      const bool promised = fence.forgotten == target.model.forgotten();
      target.model.fenced(process.number(), lane, fence.before, promised);
      if (!promised) target.model.told_lost(process.number());
      if (target.model.open && world_.process(fence.to).alive) check(world_.process(fence.to));
      own.checked[fence.to] = fence.last;
      return;
    }
    case Status::refused:
      ++world_.counts.failed;
      demand(target.model.troubled(process.number()), "puts were called lost though nothing has happened");
      target.model.fenced(process.number(), lane, fence.before, false);
      target.model.told_lost(process.number());
      return;
    case Status::link_ended:
      ++world_.counts.failed;
      demand(target.model.troubled(process.number()), "a fence failed though its link lived");
      if (outcome.why().reason != LinkReason::none) {  // by the next link: it was answered
        target.model.fenced(process.number(), lane, fence.before, false);
        target.model.told_lost(process.number());
        return;
      }
      target.model.unanswered(process.number());
      return;
    default:
      throw Violation("a fence ended with something else");
  }
}

// --- the end of a run

// All that waits may land, whoever has a ticket may put; and each lane puts once more, and asks until it
// hears that all has landed.
bool Puts::end(Process& process) {
  Place& place = places_[process.number()];
  Owned& owned = place.now();
  const std::uint32_t slot = owned.slot->index();
  if (!place.opened_to_all) {
    check(process);
    // Openings that there are stay, so that both ends of them can be compared.
    if (std::exchange(owned.model.guarded, false)) set_guests(process, owned);
    place.opened_to_all = true;
  }
  check(process);
  owned.model.inhibited = owned.model.unpinned[0] = owned.model.unpinned[1] = false;
  process.core().release_puts(slot);
  process.core().pin_puts(slot, 0, PutSlot::kBytes, true);
  check(process);
  bool busy = false;
  for (unsigned i = 0; i != PutSlot::kLanes; ++i) {
    Lane& lane = place.lanes[i];
    for (auto& [number, peer] : places_) {
      Process& to = world_.process(number);
      if (number == process.number() || !to.alive || lane.checked[number]) continue;
      busy = true;
      if (!peer.opened_to_all) continue;
      if (!lane.let_in[number]) {
        lane.terminus->ask_again(peer.now().ticket);
        lane.let_in[number] = put_word(process, i, to, peer.now(), PutSlot::clock);
      }
      fence(process, i, to, peer.now());
    }
  }
  return busy;
}

void Puts::may_lose(Process& from, Process& to) {
  const auto place = places_.find(to.number());
  if (place == places_.end()) return;
  for (const auto& owned : place->second.slots) owned->model.trouble(from.number());
}

void Puts::link_over(Process& from, Process& to) {
  const auto place = places_.find(to.number());
  if (place == places_.end()) return;
  for (const auto& owned : place->second.slots) owned->model.link_over(from.number());
}

void Puts::under_way(const Process& from, const Process& to, Kinds& kinds) const {
  const auto senders = places_.find(from.number());
  const auto owners = places_.find(to.number());
  if (senders == places_.end() || owners == places_.end()) return;
  for (const auto& owned : owners->second.slots) owned->model.under_way(from.number(), kinds);
  for (const Lane& lane : senders->second.lanes) {
    if (lane.fence.target != nullptr && lane.fence.to == to.number())
      kinds.set(static_cast<std::size_t>(OperationKind::fence));
  }
}

void Puts::check_rest() {
  std::vector<bool> alive(1);
  for (const auto& process : world_.processes()) alive.push_back(process->alive);
  for (auto& [number, place] : places_) {
    if (!world_.process(number).alive) continue;
    check(world_.process(number));
    demand(place.now().slot->record().puts->held.empty(), "a put waits for nothing");
    place.now().model.check_rest(alive);
  }
}

}  // namespace

std::unique_ptr<Operation> make_puts(World& world) { return std::make_unique<Puts>(world); }

}  // namespace hamlyn::simulation
