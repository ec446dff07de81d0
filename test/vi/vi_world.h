#pragma once
// NICs whose machines talk over a fabric of the test's own: what is sent arrives later, in the order of each
// pair, and lands only where a slot is open at that time.
#include <algorithm>
#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <new>
#include <random>
#include <set>
#include <vector>

#include "vi/machine.h"

namespace hamlyn::test {

using namespace internal_::vi;

class ViWorld;

class WorldPort {
 public:
  static constexpr std::size_t kMostPieces = 16;

  // A slot with posted buffers.
  class Inbox {
   public:
    Inbox(WorldPort& port, bool halts);
    ~Inbox();
    Inbox(const Inbox&) = delete;
    Inbox& operator=(const Inbox&) = delete;
    std::uint32_t number() const noexcept { return number_; }
    Ticket ticket() const;
    Status post(std::span<const std::span<std::byte>> pieces, std::uint64_t number) {
      buffers.push_back({{pieces.begin(), pieces.end()}, number});
      return Status::ok;
    }
    void resume() noexcept { halted = false; }

    struct Buffer {
      std::vector<std::span<std::byte>> pieces;
      std::uint64_t number;
    };
    std::deque<Buffer> buffers;
    const bool halts;
    bool halted = false;

   private:
    WorldPort& port_;
    std::uint32_t number_;
  };
  struct Area {};
  class Window {
   public:
    Window(WorldPort& port, std::span<std::byte> of, bool may_write, bool may_read);
    ~Window();
    Window(const Window&) = delete;
    Window& operator=(const Window&) = delete;
    Ticket ticket() const;

    const std::span<std::byte> memory;
    const bool write, read;

   private:
    WorldPort& port_;
    std::uint32_t number_;
  };
  class Outlet {
   public:
    explicit Outlet(WorldPort& port) : port_(port) {}
    Status send(const Ticket& to, std::span<const std::byte> data, std::uint64_t word, bool acknowledged,
                std::uint64_t token, SendHandle& handle);
    bool send_at_once(const Ticket& to, std::span<const std::byte> data, std::uint64_t word);
    Status tell(const Ticket& to, std::uint64_t word, const Ticket& at, std::span<const std::byte> data,
                std::uint64_t offset, bool acknowledged, std::uint64_t token, SendHandle& handle);
    bool tell_at_once(const Ticket& to, std::uint64_t word, const Ticket& at, std::span<const std::byte> data,
                      std::uint64_t offset);
    Status put(const Ticket& to, std::span<const std::byte> data, std::uint64_t offset, SendHandle& handle);
    Status fence(const Ticket& to, std::uint64_t token);
    Status get(const Ticket& from, std::uint64_t offset, Window& into, std::uint64_t at, std::size_t length,
               std::uint64_t token);
    void cancel(SendHandle handle) noexcept;

   private:
    WorldPort& port_;
    std::map<std::uint32_t, Refusal> refused_;  // puts, by the slot's number, since its last fence
    friend class ViWorld;
  };

  WorldPort(ViWorld& of, std::uint64_t number) : world(of), id(number) {}
  void close() noexcept {}

  std::unique_ptr<Inbox> make_inbox(std::uint32_t, bool halts) {
    return std::make_unique<Inbox>(*this, halts);
  }
  std::unique_ptr<Outlet> make_outlet() { return std::make_unique<Outlet>(*this); }
  std::unique_ptr<Area> make_area(std::span<std::byte>) { return std::make_unique<Area>(); }
  std::unique_ptr<Window> make_window(Area&, std::span<std::byte> memory, bool write, bool read) {
    return std::make_unique<Window>(*this, memory, write, read);
  }
  Status say(const Ticket& to, std::span<const std::byte> data, std::uint64_t token);
  std::uint64_t random();
  std::uint64_t link_with(std::uint64_t peer) noexcept;
  bool used_up(std::uint64_t peer) const noexcept;
  Ticket ticket(std::uint32_t slot, std::uint32_t entry) const;
  static std::uint32_t index_of(std::uint32_t number) noexcept { return number & 0xFFFF; }

  ViWorld& world;
  const std::uint64_t id;
  bool dead = false;
  std::map<std::uint32_t, Inbox*> inboxes;   // by number
  std::map<std::uint32_t, Window*> windows;  // by number
  std::deque<Notification> notifications;
  std::uint32_t next_number = 1;
  std::uint64_t turned_away = 0;  // messages and writes
};

// All NICs, and what is on its way between them.
class ViWorld {
 public:
  using Nic = Machine<WorldPort>;

  ViWorld(std::uint64_t seed, std::size_t nics) : chance(seed) {
    for (std::size_t i = 0; i != nics; ++i) ports.push_back(std::make_unique<WorldPort>(*this, i + 1));
    for (auto& port : ports) machines.push_back(std::make_unique<Nic>(*port));
  }
  ~ViWorld() { machines.clear(); }
  ViWorld(const ViWorld&) = delete;
  ViWorld& operator=(const ViWorld&) = delete;

  Nic& nic(std::size_t i) { return *machines[i]; }
  // One thing that is on its way arrives, if there is any; each NIC hears all that it has.
  bool step();
  void settle() {
    for (int quiet = 0; quiet != 3;) quiet = step() ? 0 : quiet + 1;
  }
  // A process ends: what it has said and was to hear is lost, and the others are told.
  void kill(std::size_t nic);
  // A part of what is asked is turned away for lack of room.
  bool no_room() { return chance() % 100 < crowded; }

  struct Flight {
    enum class Kind { message, put, fence, get, answer };
    Kind kind = Kind::message;
    std::uint64_t from = 0, to = 0;
    Ticket ticket = {};
    std::vector<std::byte> data = {};
    std::uint64_t word = 0, token = 0, offset = 0, at = 0;
    std::size_t length = 0;
    bool reported = false;
    bool cancelled = false;
    bool writes = false;  // a message: its data lands in the slot of `target` at `offset`
    Ticket target = {};   // of no interface: it has no right to
    std::uint64_t sequence = 0;
    WorldPort::Outlet* outlet = nullptr;
    std::uint32_t into = 0;  // window of the requester
    Notification answer = {};
  };
  void launch(Flight flight) { under_way.push_back(std::move(flight)); }

  std::mt19937_64 chance;
  std::uint64_t crowded = 0;  // percent
  // Puts are taken and do not leave: their memory is read until they are cancelled.
  bool holds_puts = false;
  bool no_memory = false;                                             // for sends
  bool used_up = false;                                               // for links, wherever there is none
  std::set<std::pair<std::uint64_t, std::uint32_t>> known_gone = {};  // slots, as their senders have heard
  std::uint64_t links = 1;                                            // number of each link
  std::vector<std::uint64_t> held_puts = {};                          // their sequences
  std::deque<Flight> under_way;
  std::uint64_t sequences = 0;
  std::vector<std::unique_ptr<WorldPort>> ports;
  std::vector<std::unique_ptr<Nic>> machines;

 private:
  WorldPort& port(std::uint64_t id) { return *ports[id - 1]; }
  void land(Flight& flight);
  void land_message(Flight& flight, WorldPort& to);
  void answer(const Flight& flight, Notification answer);
};

// --- slots

inline Ticket WorldPort::ticket(std::uint32_t slot, std::uint32_t entry) const {
  Ticket out;
  out.interface = id;
  out.slot = slot;
  out.key = 7000 + slot;
  out.entry = entry;
  return out;
}
inline WorldPort::Inbox::Inbox(WorldPort& port, bool halts_when_empty)
    : halts(halts_when_empty), port_(port), number_(port.next_number++) {
  port_.inboxes[number_] = this;
}
inline WorldPort::Inbox::~Inbox() { port_.inboxes.erase(number_); }
inline Ticket WorldPort::Inbox::ticket() const { return port_.ticket(number_, Ticket::kPosted); }
inline WorldPort::Window::Window(WorldPort& port, std::span<std::byte> of, bool may_write, bool may_read)
    : memory(of), write(may_write), read(may_read), port_(port), number_(port.next_number++) {
  port_.windows[number_] = this;
}
inline WorldPort::Window::~Window() { port_.windows.erase(number_); }
inline Ticket WorldPort::Window::ticket() const { return port_.ticket(number_, Ticket::kRemote); }

// --- what leaves

inline std::uint64_t WorldPort::random() { return world.chance() | 1; }
inline bool WorldPort::used_up(std::uint64_t) const noexcept { return world.used_up; }
inline std::uint64_t WorldPort::link_with(std::uint64_t peer) noexcept {
  return world.ports[peer - 1]->dead ? 0 : world.links;
}

inline Status WorldPort::say(const Ticket& to, std::span<const std::byte> data, std::uint64_t token) {
  if (world.ports[to.interface - 1]->dead) return Status::link_ended;
  if (world.no_room()) return Status::queue_full;
  ViWorld::Flight flight{.from = id, .to = to.interface, .ticket = to, .data = {data.begin(), data.end()}};
  flight.token = token;
  flight.reported = true;
  world.launch(std::move(flight));
  return Status::pending;
}
inline Status WorldPort::Outlet::send(const Ticket& to, std::span<const std::byte> data, std::uint64_t word,
                                      bool acknowledged, std::uint64_t token, SendHandle& handle) {
  ViWorld& world = port_.world;
  if (world.no_memory) throw std::bad_alloc();
  if (world.ports[to.interface - 1]->dead) return Status::link_ended;
  if (world.no_room()) return Status::queue_full;
  ViWorld::Flight flight{
      .from = port_.id, .to = to.interface, .ticket = to, .data = {data.begin(), data.end()}};
  flight.word = word;
  flight.token = token;
  flight.reported = acknowledged;
  flight.sequence = handle.sequence = ++world.sequences;
  world.launch(std::move(flight));
  return acknowledged ? Status::pending : Status::ok;
}
inline Status WorldPort::Outlet::tell(const Ticket& to, std::uint64_t word, const Ticket& at,
                                      std::span<const std::byte> data, std::uint64_t offset,
                                      bool acknowledged, std::uint64_t token, SendHandle& handle) {
  if (port_.world.known_gone.contains({at.interface, at.slot})) return Status::refused;
  const Status status = send(to, data, word, acknowledged, token, handle);
  if (status != Status::ok && status != Status::pending) return status;
  ViWorld::Flight& flight = port_.world.under_way.back();
  flight.writes = true;
  flight.target = at;
  flight.offset = offset;
  return status;
}
// As if it were in the way now and then.
inline bool WorldPort::Outlet::tell_at_once(const Ticket& to, std::uint64_t word, const Ticket& at,
                                            std::span<const std::byte> data, std::uint64_t offset) {
  SendHandle handle;
  return !port_.world.no_memory && port_.world.chance() % 2 == 0 &&
         tell(to, word, at, data, offset, false, 0, handle) == Status::ok;
}
inline bool WorldPort::Outlet::send_at_once(const Ticket& to, std::span<const std::byte> data,
                                            std::uint64_t word) {
  SendHandle handle;
  return !port_.world.no_memory && port_.world.chance() % 2 == 0 &&
         send(to, data, word, false, 0, handle) == Status::ok;
}
inline Status WorldPort::Outlet::put(const Ticket& to, std::span<const std::byte> data, std::uint64_t offset,
                                     SendHandle& handle) {
  ViWorld& world = port_.world;
  if (world.ports[to.interface - 1]->dead) return Status::link_ended;
  if (world.no_room()) return Status::connecting;
  if (world.known_gone.contains({to.interface, to.slot})) return Status::refused;
  if (world.holds_puts) {
    handle.sequence = ++world.sequences;
    world.held_puts.push_back(handle.sequence);
    return Status::pending;
  }
  ViWorld::Flight flight{.kind = ViWorld::Flight::Kind::put,
                         .from = port_.id,
                         .to = to.interface,
                         .ticket = to,
                         .data = {data.begin(), data.end()}};
  flight.offset = offset;
  flight.outlet = this;
  flight.sequence = handle.sequence = ++world.sequences;
  world.launch(std::move(flight));
  return Status::ok;
}
inline Status WorldPort::Outlet::fence(const Ticket& to, std::uint64_t token) {
  ViWorld& world = port_.world;
  if (world.ports[to.interface - 1]->dead) return Status::link_ended;
  if (world.no_room() || !world.held_puts.empty()) return Status::queue_full;
  ViWorld::Flight flight{
      .kind = ViWorld::Flight::Kind::fence, .from = port_.id, .to = to.interface, .ticket = to};
  flight.token = token;
  flight.outlet = this;
  world.launch(std::move(flight));
  return Status::pending;
}
inline Status WorldPort::Outlet::get(const Ticket& from, std::uint64_t offset, Window& into, std::uint64_t at,
                                     std::size_t length, std::uint64_t token) {
  ViWorld& world = port_.world;
  if (world.ports[from.interface - 1]->dead) return Status::link_ended;
  if (world.no_room()) return Status::queue_full;
  ViWorld::Flight flight{
      .kind = ViWorld::Flight::Kind::get, .from = port_.id, .to = from.interface, .ticket = from};
  flight.offset = offset;
  flight.at = at;
  flight.length = length;
  flight.token = token;
  for (const auto& [number, window] : port_.windows)
    if (window == &into) flight.into = number;
  world.launch(std::move(flight));
  return Status::pending;
}
inline void WorldPort::Outlet::cancel(SendHandle handle) noexcept {
  std::erase(port_.world.held_puts, handle.sequence);
  for (ViWorld::Flight& flight : port_.world.under_way)
    if (flight.sequence == handle.sequence) flight.cancelled = true;
}

// --- what arrives

inline void ViWorld::answer(const Flight& flight, Notification answer) {
  answer.word = flight.token;
  Flight back{.kind = Flight::Kind::answer, .from = flight.to, .to = flight.from};
  back.answer = answer;
  launch(std::move(back));
}

inline void ViWorld::land_message(Flight& flight, WorldPort& to) {
  using Kind = Notification::Kind;
  Refusal cause = Refusal::none;
  const auto found = to.inboxes.find(flight.ticket.slot);
  if (found == to.inboxes.end() || flight.ticket.key != 7000 + flight.ticket.slot)
    cause = Refusal::stale_generation;
  if (cause == Refusal::none) {
    WorldPort::Inbox& inbox = *found->second;
    const auto window = to.windows.find(flight.target.slot);
    const bool may = flight.target.interface != 0 && window != to.windows.end() && window->second->write &&
                     flight.offset + flight.data.size() <= window->second->memory.size();
    std::size_t room = 0;
    if (!inbox.buffers.empty())
      for (const auto& piece : inbox.buffers.front().pieces) room += piece.size();
    if (flight.writes && window == to.windows.end() && flight.target.interface != 0)
      known_gone.insert({flight.to, flight.target.slot});
    if (flight.writes && !may)
      cause = flight.target.interface != 0 ? Refusal::stale_generation : Refusal::not_permitted;
    else if (inbox.halted || inbox.buffers.empty())
      cause = Refusal::no_buffer;
    else if (!flight.writes && room < flight.data.size())
      cause = Refusal::too_long;
    if (cause == Refusal::none) {
      const WorldPort::Inbox::Buffer buffer = inbox.buffers.front();
      inbox.buffers.pop_front();
      if (flight.writes)
        std::ranges::copy(std::exchange(flight.data, {}),
                          window->second->memory.begin() + static_cast<std::ptrdiff_t>(flight.offset));
      std::size_t done = 0;
      for (const auto& piece : buffer.pieces) {
        const std::size_t part = std::min(piece.size(), flight.data.size() - done);
        std::copy_n(flight.data.begin() + static_cast<std::ptrdiff_t>(done), part, piece.begin());
        done += part;
      }
      to.notifications.push_back({.kind = Kind::message,
                                  .slot = inbox.number(),
                                  .offset = buffer.number,
                                  .length = flight.data.size(),
                                  .word = flight.word,
                                  .peer = flight.from});
    } else if (inbox.halts && !inbox.halted) {
      inbox.halted = true;
      to.notifications.push_back(
          {.kind = Kind::halted, .cause = cause, .slot = inbox.number(), .peer = flight.from});
    }
  }
  if (cause != Refusal::none) ++to.turned_away;
  if (!flight.reported) return;
  answer(flight, {.kind = cause == Refusal::none ? Kind::sent : Kind::send_failed, .cause = cause});
}

inline void ViWorld::land(Flight& flight) {
  using Kind = Notification::Kind;
  WorldPort& to = port(flight.to);
  if (to.dead || port(flight.from).dead) return;
  const auto window = to.windows.find(flight.ticket.slot);
  const bool open = window != to.windows.end();
  switch (flight.kind) {
    case Flight::Kind::message:
      if (!flight.cancelled) land_message(flight, to);
      return;
    case Flight::Kind::put:
      if (open && window->second->write &&
          flight.offset + flight.data.size() <= window->second->memory.size())
        std::ranges::copy(flight.data,
                          window->second->memory.begin() + static_cast<std::ptrdiff_t>(flight.offset));
      else
        flight.outlet->refused_[flight.ticket.slot] = Refusal::stale_generation;
      if (!open) known_gone.insert({flight.to, flight.ticket.slot});
      return;
    case Flight::Kind::fence: {
      Refusal cause = flight.outlet->refused_[flight.ticket.slot];
      flight.outlet->refused_.erase(flight.ticket.slot);
      if (!open) cause = Refusal::stale_generation;
      return answer(
          flight, {.kind = cause == Refusal::none ? Kind::remote_done : Kind::remote_failed, .cause = cause});
    }
    case Flight::Kind::get: {
      const bool good =
          open && window->second->read && flight.offset + flight.length <= window->second->memory.size();
      WorldPort& from = port(flight.from);
      const auto into = from.windows.find(flight.into);
      if (good && into != from.windows.end()) {
        const auto memory = window->second->memory.subspan(flight.offset, flight.length);
        std::ranges::copy(memory, into->second->memory.begin() + static_cast<std::ptrdiff_t>(flight.at));
      }
      return answer(flight, {.kind = good ? Kind::remote_done : Kind::remote_failed,
                             .cause = good ? Refusal::none : Refusal::stale_generation});
    }
    case Flight::Kind::answer:
      to.notifications.push_back(flight.answer);
      return;
  }
}

inline bool ViWorld::step() {
  bool moved = false;
  if (!under_way.empty()) {
    // Any pair may be next, each in its order.
    const Flight& any = under_way[chance() % under_way.size()];
    const auto first = std::ranges::find_if(
        under_way, [&](const Flight& flight) { return flight.from == any.from && flight.to == any.to; });
    Flight flight = std::move(*first);
    under_way.erase(first);
    land(flight);
    moved = true;
  }
  for (std::size_t i = 0; i != machines.size(); ++i) {
    if (machines[i] == nullptr) continue;
    while (!ports[i]->notifications.empty()) {
      const Notification next = ports[i]->notifications.front();
      ports[i]->notifications.pop_front();
      machines[i]->hear(next);
      moved = true;
    }
    if (machines[i]->has_forsaken() && !machines[i]->end_forsaken()) moved = true;
    const std::size_t before = under_way.size();
    machines[i]->step();
    moved = moved || under_way.size() != before;
  }
  return moved;
}

inline void ViWorld::kill(std::size_t nic) {
  ports[nic]->dead = true;
  for (Flight& flight : under_way)
    if (flight.from == nic + 1 || flight.to == nic + 1) flight.outlet = nullptr;
  std::erase_if(under_way,
                [&](const Flight& flight) { return flight.from == nic + 1 || flight.to == nic + 1; });
  machines[nic].reset();
  for (auto& other : ports)
    if (!other->dead)
      other->notifications.push_back({.kind = Notification::Kind::link_ended, .peer = nic + 1});
}

}  // namespace hamlyn::test
