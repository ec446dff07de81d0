#pragma once
// One call: what its handler is told of it, and how its caller learns how it ended (docs/calls.md).
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>

#include "hamlyn/values/priority.h"
#include "hamlyn/values/status.h"

namespace hamlyn {

namespace internal_::rpc {
class ServerCore;
struct Serving;
}  // namespace internal_::rpc

namespace rpc {

// Whether a call was done. Each is done once or not at all.
enum class Fate : std::uint8_t {
  done,      // the procedure was begun, and has ended
  not_done,  // it was not begun, and never will be
  unknown,   // no answer has come: `settle` finds out while the server lives
};

// Why a server has not done what it was called for, or what its procedure did. Numbers are frozen: servers
// tell them to clients.
enum class Cause : std::uint8_t {
  none,
  no_procedure,     // the server has none of that number
  bad_arguments,    // the arguments are not as the procedure takes them
  cancelled,        // its caller has cancelled it before it was begun
  too_deep,         // it is one of a chain of more than 15 calls, each made by the handler of the one before
  threw,            // the procedure ended by an exception, whose words are the text. It was begun
  result_too_long,  // the result does not fit the client's frames. It was done
  no_memory,        // the server has none for arguments or result; done or not, as Result::fate says
  unanswered,       // its handler has dropped the answer. It was begun
  too_many,         // as many answers are owed as the server lets its handlers owe
  count,            // (how many there are)
};

// The name as written above. Never null.
constexpr const char* name(Cause cause) noexcept {
  switch (cause) {
    case Cause::none:
      return "none";
    case Cause::no_procedure:
      return "no_procedure";
    case Cause::bad_arguments:
      return "bad_arguments";
    case Cause::cancelled:
      return "cancelled";
    case Cause::too_deep:
      return "too_deep";
    case Cause::threw:
      return "threw";
    case Cause::result_too_long:
      return "result_too_long";
    case Cause::no_memory:
      return "no_memory";
    case Cause::unanswered:
      return "unanswered";
    case Cause::too_many:
      return "too_many";
    case Cause::count:
      break;
  }
  return "unknown";
}

// Says which calls belong together: it travels with a call, and into those that its handler makes. All zeros:
// none.
using Trace = std::array<std::byte, 16>;

// One call of one client. A value, of no use to anybody else.
struct CallId {
  std::uint64_t server = 0;    // its interface
  std::uint64_t sequence = 0;  // of its stack's calls, never used again; 0: of no call
  std::uint32_t session = 0;   // one opening of the client
  std::uint16_t stack = 0;     // of the client's, at the server
};

// Tells a handler of the call that it serves, if its first parameter is a `Call&`. Threads: those that the
// handler lets look, until it returns. Owner: the server.
class Call {
 public:
  explicit Call(const internal_::rpc::Serving& serving) noexcept : serving_(serving) {}
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;

  // The place of the procedure in its server's listing.
  std::size_t procedure() const noexcept;
  // The caller's interface, as the node attests it; 0: it calls over datagrams.
  std::uint64_t client() const noexcept;
  // The user that the caller runs as, as the node attests it; all ones: it calls over datagrams.
  std::uint32_t user() const noexcept;
  // The trace that the caller has given the call; all zeros: none.
  Trace trace() const noexcept;
  // Whether the caller has given up, or the time is over, or its link has ended. Runs the interface: for a
  // look now and then.
  bool cancelled() const noexcept;
  // The time that is left; nanoseconds::max() if the call has no deadline. Calls that the handler makes have
  // no more than that.
  std::chrono::nanoseconds left() const noexcept;
  // The level that the caller has chosen.
  Priority priority() const noexcept;

  // Internal: for answers.
  const internal_::rpc::Serving& serving() const noexcept { return serving_; }

 private:
  const internal_::rpc::Serving& serving_;
};

// Tells of a call that is not ok: Result::value throws it. Threads: a value, as any exception. Owner: its
// catcher.
class Failed : public std::runtime_error {
 public:
  // For Result.
  Failed(Status status, Cause cause, Fate fate, const std::string& what)
      : std::runtime_error(what), status_(status), cause_(cause), fate_(fate) {}
  // As Result::status, and so on.
  Status status() const noexcept { return status_; }
  // As Result::cause.
  Cause cause() const noexcept { return cause_; }
  // As Result::fate.
  Fate fate() const noexcept { return fate_; }

 private:
  Status status_;
  Cause cause_;
  Fate fate_;
};

}  // namespace rpc

namespace internal_::rpc {

// How a call ended.
struct Ending {
  Status status = Status::invalid;
  hamlyn::rpc::Cause cause = hamlyn::rpc::Cause::none;
  hamlyn::rpc::Fate fate = hamlyn::rpc::Fate::not_done;
  hamlyn::rpc::CallId call;
  std::unique_ptr<const std::string> text;  // null: none
  std::string_view words() const noexcept { return text == nullptr ? std::string_view{} : *text; }
};
[[noreturn]] void throw_failed(const Ending& ending);

}  // namespace internal_::rpc

namespace rpc {

// How a call ended, and what it returned. A value that is moved. Threads: one at a time. Owner: its caller.
template <class Returned>
class [[nodiscard]] Result {
 public:
  // The type of what it returned; of a procedure that returns nothing, an empty one.
  using Value = std::conditional_t<std::is_void_v<Returned>, std::monostate, Returned>;

  // For clients.
  explicit Result(internal_::rpc::Ending ending) noexcept : ending_(std::move(ending)) {}

  // ok; refused: the server has not done it, or its procedure threw: `cause` says which; too_long: arguments
  // or result fit no frame; timed_out, cancelled, link_ended: `fate` says whether it was done; queue_full: as
  // many calls are under way as the client has stacks; broken: the server has sent what no server sends;
  // forked.
  Status status() const noexcept { return ending_.status; }
  // Why it was refused; none: it was not.
  Cause cause() const noexcept { return ending_.cause; }
  // Whether the procedure was done.
  Fate fate() const noexcept { return ending_.fate; }
  // The call, for Client::settle.
  CallId call() const noexcept { return ending_.call; }
  // Says what the procedure threw, cut after 200 bytes.
  std::string_view text() const noexcept { return ending_.words(); }

  explicit operator bool() const noexcept { return ending_.status == Status::ok; }
  // Only if it is ok.
  Value& operator*() noexcept { return value_; }
  Value* operator->() noexcept { return &value_; }
  // Returns what the procedure did; throws Failed unless it is ok.
  Value& value() {
    if (!*this) internal_::rpc::throw_failed(ending_);
    return value_;
  }

 private:
  internal_::rpc::Ending ending_;
  Value value_{};
};

// How a side waits (paper 4, section 5.4).
enum class Waits : std::uint8_t {
  lately,  // looks as long as it has paid lately, then sleeps
  spin,    // looks all the time, and has a processor of its own
  sleep,   // sleeps at once
};

}  // namespace rpc

}  // namespace hamlyn
