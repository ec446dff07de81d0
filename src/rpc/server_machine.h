#pragma once
// A server's state, without waiting: notifications in, calls and replies out. `Port` is the way to the
// interface (server_port.h); tests give another. Everything here is called under the server's lock.
//
// A client is admitted by a greeting at the door. It gets a place: stacks of its own, with a key of its own,
// that are its alone to spoil. Each call names its stack by where it lands and comes in the stack's sequence.
// Whatever does not is counted, and changes nothing.
//
// When a client's link ends its place goes, and a memory of how its last calls ended stays. A client that
// comes again asks there.
#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <exception>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/assert.h"
#include "base/namespaces.h"
#include "hamlyn/rpc/server.h"
#include "hamlyn/values/notification.h"
#include "hamlyn/values/send.h"
#include "hamlyn/values/ticket.h"
#include "protocols/wire_order.h"
#include "rpc/binding.h"
#include "rpc/greeters.h"
#include "rpc/memories.h"
#include "rpc/rpc_wire.h"

namespace hamlyn::internal_::rpc {

using hamlyn::rpc::Refused;

struct ServerLimits {
  std::uint32_t clients = 64;
  std::uint32_t of_one = 8;
  std::uint32_t stacks = 16;
  std::size_t frame = 2048;
  std::size_t long_frame = 65536;  // 0: none
  std::size_t result = 65536;
};

// Clients that are still to hear that there is no room.
inline constexpr std::size_t kMostTurnedAway = 32;

template <class Port>
class ServerMachine {
 public:
  using Place = typename Port::Place;

  // A stack of a client's. A call is under way there while it is busy.
  struct Stack {
    std::uint64_t last = 0;  // sequence number of the last call that was taken
    bool busy = false;
    Fate fate = Fate::not_done;  // of that call, once it is not busy
    // A reply that has not left, or whose data is still read.
    bool owed = false;
    std::uint64_t word = 0;
    std::vector<std::byte> data;
    SendHandle handle;
    bool leaving = false;  // `handle` says whether it has left
    bool urgent = false;
  };
  struct Client {
    std::uint64_t peer = 0;
    std::uint64_t link = 0;  // by which it was let in
    std::uint32_t uid = 0;   // its user
    std::uint32_t session = 0;
    Ticket replies;  // its slot
    ClientShape shape;
    std::size_t long_result = 0;
    std::uint32_t incarnation = 0;
    std::uint32_t mark = 0;
    std::unique_ptr<Place> place;
    std::uint64_t caller = 0;    // its peer, until it is gone
    std::uint64_t first = 0;     // byte of the first frame
    std::uint32_t shift = 0;     // log2 of the stride of frames
    std::size_t short_room = 0;  // bytes of a result that goes as one packet
    std::size_t room = 0;        // of any
    std::uint32_t busy = 0;      // stacks
    // Its link has ended, or it has left. Relaxed: a handler that sees it late goes on for longer.
    std::atomic<bool> gone{false};
    bool greeted = false;  // its admission is owed
    std::vector<Stack> stacks;
  };
  // A call that was taken: it is to be finished.
  struct Taken {
    Client* client = nullptr;
    std::uint32_t stack = 0;
    CallBits word;
    std::span<std::byte> frame;  // where it stands
    bool longer = false;         // nothing can be written there
  };
  // given_up: somebody may wait no longer for a call that is under way. `cancelled` says for which.
  enum class Heard : std::uint8_t { nothing, call, given_up };

  // `first`: the number of the first session. A server in the place of another begins elsewhere, or its
  // clients would be told of the other's calls.
  ServerMachine(Port& port, const ServerLimits& limits, std::span<const Procedure> procedures,
                std::uint32_t first = 1)
      : port_(port), limits_(limits), catalogue_(procedures), next_session_(std::max(first, 1u)) {}

  __attribute__((always_inline)) Heard hear(const Notification& next, Taken& out) noexcept {
    if (next.kind == Notification::Kind::message) [[likely]] {
      Client* const client = find(next.slot);
      if (client != nullptr) [[likely]]
        return begin(*client, next, out);
    }
    return hear_other(next);
  }
  // Hears what is no message of a client's.
  Heard hear_other(const Notification& next) noexcept {
    if (next.kind == Notification::Kind::message) {
      if (next.slot == port_.door()) greet(next.peer, next.word);
    } else if (next.kind == Notification::Kind::put) {
      const Client* const client = find(next.slot);
      return given_up(client != nullptr && client->busy != 0);
    } else if (next.kind == Notification::Kind::link_ended) {
      return given_up(end(next.peer));
    } else if (next.kind == Notification::Kind::failed) {
      Client* const client = find(next.slot);
      if (client != nullptr) client->place->arm_long();
    }
    return Heard::nothing;
  }

  // Whether its caller has cancelled it, or cannot hear of it any more.
  bool cancelled(const Taken& call) const noexcept {
    if (call.client->gone.load(std::memory_order_relaxed)) return true;
    const std::uint64_t flag = call.client->place->flag(call.stack);
    if (flag == 0) [[likely]]
      return false;
    if (flag == call.word.sequence()) return true;
    call.client->place->clear_flag(call.stack, flag);  // of an earlier call: its number comes again
    return false;
  }

  // The call is over; its reply leaves, now or when there is room. `data` is copied if it has to be kept.
  __attribute__((always_inline)) void finish(const Taken& call, Cause cause, bool begun,
                                             std::span<const std::byte> data) noexcept {
    Client& client = *call.client;
    Stack& stack = client.stacks[call.stack];
    HAMLYN_ASSERT(stack.busy && in_word(stack.last) == call.word.sequence(),
                  "a call that was taken is finished once");
    stack.busy = false;
    stack.fate = begun ? Fate::done : Fate::not_done;
    --client.busy;
    if (call.longer || client.gone) [[unlikely]] {
      if (!over(client)) return;
    }
    const Kind kind = cause == Cause::none ? Kind::result : Kind::failed;
    const std::uint64_t word = word_of(ReplyWord{call.word.sequence(), kind, cause, begun});
    Status status = Status::queue_full;
    if (data.size() <= client.short_room) [[likely]]
      status = port_.send_fast(client.replies, data, word, offset_of(client, call.stack), call.word.urgent());
    if (status != Status::ok) [[unlikely]]
      keep_reply(client, call, status, word, data);
  }
  // Bytes of a result that this client has room for.
  std::size_t room(const Client& client) const noexcept { return client.room; }

  // Does what the library's own procedures say. `frame` is a copy.
  Cause administer(const Taken& call, std::span<std::byte> frame, Writer& reply) noexcept {
    if (call.word.procedure() == static_cast<std::uint16_t>(Own::settle))
      return settle(*call.client, frame, reply);
    return catalogue_.answer(call.word.procedure(), frame, reply);
  }
  // Before the server goes: its clients are told, as far as there is room, and nothing is read any more of
  // what stands here.
  void close() noexcept {
    for (auto& client : clients_) {
      if (client == nullptr) continue;
      const ReplyWord last{.sequence = static_cast<std::uint16_t>(client->session), .kind = Kind::closed};
      if (!client->gone) static_cast<void>(port_.send_fast(client->replies, {}, word_of(last), 0, false));
      for (const Stack& stack : client->stacks) {
        if (stack.owed && stack.leaving) port_.cancel(stack.handle);
      }
    }
  }

  // Tries again what has not left. False: there is still some.
  bool settle_owed() noexcept {
    if (owing_ == 0) return true;
    for (auto& client : clients_) {
      if (client == nullptr || client->gone) continue;
      if (client->greeted) admit_again(*client);
      for (std::uint32_t i = 0; i != client->stacks.size(); ++i) {
        if (client->stacks[i].owed) pay(*client, i);
      }
    }
    std::erase_if(strangers_, [&](const Stranger& each) {
      return !passes(port_.send_fast(each.ticket, {}, each.word, 0, false)) && (--owing_, true);
    });
    return owing_ == 0;
  }
  bool owes() const noexcept { return owing_ != 0; }

  std::size_t clients() const noexcept { return count_; }
  std::uint64_t refused(Refused cause) const noexcept { return refused_[static_cast<std::size_t>(cause)]; }

 private:
  // Somebody who is to hear that there is no room.
  struct Stranger {
    Ticket ticket;
    std::uint64_t word;
    std::uint64_t link;
  };

  // A status after which the same may succeed later.
  static bool passes(Status status) noexcept {
    return status == Status::connecting || status == Status::no_place || status == Status::queue_full;
  }
  void refuse(Refused cause) noexcept { ++refused_[static_cast<std::size_t>(cause)]; }

  // --- calls

  // Behind a call whose frame was long, or whose client is gone. False: there is nobody to tell.
  bool over(Client& client) noexcept {
    if (!client.gone) {
      client.place->arm_long();
      return true;
    }
    if (client.busy == 0) retire(client);
    return false;
  }
  void keep_reply(Client& client, const Taken& call, Status status, std::uint64_t word,
                  std::span<const std::byte> data) noexcept {
    if (passes(status)) owe(client, call.stack, word, data, call.word.urgent());
  }

  Client* find(std::uint32_t number) const noexcept {
    const std::uint32_t index = Port::index_of(number);
    if (index >= by_slot_.size()) return nullptr;
    const auto& [known, client] = by_slot_[index];
    return known == number ? client : nullptr;
  }

  // A short frame, with nothing wrong about it; anything else, the slow way looks at.
  __attribute__((always_inline)) Heard begin(Client& client, const Notification& next, Taken& out) noexcept {
    const std::uint64_t at = next.offset - client.first, number = at >> client.shift;
    const CallBits call(next.word);
    const bool fits = (next.peer == client.caller) & next.fast & call.good() &
                      (at == number << client.shift) & (number < client.stacks.size()) &
                      (next.length <= limits_.frame);
    if (!fits) [[unlikely]]
      return begin_slowly(client, next, out);
    Stack& stack = client.stacks[number];
    if (stack.busy | stack.owed | !follows(call.sequence(), stack.last)) [[unlikely]]
      return begin_slowly(client, next, out);
    return taken(client, number, call, false, client.place->frame(next), out);
  }
  __attribute__((always_inline)) static Heard taken(Client& client, std::uint64_t number, CallBits call,
                                                    bool longer, std::span<std::byte> frame,
                                                    Taken& out) noexcept {
    Stack& stack = client.stacks[number];
    stack.busy = true;
    stack.last = after(stack.last, call.sequence());
    ++client.busy;
    out = {&client, static_cast<std::uint32_t>(number), call, frame, longer};
    return Heard::call;
  }
  __attribute__((noinline)) Heard begin_slowly(Client& client, const Notification& next,
                                               Taken& out) noexcept {
    std::uint64_t word = next.word, stack = 0;
    const bool longer = !next.fast;
    if (longer) [[unlikely]] {
      LongCall call;
      if (!port_.long_call(*client.place, next, call)) {
        refuse(Refused::kind);
        client.place->arm_long();
        return Heard::nothing;
      }
      word = call.word;
      stack = call.stack;
    } else {
      stack = (next.offset - client.first) >> client.shift;
    }
    const CallBits call(word);
    if (call.procedure() == static_cast<std::uint16_t>(Own::leave)) [[unlikely]]
      return leave(client, next, call);
    has_its_answer(client, next, call, stack);
    const Refused cause = wrong(client, next, call, stack);
    if (cause != Refused::count) [[unlikely]] {
      refuse(cause);
      if (longer) client.place->arm_long();
      return Heard::nothing;
    }
    return taken(client, stack, call, longer,
                 longer ? client.place->long_bytes(next) : client.place->frame(next), out);
  }
  // A client calls on a stack again once it has the answer to the call before: that one need not be told of.
  void has_its_answer(Client& client, const Notification& next, CallBits call,
                      std::uint64_t number) noexcept {
    if (client.caller != next.peer || !call.good() || number >= client.stacks.size()) return;
    Stack& stack = client.stacks[number];
    if (!stack.owed || !stack.leaving || stack.busy || !follows(call.sequence(), stack.last)) return;
    port_.cancel(stack.handle);
    paid(stack);
  }
  // A client that goes says so on whatever stack, and waits for no answer.
  Heard leave(Client& client, const Notification& next, CallBits call) noexcept {
    if (client.caller != next.peer || !call.good() || !next.fast) {
      refuse(client.caller != next.peer ? Refused::key : Refused::kind);
      if (!next.fast) client.place->arm_long();
      return Heard::nothing;
    }
    client.session = 0;  // it asks no more
    return given_up(dismiss(client));
  }
  // count: nothing.
  Refused wrong(const Client& client, const Notification& next, CallBits call,
                std::uint64_t stack) const noexcept {
    if (client.caller != next.peer) return Refused::key;
    if (!call.good()) return Refused::kind;
    if (stack >= client.stacks.size()) return Refused::stack;
    if (next.fast) {
      if (next.offset != client.first + (stack << client.shift)) return Refused::stack;
      if (next.length > limits_.frame) return Refused::length;
    }
    const Stack& at = client.stacks[stack];
    if (at.busy || at.owed) return Refused::busy;
    if (!follows(call.sequence(), at.last)) return Refused::sequence;
    return Refused::count;
  }

  // --- replies

  std::uint64_t offset_of(const Client& client, std::uint64_t stack) const noexcept {
    return stack * client.shape.stride;
  }
  void owe(Client& client, std::uint32_t number, std::uint64_t word, std::span<const std::byte> data,
           bool urgent) noexcept {
    Stack& stack = client.stacks[number];
    try {
      stack.data.assign(data.begin(), data.end());
    } catch (const std::bad_alloc&) {
      word = without_memory(word);
    }
    stack.word = word;
    stack.urgent = urgent;
    stack.owed = true;
    ++owing_;
    pay(client, number);
  }
  // Tells what became of a call whose result there is no memory for: a word needs none.
  static std::uint64_t without_memory(std::uint64_t word) noexcept {
    ReplyWord reply = reply_of(word);
    reply.kind = Kind::failed;
    reply.cause = Cause::no_memory;
    return word_of(reply);
  }
  void pay(Client& client, std::uint32_t number) noexcept {
    Stack& stack = client.stacks[number];
    Status status;
    if (stack.leaving) {
      status = port_.status(stack.handle);
    } else if (stack.data.size() <= client.short_room) {
      status =
          port_.send_fast(client.replies, stack.data, stack.word, offset_of(client, number), stack.urgent);
    } else {
      Ticket ticket = client.replies;
      ticket.entry = number;
      ticket.incarnation = client.incarnation;
      std::array<std::byte, sizeof(std::uint64_t)> metadata;
      base::store_little(metadata.data(), stack.word);
      const std::uint64_t at =
          client.shape.stacks * client.shape.stride + std::uint64_t{number} * client.long_result;
      status = port_.send(ticket, stack.data, {.offset = at, .metadata = metadata}, stack.handle);
      stack.leaving = status == Status::pending;
    }
    if (status == Status::pending || passes(status)) return;
    paid(stack);
  }
  void paid(Stack& stack) noexcept {
    stack.owed = stack.leaving = false;
    std::vector<std::byte>().swap(stack.data);
    --owing_;
  }

  // --- clients that come

  void greet(std::uint64_t peer, std::uint64_t word) noexcept {
    try {
      const std::optional<Greeters::Whole> whole = greeters_.take(peer, port_.link(peer).serial, word);
      if (whole) admit(peer, whole->mark, whole->greeting);
    } catch (const std::exception&) {  // no memory: the client hears nothing, and its time passes
      refuse(Refused::greeting);
    }
  }

  void admit(std::uint64_t peer, std::uint32_t mark, const Greeting& greeting) {
    const std::optional<ClientShape> shape = client_shape(greeting.shape);
    Ticket ticket;
    ticket.interface = peer;
    ticket.slot = greeting.slot;
    ticket.generation = greeting.generation;
    ticket.key = greeting.key_low | std::uint64_t{greeting.key_high} << 32;
    if (shape) ticket.bound = shape->stacks * (std::uint64_t{shape->stride} + greeting.length);
    if (!shape || greeting.length > kMostLong || invalid(ticket) != nullptr) {
      refuse(Refused::greeting);
      return;
    }
    supersede(ticket);
    // Also those that have gone and whose calls are not over: somebody may answer them much later.
    const auto same = [&](const auto& each) { return each != nullptr && each->peer == peer; };
    const bool full = count_ == limits_.clients ||
                      static_cast<std::uint32_t>(std::ranges::count_if(clients_, same)) >= limits_.of_one;
    if (full) {
      turn_away(ticket, mark);
      return;
    }
    auto client = std::make_unique<Client>();
    client->peer = peer;
    const auto link = port_.link(peer);
    client->link = link.serial;
    client->uid = link.uid;
    client->session = next_session_;
    client->replies = ticket;
    client->shape = *shape;
    client->long_result = greeting.length;
    client->incarnation = greeting.incarnation;
    client->mark = mark;
    client->stacks.resize(std::min(shape->stacks, limits_.stacks));
    client->shift = static_cast<std::uint32_t>(std::countr_zero(stride_of(limits_.frame)));
    client->place = port_.make_place(peer, client->stacks.size(), limits_.frame, limits_.long_frame);
    client->caller = peer;
    client->first = client->place->first;
    client->short_room = std::min(client->shape.stride, kMostFrame);
    client->room = std::min(limits_.result, std::max(client->short_room, client->long_result));
    client->greeted = true;
    keep(std::move(client));
  }
  // A client that greets from the landing of one that was let in has not had that answer.
  void supersede(const Ticket& landing) noexcept {
    for (auto& client : clients_) {
      if (client == nullptr || client->gone || client->peer != landing.interface) continue;
      const Ticket& its = client->replies;
      if (its.slot != landing.slot || its.generation != landing.generation || its.key != landing.key)
        continue;
      static_cast<void>(dismiss(*client));  // without an answer it has called nothing
    }
  }
  void keep(std::unique_ptr<Client> client) {
    const std::uint32_t numbers[] = {client->place->number(), client->place->long_number()};
    for (const std::uint32_t number : numbers) {
      const std::size_t index = Port::index_of(number);
      if (index >= by_slot_.size()) by_slot_.resize(index + 1);
    }
    auto place = std::ranges::find_if(clients_, [](const auto& each) { return each == nullptr; });
    if (place == clients_.end()) place = clients_.emplace(place);
    for (const std::uint32_t number : numbers) by_slot_[Port::index_of(number)] = {number, client.get()};
    if (++next_session_ == 0) next_session_ = 1;
    ++count_;
    ++owing_;
    *place = std::move(client);
    admit_again(**place);
  }
  void turn_away(const Ticket& ticket, std::uint32_t mark) {
    refuse(Refused::greeting);
    ReplyWord said;
    said.kind = Kind::full;
    const std::uint64_t word = word_of(said) | std::uint64_t{mark} << 40;
    if (!passes(port_.send_fast(ticket, {}, word, 0, false))) return;
    if (strangers_.size() == kMostTurnedAway) {
      strangers_.erase(strangers_.begin());
      --owing_;
    }
    strangers_.push_back({ticket, word, port_.link(ticket.interface).serial});
    ++owing_;
  }
  void admit_again(Client& client) noexcept {
    const Ticket ticket = client.place->ticket(), longer = client.place->long_ticket();
    Admission one;
    one.session = client.session;
    one.stacks = static_cast<std::uint32_t>(client.stacks.size());
    one.stride = std::uint32_t{1} << client.shift;
    one.frame = static_cast<std::uint32_t>(limits_.frame);
    one.slot = ticket.slot;
    one.generation = ticket.generation;
    one.key = ticket.key;
    if (limits_.long_frame != 0) {
      one.long_slot = longer.slot;
      one.long_generation = longer.generation;
      one.long_key = longer.key;
      one.long_bound = limits_.long_frame;
      one.long_incarnation = longer.incarnation;
    }
    one.mark = client.mark;
    one = protocols::in_wire_order(one);
    ReplyWord said;
    said.kind = Kind::admitted;
    const Status status =
        port_.send_fast(client.replies, std::as_bytes(std::span{&one, 1}), word_of(said), 0, false);
    if (passes(status)) return;
    client.greeted = false;
    --owing_;
  }

  // --- clients that go

  static Heard given_up(bool some) noexcept { return some ? Heard::given_up : Heard::nothing; }
  // The ends of many links may be told as one, of peer 0; and there may be another link since. True: calls of
  // clients that have gone are under way.
  bool end(std::uint64_t peer) noexcept {
    const auto over = [&](std::uint64_t whose, std::uint64_t link) {
      return (peer == 0 || whose == peer) && (link == 0 || port_.link(whose).serial != link);
    };
    greeters_.end(over);
    owing_ -= std::erase_if(strangers_,
                            [&](const Stranger& each) { return over(each.ticket.interface, each.link); });
    bool some = false;
    for (auto& client : clients_) {
      if (client != nullptr && !client->gone && over(client->peer, client->link)) some |= dismiss(*client);
    }
    return some;
  }
  // True: calls of it are under way.
  bool dismiss(Client& client) noexcept {
    let_go(client);
    if (client.busy != 0) return true;
    retire(client);
    return false;
  }
  void let_go(Client& client) noexcept {
    client.gone = true;
    client.caller = 0;
  }
  // Nothing of it is under way: its place goes.
  void retire(Client& client) noexcept {
    if (client.greeted) --owing_;
    for (Stack& stack : client.stacks) {
      if (!stack.owed) continue;
      if (stack.leaving) port_.cancel(stack.handle);
      paid(stack);
    }
    for (auto& [number, whose] : by_slot_) {
      if (whose == &client) whose = nullptr;
    }
    if (client.session != 0) memories_.remember(client.peer, client.session, std::move(client.stacks));
    const auto own = std::ranges::find(clients_, &client, [](const auto& each) { return each.get(); });
    own->reset();
    --count_;
  }
  // --- the library's own procedures

  // A client that asks says that it is over: it goes, if its link's end was not heard of yet.
  Cause settle(const Client& who, std::span<std::byte> frame, Writer& reply) noexcept {
    const auto question = protocols::copy_of<FateQuestion>(frame);
    if (!question || question->session == 0) return Cause::bad_arguments;
    for (auto& client : clients_) {
      if (client == nullptr || client->session != question->session || client->peer != who.peer) continue;
      if (client.get() == &who) return Cause::bad_arguments;
      let_go(*client);
      if (client->busy == 0) {
        retire(*client);
        break;
      }
      reply.number(fate_of(client->stacks, *question));
      return Cause::none;
    }
    const std::vector<Stack>* const stacks = memories_.find(who.peer, question->session);
    reply.number(stacks == nullptr ? static_cast<std::uint8_t>(Fate::unknown) : fate_of(*stacks, *question));
    return Cause::none;
  }
  static std::uint8_t fate_of(const std::vector<Stack>& stacks, const FateQuestion& question) noexcept {
    if (question.stack >= stacks.size()) return static_cast<std::uint8_t>(Fate::unknown);
    const Stack& stack = stacks[question.stack];
    if (stack.last != question.sequence) {
      // One behind the last did not come, and never will; of those before nobody knows any more.
      const bool later = question.sequence > stack.last;
      return static_cast<std::uint8_t>(later ? Fate::not_done : Fate::unknown);
    }
    return stack.busy ? kStillRunning : static_cast<std::uint8_t>(stack.fate);
  }

  Port& port_;
  const ServerLimits limits_;
  const Catalogue catalogue_;
  std::vector<std::unique_ptr<Client>> clients_;
  std::vector<std::pair<std::uint32_t, Client*>> by_slot_;  // the number of the slot, by its index
  Greeters greeters_;
  std::vector<Stranger> strangers_;
  Memories<Stack> memories_{limits_.clients};
  std::array<std::uint64_t, static_cast<std::size_t>(Refused::count)> refused_{};
  std::uint32_t next_session_;
  std::uint32_t count_ = 0;
  std::size_t owing_ = 0;  // replies, admissions and refusals that have not left
};

}  // namespace hamlyn::internal_::rpc
