#pragma once
// Messages to the doors of other NICs, until they are there. Those to one interface leave in their order.
#include <algorithm>
#include <cstdint>
#include <iterator>
#include <list>
#include <span>
#include <vector>

#include "base/namespaces.h"
#include "hamlyn/values/notification.h"
#include "hamlyn/values/send.h"
#include "hamlyn/values/status.h"
#include "vi/vi_wire.h"

namespace hamlyn::internal_::vi {

// Messages that wait for one interface, and for all: beyond these, news that may be lost is.
inline constexpr std::size_t kMostOfOne = 256;
inline constexpr std::size_t kMostMessages = 16384;
inline constexpr std::size_t kBeyond = 8;  // times as many of those that may not be lost
// Marks the outbox's own among the words of notifications.
inline constexpr std::uint64_t kOutboxWord = std::uint64_t{1} << 63;

template <class Port>
class Outbox {
 public:
  explicit Outbox(Port& port) noexcept : port_(port) {}

  // News of a right takes the place of older news of it. Of messages that are too many, those are dropped
  // that may be lost, the oldest first. Throws std::bad_alloc.
  void add(const Ticket& to, const Message& message, bool may_be_lost = false) {
    if (message.say == Say::grant || message.say == Say::revoke)
      all_.remove_if([&](const Out& out) {
        const bool older = !out.under_way && says_before(out, to, message);
        if (older) may_be_lost = may_be_lost && out.may_be_lost;  // somebody may wait for it
        return older;
      });
    const auto of_one = static_cast<std::size_t>(
        std::ranges::count(all_, to.interface, [](const Out& out) { return out.to.interface; }));
    if (of_one >= kMostOfOne || all_.size() >= kMostMessages) {
      const auto oldest = std::ranges::find_if(all_, [&](const Out& out) {
        return out.may_be_lost && !out.under_way && out.to.interface == to.interface;
      });
      if (oldest != all_.end())
        all_.erase(oldest);
      else if (may_be_lost || of_one >= kBeyond * kMostOfOne || all_.size() >= kBeyond * kMostMessages)
        return;
    }
    Out& out = all_.emplace_back();
    out.may_be_lost = may_be_lost;
    out.to = to;
    out.on_wire = protocols::in_wire_order(message);
    out.word = kOutboxWord | ++last_;
  }
  // Sends what can leave. `lost(to, message)`, which adds nothing, hears of what never will.
  template <class Lost>
  void pump(Lost lost) {
    waiting_.clear();
    for (auto out = all_.begin(); out != all_.end();) {
      const auto next = std::next(out);
      if (!out->under_way && std::ranges::find(waiting_, out->to.interface) == waiting_.end())
        leave(out, lost);
      out = next;
    }
  }
  // A notification with a word of the outbox's.
  template <class Lost>
  void hear(const Notification& end, Lost lost) {
    const auto out = std::ranges::find(all_, end.word, &Out::word);
    if (out == all_.end()) return;
    const bool busy = end.kind == Notification::Kind::send_failed && end.cause == Refusal::no_buffer;
    if (busy) {
      out->under_way = false;
      return;
    }
    if (end.kind == Notification::Kind::send_failed)
      lose(out, lost);
    else
      all_.erase(out);
  }
  bool empty() const noexcept { return all_.empty(); }
  // Whether something may leave at the next try.
  bool owes() const noexcept {
    return std::ranges::any_of(all_, [](const Out& out) { return !out.under_way; });
  }

 private:
  struct Out {
    Ticket to;
    Message on_wire;
    std::uint64_t word = 0;
    bool under_way = false;
    bool may_be_lost = false;
  };

  using Place = typename std::list<Out>::iterator;

  // Whether it is older news of the right that `message` is about.
  static bool says_before(const Out& out, const Ticket& to, const Message& message) noexcept {
    const Message other = protocols::in_wire_order(out.on_wire);
    return (other.say == Say::grant || other.say == Say::revoke) && other.handle == message.handle &&
           other.from_session == message.from_session && out.to.interface == to.interface;
  }

  template <class Lost>
  void leave(Place out, Lost lost) {
    switch (port_.say(out->to, std::as_bytes(std::span{&out->on_wire, 1}), out->word)) {
      case Status::pending:
        out->under_way = true;
        break;
      case Status::ok:
        all_.erase(out);
        break;
      case Status::connecting:
      case Status::queue_full:
      case Status::no_place:
        waiting_.push_back(out->to.interface);
        break;
      default:
        lose(out, lost);
    }
  }
  template <class Lost>
  void lose(Place out, Lost lost) {
    const Ticket to = out->to;
    const Message message = protocols::in_wire_order(out->on_wire);
    all_.erase(out);
    lost(to, message);
  }

  Port& port_;
  std::list<Out> all_;  // what is under way stays where it is
  std::uint64_t last_ = 0;
  std::vector<std::uint64_t> waiting_;  // interfaces, of one pump
};

}  // namespace hamlyn::internal_::vi
