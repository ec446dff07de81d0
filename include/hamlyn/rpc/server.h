#pragma once
// A service whose procedures are member functions of a class (docs/calls.md):
//
//   Calculator calculator;
//   hamlyn::rpc::Server<Calculator> server{interface, "calculator", calculator};
//   server.run();
//
// Clients that nobody trusts call it. Each has stacks of its own here, pieces of a slot with a key that it
// alone is given (paper 4, section 5.2.2). A frame is copied out whole before its first byte is looked at;
// one that is too long for that is read where it is, and nothing can be written there until it is answered.
//
// Threads: any; as many serve as call `run` or `serve_one`. The object's functions are called by all of them.
// Owner: who made it; the interface and the object are there for longer. Threads that serve have left before
// it goes: `stop` has them leave.
#include <array>
#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <span>
#include <string_view>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

#include "hamlyn/core/interface.h"
#include "hamlyn/rpc/answer.h"
#include "hamlyn/rpc/call.h"
#include "hamlyn/rpc/hooks.h"
#include "hamlyn/rpc/listing.h"
#include "hamlyn/values/rights.h"
#include "hamlyn/values/status.h"

namespace hamlyn {

namespace rpc {

struct ServerOptions {
  std::uint32_t clients = 64;      // at a time, 1 to 1024
  std::uint32_t of_one = 8;        // of them of one interface
  std::uint32_t stacks = 16;       // of each client at most, 1 to 1024: its calls under way
  std::size_t frame = 2048;        // bytes of arguments that are copied out, 128 to 8064
  std::size_t long_frame = 65536;  // of longer ones, of which a client has one under way; 0: none
  std::size_t result = 65536;      // bytes of a result at most
  std::uint32_t owed = 1024;       // answers that handlers may owe at a time: of all clients (Answer)
  Rights rights = {};              // who may become a client: whoever may look the name up
  Waits waits = Waits::lately;     // for calls
};

// Causes for which something that strangers, or broken clients, have sent was not taken. Each costs its
// sender, and nobody else.
enum class Refused : std::uint8_t {
  key,       // by another interface than the client's: the ticket was passed on
  kind,      // no call, or with bits that mean nothing
  stack,     // no such stack, or not at its beginning
  length,    // longer than a frame
  sequence,  // not the next one of that stack: late, twice, or made up
  busy,      // a second call on a stack whose first is not answered
  greeting,  // a client that cannot be, or one more than there may be
  count,     // (how many there are)
};

}  // namespace rpc

namespace internal_::rpc {

// A reply that is being made. Room for a short one is there before.
class Reply {
 public:
  Reply(std::span<std::byte> room, std::size_t most) noexcept : room_(room), most_(most) {}
  std::span<std::byte> room() const noexcept { return room_; }
  // Empty: longer than it may be, or no memory.
  std::span<std::byte> grow(std::size_t bytes) noexcept;
  void made(std::size_t bytes) noexcept { size_ = bytes; }
  std::span<const std::byte> bytes() const noexcept { return room_.first(size_); }
  bool no_memory() const noexcept { return no_memory_; }

 private:
  std::span<std::byte> room_;
  std::size_t most_;
  std::size_t size_ = 0;
  std::unique_ptr<std::byte[]> more_;
  bool no_memory_ = false;
};

enum class Ran : std::uint8_t { done, bad_arguments, no_memory, too_long, later, too_many, unanswered };

// Has the call go on when its handler has returned. Nothing: Ran says why.
std::pair<Owed, Ran> go_on(hamlyn::rpc::Call& call) noexcept;

struct Offered {
  Procedure procedure;
  Ran (*run)(void* object, std::span<std::byte> frame, Reply& reply, hamlyn::rpc::Call& call) = nullptr;
  bool short_result = false;  // it fits kShortReply always
};
inline constexpr std::size_t kShortReply = 256;

template <class Type>
Ran answer(const Type& value, Reply& reply) noexcept {
  if constexpr (Fixed<Type> && Layout<Type>::kSize <= kShortReply) {
    Writer all(reply.room().template first<kShortReply>());
    Layout<Type>::put(all, value);
    reply.made(all.size());
    return Ran::done;
  }
  Writer first(reply.room());
  Layout<Type>::put(first, value);
  reply.made(first.size());
  if (first.fits()) return Ran::done;
  const std::span<std::byte> more = reply.grow(first.size());
  if (more.empty()) return Ran::too_long;
  Writer again(more);
  Layout<Type>::put(again, value);
  return Ran::done;
}

// An object, and the hooks of its server.
template <class Type, class Hooks>
struct Hooked {
  Type* object;
  HooksAt<Hooks> at;
};
template <class Type, class Hooks>
struct Target {
  using Kind = Hooked<Type, Hooks>;
  static Type& object(void* target) noexcept { return *static_cast<Kind*>(target)->object; }
  static HooksAt<Hooks> hooks(void* target) noexcept { return static_cast<Kind*>(target)->at; }
};
template <class Type>
struct Target<Type, hamlyn::rpc::NoHooks> {
  static Type& object(void* target) noexcept { return *static_cast<Type*>(target); }
  static HooksAt<hamlyn::rpc::NoHooks> hooks(void*) noexcept { return {}; }
};

struct NoTarget {};
template <class Type, class Hooks>
using TargetOf = std::conditional_t<kHasHooks<Hooks>, Hooked<Type, Hooks>, NoTarget>;

// Runs a procedure with its arguments. `later`: those in front of them that do not travel.
template <class Type, auto kFunction, class Hooks, class... Later>
decltype(auto) invoke_on(void* target, hamlyn::rpc::Call& call, auto& arguments, Later&&... later) {
  using Shape = ShapeAt<kFunction>;
  Type& object = Target<Type, Hooks>::object(target);
  return std::apply(
      [&](auto&... all) -> decltype(auto) {
        call_before<kFunction>(Target<Type, Hooks>::hooks(target), call, std::as_const(all)...);
        if constexpr (Shape::kAsksWho)
          return (object.*kFunction)(call, std::forward<Later>(later)..., std::move(all)...);
        else
          return (object.*kFunction)(std::forward<Later>(later)..., std::move(all)...);
      },
      arguments);
}
// Tells `after` what came: null, if it threw or answers later.
template <auto kFunction, class Hooks>
class TellsAfter {
 public:
  TellsAfter(HooksAt<Hooks> at, hamlyn::rpc::Call& call) noexcept : at_(at), call_(call) {}
  ~TellsAfter() { call_after<kFunction>(at_, call_, result_); }
  TellsAfter(const TellsAfter&) = delete;
  TellsAfter& operator=(const TellsAfter&) = delete;
  using Result = ToHooks<typename ShapeAt<kFunction>::Result>;
  void came(const Result& result) noexcept { result_ = &result; }

 private:
  HooksAt<Hooks> at_;
  hamlyn::rpc::Call& call_;
  const Result* result_ = nullptr;
};
template <auto kFunction>
class TellsAfter<kFunction, hamlyn::rpc::NoHooks> {
 public:
  TellsAfter(HooksAt<hamlyn::rpc::NoHooks>, hamlyn::rpc::Call&) noexcept {}
  template <class Result>
  void came(const Result&) noexcept {}
};

template <class Type, auto kFunction, class Hooks>
Ran run_now(void* target, auto& arguments, Reply& reply, hamlyn::rpc::Call& call) {
  using Result = typename ShapeAt<kFunction>::Result;
  TellsAfter<kFunction, Hooks> after(Target<Type, Hooks>::hooks(target), call);
  if constexpr (std::is_void_v<Result>) {
    invoke_on<Type, kFunction, Hooks>(target, call, arguments);
    static constexpr std::monostate kNothing;
    after.came(kNothing);
    return Ran::done;
  } else {
    const Result result = invoke_on<Type, kFunction, Hooks>(target, call, arguments);
    after.came(result);
    return answer<Result>(result, reply);
  }
}
inline constexpr const char* kNoException = "something that is no std::exception";

// Calls a handler. What it throws answers for it if it owes an answer, and goes on otherwise.
template <class Handler>
void owing(Owed& owed, Handler handler) {
  try {
    handler();
  } catch (const std::exception& error) {
    if (!owed) throw;
    static_cast<void>(owed.fail(hamlyn::rpc::Cause::threw, error.what()));
  } catch (...) {
    if (!owed) throw;
    static_cast<void>(owed.fail(hamlyn::rpc::Cause::threw, kNoException));
  }
}
template <class Type, auto kFunction, class Hooks>
Ran run_later(void* target, auto& arguments, hamlyn::rpc::Call& call) {
  std::pair<Owed, Ran> gone_on = go_on(call);
  Owed& owed = gone_on.first;
  if (!owed) return gone_on.second;
  {
    const TellsAfter<kFunction, Hooks> after(Target<Type, Hooks>::hooks(target), call);
    owing(owed, [&] {
      hamlyn::rpc::Answer<typename ShapeAt<kFunction>::Result> answer(owed);
      invoke_on<Type, kFunction, Hooks>(target, call, arguments, std::move(answer));
    });
  }
  owed.returned();  // behind all that looks at the call
  return Ran::later;
}
template <class Type, auto kFunction, class Hooks>
Ran run_procedure(void* target, std::span<std::byte> frame, Reply& reply, hamlyn::rpc::Call& call) {
  using Shape = ShapeAt<kFunction>;
  // Arguments that have one length need no other check than of what they are.
  constexpr std::size_t kSize = Shape::Row::size();
  if (kSize != 0 && frame.size() != kSize) [[unlikely]]
    return Ran::bad_arguments;
  Reader reader(kSize != 0 ? std::span(frame.data(), kSize) : frame);
  typename Shape::Arguments arguments{};
  try {
    std::apply([&](auto&... all) { Shape::Row::get(reader, all...); }, arguments);
  } catch (const std::exception&) {
    return Ran::no_memory;
  }
  if (!reader.whole()) [[unlikely]]
    return Ran::bad_arguments;
  if constexpr (Shape::kAnswersLater)
    return run_later<Type, kFunction, Hooks>(target, arguments, call);
  else
    return run_now<Type, kFunction, Hooks>(target, arguments, reply, call);
}

template <class Type, class Hooks, auto... kFunctions>
std::vector<Offered> offered(hamlyn::rpc::Listing<kFunctions...> listing) {
  std::vector<Offered> out;
  out.reserve(sizeof...(kFunctions));
  const auto names = names_of(listing);
  const auto add = [&]<auto kFunction>(std::integral_constant<decltype(kFunction), kFunction>) {
    using Shape = ShapeAt<kFunction>;
    Offered each;
    each.procedure = procedure_of(names[out.size()], signature_of<Shape>(names[out.size()]));
    each.run = run_procedure<Type, kFunction, Hooks>;
    if constexpr (std::is_void_v<typename Shape::Result> || Shape::kAnswersLater)
      each.short_result = true;
    else if constexpr (Fixed<typename Shape::Result>)
      each.short_result = Layout<typename Shape::Result>::kSize <= kShortReply;
    out.push_back(std::move(each));
  };
  (add(std::integral_constant<decltype(kFunctions), kFunctions>{}), ...);
  return out;
}

// Whether a class of hooks has one that a server calls, for any procedure.
template <class Hooks, auto kFunction, class... Types>
constexpr bool fits_call_at_server(std::tuple<Types...>*) noexcept {
  using Result = ToHooks<typename ShapeAt<kFunction>::Result>;
  return HasBefore<Hooks, kFunction, hamlyn::rpc::Call, const Types...> ||
         HasAfter<Hooks, kFunction, hamlyn::rpc::Call&, const Result*>;
}
template <class Hooks, auto... kFunctions>
constexpr bool fits_server(hamlyn::rpc::Listing<kFunctions...>) noexcept {
  return (fits_call_at_server<Hooks, kFunctions>(
              static_cast<typename ShapeAt<kFunctions>::Arguments*>(nullptr)) ||
          ...);
}

// A server of procedures by number.
class ServerCore {
 public:
  // Throws Error.
  ServerCore(Interface& interface, std::string_view name, std::vector<Offered> procedures, void* object,
             const hamlyn::rpc::ServerOptions& options);
  ~ServerCore();
  ServerCore(const ServerCore&) = delete;
  ServerCore& operator=(const ServerCore&) = delete;

  Status run() noexcept;
  Status serve_one(std::chrono::nanoseconds timeout) noexcept;
  void stop() noexcept;
  int descriptor();
  std::size_t clients() const noexcept;
  std::array<std::uint64_t, static_cast<std::size_t>(hamlyn::rpc::Refused::count)> refused() const noexcept;

 private:
  friend struct Serving;
  friend struct Deferred;
  friend struct Home;
  struct Inside;
  std::unique_ptr<Inside> inside_;
};

}  // namespace internal_::rpc

namespace rpc {

// Serves the functions that HAMLYN_RPC lists for `Type`, of one object, with hooks of a class as
// hamlyn/rpc/hooks.h has it. What `before` throws is the call's end, as if the function had thrown it.
template <class Type, class Hooks = NoHooks>
class Server {
 public:
  using Options = ServerOptions;

  // Registers it under `name`. Throws Error: as Interface::publish; invalid_argument (options),
  // out_of_memory.
  Server(Interface& interface, std::string_view name, Type& object,
         const Options& options) requires(!internal_::rpc::kHasHooks<Hooks>)
      : core_(interface, name, internal_::rpc::offered<Type, Hooks>(internal_::rpc::listing<Type>()), &object,
              options) {}
  Server(Interface& interface, std::string_view name, Type& object)
      : Server(interface, name, object, Options{}) {}
  // Has hooks, which are there for longer. As above.
  Server(Interface& interface, std::string_view name, Type& object, const Options& options,
         Hooks& hooks) requires(internal_::rpc::kHasHooks<Hooks>)
      : target_{&object, {&hooks}},
        core_(interface, name, internal_::rpc::offered<Type, Hooks>(internal_::rpc::listing<Type>()),
              &target_, options) {
    static_assert(internal_::rpc::fits_server<Hooks>(internal_::rpc::listing<Type>()),
                  "hooks of a server have a `before` or an `after` as hamlyn/rpc/hooks.h has them");
  }

  // Serves calls in this thread until `stop`, or until the interface is cancelled. ok: it was stopped;
  // cancelled, forked.
  Status run() noexcept { return core_.run(); }
  // Waits for one call and serves it. ok: also without one, if somebody may wait no longer for a call whose
  // answer is owed; timed_out (0: one look), cancelled (stopped, too), forked.
  Status serve_one(std::chrono::nanoseconds timeout) noexcept { return core_.serve_one(timeout); }
  // Ends `run` and `serve_one` in all threads, once they have answered what they have begun, and from now on.
  void stop() noexcept { core_.stop(); }

  // For epoll: readable when there may be a call, or somebody may wait no longer for one. Serve until
  // timed_out before going back. Owned by the server. Throws Error: system, forked.
  int descriptor() { return core_.descriptor(); }
  // Clients that there are now; in a forked child 0.
  std::size_t clients() const noexcept { return core_.clients(); }
  // How often something was refused, by cause.
  std::uint64_t refused(Refused cause) const noexcept {
    return core_.refused()[static_cast<std::size_t>(cause)];
  }

 private:
  [[no_unique_address]] internal_::rpc::TargetOf<Type, Hooks> target_;
  internal_::rpc::ServerCore core_;
};

}  // namespace rpc

}  // namespace hamlyn
