#pragma once
// An endpoint's way to the interface by slots: each other endpoint has a landing ring here, a slot in fast
// mode whose places it manages itself. What is made here goes before the queue.
//
// A short message is one packet: up to four arguments stand in the cache line of its header.
#include <algorithm>
#include <chrono>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "am/address_space.h"
#include "am/door.h"
#include "am/machine.h"
#include "am/ring.h"
#include "base/namespaces.h"
#include "hamlyn/core/message_area.h"
#include "hamlyn/core/notification_queue.h"
#include "hamlyn/core/slot.h"
#include "hamlyn/core/terminus.h"
#include "hamlyn/values/put.h"
#include "library/slot_number.h"
#include "library/wait/waiting.h"
#include "library/with_memory.h"

namespace hamlyn::internal_::am {

inline constexpr std::size_t kPage = 4096;
inline constexpr std::uint32_t kHallPlaces = 16384;

class SlotsPort {
  struct Hall;

 public:
  using Event = Notification;

  // Throws Error.
  SlotsPort(Interface& interface, hamlyn::am::Way /*slots*/)
      : interface_(interface),
        first_(halls_.emplace_back(interface).queue),
        terminus_(interface, {.entries = 1024}),
        door_(interface, first_) {}

  static constexpr hamlyn::am::Way way() noexcept { return hamlyn::am::Way::slots; }
  // Whether an honest side may greet so.
  static bool may_greet(const Hello& hello) noexcept {
    const bool short_ring = hello.ring.bound >= kSmallRing && hello.ring.bound <= kMostRing;
    return short_ring && hello.ring_bytes >= kLeastRing && hello.ring_bytes <= kMostRing;
  }

  // The pages that a segment lies in.
  class Area {
   public:
    Area(Interface& interface, std::span<std::byte> memory)
        : first_(memory.data() - reinterpret_cast<std::uintptr_t>(memory.data()) % kPage),
          area_(interface, {first_, pages(memory)}) {}
    MessageArea& area() noexcept { return area_; }
    std::size_t offset(const std::byte* at) const noexcept { return static_cast<std::size_t>(at - first_); }

   private:
    std::size_t pages(std::span<std::byte> memory) const noexcept {
      return (offset(memory.data()) + memory.size() + kPage - 1) / kPage * kPage;
    }

    std::byte* const first_;
    MessageArea area_;
  };
  // Where one other endpoint may put data in the segment.
  class Window {
   public:
    Window(Area& area, NotificationQueue& queue, std::span<std::byte> memory)
        : slot_(area.area(), queue,
                {.base = area.offset(memory.data()),
                 .bound = memory.size(),
                 .access = Access::write_only,
                 .fast = false,
                 .places = 0,
                 .puts = true,
                 .hold = 0}) {
      static_cast<void>(slot_.set_control(Control::never));  // cannot fail: it takes puts
    }
    Ticket ticket() const { return slot_.ticket(); }
    std::uint64_t landed() const noexcept { return slot_.landed(); }

   private:
    Slot slot_;
  };

  // There and back between this endpoint and another.
  class Way {
   public:
    Way(SlotsPort& port, void* pair, const Limits& limits) : port_(port), pair_(pair), limits_(limits) {
      shorter_.emplace(port, pair, kSmallRing, static_cast<std::uint32_t>(kSmallRing / kUnit));
    }

    // Writes into a hello where messages to this side land.
    void describe(Hello& hello) const {
      hello.ring = on_wire(shorter_->slot.ticket());
      hello.ring_bytes = limits_.ring;
    }
    // Makes the longer ring, in which messages may land from here on. False: there is one, or no memory.
    bool lengthen(std::size_t bytes, Ticket& out) noexcept {
      if (longer_ || bytes <= kSmallRing) return false;
      try {
        longer_.emplace(port_, pair_, bytes, 2 * limits_.credits + 16);
        out = longer_->slot.ticket();
        return true;
      } catch (const std::exception&) {
        return false;
      }
    }

    // Messages leave to where the other side has said that they land.
    void aim(std::uint64_t peer, std::uint64_t /*own_session*/, const Hello& hello) noexcept {
      to_ = ticket_of(hello.ring, peer, Ticket::kFast);
      ring_[0] = Ring(static_cast<std::uint32_t>(to_.bound / kUnit));
      longest_ = hello.ring_bytes;
    }
    // False: no honest side has such a longer ring.
    bool aim_longer(const Ticket& ring) noexcept {
      if (ring.bound < longest_ || ring.bound > kMostRing) return false;
      to_ = ring;
      ring_[1] = Ring(static_cast<std::uint32_t>(ring.bound / kUnit));
      use_ = 1;
      return true;
    }
    // Both sides have said bye.
    void part() noexcept {}
    // Whether a longer ring is worth asking for.
    bool is_short() const noexcept { return use_ == 0 && longest_ > to_.bound; }
    // The bytes of a message that has come are needed no more: its sender learns of that by a word.
    void free(std::uint32_t /*place*/) noexcept {}

    __attribute__((always_inline)) Sent send(std::uint64_t word, std::span<const std::byte> bytes,
                                             Record& record) noexcept {
      const std::uint32_t units = short_units(bytes.size());
      std::uint32_t at;
      Ring& ring = ring_[use_];
      if (!ring.take(units, at, record.taken)) [[unlikely]]
        return Sent::no_room;
      record.ring = use_;
      const Status status = port_.terminus_.send_fast(to_, bytes, word, std::uint64_t{at} * kUnit);
      if (status == Status::ok) [[likely]]
        return Sent::ok;
      ring.give_back(at, units, record.taken);
      return how(status);
    }
    // Takes no room.
    Sent send_bare(std::uint64_t word) noexcept { return how(port_.terminus_.send_fast(to_, {}, word, 0)); }
    __attribute__((always_inline)) void done(const Record& record) noexcept {
      ring_[record.ring].free(record.taken);
    }
    Status put(const Ticket& ticket, std::span<const std::byte> data, std::uint64_t offset,
               SendHandle& handle) noexcept {
      handle = {};
      return port_.terminus_.put(ticket, data, {.offset = offset}, &handle);
    }
    Status status(const SendHandle& handle) const noexcept { return port_.terminus_.status(handle); }
    // Puts, and waits until the data is the caller's again. Not ok: it never will leave.
    Status put_waiting(const Ticket& ticket, std::span<const std::byte> data, std::uint64_t offset) noexcept {
      return port_.terminus_.put(ticket, data, {.offset = offset}, std::chrono::nanoseconds::max());
    }
    // The data is the caller's again. Cannot fail: no part of it lies in an area that others read.
    void cancel(const SendHandle& handle) noexcept { static_cast<void>(port_.terminus_.cancel(handle)); }

   private:
    struct Landing {
      Landing(SlotsPort& of, void* pair, std::size_t bytes, std::uint32_t places_for_it)
          : port(of),
            places(places_for_it),
            hall(of.hall_for(places)),
            area(of.interface_, bytes),
            slot(area, hall.queue, {.access = Access::write_only, .places = places}) {
        port.know({slot.number(), unit_weight(bytes), pair, area.bytes().data()});
        hall.used += places;
      }
      ~Landing() {
        hall.used -= places;
        port.forget(slot.number());
      }
      Landing(const Landing&) = delete;
      Landing& operator=(const Landing&) = delete;

      SlotsPort& port;
      const std::uint32_t places;
      Hall& hall;
      MessageArea area;
      Slot slot;
    };

    static Sent how(Status status) noexcept {
      switch (status) {
        case Status::ok:
          return Sent::ok;
        case Status::connecting:
        case Status::queue_full:
        case Status::no_place:
          return Sent::no_room;
        case Status::refused:  // the slot, or a link
        case Status::stale:
          return Sent::gone;
        default:
          return Sent::ended;
      }
    }

    SlotsPort& port_;
    void* const pair_;
    const Limits limits_;
    std::optional<Landing> shorter_, longer_;
    Ticket to_;
    Ring ring_[2];
    std::uint8_t use_ = 0;
    std::size_t longest_ = 0;
  };

  // Throws Error, std::bad_alloc.
  std::unique_ptr<Way> make_way(void* pair, const Limits& limits) {
    return std::make_unique<Way>(*this, pair, limits);
  }
  // Null: the memory is not there, or not to be written, or there is none for it.
  std::unique_ptr<Area> make_area(std::span<std::byte> memory) noexcept {
    return library::or_null([&] { return std::make_unique<Area>(interface_, memory); });
  }
  std::unique_ptr<Window> make_window(Area& area, std::span<std::byte> memory) noexcept {
    return library::or_null([&] { return std::make_unique<Window>(area, first_, memory); });
  }
  // Nothing reads that data any more, whose way has gone.
  void give_up(const SendHandle& handle) noexcept {
    if (handle.sequence != 0) static_cast<void>(terminus_.cancel(handle));  // or it is over
  }
  Door& door() noexcept { return door_; }
  using Memory = AddressSpace;
  static constexpr std::uint32_t links_of_pair() noexcept { return 1; }

  // --- what the queues tell

  // The next notification, if there is one.
  __attribute__((always_inline)) bool poll(Notification& next) noexcept {
    if (first_.poll({&next, 1}) != 0) return true;
    return halls_.size() > 1 && poll_further(next);
  }
  // Takes the next of those that stand there, without a run of the interface.
  bool take(library::Waiting& waiting, Notification& next) noexcept {
    const library::Lock lock(waiting);
    return lock && std::ranges::any_of(
                       halls_, [&](Hall& hall) { return hall.queue.take(lock.held(), next) == Status::ok; });
  }
  // Whether a handler may have to be called for it.
  bool is_message(const Notification& next) const noexcept {
    const std::size_t index = library::slot_index(next.slot);
    return next.kind == Notification::Kind::message && index < by_slot_.size() &&
           by_slot_[index].number == next.slot && by_slot_[index].pair != nullptr &&
           word_of(next.word).kind != Kind::acknowledge && word_of(next.word).kind <= Kind::returned;
  }

  // Tells a machine what a notification says. True: `out` is to be handled.
  template <class M>
  __attribute__((always_inline)) bool hear(M& machine, const Notification& next,
                                           typename M::Delivery& out) noexcept {
    const std::size_t index = library::slot_index(next.slot);
    if ((next.kind == Notification::Kind::message) & (index < by_slot_.size())) [[likely]] {
      const Known& known = by_slot_[index];
      auto* const pair = static_cast<typename M::Other*>(known.pair);
      if ((known.number == next.slot) & (pair != nullptr)) [[likely]] {
        if (pair->peer != next.peer) [[unlikely]]
          return false;
        const auto length = static_cast<std::size_t>(next.length);
        const std::uint32_t units = short_units(length);
        return machine.hear(*pair, {next.word, {known.memory + next.offset, length}, units * known.weight},
                            out);
      }
    }
    door_.hear(machine, next);
    return false;
  }

 private:
  // A queue, and how many of its places are promised.
  struct Hall {
    explicit Hall(Interface& interface) : queue(interface, kHallPlaces) {}
    NotificationQueue queue;
    std::uint32_t used = 0;
  };
  // Mostly one. A message without bytes takes one, too.
  static std::uint32_t short_units(std::size_t bytes) noexcept {
    if (bytes <= kUnit) [[likely]]
      return 1;
    return units_of(bytes);
  }
  struct Known {
    std::uint32_t number = 0;
    std::uint32_t weight = 0;  // of a unit
    void* pair = nullptr;
    std::byte* memory = nullptr;
  };

  // Throws Error, std::bad_alloc.
  Hall& hall_for(std::uint32_t places) {
    for (Hall& hall : halls_)
      if (hall.used + places <= kHallPlaces - kHallPlaces / 8) return hall;  // others have places there, too
    return halls_.emplace_back(interface_);
  }
  bool poll_further(Notification& next) noexcept {
    return std::ranges::any_of(halls_, [&](Hall& hall) { return hall.queue.poll({&next, 1}) != 0; });
  }
  void know(const Known& landing) {
    const std::size_t index = library::slot_index(landing.number);
    if (by_slot_.size() <= index) by_slot_.resize(index + 1);
    by_slot_[index] = landing;
  }
  void forget(std::uint32_t slot) noexcept { by_slot_[library::slot_index(slot)] = {}; }

  Interface& interface_;
  std::deque<Hall> halls_;
  NotificationQueue& first_;
  std::vector<Known> by_slot_;
  Terminus terminus_;
  Door door_;
};

}  // namespace hamlyn::internal_::am
