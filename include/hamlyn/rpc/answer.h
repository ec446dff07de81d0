#pragma once
// An answer that a handler gives later, from any thread (docs/calls.md):
//
//   void find(hamlyn::rpc::Answer<std::string> answer, std::uint64_t key) {
//     pool_.push([answer = std::move(answer), key]() mutable { answer.give(look_up(key)); });
//   }
//   HAMLYN_RPC(Library, find)                             // find(u64)->text
//
// The call goes on until then, and keeps its stack. Views among its arguments are good only until the handler
// returns. An answer that is given before is kept, and leaves when the handler returns.
#include <cstddef>
#include <memory>
#include <new>
#include <span>
#include <string_view>
#include <type_traits>
#include <utility>

#include "hamlyn/rpc/call.h"
#include "hamlyn/rpc/layout.h"
#include "hamlyn/values/status.h"

namespace hamlyn {

namespace internal_::rpc {

struct Deferred;

// A call whose answer is owed. The last one that goes has it end unanswered.
class Owed {
 public:
  explicit Owed(std::shared_ptr<Deferred> call) noexcept : call_(std::move(call)) {}
  explicit operator bool() const noexcept { return call_ != nullptr; }
  std::size_t room() const noexcept;
  Status give(std::span<const std::byte> data) noexcept;
  Status fail(hamlyn::rpc::Cause cause, std::string_view words) noexcept;
  bool cancelled() const noexcept;
  // The handler has returned: from here on it looks at nothing of the call.
  void returned() noexcept;

 private:
  std::shared_ptr<Deferred> call_;
};

}  // namespace internal_::rpc

namespace rpc {

// Parameter of a handler that answers later: its first one, or that behind a `Call&`. The handler returns
// void, and the procedure returns `Returned`. Dropped without an answer, it has the caller told: `refused`,
// cause `unanswered`, done.
// Threads: one at a time, any. Owner: whoever it was moved to; it may be there for longer than the server.
template <class Returned>
class [[nodiscard]] Answer {
 public:
  // The type of what it gives; of a procedure that returns nothing there is none.
  using Value = typename Result<Returned>::Value;

  // For servers.
  explicit Answer(internal_::rpc::Owed owed) noexcept : owed_(std::move(owed)) {}
  Answer(Answer&&) noexcept = default;
  Answer& operator=(Answer&&) noexcept = default;

  // Answers, once. ok: its caller is told, once the handler has returned; link_ended: its caller, or the
  // server, has gone; too_long: for the room that the caller has, which is told so; no_buffer: no memory, the
  // same; invalid: it was answered, or moved; forked.
  Status give(const Value& value) noexcept requires(!std::is_void_v<Returned>) {
    static_assert(internal_::rpc::Returns<Returned>);
    if (!owed_) return Status::invalid;
    alignas(8) std::byte here[256];
    internal_::rpc::Writer first(here);
    internal_::rpc::Layout<Returned>::put(first, value);
    if (first.fits()) return owed_.give(first.written());
    if (first.size() > owed_.room()) return failed(Cause::result_too_long, Status::too_long);
    const std::unique_ptr<std::byte[]> more(new (std::nothrow) std::byte[first.size()]);
    if (more == nullptr) return failed(Cause::no_memory, Status::no_buffer);
    internal_::rpc::Writer again({more.get(), first.size()});
    internal_::rpc::Layout<Returned>::put(again, value);
    return owed_.give(again.written());
  }
  // Answers for a procedure that returns nothing. ok, link_ended, invalid, forked.
  Status give() noexcept requires(std::is_void_v<Returned>) {
    return owed_ ? owed_.give({}) : Status::invalid;
  }
  // Tells the caller that the procedure has failed, as an exception with that text does. As `give`.
  Status fail(std::string_view text) noexcept {
    return owed_ ? owed_.fail(Cause::threw, text) : Status::invalid;
  }
  // As Call::cancelled; true also once it was answered. A thread in `serve_one` of its server, and whoever
  // waits at the server's descriptor, is woken when it may have become so, but for time that is over.
  bool cancelled() const noexcept { return !owed_ || owed_.cancelled(); }

 private:
  Status failed(Cause cause, Status status) noexcept {
    const Status said = owed_.fail(cause, {});
    return said == Status::ok ? status : said;
  }

  internal_::rpc::Owed owed_;
};

}  // namespace rpc

}  // namespace hamlyn
