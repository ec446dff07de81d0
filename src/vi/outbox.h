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

inline constexpr std::size_t kMostOfOne = 256;       // messages that wait for one interface
inline constexpr std::size_t kMostMessages = 16384;  // for all
// Marks the outbox's own among the words of notifications.
inline constexpr std::uint64_t kOutboxWord = std::uint64_t{1} << 63;

template <class Port>
class Outbox {
 public:
  explicit Outbox(Port& port) noexcept : port_(port) {}

  // A message that is one too many is dropped: its receiver takes nothing. Throws std::bad_alloc.
  void add(const Ticket& to, const Message& message) {
    const auto of_one =
        std::ranges::count(all_, to.interface, [](const Out& out) { return out.to.interface; });
    if (of_one >= std::ptrdiff_t{kMostOfOne} || all_.size() >= kMostMessages) return;
    Out& out = all_.emplace_back();
    out.to = to;
    out.message = message;
    out.on_wire = protocols::in_wire_order(message);
    out.word = kOutboxWord | ++last_;
  }
  // Sends what can leave. `lost(to, message)` hears of what never will.
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
    if (busy && !may_be_lost(out->message.say)) {
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
    Message message;
    Message on_wire;
    std::uint64_t word = 0;
    bool under_way = false;
  };

  using Place = typename std::list<Out>::iterator;

  // News of rights that finds a busy door: whoever wants the right asks, or finds that it has gone.
  static bool may_be_lost(Say what) noexcept { return what == Say::grant || what == Say::revoke; }

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
    const Message message = out->message;
    all_.erase(out);
    lost(to, message);
  }

  Port& port_;
  std::list<Out> all_;  // what is under way stays where it is
  std::uint64_t last_ = 0;
  std::vector<std::uint64_t> waiting_;  // interfaces, of one pump
};

}  // namespace hamlyn::internal_::vi
