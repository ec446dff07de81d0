#pragma once
// A NIC without waiting: calls and notifications in, sends and completions out. `Port` is the way to the
// interface (vi/port.h; in tests another). All of it under the NIC's lock.
//
// A VI's receive queue is a slot with posted buffers, so that the interface lands what comes. Its send queue
// leaves in order, as far as there is room (vi/transfers.h has that). Rights to write and read memory are
// slots of their own, for one region and one connection each, so that they end one by one.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <variant>
#include <vector>

#include "base/namespaces.h"
#include "hamlyn/values/notification.h"
#include "vi/objects.h"
#include "vi/outbox.h"
#include "vi/regions.h"
#include "vi/table.h"
#include "vi/vi_wire.h"
#include "vi/work.h"

namespace hamlyn::internal_::vi {

inline constexpr std::uint32_t kDoorBuffers = 256;
inline constexpr std::uint32_t kMostWaiters = 256, kMostRequests = 1024;
inline constexpr std::uint64_t kTokenNumber = 0x7FFFFFFF;  // of the number of a work, in its token
inline constexpr std::uint32_t kEmptyLooks = 2;    // the first may have begun before the last thing had come
inline constexpr std::size_t kMostNotices = 4096;  // that nobody has taken

template <class Port>
class Machine {
 public:
  using Vi = ViObject<Port>;
  using Memory = Region<typename Port::Area>;
  // To be called, under no lock.
  using Notice = std::function<void()>;

  // Throws Error, std::bad_alloc.
  explicit Machine(Port& port) : port_(port), outbox_(port), door_(port.make_inbox(kDoorBuffers, false)) {
    for (std::uint32_t i = 0; i != kDoorBuffers; ++i) open_door(i);
  }
  // Messages that the port still reads go behind it.
  ~Machine() { port_.close(); }
  Machine(const Machine&) = delete;
  Machine& operator=(const Machine&) = delete;

  // --- tags and memory

  Result create_tag(Tag& out) {
    out = regions_.make_tag();
    return out != 0 ? Result::success : Result::error_resource;
  }
  Result destroy_tag(Tag tag) noexcept { return regions_.destroy_tag(tag); }
  Result register_memory(std::span<std::byte> memory, const MemoryAttributes& attributes, MemoryHandle& out);
  // Ends what is under way there with an error; nothing lands there any more.
  Result deregister_memory(const void* address, MemoryHandle handle);
  Result query_memory(const void* address, MemoryHandle handle, MemoryAttributes& out) const noexcept;
  Result set_memory(const void* address, MemoryHandle handle, const MemoryAttributes& attributes);

  // --- VIs

  // `send`, `receive`: completion queues, or 0.
  Result create_vi(const ViAttributes& attributes, std::uint32_t send, std::uint32_t receive,
                   std::uint32_t& out) {
    if (const Result wrong = check(attributes); wrong != Result::success) return wrong;
    if ((send != 0 && queues_.find(send) == nullptr) || (receive != 0 && queues_.find(receive) == nullptr))
      return Result::invalid_parameter;
    out = vis_.make(attributes);
    if (out == 0) return Result::error_resource;
    Vi& vi = *vis_.find(out);
    vi.number = out;
    try {
      vi.outlet = port_.make_outlet();
      restless_.reserve(std::size_t{2} * vis_.count());  // so that no VI is lost when memory runs out
      open_inbox(vi);
    } catch (...) {
      vis_.erase(out);
      throw;
    }
    regions_.use_tag(attributes.tag);
    vi.send_queue = queues_.find(send);
    vi.receive_queue = queues_.find(receive);
    for (QueueObject* const queue : {vi.send_queue, vi.receive_queue})
      if (queue != nullptr) ++queue->users;
    return Result::success;
  }
  Result destroy_vi(std::uint32_t number) noexcept {
    Vi* const vi = vis_.find(number);
    if (vi == nullptr) return Result::invalid_parameter;
    if (vi->state != State::idle) return Result::invalid_state;
    if (!vi->send.empty() || !vi->receive.empty()) return Result::error_resource;
    close_inbox(*vi);
    regions_.leave_tag(vi->attributes.tag);
    for (QueueObject* const queue : {vi->send_queue, vi->receive_queue}) {
      if (queue == nullptr) continue;
      --queue->users;
      queue->entries.remove(number);
    }
    std::erase(restless_, number);
    vis_.erase(number);
    return Result::success;
  }
  Vi* vi(std::uint32_t number) noexcept { return vis_.find(number); }
  Result set_vi(std::uint32_t number, const ViAttributes& attributes) noexcept {
    Vi* const vi = vis_.find(number);
    if (vi == nullptr) return Result::invalid_parameter;
    if (vi->state != State::idle) return Result::invalid_state;
    if (const Result wrong = check(attributes); wrong != Result::success) return wrong;
    if (attributes.reliability != vi->attributes.reliability && !vi->receive.empty())
      return Result::invalid_reliability_level;  // its inbox is of another kind
    regions_.use_tag(attributes.tag);
    regions_.leave_tag(vi->attributes.tag);
    const bool anew = attributes.reliability != vi->attributes.reliability;
    vi->attributes = attributes;
    if (anew) reopen_inbox(*vi);
    return Result::success;
  }

  // --- work (vi/posting.h)

  Result post_send(std::uint32_t number, Descriptor* descriptor, MemoryHandle handle);
  Result post_receive(std::uint32_t number, Descriptor* descriptor, MemoryHandle handle);
  Completed take(std::uint32_t number, Side side) noexcept {
    Vi* const vi = vis_.find(number);
    if (vi == nullptr) return {Result::invalid_parameter, nullptr};
    return queue_of(*vi, side).take();
  }
  // Calls `notify` once, with the next descriptor that is completed, which is taken then.
  Result notify(std::uint32_t number, Side side, WorkQueue::Notify notify) {
    Vi* const vi = vis_.find(number);
    if (vi == nullptr) return Result::invalid_parameter;
    WorkQueue& queue = queue_of(*vi, side);
    if (queue.notify != nullptr) return Result::error_resource;
    queue.notify = std::move(notify);
    tell(*vi, queue);
    return Result::success;
  }

  // --- completion queues (vi/completing.h)

  Result create_queue(std::uint32_t entries, std::uint32_t& out);
  Result destroy_queue(std::uint32_t number) noexcept;
  // Entries that stand there stay.
  Result resize_queue(std::uint32_t number, std::uint32_t entries);
  // Null: no such queue.
  QueueObject* queue(std::uint32_t number) const noexcept { return queues_.find(number); }
  static Completion take_event(QueueObject& queue) noexcept {
    if (queue.entries.empty()) return {};
    const Entry entry = queue.entries.take();
    queue.overrun = false;
    return {Result::success, entry.vi, entry.receive};
  }
  Completion take_event(std::uint32_t number) noexcept {
    QueueObject* const queue = queues_.find(number);
    return queue != nullptr ? take_event(*queue) : Completion{Result::invalid_parameter};
  }
  Result notify_queue(std::uint32_t number, QueueObject::Notify notify);

  // --- connections

  // 0: there are as many as there may be.
  std::uint32_t add_waiter(const Address& local) { return waiters_.make(Waiter{local}); }
  // The request that has come for it, or 0.
  std::uint32_t request_of(std::uint32_t waiter) const noexcept {
    const Waiter* const who = waiters_.find(waiter);
    return who != nullptr ? who->request : 0;
  }
  // Leaves a request that has come for it to the caller.
  void remove_waiter(std::uint32_t waiter) noexcept { waiters_.erase(waiter); }
  const Request* request(std::uint32_t number) const noexcept { return requests_.find(number); }

  Result accept(std::uint32_t number, std::uint32_t with);
  Result reject(std::uint32_t number);
  // Asks whoever waits at `asked`, at the door of its NIC. `outcome` says how it ends.
  Result ask_for(std::uint32_t number, const Address& own, const Address& asked, const Ticket& door);
  // As two do that ask for each other. `knock` follows, if the other's door is known.
  Result peer_request(std::uint32_t number, const Address& own, const Address& asked,
                      std::chrono::steady_clock::time_point until);
  void knock(std::uint32_t number, const Ticket& door) {
    Vi* const vi = vis_.find(number);
    if (vi == nullptr || vi->state != State::connect_pending || !vi->peering) return;
    vi->other.door = door;
    say(*vi, {}, Say::peer_request);
  }
  // As `knock`, of whoever knows who is asked: what comes from there may come before the answer.
  void knock_at(std::uint32_t number, const Ticket& door) {
    if (Vi* const vi = vis_.find(number); vi != nullptr && vi->peering) vi->other.peer = door.interface;
    knock(number, door);
  }
  Result outcome(std::uint32_t number) const noexcept {
    const Vi* const vi = vis_.find(number);
    return vi != nullptr ? vi->outcome : Result::invalid_parameter;
  }
  // Ends what goes on or has failed of a call that connects: the VI is idle again, and what is posted there
  // stays posted.
  void give_up(std::uint32_t number) {
    Vi* const vi = vis_.find(number);
    if (vi == nullptr || vi->state != State::connect_pending) return;
    if (vi->outcome == Result::not_done && vi->other.door.interface != 0 && !vi->peering)
      say(*vi, {}, Say::withdraw);
    reset(*vi);
  }
  // `tells`: the other side, which otherwise ends the connection, too.
  Result disconnect(std::uint32_t number, bool tells = true) {
    Vi* const vi = vis_.find(number);
    if (vi == nullptr) return Result::invalid_parameter;
    if (vi->state == State::connected && tells)
      part(*vi, Reason::done, [&] { to_idle(*vi); });
    else
      to_idle(*vi);
    return Result::success;
  }

  // --- what comes, and what can leave

  void hear(const Notification& next) {
    using Kind = Notification::Kind;
    switch (next.kind) {
      case Kind::message:
      case Kind::failed:
        if (next.slot == door_->number()) return hear_door(next);
        return hear_message(next);
      case Kind::halted:
        return hear_halted(next);
      case Kind::sent:
      case Kind::send_failed:
        if ((next.word & kOutboxWord) != 0)
          return outbox_.hear(next, [this](const Ticket& to, const Message& lost) { never(to, lost); });
        return hear_end(next);
      case Kind::remote_done:
      case Kind::remote_failed:
        return hear_end(next);
      case Kind::link_ended:
        return hear_link(next.peer);
      default:
        return;
    }
  }
  // Hears it for whoever has just found that queue empty: the receive that it completes is taken at once, if
  // it has an entry there. not_done: it was heard, and nothing is taken.
  Taken hear_for(const QueueObject& queue, const Notification& next);
  // Whether `end_forsaken` is to be called by whoever looks and has nothing to hear.
  bool has_forsaken() const noexcept { return empty_looks_left_ != 0; }
  // Ends connections whose other side hears nothing any more, after some looks. True: another look is due.
  bool end_forsaken();
  // Whether `step` may have something to do though nothing has come.
  bool restless() const noexcept { return !restless_.empty() || outbox_.owes(); }
  void step() {
    if (!outbox_.empty()) outbox_.pump([this](const Ticket& to, const Message& lost) { never(to, lost); });
    const std::size_t count = restless_.size();
    for (std::size_t i = 0; i != count; ++i) {
      Vi* const vi = vis_.find(restless_[i]);
      if (vi == nullptr) continue;
      vi->restless = false;
      pump_or_wait(*vi);
    }
    restless_.erase(restless_.begin(), restless_.begin() + static_cast<std::ptrdiff_t>(count));
  }
  // Nothing: there is none.
  std::optional<Notice> take_notice() {
    if (notices_.empty()) return std::nullopt;
    Notice out = std::move(notices_.front());
    notices_.pop_front();
    return out;
  }
  bool has_notice() const noexcept { return !notices_.empty(); }
  void on_error(std::function<void(const ErrorEvent&)> handler) { on_error_ = std::move(handler); }
  // Whether anything was completed or has ended since this was asked last.
  bool changed() noexcept { return std::exchange(changed_, false); }
  Ticket door() const { return door_->ticket(); }

  // Attributes of its sender's VI, as a message has them.
  static ViAttributes attributes_of(const Message& message) noexcept;

  // Ends all connections, and what is asked of this NIC: the other sides are told, as far as they can be at
  // once.
  void close() {
    requests_.each([&](std::uint32_t, const Request& request) {
      if (!request.gone) answer(request.peer, request.asks, Say::disconnect);
    });
    vis_.each([&](std::uint32_t, Vi& vi) {
      const auto end = [&] {
        close_inbox(vi);
        vi.other.windows.clear();
        vi.other.landings.clear();
      };
      if (vi.state == State::connected)
        part(vi, Reason::done, end);
      else
        end();
    });
    step();
  }

 private:
  enum class Step : std::uint8_t { left, waits, broke };

  static WorkQueue& queue_of(Vi& vi, Side side) noexcept { return side == Side::send ? vi.send : vi.receive; }

  // --- memory (vi/rights.h)

  bool open_to_others(Memory& region);
  // Nobody may write or read there any more.
  void end_rights(MemoryHandle handle);
  // Ends the VI's work that moves bytes to or from that memory.
  void forget(Vi& vi, MemoryHandle handle);
  void finish_marked(Vi& vi);
  void offer(Vi& vi, MemoryHandle handle);
  // Lets the VI's other side use that memory, if both agree, and tells it. `may_be_lost`: it has not asked.
  bool give_right(Vi& vi, MemoryHandle handle, bool may_be_lost);

  // --- inboxes (vi/posting.h)

  // Throws.
  void open_inbox(Vi& vi);
  void close_inbox(Vi& vi) noexcept;
  // Gives the VI an inbox that nobody knows yet, with the buffers that are posted. False: there is no memory,
  // and no inbox.
  bool reopen_inbox(Vi& vi) noexcept;
  bool post_again(Vi& vi);
  bool post_as(Vi& vi, Work& work, std::uint64_t number);
  // Posts a receive that nothing is in the way of. False: nothing was done.
  bool post_plain_receive(Vi& vi, Descriptor* descriptor, MemoryHandle handle);
  Vi* of_inbox(std::uint32_t slot) noexcept {
    const std::size_t index = Port::index_of(slot);
    if (index >= by_inbox_.size() || by_inbox_[index].first != slot) return nullptr;
    return vis_.find(by_inbox_[index].second);
  }

  // --- completions (vi/completing.h)

  Result misplaced(Vi& vi, Descriptor* descriptor, std::uint32_t operation) {
    fault(
        {.fault = Fault::post_descriptor, .vi = vi.number, .descriptor = descriptor, .operation = operation});
    return Result::success;
  }
  void fault(const ErrorEvent& event) {
    if (on_error_ != nullptr) notice([handler = on_error_, event] { handler(event); });
  }
  void notice(Notice call) {
    if (notices_.size() < kMostNotices) notices_.push_back(std::move(call));
    changed_ = true;
  }
  // Work is over: with `errors`, beside those that it had, and `length` bytes moved.
  void finish_here(Vi& vi, Side side, Work& work, std::uint32_t errors, std::uint32_t length);
  void finish(Vi& vi, Side side, std::uint64_t number, std::uint32_t errors, std::uint32_t length) {
    finish_here(vi, side, queue_of(vi, side).at(number), errors, length);
  }
  void announce(Vi& vi, Side side);
  void tell(Vi& vi, WorkQueue& queue);
  void overrun(const Vi& vi, QueueObject& events);
  void tell(QueueObject& queue);
  // All that goes on comes back.
  void flush(Vi& vi, Side side);
  void cancel(Vi& vi, Work& work) noexcept {
    if (work.handle.sequence != 0) vi.outlet->cancel(work.handle);
    work.handle = {};
  }

  // --- sends, writes and reads (vi/transfers.h)

  // Lets leave what can.
  void pump(Vi& vi);
  // Tries again at the next step if memory has run out.
  void pump_or_wait(Vi& vi);
  // A send that nothing is in the way of. False: nothing was done.
  bool send_at_once(Vi& vi, Descriptor* descriptor, MemoryHandle handle);
  bool write_at_once(Vi& vi, const PlainSend& write);
  Step advance(Vi& vi, Work& work, std::uint64_t number);
  Step send(Vi& vi, Work& work, std::uint64_t number, std::span<const std::byte> data, const SendWord& word);
  Step taken(Vi& vi, Work& work, std::uint64_t number, Status status);
  Step write(Vi& vi, Work& work, std::uint64_t number);
  Step put(Vi& vi, Work& work, std::uint64_t number, const Grant& grant);
  // With immediate data: lands, and takes a descriptor there, or neither.
  Step write_and_tell(Vi& vi, Work& work, std::uint64_t number, const Grant& grant);
  Step right_is_over(Vi& vi, const Work& work);
  // Has the other side turn away an unreliable VI's write without a right, so that both count it.
  Step drop(Vi& vi, Work& work, std::uint64_t number);
  Step read(Vi& vi, Work& work, std::uint64_t number);
  Step get_piece(Vi& vi, Work& work, std::uint64_t number, const Grant& grant);
  // Memory of the other side that the work may use. Null: `step` says what to do.
  const Grant* right_for(Vi& vi, Work& work, std::uint64_t number, Step& step);
  typename Port::Window* landing_for(Vi& vi, const Segment& segment);
  Step refused(Vi& vi, std::uint64_t number, Status status);
  void hear_end(const Notification& end);
  void end_part(Vi& vi, Work& work, std::uint64_t number, std::uint32_t errors);
  void wait_for_room(Vi& vi);
  static std::uint64_t token(const Vi& vi, std::uint64_t number) noexcept {
    return std::uint64_t{vi.number} << 31 | (number & kTokenNumber);
  }

  // --- connections (vi/connecting.h)

  Result check(const ViAttributes& attributes) const noexcept;
  static Result compare(const ViAttributes& own, const ViAttributes& other) noexcept;
  static WireTicket on_wire(const Ticket& ticket) noexcept {
    return {ticket.key, ticket.bound, ticket.slot, ticket.generation};
  }
  static Ticket ticket_of(const WireTicket& ticket, std::uint64_t peer, std::uint32_t entry) noexcept;
  static Message to_other(const Vi& vi, Say what) noexcept;
  void begin(Vi& vi, std::uint64_t peer);
  // A message about the VI itself, with where it receives; to whom `to` is from, or to nobody in particular.
  void say(Vi& vi, const Message& to, Say what);
  void answer(std::uint64_t peer, const Message& to, Say what);
  void never(const Ticket& to, const Message& lost);
  void connect(Vi& vi, std::uint64_t peer, const Message& other);
  template <class End>
  void part(Vi& vi, Reason reason, End end);
  // The connection is over, and the VI in the state `error`.
  void break_off(Vi& vi, Reason reason);
  void lose(Vi& vi, Reason reason);
  void leave(Vi& vi);
  void to_idle(Vi& vi);
  void reset(Vi& vi);
  void open_door(std::uint32_t buffer) noexcept;
  void hear_door(const Notification& next);
  void hear_message(const Notification& next);
  void hear_halted(const Notification& next);
  void halt(Vi& vi, Refusal cause);
  void hear_link(std::uint64_t peer);
  void take_message(std::uint64_t peer, const Message& message);
  void take_request(std::uint64_t peer, const Message& message);
  void take_withdrawal(std::uint64_t peer, const Message& message);
  void take_peer_request(std::uint64_t peer, const Message& message);
  void take_answer(Vi& vi, std::uint64_t peer, const Message& message);
  void take_connected(Vi& vi, std::uint64_t peer, const Message& message);

  Port& port_;
  Outbox<Port> outbox_;
  std::array<Message, kDoorBuffers> heard_;  // by the door's buffers
  std::unique_ptr<typename Port::Inbox> door_;
  Regions<typename Port::Area> regions_;
  Table<Vi> vis_{kMostVis};
  Table<QueueObject> queues_{kMostQueues};
  Table<Waiter> waiters_{kMostWaiters};
  Table<Request> requests_{kMostRequests};
  std::vector<std::pair<std::uint32_t, std::uint32_t>> by_inbox_;  // by slot index: its number, the VI's
  std::vector<std::uint32_t> restless_;
  std::deque<Notice> notices_;
  std::function<void(const ErrorEvent&)> on_error_;
  bool changed_ = false;
  std::uint32_t empty_looks_left_ = 0;  // until connections that are forsaken end
};

}  // namespace hamlyn::internal_::vi

#include "vi/completing.h"
#include "vi/connecting.h"
#include "vi/posting.h"
#include "vi/rights.h"
#include "vi/transfers.h"
