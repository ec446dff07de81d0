#pragma once
// Endpoints whose machines talk over a fabric of the test's own: what is sent arrives later, and lands only
// where a slot is open at that time. Messages of one pair keep their order, or do not.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <utility>
#include <vector>

#include "am/machine.h"
#include "am/ring.h"

namespace hamlyn::test {

using namespace internal_::am;

inline constexpr Tag kTag = 7;
inline constexpr HandlerNumber kAsk = 1;

class AmWorld;

class AmPort {
 public:
  struct Area {};
  // A slot that others put data through.
  class Window {
   public:
    Window(AmPort& port, std::span<std::byte> of);
    ~Window();
    Window(const Window&) = delete;
    Window& operator=(const Window&) = delete;
    Ticket ticket() const;
    std::uint64_t landed() const noexcept { return count; }

    const std::span<std::byte> memory;
    std::uint64_t count = 0;

   private:
    AmPort& port_;
    std::uint32_t number_;
  };
  // A slot that messages land in.
  struct Landing {
    Landing(AmPort& port, void* pair, std::size_t bytes);
    ~Landing();
    Landing(const Landing&) = delete;
    Landing& operator=(const Landing&) = delete;
    Ticket ticket() const;

    AmPort& port;
    void* const pair;
    const std::uint32_t number;
    std::vector<std::byte> memory;
  };
  class Way {
   public:
    Way(AmPort& port, void* pair, const Limits& limits) : port_(port), pair_(pair), limits_(limits) {
      shorter_.emplace(port, pair, kSmallRing);
    }
    Ticket landing() const { return shorter_->ticket(); }
    void describe(Hello& hello) const {
      hello.ring = on_wire(landing());
      hello.ring_bytes = limits_.ring;
    }
    bool lengthen(std::size_t bytes, Ticket& out) {
      if (longer_ || bytes <= kSmallRing || port_.no_memory) return false;
      longer_.emplace(port_, pair_, bytes);
      out = longer_->ticket();
      return true;
    }
    void aim(std::uint64_t peer, std::uint64_t, const Hello& hello) {
      to_ = ticket_of(hello.ring, peer, Ticket::kFast), longest_ = hello.ring_bytes;
      ring_[0] = Ring(static_cast<std::uint32_t>(to_.bound / kUnit));
    }
    bool aim_longer(const Ticket& ring) {
      if (ring.bound < longest_ || ring.bound > kMostRing) return false;
      to_ = ring, ring_[1] = Ring(static_cast<std::uint32_t>(ring.bound / kUnit)), use_ = 1;
      return true;
    }
    void free(std::uint32_t) noexcept {}
    void part() noexcept {}
    bool is_short() const noexcept { return use_ == 0 && longest_ > to_.bound; }
    Sent send(std::uint64_t word, std::span<const std::byte> bytes, Record& record);
    Sent send_bare(std::uint64_t word);
    void done(const Record& record) { ring_[record.ring].free(record.taken); }
    Status put(const Ticket& ticket, std::span<const std::byte> data, std::uint64_t offset,
               SendHandle& handle);
    Status status(const SendHandle& handle) const noexcept {
      return handle.sequence != 0 ? Status::pending : Status::ok;
    }
    Status put_waiting(const Ticket& ticket, std::span<const std::byte> data, std::uint64_t offset) {
      SendHandle handle;
      return put(ticket, data, offset, handle);
    }
    void cancel(const SendHandle&) noexcept {}
    std::uint32_t used() const noexcept { return ring_[0].used() + ring_[1].used(); }

   private:
    AmPort& port_;
    void* const pair_;
    const Limits limits_;
    std::optional<Landing> shorter_, longer_;
    Ticket to_;
    Ring ring_[2];
    std::uint8_t use_ = 0;
    std::size_t longest_ = 0;
  };

  AmPort(AmWorld& of, std::uint64_t number) : world(of), id(number) {}

  static am::Way way() noexcept { return am::Way::slots; }
  static bool may_greet(const Hello& hello) noexcept {
    return hello.ring.bound >= kSmallRing && hello.ring.bound <= kMostRing &&
           hello.ring_bytes >= kLeastRing && hello.ring_bytes <= kMostRing;
  }

  std::unique_ptr<Way> make_way(void* pair, const Limits& limits) {
    return std::make_unique<Way>(*this, pair, limits);
  }
  std::unique_ptr<Area> make_area(std::span<std::byte>) { return std::make_unique<Area>(); }
  std::unique_ptr<Window> make_window(Area&, std::span<std::byte> memory) {
    return std::make_unique<Window>(*this, memory);
  }
  Status say(const Ticket& door, std::span<const std::byte> bytes, std::uint64_t token, SendHandle& handle);
  void unsay(const SendHandle&) noexcept { ++unsaid; }
  void say_once(const Ticket& door, std::span<const std::byte> bytes) {
    SendHandle handle;
    static_cast<void>(say(door, bytes, 0, handle));
  }
  static constexpr std::uint32_t links_of_pair() noexcept { return 1; }
  void give_up(const SendHandle& handle) noexcept { given_up += handle.sequence != 0 ? 1 : 0; }
  // The door is the port itself.
  AmPort& door() noexcept { return *this; }
  Ticket ticket() const { return ticket(0, Ticket::kPosted, 4096); }
  std::uint64_t link(std::uint64_t peer);
  std::uint64_t random();
  bool is_own_user(std::uint64_t) const noexcept { return !strangers; }
  bool is_far(std::uint64_t) const noexcept { return far; }
  // Each address of a buffer of the test's is there, and no other.
  struct Memory {
    static bool is_there(std::uint64_t address, std::size_t length) noexcept {
      const std::uint64_t first = reinterpret_cast<std::uintptr_t>(there.data());
      return address >= first && address - first <= there.size() &&
             length <= there.size() - (address - first);
    }
    static bool write(std::uint64_t address, const std::byte* from, std::size_t length) noexcept {
      if (is_there(address, length)) std::memcpy(reinterpret_cast<void*>(address), from, length);
      return is_there(address, length);
    }
    static bool read(std::byte* to, std::uint64_t address, std::size_t length) noexcept {
      if (is_there(address, length)) std::memcpy(to, reinterpret_cast<const void*>(address), length);
      return is_there(address, length);
    }
    static inline std::vector<std::byte> there = std::vector<std::byte>(std::size_t{1} << 16);
  };
  // Whether this interface has heard that the slot has gone.
  bool knows_gone(const Ticket& ticket) const;
  Ticket ticket(std::uint32_t slot, std::uint32_t entry, std::uint64_t bound) const {
    Ticket out;
    out.interface = id, out.slot = slot, out.generation = 1, out.key = 5, out.entry = entry,
    out.bound = bound;
    return out;
  }

  struct Event {
    enum class Kind { message, hello, said, link_ended };
    Kind kind{};
    std::uint64_t peer = 0;
    std::uint32_t slot = 0;
    Come come = {};
    std::vector<std::byte> bytes = {};
    std::uint64_t token = 0;
    Refusal cause = Refusal::none;
  };

  AmWorld& world;
  const std::uint64_t id;
  bool dead = false, closed = false;                       // the process; the endpoint alone
  bool far = false, strangers = false;                     // all others, from here
  bool no_memory = false;                                  // for longer rings
  std::size_t unsaid = 0;                                  // hellos
  std::size_t given_up = 0;                                // puts
  std::set<std::pair<std::uint64_t, std::uint32_t>> gone;  // slots of others, as this one has heard
  std::map<std::uint32_t, Landing*> landings;              // by number
  std::map<std::uint32_t, Window*> windows;                // the same numbers
  std::deque<Event> events;
  std::uint32_t next_number = 1;
};

// All endpoints, and what is on its way between them.
class AmWorld {
 public:
  using Machine = internal_::am::Machine<AmPort>;

  AmWorld(std::uint64_t seed, std::size_t endpoints, const Limits& limits, bool keeps_order = true,
          const std::optional<Membership>& member = {})
      : chance(seed), in_order(keeps_order) {
    for (std::size_t i = 0; i != endpoints; ++i) ports.push_back(std::make_unique<AmPort>(*this, i + 1));
    for (auto& port : ports) machines.push_back(std::make_unique<Machine>(*port, limits, member));
  }
  ~AmWorld() { machines.clear(); }
  AmWorld(const AmWorld&) = delete;
  AmWorld& operator=(const AmWorld&) = delete;

  Machine& at(std::size_t i) { return *machines[i]; }
  std::size_t size() const { return ports.size(); }
  bool alive(std::size_t i) const { return !ports[i]->dead && machines[i] != nullptr; }

  struct Flight {
    enum class Kind { message, put, hello };
    Kind kind{};
    std::uint64_t from = 0, to = 0;
    std::uint32_t slot = 0;
    std::vector<std::byte> data = {};
    std::uint64_t word = 0, offset = 0, token = 0;
  };
  void send(Flight flight) { flights.push_back(std::move(flight)); }
  bool no_room() { return chance() % 100 < crowded; }
  bool linked(std::uint64_t one, std::uint64_t other) const { return !port(one).dead && !port(other).dead; }
  std::uint64_t& serial(std::uint64_t one, std::uint64_t other) { return links[std::minmax(one, other)]; }

  // One thing that is on its way arrives. False: there is none.
  bool arrive() {
    if (flights.empty()) return false;
    std::size_t which = chance() % flights.size();
    if (in_order)  // the first between those two
      which = static_cast<std::size_t>(
          std::ranges::find_if(flights,
                               [&, from = flights[which].from, to = flights[which].to](const Flight& each) {
                                 return each.from == from && each.to == to;
                               }) -
          flights.begin());
    else if (flights[which].kind == Flight::Kind::put)  // puts to one slot keep theirs
      which = static_cast<std::size_t>(std::ranges::find_if(flights,
                                                            [&, like = flights[which]](const Flight& each) {
                                                              return each.kind == like.kind &&
                                                                     each.from == like.from &&
                                                                     each.to == like.to;
                                                            }) -
                                       flights.begin());
    const Flight flight = std::move(flights[which]);
    flights.erase(flights.begin() + static_cast<std::ptrdiff_t>(which));
    land(flight);
    return true;
  }
  // Loses what is on its way.
  void lose() { flights.clear(); }
  // An endpoint that begins anew, before it has greeted anybody, as a member of another job or of none.
  void become(std::size_t i, const std::optional<Membership>& member) {
    const Limits limits = machines[i]->limits();
    machines[i] = nullptr;
    machines[i] = std::make_unique<Machine>(*ports[i], limits, member);
  }
  // A process ends: what it has said and was to hear is lost, and the others are told.
  void kill(std::size_t i) {
    ports[i]->dead = true;
    for (std::size_t other = 0; other != ports.size(); ++other) cut(i, other);
  }
  // An endpoint goes, and its process stays.
  void free(std::size_t i) {
    machines[i].reset();
    ports[i]->closed = true;
  }
  // The link between two ends: what is on its way by it is lost. They may have another.
  void cut(std::size_t i, std::size_t other) {
    const std::uint64_t one = i + 1, two = other + 1;
    std::erase_if(flights, [&](const Flight& flight) {
      const bool lost = (flight.from == one && flight.to == two) || (flight.from == two && flight.to == one);
      if (lost && flight.kind == Flight::Kind::hello && flight.token != 0)
        port(flight.from).events.push_back({.kind = AmPort::Event::Kind::said, .token = flight.token});
      return lost;
    });
    ++serial(one, two);
    port(one).events.push_back({.kind = AmPort::Event::Kind::link_ended, .peer = two});
    if (one != two) port(two).events.push_back({.kind = AmPort::Event::Kind::link_ended, .peer = one});
  }

  // Handles what is next at an endpoint, as a bundle's poll does. False: nothing was there.
  bool poll(std::size_t i) {
    Machine& machine = at(i);
    if (machine.has_returned()) {
      on_return(i, machine.take_returned());
      return true;
    }
    Machine::Delivery delivery;
    if (machine.restless()) {
      machine.step();
      const bool early = machine.has_early();
      if (machine.hear_early(delivery)) {
        EXPECT_TRUE(early) << "a sleeper would not have looked";
        handle(i, delivery);
        return true;
      }
    }
    AmPort& port = *ports[i];
    if (port.events.empty()) return false;
    const AmPort::Event event = std::move(port.events.front());
    port.events.pop_front();
    switch (event.kind) {
      case AmPort::Event::Kind::message: {
        const auto found = port.landings.find(event.slot);
        if (found == port.landings.end()) break;
        auto& pair = *static_cast<Machine::Other*>(found->second->pair);
        if (machine.hear(pair, event.come, delivery)) handle(i, delivery);
        break;
      }
      case AmPort::Event::Kind::hello:
        machine.hear_hello(event.peer, event.bytes);
        break;
      case AmPort::Event::Kind::said:
        machine.hear_said(event.token, event.slot != 0, event.cause);
        break;
      case AmPort::Event::Kind::link_ended:
        machine.hear_link_ended(event.peer);
        break;
    }
    return true;
  }
  void handle(std::size_t i, Machine::Delivery& delivery) {
    if (delivery.kind == Kind::get) {
      const Leaving leaving{.kind = Kind::reply_long,
                            .handler = delivery.handler,
                            .arguments = {delivery.arguments.data(), delivery.count},
                            .data = delivery.data,
                            .offset = delivery.offset};
      static_cast<void>(at(i).reply_long(delivery, leaving));
    } else {
      on_message(i, delivery);
    }
    at(i).finish(delivery);
  }
  // Everything arrives and is handled, as far as it goes.
  void settle() {
    for (int quiet = 0; quiet != 4;) {
      bool moved = arrive();
      for (std::size_t i = 0; i != size(); ++i)
        if (alive(i)) moved |= poll(i);
      quiet = moved ? 0 : quiet + 1;
    }
  }

  AmPort& port(std::uint64_t id) const { return *ports[id - 1]; }
  std::mt19937_64 chance;
  const bool in_order;
  unsigned crowded = 0;     // of a hundred sends, so many find no room
  bool quick_news = false;  // each knows at once of slots that have gone
  std::function<void(std::size_t, Machine::Delivery&)> on_message = [](std::size_t, Machine::Delivery&) {};
  std::function<void(std::size_t, const Returned&)> on_return = [](std::size_t, const Returned&) {};

 private:
  void land(const Flight& flight) {
    AmPort& to = port(flight.to);
    if (flight.kind == Flight::Kind::hello) {
      if (to.closed) {
        if (flight.token != 0)
          port(flight.from)
              .events.push_back(
                  {.kind = AmPort::Event::Kind::said, .token = flight.token, .cause = Refusal::bad_slot});
        return;
      }
      to.events.push_back({.kind = AmPort::Event::Kind::hello, .peer = flight.from, .bytes = flight.data});
      if (flight.token != 0)
        port(flight.from)
            .events.push_back({.kind = AmPort::Event::Kind::said, .slot = 1, .token = flight.token});
      return;
    }
    if (flight.kind == Flight::Kind::put) {
      const auto found = to.windows.find(flight.slot);
      if (found == to.windows.end()) return refuse(flight);
      std::ranges::copy(flight.data,
                        found->second->memory.begin() + static_cast<std::ptrdiff_t>(flight.offset));
      found->second->count += flight.data.size();
      return;
    }
    const auto found = to.landings.find(flight.slot);
    if (found == to.landings.end()) return refuse(flight);
    std::byte* const at = found->second->memory.data() + flight.offset;
    std::ranges::copy(flight.data, at);
    const std::uint32_t weight =
        std::max(units_of(flight.data.size()), 1u) * unit_weight(found->second->memory.size());
    to.events.push_back({.kind = AmPort::Event::Kind::message,
                         .peer = flight.from,
                         .slot = flight.slot,
                         .come = {flight.word, {at, flight.data.size()}, weight}});
  }
  void refuse(const Flight& flight) { port(flight.from).gone.insert({flight.to, flight.slot}); }

  std::vector<std::unique_ptr<AmPort>> ports;
  std::vector<std::unique_ptr<Machine>> machines;
  std::deque<Flight> flights;
  std::map<std::pair<std::uint64_t, std::uint64_t>, std::uint64_t> links;
};

inline AmPort::Window::Window(AmPort& port, std::span<std::byte> of)
    : memory(of), port_(port), number_(port.next_number++) {
  port_.windows[number_] = this;
}
inline AmPort::Window::~Window() { port_.windows.erase(number_); }
inline Ticket AmPort::Window::ticket() const { return port_.ticket(number_, Ticket::kFast, memory.size()); }

inline AmPort::Landing::Landing(AmPort& of, void* whose, std::size_t bytes)
    : port(of), pair(whose), number(of.next_number++), memory(bytes) {
  port.landings[number] = this;
}
inline AmPort::Landing::~Landing() { port.landings.erase(number); }
inline Ticket AmPort::Landing::ticket() const { return port.ticket(number, Ticket::kFast, memory.size()); }

inline bool AmPort::knows_gone(const Ticket& ticket) const {
  const AmPort& owner = world.port(ticket.interface);
  const bool there = owner.landings.contains(ticket.slot) || owner.windows.contains(ticket.slot);
  return gone.contains({ticket.interface, ticket.slot}) || (world.quick_news && !there);
}
inline Sent AmPort::Way::send(std::uint64_t word, std::span<const std::byte> bytes, Record& record) {
  if (!port_.world.linked(port_.id, to_.interface)) return Sent::ended;
  if (port_.knows_gone(to_)) return Sent::gone;
  const std::uint32_t units = std::max(units_of(bytes.size()), 1u);
  std::uint32_t at = 0;
  if (!ring_[use_].take(units, at, record.taken)) return Sent::no_room;
  record.ring = use_;
  if (port_.world.no_room()) {
    ring_[use_].give_back(at, units, record.taken);
    return Sent::no_room;
  }
  port_.world.send({AmWorld::Flight::Kind::message,
                    port_.id,
                    to_.interface,
                    to_.slot,
                    {bytes.begin(), bytes.end()},
                    word,
                    std::uint64_t{at} * kUnit});
  return Sent::ok;
}
inline Sent AmPort::Way::send_bare(std::uint64_t word) {
  if (!port_.world.linked(port_.id, to_.interface)) return Sent::ended;
  if (port_.knows_gone(to_)) return Sent::gone;
  if (port_.world.no_room()) return Sent::no_room;
  port_.world.send({AmWorld::Flight::Kind::message, port_.id, to_.interface, to_.slot, {}, word});
  return Sent::ok;
}
inline Status AmPort::Way::put(const Ticket& ticket, std::span<const std::byte> data, std::uint64_t offset,
                               SendHandle&) {
  if (!port_.world.linked(port_.id, ticket.interface)) return Status::link_ended;
  if (port_.knows_gone(ticket)) return Status::stale;
  port_.world.send({AmWorld::Flight::Kind::put,
                    port_.id,
                    ticket.interface,
                    ticket.slot,
                    {data.begin(), data.end()},
                    0,
                    offset});
  return Status::ok;
}
inline Status AmPort::say(const Ticket& door, std::span<const std::byte> bytes, std::uint64_t token,
                          SendHandle&) {
  if (!world.linked(id, door.interface)) return Status::link_ended;
  if (world.no_room()) return Status::queue_full;
  if (world.quick_news && world.port(door.interface).closed) return Status::stale;
  world.send(
      {AmWorld::Flight::Kind::hello, id, door.interface, 0, {bytes.begin(), bytes.end()}, 0, 0, token});
  return Status::pending;
}
inline std::uint64_t AmPort::link(std::uint64_t peer) {
  return world.linked(id, peer) ? world.serial(id, peer) + 1 : 0;
}
inline std::uint64_t AmPort::random() { return world.chance() | 1; }

}  // namespace hamlyn::test
