#pragma once
// An endpoint's way to the interface over VIs (paper 2, section 5): each other endpoint has a VI here, or in
// the paper's first design three, with receives for all that it may send. One completion queue has all
// receives, another all sends; receives are looked at first.
//
// Below is a NIC's machine (vi/machine.h) and not a Nic: one lock, the bundle's, guards both. It hears its
// own notifications from the same queue as the endpoint's door does.
#include <algorithm>
#include <array>
#include <chrono>
#include <deque>
#include <exception>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "am/address_space.h"
#include "am/answer_times.h"
#include "am/door.h"
#include "am/machine.h"
#include "am/vi_memory.h"
#include "am/vi_word.h"
#include "base/namespaces.h"
#include "library/wait/deadline.h"
#include "library/wait/waiting.h"
#include "library/with_memory.h"
#include "vi/lane_nic.h"

namespace hamlyn::internal_::am {

inline constexpr std::size_t kViPlaces = std::size_t{1} << 14;    // of the queue
inline constexpr std::size_t kWritePiece = std::size_t{1} << 29;  // bytes of one RDMA write

inline vi::LaneSize size_of(const LaneShape& lane) noexcept {
  return {lane.receives(), lane.sends(), lane.bytes, lane.weight()};
}

class ViPort {
 public:
  // Throws Error, std::bad_alloc.
  ViPort(Interface& interface, hamlyn::am::Way way)
      : interface_(interface),
        way_(way),
        lanes_(interface, kViPlaces),
        registrations_(lanes_.machine(), lanes_.roots().tag),
        door_(interface, lanes_.queue()) {}
  // The ways have gone, and with them their VIs.
  ~ViPort() {
    registrations_.forget_all();
    lanes_.step();
  }
  ViPort(const ViPort&) = delete;
  ViPort& operator=(const ViPort&) = delete;

  hamlyn::am::Way way() const noexcept { return way_; }
  // Whether an honest side may greet so.
  static bool may_greet(const Hello& hello) noexcept { return hello.credits <= kMostViCredits; }

  using Area = ViArea;
  using Window = ViWindow;

  // There and back between this endpoint and another.
  class Way {
   public:
    // Throws std::bad_alloc.
    Way(ViPort& port, void* pair, const Limits& limits) : port_(port) {
      try {
        for (std::uint32_t i = 0; i != lanes_of(port.way_); ++i) {
          const vi::LaneSize shape = size_of(lane_shape(port.way_, i, limits.credits));
          port.lanes_.make_room_for(shape);
          lanes_[i] = std::make_unique<vi::Lane>(port.lanes_.roots(), pair, i, shape);
          port.lanes_.know(lanes_[i]->in(), *lanes_[i]);
        }
      } catch (...) {
        leave();
        throw;
      }
    }
    ~Way() { leave(); }
    Way(const Way&) = delete;
    Way& operator=(const Way&) = delete;

    // Writes into a hello where this side's NIC hears.
    void describe(Hello& hello) const { hello.ring = on_wire(port_.lanes_.door()); }
    // Both sides ask for each other's VIs, whose addresses are their sessions.
    void aim(std::uint64_t peer, std::uint64_t own_session, const Hello& hello) noexcept {
      peer_ = peer;
      const Ticket door = ticket_of(hello.ring, peer, Ticket::kPosted);
      const bool self = peer == port_.door_.ticket().interface && hello.session == own_session;
      for (std::uint32_t i = 0; i != lanes_of(port_.way_); ++i) {
        vi::Lane& lane = *lanes_[i];
        port_.lanes_.forget_late(lane);
        lane.connect(address(own_session, i, false), address(hello.session, i, self), door,
                     lane_shape(port_.way_, i, hello.credits).room, self);
        port_.lanes_.know(lane.out(), lane);
      }
      port_.lanes_.step();
    }
    // Both sides have said bye.
    void part() noexcept {
      for (auto& lane : lanes_)
        if (lane != nullptr) lane->part();
    }
    static bool lengthen(std::size_t, Ticket&) noexcept { return false; }
    static bool aim_longer(const Ticket&) noexcept { return false; }
    static bool is_short() noexcept { return false; }

    __attribute__((always_inline)) Sent send(std::uint64_t word, std::span<const std::byte> bytes,
                                             Record& record) noexcept {
      const Word said = word_of(word);
      const std::size_t index = lane_of(port_.way_, said.kind);
      vi::Lane& lane = *lanes_[index];
      if (!lane.has_room() || !may_send(lane)) [[unlikely]]
        return no_room();
      const bool left =
          is_packed(said.kind) ? lane.send_packed(packed(said), bytes) : lane.send_whole(word, bytes);
      if (!left) [[unlikely]]
        return no_room();
      lane.take_room();
      port_.lanes_.note_sent();
      record.taken = 1;
      record.ring = static_cast<std::uint8_t>(index);
      return Sent::ok;
    }
    // Takes no room, and a receive that is there for it.
    Sent send_bare(std::uint64_t word) noexcept {
      vi::Lane& lane = last();
      return may_send(lane) && lane.send_whole(word, {}) ? Sent::ok : no_room();
    }
    __attribute__((always_inline)) void done(const Record& record) noexcept {
      lanes_[record.ring]->give_room();
    }
    // The bytes of a message that has come are needed no more: its receive will be posted anew.
    __attribute__((always_inline)) void free(std::uint32_t place) noexcept {
      port_.lanes_.post_later(*lanes_[place >> kLaneAt], place & kPlaceMask);
    }

    // --- data of long messages: in front of the message, by the same VI

    Status put(const Ticket& ticket, std::span<const std::byte> data, std::uint64_t offset,
               SendHandle& handle) noexcept {
      handle = {};
      if (data.empty()) return Status::ok;
      vi::Lane& lane = last();
      const std::size_t pieces = (data.size() + kWritePiece - 1) / kWritePiece;
      if (!may_send(lane) || lane.sends_left() < pieces)
        return is_over(no_room()) ? Status::link_ended : Status::queue_full;
      const vi::MemoryHandle own = port_.registered(data);
      if (own == 0) return Status::no_place;
      for (std::size_t at = 0; at != data.size();) {
        const std::size_t length = std::min(kWritePiece, data.size() - at);
        const vi::Segment to{ticket.key + offset + at, ticket.slot, 0};
        const vi::Segment from{reinterpret_cast<std::uintptr_t>(data.data() + at), own,
                               static_cast<std::uint32_t>(length)};
        if (!lane.write(to, from)) {
          lane.break_off();  // a part of it may have left
          return Status::link_ended;
        }
        at += length;
      }
      handle = {lane.posted(), 1};
      return Status::pending;
    }
    Status status(const SendHandle& handle) noexcept {
      port_.lanes_.reap();
      return last().reaped() >= handle.sequence || last().over() ? Status::ok : Status::pending;
    }
    // Puts, and waits until the data is the caller's again. Not ok: it never will leave, or the other side's
    // NIC, which has to be polled there, has not said in time where it may land.
    Status put_waiting(const Ticket& ticket, std::span<const std::byte> data, std::uint64_t offset) noexcept {
      SendHandle handle;
      Status put_so = Status::queue_full;
      const auto look = [&] {
        port_.hear_standing();
        const bool waits = put_so == Status::queue_full || put_so == Status::no_place;
        if (waits) put_so = put(ticket, data, offset, handle);
        if (put_so == Status::queue_full || put_so == Status::no_place) return Status::pending;
        return put_so == Status::pending ? status(handle) : Status::ok;
      };
      if (wait_with_answers(look) != Status::ok) {
        cancel(handle);
        return Status::cancelled;
      }
      if (put_so == Status::pending) put_so = last().over() ? Status::link_ended : Status::ok;
      return put_so;
    }
    // The data is the caller's again. What is under way by a VI ends with its connection alone.
    void cancel(const SendHandle& handle) noexcept {
      if (status(handle) == Status::pending) last().break_off();
    }

    // Why nothing can be sent now.
    Sent no_room() const noexcept {
      const auto all = lanes();
      const auto over = std::ranges::find_if(all, [](const auto& lane) { return lane->over(); });
      if (over == all.end()) return Sent::no_room;
      return (*over)->parted() ? Sent::gone : Sent::ended;
    }

   private:
    static vi::Address address(std::uint64_t session, std::uint32_t lane, bool second) noexcept {
      std::array<std::byte, sizeof session + 2> bytes;
      base::store_little(bytes.data(), session);
      bytes[sizeof session] = static_cast<std::byte>(lane);
      bytes[sizeof session + 1] = static_cast<std::byte>(second);
      return vi::Address::of(0, bytes);
    }
    void leave() noexcept {
      for (auto& lane : lanes_) {
        if (lane != nullptr) port_.lanes_.forget(*lane);
        lane.reset();
      }
      port_.lanes_.step();  // the other side is told
    }
    std::span<const std::unique_ptr<vi::Lane>> lanes() const noexcept {
      return std::span(lanes_).first(lanes_of(port_.way_));
    }
    vi::Lane& last() noexcept { return *lanes_[lanes_of(port_.way_) - 1]; }
    // Waits until `look` is content. The time in which the other side's NIC owes an answer is bounded.
    template <class Look>
    Status wait_with_answers(Look look) noexcept {
      constexpr Status kOtherwise = Status::connecting;  // who is waited for is another now
      library::Waiting& waiting = port_.interface_.waiting();
      const std::uint32_t cancels = waiting.cancels();
      const auto wait = [&](bool answer, library::Deadline deadline) {
        const auto ready = [&] {
          const Status looked = look();
          return looked == Status::pending && last().awaits_answer() != answer ? kOtherwise : looked;
        };
        return waiting.until(ready, deadline, cancels);
      };
      Status waited;
      do {
        if (!last().awaits_answer()) {
          waited = wait(false, {});
          continue;
        }
        const AnswerTimes::Time began = library::Waiting::now();
        waited = wait(true, library::deadline_in(port_.answer_times_.left(peer_, began)));
        const AnswerTimes::Time now = library::Waiting::now();
        port_.answer_times_.spend(peer_, now, now - began);
      } while (waited == kOtherwise);
      return waited;
    }
    // Nothing leaves before all lanes are connected: by then the other side has been sent rights at this
    // one's segment, and this one may compute for as long as it likes.
    bool open() noexcept {
      if (!std::ranges::all_of(lanes(), [](const auto& lane) { return lane->is_connected(); })) return false;
      for (const auto& lane : lanes()) lane->make_ready();
      return true;
    }
    __attribute__((always_inline)) bool may_send(vi::Lane& lane) noexcept {
      if (!lane.ready() && !open()) [[unlikely]]
        return false;
      if (lane.has_send()) [[likely]]
        return true;
      port_.lanes_.reap();
      return lane.has_send();
    }

    ViPort& port_;
    std::uint64_t peer_ = 0;  // the other side's interface
    std::array<std::unique_ptr<vi::Lane>, kMostLanes> lanes_;
  };

  // Throws Error, std::bad_alloc.
  std::unique_ptr<Way> make_way(void* pair, const Limits& limits) {
    return std::make_unique<Way>(*this, pair, limits);
  }
  // Null: the memory is not there, or not to be written, or there is none for it.
  std::unique_ptr<Area> make_area(std::span<std::byte> memory) noexcept {
    return library::or_null(
        [&] { return std::make_unique<Area>(lanes_.machine(), lanes_.roots().tag, memory); });
  }
  std::unique_ptr<Window> make_window(const Area& area, std::span<std::byte>) noexcept {
    return library::or_null([&] { return std::make_unique<Window>(area); });
  }
  // A VI that goes takes with it what leaves by it.
  static void give_up(const SendHandle&) noexcept {}
  Door& door() noexcept { return door_; }
  using Memory = AddressSpace;
  std::uint32_t links_of_pair() const noexcept { return static_cast<std::uint32_t>(lanes_of(way_)); }

  // --- what the queues tell

  struct Event {
    enum class Kind : std::uint8_t { nothing, message, news };
    Kind kind = Kind::nothing;
    vi::Taken taken;                   // a message, or the end of a VI
    std::optional<Notification> news;  // of no message
  };

  // The next event, if there is one.
  __attribute__((always_inline)) bool poll(Event& next) noexcept {
    lanes_.begin_look();
    if (!lanes_.stands() && later_.empty()) [[likely]] {
      Notification heard;
      if (lanes_.queue().poll_posted(heard) != 0) [[likely]] {
        hear(heard, next);
        return true;
      }
      lanes_.rest();
    }
    return take_standing(next);
  }
  // Takes the next of those that stand there, without a run of the interface.
  bool take(library::Waiting&, Event& next) noexcept {
    Notification heard;
    if (!lanes_.stands() && later_.empty()) {
      if (take_heard(heard)) {
        hear(heard, next);
        return true;
      }
      lanes_.rest();
    }
    return take_standing(next);
  }
  // Whether a handler may have to be called for it.
  bool is_message(const Event& next) noexcept {
    if (next.kind != Event::Kind::message || next.taken.result != vi::Result::success) return false;
    vi::Lane* const lane = lanes_.lane_of(next.taken.vi);
    if (lane == nullptr) return false;
    const Kind kind = kind_of(*lane, *next.taken.descriptor);
    return kind != Kind::acknowledge && kind <= Kind::returned;
  }

  // Tells a machine what an event says. True: `out` is to be handled.
  template <class M>
  __attribute__((always_inline)) bool hear(M& machine, const Event& next,
                                           typename M::Delivery& out) noexcept {
    if (next.kind == Event::Kind::message) [[likely]] {
      vi::Lane* const lane = lanes_.lane_of(next.taken.vi);
      if (lane == nullptr) [[unlikely]]
        return false;
      auto& pair = *static_cast<typename M::Other*>(lane->owner);
      if (next.taken.result == vi::Result::success) [[likely]]
        return hear_message(machine, pair, *lane, *next.taken.descriptor, out);
      // Not if that was of an earlier connection.
      if (const Sent sent = pair.way->no_room(); is_over(sent)) machine.hear_way_ended(pair, sent);
      return false;
    }
    if (next.kind == Event::Kind::news) door_.hear(machine, *next.news);
    return false;
  }

 private:
  friend class Way;
  static constexpr unsigned kLaneAt = 16;
  static constexpr std::uint32_t kPlaceMask = 0xFFFF;

  // --- messages

  template <class M>
  __attribute__((always_inline)) bool hear_message(M& machine, typename M::Other& pair, vi::Lane& lane,
                                                   const vi::Descriptor& receive,
                                                   typename M::Delivery& out) noexcept {
    const std::uint32_t place = lane.place_of(&receive);
    Come come{0, lane.bytes_of(receive, place), lane.weight, lane.index << kLaneAt | place};
    if (says_packed(receive)) [[likely]] {
      const PackedFrom from{pair.expected, pair.log.over(), pair.asked.over()};
      const Word word = unpacked(receive.immediate, come.bytes.size(), from);
      if (!is_packed(word.kind)) [[unlikely]]
        return machine.hear_lie(pair);
      come.word = word_of(word);
      come.bytes = come.bytes.first(come.bytes.size() / 4 * 4);
      return machine.hear(pair, come, out);
    }
    return hear_whole(machine, pair, come, out);
  }
  template <class M>
  bool hear_whole(M& machine, typename M::Other& pair, Come& come, typename M::Delivery& out) noexcept {
    if (come.bytes.size() < sizeof come.word) return machine.hear_lie(pair);
    come.word = base::load_little<std::uint64_t>(come.bytes.data());
    come.bytes = come.bytes.subspan(sizeof come.word);
    if (word_of(come.word).kind == Kind::acknowledge && pair.way != nullptr) pair.way->free(come.place);
    return machine.hear(pair, come, out);
  }
  // Whether the word is the immediate data of a send.
  static bool says_packed(const vi::Descriptor& receive) noexcept {
    constexpr std::uint32_t kBits = vi::kHasImmediate | vi::kOfRemoteWrite;  // kOfReceive is a part of that
    return (receive.status & kBits) == (vi::kHasImmediate | vi::kOfReceive);
  }
  static Kind kind_of(vi::Lane& lane, const vi::Descriptor& receive) noexcept {
    if (says_packed(receive)) return static_cast<Kind>(receive.immediate & 0xF);
    const std::span<std::byte> bytes = lane.bytes_of(receive, lane.place_of(&receive));
    return bytes.size() < sizeof(std::uint64_t)
               ? Kind::acknowledge
               : word_of(base::load_little<std::uint64_t>(bytes.data())).kind;
  }

  // --- the NIC

  // News for the machine; all else is the NIC's. Of the end of a link both hear.
  bool is_news(const Notification& heard) const noexcept {
    using What = Notification::Kind;
    switch (heard.kind) {
      case What::message:
      case What::failed:
        return heard.slot == door_number_;
      case What::sent:
      case What::send_failed:
        return heard.word <= kPairNumber;  // words of the NIC's have a VI's number above, or a mark
      default:
        return heard.kind == What::link_ended;
    }
  }
  __attribute__((always_inline)) void hear(const Notification& heard, Event& next) noexcept {
    next.kind = Event::Kind::nothing;
    if (is_news(heard)) [[unlikely]] {
      next.kind = Event::Kind::news;
      next.news = heard;
      if (heard.kind != Notification::Kind::link_ended) return;
    }
    const vi::Taken taken = lanes_.hear(heard);
    if (taken.result == vi::Result::success) [[likely]] {
      next.kind = Event::Kind::message;
      next.taken = taken;
    }
  }
  // An event that was heard already. Messages first: the news may be of the end of their link.
  bool take_standing(Event& next) noexcept {
    if (lanes_.take_standing(next.taken)) {
      next.kind = Event::Kind::message;
      return true;
    }
    if (later_.empty()) return false;
    next.kind = Event::Kind::news;
    next.news = later_.front();
    later_.pop_front();
    return true;
  }
  bool take_heard(Notification& heard) noexcept {
    const library::Lock lock(interface_.waiting());
    return lock && lanes_.queue().take(lock.held(), heard) == Status::ok;
  }
  // Hears what stands there while a call waits in a handler: no handler is called.
  void hear_standing() noexcept {
    constexpr int kMostAtOnce = 64;
    Notification heard;
    for (int left = kMostAtOnce; left != 0 && take_heard(heard); --left) {
      try {
        if (is_news(heard)) later_.push_back(heard);
        if (!is_news(heard) || heard.kind == Notification::Kind::link_ended) lanes_.machine().hear(heard);
      } catch (const std::exception&) {  // as in `hear`
      }
    }
    lanes_.rest();
  }
  // 0: later.
  vi::MemoryHandle registered(std::span<const std::byte> bytes) noexcept {
    if (const vi::MemoryHandle found = registrations_.find(bytes); found != 0) return found;
    lanes_.reap();
    registrations_.forget_unless([this](vi::MemoryHandle own) {
      return lanes_.any_lane([own](const vi::Lane& lane) { return lane.writes_from(own); });
    });
    return registrations_.find(bytes);
  }

  Interface& interface_;
  const hamlyn::am::Way way_;
  vi::LaneNic lanes_;
  Registrations registrations_;
  Door door_;
  const std::uint32_t door_number_ = door_.number();
  AnswerTimes answer_times_;
  std::deque<Notification> later_;  // heard while a call waited in a handler
};

}  // namespace hamlyn::internal_::am
