#pragma once
// How a client finds the numbers that its server has for its procedures: by hashes of names and signatures. A
// server knows a procedure by its number alone, and may be older or newer than its client.
#include <algorithm>
#include <array>
#include <cstdint>
#include <new>
#include <span>
#include <string>
#include <vector>

#include "base/byte_order.h"
#include "base/namespaces.h"
#include "hamlyn/rpc/client.h"
#include "rpc/rpc_wire.h"

namespace hamlyn::internal_::rpc {

using hamlyn::rpc::CallId;

// A client's part of it. `Machine` makes the calls: ask, look and take, as ClientMachine has them.
class Binding {
 public:
  explicit Binding(std::span<const Procedure> procedures)
      : procedures_(procedures), numbers_(procedures.size(), kNoSuchName) {}

  void begin() noexcept {
    bound_ = 0;
    call_ = {};
    telling_ = false;
  }
  // pending; ok: all are known; stale: a procedure differs; broken: the server has answered what no server
  // does; or why it cannot be asked.
  template <class Machine>
  Status advance(Machine& machine) noexcept {
    for (;;) {
      if (call_.sequence != 0 && machine.look(call_) == Machine::Look::out) return Status::pending;
      Status status;
      if (telling_)
        status = hear_words(machine);
      else if (call_.sequence != 0)
        status = hear_numbers(machine);
      else if (bound_ != procedures_.size())
        status = ask(machine);
      else
        return Status::ok;
      if (status != Status::ok) return status;
    }
  }
  bool has(std::size_t place) const noexcept {
    return place < numbers_.size() && numbers_[place] < kReserved;
  }
  std::uint16_t number(std::size_t place) const noexcept { return numbers_[place]; }
  // Both signatures of the procedure that differs.
  const std::string& wrong() const noexcept { return wrong_; }

 private:
  // Asks for as many at a time as fit frame and reply.
  template <class Machine>
  Status ask(Machine& machine) noexcept {
    std::array<std::byte, kMostPairs * kPair> room;
    const std::size_t count = std::min(procedures_.size() - bound_, kMostPairs);
    Writer frame(room);
    for (std::size_t i = 0; i != count; ++i) {
      frame.number(procedures_[bound_ + i].named);
      frame.number(procedures_[bound_ + i].signed_);
    }
    const Status status = machine.ask(Own::bind, frame.written(), call_);
    return status == Status::queue_full || status == Status::ok ? Status::pending : status;
  }
  template <class Machine>
  Status hear_numbers(Machine& machine) noexcept {
    Landing landing;
    if (!take(machine, landing)) return Status::broken;
    Reader numbers(landing.bytes);
    for (; numbers.left() != 0; ++bound_) {
      const auto number = numbers.number<std::uint16_t>();
      if (!numbers.good() || bound_ == procedures_.size() ||
          (number >= kReserved && number < kOtherSignature))
        return Status::broken;
      numbers_[bound_] = number;
      if (number == kOtherSignature) return ask_for_words(machine);
    }
    return landing.bytes.empty() ? Status::broken : Status::ok;
  }
  template <class Machine>
  Status ask_for_words(Machine& machine) noexcept {
    std::array<std::byte, sizeof(std::uint64_t)> room;
    base::store_little(room.data(), procedures_[bound_].named);
    const Status status = machine.ask(Own::tell, room, call_);
    if (status == Status::queue_full) return Status::pending;
    if (status != Status::ok) return Status::stale;
    telling_ = true;
    return Status::pending;
  }
  template <class Machine>
  Status hear_words(Machine& machine) noexcept {
    Landing landing;
    const bool came = take(machine, landing);
    try {
      wrong_ = "this program calls " + procedures_[bound_].signature + ", the server has ";
      for (const std::byte each : came ? landing.bytes : std::span<std::byte>{}) {
        const char letter = static_cast<char>(each);
        wrong_ += letter >= ' ' && letter <= '~' ? letter : '?';
      }
    } catch (const std::bad_alloc&) {  // without the words
    }
    return Status::stale;
  }
  template <class Machine>
  bool take(Machine& machine, Landing& into) noexcept {
    ReplyWord reply;
    const CallId call = std::exchange(call_, {});
    return machine.look(call) == Machine::Look::done && machine.take(call, into, reply);
  }

  const std::span<const Procedure> procedures_;
  std::vector<std::uint16_t> numbers_;  // at the server, by place in the listing
  std::size_t bound_ = 0;
  CallId call_;
  bool telling_ = false;
  std::string wrong_;
};

// Procedures of a server, for those who ask for them.
class Catalogue {
 public:
  explicit Catalogue(std::span<const Procedure> procedures) : procedures_(procedures) {
    for (std::size_t i = 0; i != procedures.size(); ++i) by_name_.emplace_back(procedures[i].named, i);
    std::ranges::sort(by_name_);
  }
  // Answers one of the library's own procedures that ask here. no_procedure: it is another.
  Cause answer(std::uint16_t procedure, std::span<std::byte> frame, Writer& reply) const noexcept {
    switch (static_cast<Own>(procedure)) {
      case Own::bind:
        return numbers(frame, reply);
      case Own::tell:
        return words(frame, reply);
      case Own::list:
        return list(frame, reply);
      default:
        return Cause::no_procedure;
    }
  }

 private:
  Cause numbers(std::span<std::byte> frame, Writer& reply) const noexcept {
    if (frame.size() > kMostPairs * kPair) return Cause::bad_arguments;
    Reader from(frame);
    while (from.left() >= kPair) {
      const auto named = from.number<std::uint64_t>(), signed_ = from.number<std::uint64_t>();
      const std::size_t found = number_of(named);
      std::uint16_t number = kNoSuchName;
      if (found != procedures_.size())
        number = procedures_[found].signed_ == signed_ ? static_cast<std::uint16_t>(found) : kOtherSignature;
      reply.number(number);
    }
    return from.whole() ? Cause::none : Cause::bad_arguments;
  }
  // The signature of one, in words.
  Cause words(std::span<std::byte> frame, Writer& reply) const noexcept {
    Reader from(frame);
    const auto named = from.number<std::uint64_t>();
    const std::size_t found = number_of(named);
    if (!from.whole() || found == procedures_.size()) return Cause::bad_arguments;
    const std::string& signature = procedures_[found].signature;
    reply.bytes(signature.data(), signature.size());
    return Cause::none;
  }
  // As many as fit, behind how many there are: none if the first one does not.
  Cause list(std::span<std::byte> frame, Writer& reply) const noexcept {
    Reader from(frame);
    const std::size_t first = from.number<std::uint32_t>();
    if (!from.whole() || first > procedures_.size()) return Cause::bad_arguments;
    reply.number(static_cast<std::uint32_t>(procedures_.size()));
    for (const Procedure& each : procedures_.subspan(first)) {
      if (reply.left() < sizeof(std::uint64_t) + each.signature.size()) break;
      Layout<std::string>::put(reply, each.signature);
    }
    return Cause::none;
  }
  // As many as there are: there is none of that name.
  std::size_t number_of(std::uint64_t named) const noexcept {
    const auto found =
        std::ranges::lower_bound(by_name_, named, {}, &std::pair<std::uint64_t, std::size_t>::first);
    return found != by_name_.end() && found->first == named ? found->second : procedures_.size();
  }

  const std::span<const Procedure> procedures_;
  std::vector<std::pair<std::uint64_t, std::size_t>> by_name_;  // their places, by the hash of the name
};

}  // namespace hamlyn::internal_::rpc
