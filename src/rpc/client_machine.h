#pragma once
// A client's state, without waiting: notifications in, frames out. `Port` is the way to the interface
// (client_port.h); tests give another. Everything here is called under the client's lock.
//
// A stack is free; or out, from when its call has left until its result is there; or done, until its result
// is taken. A call that nobody waits for any more keeps its stack until its result has come.
#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/assert.h"
#include "base/namespaces.h"
#include "hamlyn/rpc/client.h"
#include "hamlyn/values/notification.h"
#include "hamlyn/values/send.h"
#include "rpc/binding.h"
#include "rpc/rpc_wire.h"

namespace hamlyn::internal_::rpc {

struct ClientLimits {
  std::uint32_t stacks = 16;
  std::size_t frame = 2048;    // of a result
  std::size_t result = 65536;  // of a long one; 0: none
};

// A call's word, but for its procedure and number.
struct Manner {
  std::uint16_t left = 0;  // time_word
  std::uint8_t depth = 0;
  bool urgent = false;
  bool traced = false;
};

template <class Port>
class ClientMachine {
 public:
  enum class Step : std::uint8_t { greeting, admission, binding, open, ended, failed };

  ClientMachine(Port& port, const ClientLimits& limits, std::span<const Procedure> procedures)
      : port_(port), limits_(limits), binding_(procedures) {}

  // --- opening

  // Begins to open, at that door. Calls of before are over.
  void open(const Ticket& door) {
    end();
    const std::size_t stride = stride_of(limits_.frame);
    port_.make_landing(limits_.stacks, stride, limits_.result);
    const Ticket own = port_.ticket();
    const Greeting greeting{own.slot,
                            own.generation,
                            static_cast<std::uint32_t>(own.key),
                            static_cast<std::uint32_t>(own.key >> 32),
                            shape_of(limits_.stacks, stride),
                            static_cast<std::uint32_t>(limits_.result),
                            port_.incarnation()};
    greeting_ = std::bit_cast<std::array<std::uint32_t, kGreetingWords>>(greeting);
    door_ = door;
    // Greetings of one interface differ in their mark.
    mark_ = static_cast<std::uint32_t>(own.key ^ own.key >> 32);
    landing_shift_ = static_cast<std::uint32_t>(std::countr_zero(stride));
    landing_ = port_.number();
    greet_anew();
  }
  // Goes as far as it can now. pending: not open yet; ok; refused: no room for another client; stale: a
  // procedure differs; or why there is no link.
  Status advance() noexcept {
    for (;;) {
      switch (step_) {
        case Step::greeting: {
          if (said_ == kGreetingWords) {
            step_ = Step::admission;
            break;
          }
          if (said_ == 0) {
            const Status linked = port_.connect(door_);
            if (passes(linked)) return Status::pending;
            if (linked != Status::ok) return fail(unless_gone(linked));
            if (!port_.watch(door_.interface)) return Status::pending;
            link_ = port_.link(door_.interface).serial;
          }
          const std::uint64_t word = greeting_word(mark_, said_, greeting_[said_]);
          const Status status = port_.send_fast(door_, {}, word, 0, false);
          if (passes(status)) return Status::pending;
          // A link that ends is not let go yet. Whether there is another, and if not why, `connect` says
          // then.
          if (status == Status::link_ended) {
            said_ = 0;
            return Status::pending;
          }
          if (status != Status::ok) return fail(unless_gone(status));
          ++said_;
          break;
        }
        case Step::admission:
          return Status::pending;
        case Step::binding: {
          const Status status = binding_.advance(*this);
          if (status != Status::ok) return status == Status::pending ? status : fail(status);
          step_ = Step::open;
          break;
        }
        case Step::open:
          return Status::ok;
        case Step::ended:
          return Status::link_ended;
        case Step::failed:
          return failure_;
      }
    }
  }
  Step step() const noexcept { return step_; }
  // Both signatures of the procedure that differs.
  const std::string& wrong() const noexcept { return binding_.wrong(); }
  bool has(std::size_t place) const noexcept { return binding_.has(place); }

  // --- calls

  // ok: `out` is under way; queue_full: no stack is free, or no room on the way now; too_long; link_ended;
  // refused: the server has no such procedure; no_buffer.
  __attribute__((always_inline)) Status start(std::size_t place, std::span<const std::byte> frame, Manner how,
                                              CallId& out) noexcept {
    if (step_ != Step::open) [[unlikely]]
      return step_ == Step::failed  ? failure_
             : step_ == Step::ended ? Status::link_ended
                                    : Status::connecting;
    if (!has(place)) [[unlikely]]
      return Status::refused;
    return send(binding_.number(place), frame, how, out);
  }
  // Takes a stack for a call that leaves later, with others.
  Status reserve(std::size_t place, std::size_t length, Manner how, CallId& out,
                 std::uint64_t& word) noexcept {
    if (step_ != Step::open) return step_ == Step::failed ? failure_ : Status::link_ended;
    if (!has(place)) return Status::refused;
    if (length > frame_) return Status::too_long;
    if (free_.empty()) return Status::queue_full;
    const std::uint16_t number = take_stack();
    how.urgent = false;
    word = word_for(binding_.number(place), number, how);
    note_out(number);
    out = id_of(number);
    return Status::ok;
  }
  // Whether a call that was reserved can leave: its session has not ended.
  bool may_leave(CallId call) const noexcept { return step_ == Step::open && stack_of(call) != nullptr; }
  // A call that was reserved does not leave.
  void take_back(CallId call) noexcept {
    Stack* const stack = stack_of(call);
    known_[known_at_++ % kKnown] = {call, Fate::not_done};
    if (stack != nullptr && stack->state == State::out) release(call.stack);
  }
  const Ticket& server() const noexcept { return server_; }
  std::uint64_t place_of(std::uint16_t stack) const noexcept {
    return first_ + (std::uint64_t{stack} << shift_);
  }

  enum class Look : std::uint8_t { out, done, failed, none };
  // How that call is. none: of no call that is under way, or a result that was taken.
  Look look(CallId call) const noexcept {
    const Stack* const stack = stack_of(call);
    if (stack == nullptr || stack->state == State::free || stack->forgotten) return Look::none;
    if (stack->state == State::out) return Look::out;
    return stack->reply.kind == Kind::result ? Look::done : Look::failed;
  }
  // Copies what came of one that is done or has failed, and frees the stack. False: no memory.
  bool take(CallId call, Landing& into, ReplyWord& reply) noexcept {
    Stack& stack = *stack_of(call);
    reply = stack.reply;
    const std::size_t length = stack.length;
    std::byte* to = into.here;
    if (length > sizeof into.here) [[unlikely]] {
      into.more.reset(new (std::nothrow) std::byte[length]);
      to = into.more.get();
      if (to == nullptr) return false;
    }
    const std::byte* const from = port_.bytes(stack.longer, call.stack);
    if (length != 0) std::memcpy(to, from, length);
    into.bytes = {to, length};
    release(call.stack);
    return true;
  }
  // Nobody waits for it any more.
  void forget(CallId call) noexcept {
    Stack* const stack = stack_of(call);
    if (stack == nullptr || stack->state == State::free) return;
    if (stack->state == State::done) {
      note_fate(call, stack->reply);
      release(call.stack);
    } else {
      stack->forgotten = true;
    }
  }
  // Tells what is known of a call that is over.
  Fate fate(CallId call) const noexcept {
    const Stack* const stack = stack_of(call);
    if (stack != nullptr && stack->state == State::done)
      return stack->reply.kind == Kind::result || stack->reply.begun ? Fate::done : Fate::not_done;
    for (const Known& known : known_) {
      if (known.call.session == call.session && known.call.stack == call.stack &&
          known.call.sequence == call.sequence && known.call.server == call.server)
        return known.fate;
    }
    return Fate::unknown;
  }
  // Whether it is under way, forgotten or not.
  bool is_out(CallId call) const noexcept {
    const Stack* const stack = stack_of(call);
    return stack != nullptr && stack->state == State::out;
  }
  // The server is told, now or when there is room.
  void cancel(CallId call) noexcept {
    Stack* const stack = stack_of(call);
    if (stack == nullptr || stack->state != State::out || stack->cancels) return;
    stack->cancels = true;
    ++cancels_;
    tell_cancel(call.stack);
  }
  // Tries again what found no room.
  void settle_owed() noexcept {
    if (cancels_ == 0) [[likely]]
      return;
    for (std::size_t i = 0; i != stacks_.size(); ++i) {
      if (stacks_[i].cancels) tell_cancel(static_cast<std::uint16_t>(i));
    }
  }
  // For settle, of the library's own procedures.
  Status ask(Own own, std::span<const std::byte> frame, CallId& out) noexcept {
    return send(static_cast<std::uint16_t>(own), frame, {}, out);
  }
  void say_farewell() noexcept {
    const bool in =
        step_ == Step::open || step_ == Step::binding || (step_ == Step::failed && failure_ == Status::stale);
    if (!in) return;
    const CallWord word{.procedure = static_cast<std::uint16_t>(Own::leave)};
    // Without room it is not said, and the place stays until the link ends.
    static_cast<void>(port_.send_fast(server_, {}, word_of(word), place_of(0), false));
  }

  // --- what comes

  // Takes the result of `call`, if that is what came, and copies it: the short way of the one who waits for
  // it.
  __attribute__((always_inline)) bool take_now(const Notification& next, CallId call,
                                               Landing& into) noexcept {
    const ReplyWord wanted{in_word(call.sequence), Kind::result, Cause::none, true};
    if (!((next.word == word_of(wanted)) & next.fast & (next.slot == landing_) &
          (next.peer == door_.interface) & (next.offset == std::uint64_t{call.stack} << landing_shift_) &
          (next.length <= sizeof into.here) & (next.kind == Notification::Kind::message) &
          (call.session == session_) & (call.stack < stacks_.size()) & (step_ == Step::open))) [[unlikely]]
      return false;
    Stack& stack = stacks_[call.stack];
    if ((stack.last != call.sequence) | (stack.state != State::out) | stack.forgotten | stack.sends_long |
        stack.cancels) [[unlikely]]
      return false;
    static_assert(sizeof into.here == kCopiedShort);
    copy_short(into.here, port_.bytes(false, call.stack), next.length);
    into.bytes = {into.here, next.length};
    stack.state = State::free;
    free_.push_back(call.stack);  // it has room for all of them
    return true;
  }
  // True: somebody else may wait for it.
  bool hear(const Notification& next) noexcept {
    if (next.kind == Notification::Kind::message) [[likely]] {
      if (next.slot != port_.number() || next.peer != door_.interface) {
        ++refused_;
        return false;
      }
      const ReplyWord reply = reply_of(next.fast ? next.word : port_.word(next));
      if (reply.kind == Kind::admitted || reply.kind == Kind::full) [[unlikely]]
        return admitted(next, reply);
      if (reply.kind == Kind::closed) [[unlikely]]
        return closed(reply);
      return land(next, reply);
    }
    if (next.kind == Notification::Kind::link_ended && (next.peer == door_.interface || next.peer == 0)) {
      look_at_link();
      return true;
    }
    if (next.kind == Notification::Kind::failed && next.slot == port_.number()) {
      // The first one is watched: the server may die before it has said anything.
      if (opening()) look_at_link();
      port_.arm(next.entry);
      return true;
    }
    return false;
  }
  // The server goes, or its link has ended: what was out has an unknown fate.
  void end() noexcept {
    if (step_ == Step::failed || step_ == Step::ended) return;
    step_ = Step::ended;
    long_out_ = false;
    for (std::size_t i = 0; i != stacks_.size(); ++i) {
      has_cancelled(stacks_[i]);
      if (stacks_[i].state == State::out && stacks_[i].forgotten) release(static_cast<std::uint16_t>(i));
    }
  }
  bool ended() const noexcept { return step_ == Step::ended || step_ == Step::failed; }
  std::uint64_t refused() const noexcept { return refused_; }
  std::size_t stacks() const noexcept { return stacks_.size(); }
  std::size_t free_stacks() const noexcept { return free_.size(); }
  std::size_t longest() const noexcept { return std::max<std::size_t>(frame_, long_bound_); }

 private:
  enum class State : std::uint8_t { free, out, done };
  struct Stack {
    State state = State::free;
    bool forgotten = false;
    bool longer = false;
    bool sends_long = false;
    bool cancels = false;    // its server is to be told
    std::uint64_t last = 0;  // sequence number of its last call
    ReplyWord reply;
    std::size_t length = 0;
    std::unique_ptr<std::byte[]> frame;  // a long one, until the call is over
    SendHandle handle;                   // of it
  };
  struct Known {
    CallId call;
    Fate fate = Fate::unknown;
  };
  static constexpr std::size_t kKnown = 64;

  static bool passes(Status status) noexcept {
    return status == Status::connecting || status == Status::no_place || status == Status::queue_full;
  }
  // A door that has gone while the link lives says that the server has ended, and its process has not.
  Status unless_gone(Status status) noexcept {
    const bool gone = status == Status::refused || status == Status::stale;
    return gone && port_.link(door_.interface).serial != 0 ? Status::link_ended : status;
  }
  Status fail(Status why) noexcept {
    step_ = Step::failed;
    failure_ = why;
    return why;
  }

  const Stack* stack_of(CallId call) const noexcept {
    if (call.session != session_ || call.stack >= stacks_.size() || call.server != door_.interface)
      return nullptr;
    const Stack& stack = stacks_[call.stack];
    return stack.last == call.sequence && stack.state != State::free ? &stack : nullptr;
  }
  Stack* stack_of(CallId call) noexcept {
    return const_cast<Stack*>(static_cast<const ClientMachine*>(this)->stack_of(call));
  }
  CallId id_of(std::uint16_t number) const noexcept {
    return {door_.interface, stacks_[number].last, session_, number};
  }
  std::uint16_t take_stack() noexcept {
    const std::uint16_t number = free_.back();
    free_.pop_back();
    return number;
  }
  std::uint64_t word_for(std::uint16_t procedure, std::uint16_t number, Manner how) const noexcept {
    return word_of(CallWord{procedure, how.left, in_word(next_sequence(stacks_[number].last)), how.depth,
                            how.urgent, how.traced});
  }
  void note_out(std::uint16_t number) noexcept {
    Stack& stack = stacks_[number];
    stack.last = next_sequence(stack.last);
    stack.state = State::out;
    stack.forgotten = stack.longer = stack.sends_long = false;
  }
  void release(std::uint16_t number) noexcept {
    Stack& stack = stacks_[number];
    if (stack.longer && stack.state == State::done) port_.arm(number);
    if (stack.sends_long) {
      // A server may answer what it has not had whole.
      port_.cancel(stack.handle);
      stack.frame.reset();
      long_out_ = false;
    }
    has_cancelled(stack);
    stack.state = State::free;
    free_.push_back(number);  // it has room for all of them
  }
  void tell_cancel(std::uint16_t number) noexcept {
    Stack& stack = stacks_[number];
    std::array<std::byte, kFlag> flag;
    base::store_little(flag.data(), std::uint64_t{in_word(stack.last)});
    if (!passes(port_.put(server_, flag, std::uint64_t{number} * kFlag))) has_cancelled(stack);
  }
  // The server was told, or need not be any more.
  void has_cancelled(Stack& stack) noexcept {
    if (std::exchange(stack.cancels, false)) --cancels_;
  }

  __attribute__((always_inline)) Status send(std::uint16_t procedure, std::span<const std::byte> frame,
                                             Manner how, CallId& out) noexcept {
    if (free_.empty()) [[unlikely]]
      return Status::queue_full;
    const std::uint16_t number = free_.back();
    const std::uint64_t word = word_for(procedure, number, how);
    Status status;
    if (frame.size() <= frame_) [[likely]] {
      if (how.urgent && frame.size() > kUrgentFrame) return Status::too_long;
      status = port_.send_fast(server_, frame, word, place_of(number), how.urgent);
      if (status != Status::ok) [[unlikely]]
        return passes(status) ? Status::queue_full : ended_by(status);
    } else {
      status = send_long(number, word, frame, how.urgent);
      if (status != Status::ok) return status;
    }
    free_.pop_back();
    note_out(number);
    stacks_[number].sends_long = frame.size() > frame_;
    out = id_of(number);
    return Status::ok;
  }
  Status ended_by(Status status) noexcept {
    if (status != Status::link_ended && status != Status::refused) return status;
    if (opening()) {
      greet_anew();
      return Status::queue_full;
    }
    end();
    return Status::link_ended;
  }
  Status send_long(std::uint16_t number, std::uint64_t word, std::span<const std::byte> frame,
                   bool urgent) noexcept {
    if (urgent || frame.size() > long_bound_) return Status::too_long;
    if (long_out_) return Status::queue_full;
    Stack& stack = stacks_[number];
    stack.frame.reset(new (std::nothrow) std::byte[frame.size()]);
    if (stack.frame == nullptr) return Status::no_buffer;
    std::memcpy(stack.frame.get(), frame.data(), frame.size());
    const LongCall call = protocols::in_wire_order(LongCall{word, number});
    const Status status = port_.send(long_ticket_, {stack.frame.get(), frame.size()},
                                     std::as_bytes(std::span{&call, 1}), stack.handle);
    if (status != Status::ok && status != Status::pending) {
      stack.frame.reset();
      return passes(status) ? Status::queue_full : ended_by(status);
    }
    long_out_ = true;
    return Status::ok;
  }

  bool land(const Notification& next, const ReplyWord& reply) noexcept {
    const std::uint64_t number = next.fast ? next.offset >> landing_shift_ : next.entry;
    const bool there = number < stacks_.size();
    const bool at_its_place =
        there && (next.fast ? next.offset == number << landing_shift_ && next.length <= port_.stride()
                            : next.offset == port_.long_offset(number) && next.length <= limits_.result);
    if (!at_its_place || !reply.good || stacks_[number].state != State::out ||
        reply.sequence != in_word(stacks_[number].last) || (step_ != Step::open && step_ != Step::binding))
        [[unlikely]] {
      ++refused_;
      if (there && !next.fast && !stacks_[number].longer) port_.arm(static_cast<std::uint32_t>(number));
      return false;
    }
    Stack& stack = stacks_[number];
    stack.state = State::done;
    stack.longer = !next.fast;
    stack.reply = reply;
    stack.length = next.length;
    if (stack.forgotten) {
      note_fate(id_of(static_cast<std::uint16_t>(number)), reply);
      release(static_cast<std::uint16_t>(number));
    }
    return true;
  }
  void note_fate(CallId call, const ReplyWord& reply) noexcept {
    const bool done = reply.kind == Kind::result || reply.begun;
    known_[known_at_++ % kKnown] = {call, done ? Fate::done : Fate::not_done};
  }

  // --- opening

  bool opening() const noexcept { return step_ < Step::open; }
  // A link has ended: of the ends of many nobody knows which ones, and another may be there since.
  void look_at_link() noexcept {
    const std::uint64_t now = port_.link(door_.interface).serial;
    if (now == 0 || now != link_) opening() ? greet_anew() : end();
  }
  // The link has ended before the client was let in: whether there is another, `advance` finds.
  void greet_anew() noexcept {
    said_ = 0;
    mark_ = (mark_ + 1) & kMarkBits;  // an answer to the greeting before is none to this one
    session_ = 0;
    binding_.begin();
    long_out_ = false;
    step_ = Step::greeting;
  }

  bool closed(const ReplyWord& reply) noexcept {
    const bool in = step_ == Step::open || step_ == Step::binding;
    if (!in || !reply.good || reply.sequence != static_cast<std::uint16_t>(session_)) {
      ++refused_;
      return false;
    }
    end();
    return true;
  }
  bool admitted(const Notification& next, const ReplyWord& reply) noexcept {
    if (step_ != Step::admission && step_ != Step::greeting) {
      ++refused_;
      return false;
    }
    if (reply.kind == Kind::full) {
      if (next.word >> 40 == mark_) static_cast<void>(fail(Status::refused));
      return true;
    }
    const auto one = protocols::copy_of<Admission>(port_.landed(next));
    if (!one || !good(*one, limits_.stacks) || one->mark != mark_) {
      ++refused_;
      return false;
    }
    try {
      cancels_ = 0;
      stacks_.clear();
      stacks_.resize(one->stacks);
      free_.clear();
      free_.reserve(one->stacks);
    } catch (const std::bad_alloc&) {
      static_cast<void>(fail(Status::no_buffer));
      return true;
    }
    for (std::uint32_t i = one->stacks; i != 0; --i) free_.push_back(static_cast<std::uint16_t>(i - 1));
    session_ = one->session;
    shift_ = static_cast<std::uint32_t>(std::countr_zero(one->stride));
    first_ = first_frame(one->stacks, one->stride);
    frame_ = one->frame;
    server_ = {};
    server_.interface = door_.interface;
    server_.host = door_.host;
    server_.slot = one->slot;
    server_.generation = one->generation;
    server_.key = one->key;
    server_.bound = first_ + std::uint64_t{one->stacks} * one->stride;
    long_ticket_ = server_;
    long_ticket_.slot = one->long_slot;
    long_ticket_.generation = one->long_generation;
    long_ticket_.key = one->long_key;
    long_ticket_.entry = 0;
    long_ticket_.incarnation = one->long_incarnation;
    long_ticket_.bound = long_bound_ = one->long_bound;
    step_ = Step::binding;
    return true;
  }

  Port& port_;
  const ClientLimits limits_;
  Binding binding_;
  Step step_ = Step::ended;
  Status failure_ = Status::ok;
  Ticket door_, server_, long_ticket_;
  std::uint64_t link_ = 0;  // by which it has greeted
  std::uint32_t session_ = 0;
  std::uint32_t shift_ = 0;          // log2 of the stride of frames at the server
  std::uint32_t landing_shift_ = 0;  // and of results here
  std::uint32_t landing_ = 0;        // the number of the slot where they land
  std::uint64_t first_ = 0;
  std::size_t frame_ = 0;
  std::uint64_t long_bound_ = 0;
  bool long_out_ = false;
  std::vector<Stack> stacks_;
  std::vector<std::uint16_t> free_;
  std::size_t cancels_ = 0;  // of which the server is to be told
  std::array<Known, kKnown> known_;
  std::size_t known_at_ = 0;
  std::uint64_t refused_ = 0;

  std::array<std::uint32_t, kGreetingWords> greeting_{};
  std::uint32_t mark_ = 0;
  std::size_t said_ = 0;
};

}  // namespace hamlyn::internal_::rpc
