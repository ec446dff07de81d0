#pragma once
// Calls of a service's procedures (docs/calls.md):
//
//   hamlyn::rpc::Client<Calculator> client{interface, "calculator"};
//   hamlyn::rpc::Result<std::int32_t> sum = client.call<&Calculator::add>(2, 3);
//   if (sum) use(*sum);
//
// Each call is done once or not at all. As many are under way as the client has stacks at the server.
//
// Threads: any, several at a time. Owner: who made it; its interface is there for longer, and it is there for
// longer than its pending calls.
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "hamlyn/core/interface.h"
#include "hamlyn/rpc/call.h"
#include "hamlyn/rpc/hooks.h"
#include "hamlyn/rpc/listing.h"
#include "hamlyn/values/begin.h"
#include "hamlyn/values/priority.h"
#include "hamlyn/values/status.h"
#include "hamlyn/values/ticket.h"

namespace hamlyn {

namespace rpc {

struct ClientOptions {
  std::uint32_t stacks = 16;                // calls under way at most, 1 to 1024, as the server allows
  std::size_t frame = 2048;                 // bytes of a result that comes as one packet, 128 to 8064
  std::size_t result = 65536;               // bytes of a result at most; each stack has that room
  std::chrono::milliseconds timeout{5000};  // to find the server and to be let in
  std::chrono::nanoseconds time = std::chrono::nanoseconds::max();  // of each call
  Waits waits = Waits::lately;                                      // for results
};

}  // namespace rpc

namespace internal_::rpc {

// Terms that a caller has for its call.
struct Terms {
  std::chrono::nanoseconds time = std::chrono::nanoseconds::max();
  Priority priority = Priority::normal;
  const hamlyn::rpc::Trace* trace = nullptr;  // null: that of the call that this thread serves, if it has one
};

// Memory for a result: short ones need none of their own.
struct Landing {
  alignas(16) std::byte here[64];
  std::unique_ptr<std::byte[]> more;
  std::span<std::byte> bytes;
};

struct Row;

// Whether a wait has ended and the call has not.
inline bool goes_on(Status status) noexcept {
  return status == Status::timed_out || status == Status::cancelled || status == Status::no_buffer;
}

// A client of procedures by their place in its own listing.
class ClientCore {
 public:
  ClientCore(Interface& interface, std::string_view name, std::vector<Procedure> procedures,
             const hamlyn::rpc::ClientOptions& options);
  ClientCore(Interface& interface, const Ticket& door, std::vector<Procedure> procedures,
             const hamlyn::rpc::ClientOptions& options);
  ~ClientCore();
  ClientCore(const ClientCore&) = delete;
  ClientCore& operator=(const ClientCore&) = delete;

  Status opened(std::chrono::nanoseconds timeout) noexcept;
  Status reopen(std::chrono::nanoseconds timeout) noexcept;
  bool has(std::size_t place) const noexcept;
  // Starts a call. `wait`: for a stack that is free, in the call's own time; `terms` has what is left of it.
  // A long frame is copied.
  Ending start(std::size_t place, std::span<const std::byte> frame, Terms& terms, bool wait,
               Row* row) noexcept;
  // Waits for its end; ok: the result has landed. timed_out: it goes on.
  Ending finish(hamlyn::rpc::CallId call, std::chrono::nanoseconds timeout, Landing& into) noexcept;
  // Looks once.
  Ending look(hamlyn::rpc::CallId call, Landing& into) noexcept;
  void cancel(hamlyn::rpc::CallId call) noexcept;
  // Nobody wants its result.
  void forget(hamlyn::rpc::CallId call) noexcept;
  hamlyn::rpc::Fate settle(hamlyn::rpc::CallId call, std::chrono::nanoseconds timeout) noexcept;
  Status leave(Row& row) noexcept;
  // Signatures of the server's procedures, in words. Throws Error: as Failed of a call; std::bad_alloc.
  std::vector<std::string> list(std::chrono::nanoseconds timeout);
  void drop(Row& row) noexcept;
  std::size_t stacks() const noexcept;
  std::size_t longest() const noexcept;
  Interface& interface() noexcept;
  const hamlyn::rpc::ClientOptions& options() const noexcept;

 private:
  struct Inside;
  Ending start_slowly(std::size_t place, std::span<const std::byte> frame, Terms& terms, bool wait,
                      Row* row) noexcept;
  std::unique_ptr<Inside> inside_;
};

// Frames of a row, until they leave.
struct Row {
  struct Each {
    std::vector<std::byte> frame;
    hamlyn::rpc::CallId call;
    std::uint64_t word = 0;
  };
  std::vector<Each> all;
  std::size_t left = 0;  // of them
};

// An argument on its way to a parameter of type `To`: numbers turn into each other as in any call.
template <class To, class From>
decltype(auto) passed(const From& from) noexcept {
  if constexpr (std::is_arithmetic_v<To> && std::is_arithmetic_v<From>)
    return static_cast<To>(from);
  else
    return static_cast<const From&>(from);
}

template <class Arguments>
struct Caller;
template <class... Types>
struct Caller<std::tuple<Types...>> {
  using Row_ = InRow<Types...>;
  static constexpr std::size_t kSize = sizeof...(Types) == 0 ? 0 : Row_::size();
  static constexpr bool kFixed = sizeof...(Types) == 0 || kSize != 0;

  template <class Core, class Start, class... Given>
  static Ending with_given(const Core& core, Start start, const Given&... given) {
    return with_frame(core, start, passed<Types>(given)...);
  }
  // Calls start(frame) with the arguments in their layout.
  template <class Core, class Start>
  static Ending with_frame(const Core& core, Start start, const Types&... arguments) {
    constexpr std::size_t kHere = kFixed && kSize <= 512 ? (kSize < 8 ? 8 : kSize) : 512;
    alignas(8) std::byte here[kHere];
    Writer first(here);
    Row_::put(first, arguments...);
    if (first.fits()) return start(first.written());
    Ending ending;
    ending.status = Status::too_long;
    if (first.size() > core.longest()) return ending;
    ending.status = Status::no_buffer;
    const std::unique_ptr<std::byte[]> more(new (std::nothrow) std::byte[first.size()]);
    if (more == nullptr) return ending;
    Writer again({more.get(), first.size()});
    Row_::put(again, arguments...);
    return start(again.written());
  }
};

template <class Returned>
hamlyn::rpc::Result<Returned> result_of(Ending ending, const Landing& landed) noexcept {
  if constexpr (std::is_void_v<Returned>) {
    if (ending.status == Status::ok && !landed.bytes.empty()) ending.status = Status::broken;
    return hamlyn::rpc::Result<Returned>(std::move(ending));
  } else {
    const bool came = ending.status == Status::ok;
    hamlyn::rpc::Result<Returned> out(std::move(ending));
    if (!came) return out;
    constexpr std::size_t kSize = Layout<Returned>::kSize;
    const bool fits = kSize == 0 || landed.bytes.size() == kSize;
    Reader reader(kSize != 0 && fits ? std::span(landed.bytes.data(), kSize) : landed.bytes);
    try {
      Layout<Returned>::get(reader, *out);
    } catch (const std::exception&) {  // no memory
      reader.spoil();
    }
    if (fits && reader.whole()) [[likely]]
      return out;
    Ending broken;
    broken.status = Status::broken;
    broken.fate = hamlyn::rpc::Fate::done;
    broken.call = out.call();
    return hamlyn::rpc::Result<Returned>(std::move(broken));
  }
}

template <auto... kFunctions>
std::vector<Procedure> wanted(hamlyn::rpc::Listing<kFunctions...> listing) {
  std::vector<Procedure> out;
  out.reserve(sizeof...(kFunctions));
  const auto names = names_of(listing);
  (out.push_back(procedure_of(names[out.size()], signature_of<ShapeAt<kFunctions>>(names[out.size()]))), ...);
  return out;
}

// Whether a class of hooks has one that a client calls, for any procedure.
template <class Hooks, auto kFunction, class... Types>
constexpr bool fits_call_at_client(std::tuple<Types...>*) noexcept {
  using Result = hamlyn::rpc::Result<typename ShapeAt<kFunction>::Result>;
  return HasBefore<Hooks, kFunction, const Types...> || HasAfter<Hooks, kFunction, const Result&>;
}
template <class Hooks, auto... kFunctions>
constexpr bool fits_client(hamlyn::rpc::Listing<kFunctions...>) noexcept {
  return (fits_call_at_client<Hooks, kFunctions>(
              static_cast<typename ShapeAt<kFunctions>::Arguments*>(nullptr)) ||
          ...);
}

// Called with the result of a call that was started.
struct NoAfter {
  template <class Returned>
  void operator()(const hamlyn::rpc::Result<Returned>&) const noexcept {}
};
template <auto kFunction, class Hooks>
struct After {
  template <class Returned>
  void operator()(const hamlyn::rpc::Result<Returned>& result) const noexcept {
    call_after<kFunction>(at, result);
  }
  HooksAt<Hooks> at;
};
template <auto kFunction, class Hooks>
using AfterOf = std::conditional_t<kHasHooks<Hooks>, After<kFunction, Hooks>, NoAfter>;

}  // namespace internal_::rpc

namespace rpc {

// A call that was started. Whoever drops it wants no result; the call goes on. `After` is the client's hook,
// which is called when it is over, and not for one that was dropped. Threads: one at a time. Owner: who
// started it; its client is there for longer.
template <class Returned, class After = internal_::rpc::NoAfter, class Core = internal_::rpc::ClientCore>
class [[nodiscard]] Pending {
 public:
  // For clients.
  Pending(Core& core, internal_::rpc::Ending begun, After after = {}) noexcept
      : core_(&core), begun_(std::move(begun)), after_(after) {
    if (begun_.status != Status::pending) after_(Result<Returned>(over_already()));
  }
  Pending(Pending&& other) noexcept
      : core_(std::exchange(other.core_, nullptr)), begun_(std::move(other.begun_)), after_(other.after_) {}
  Pending& operator=(Pending&& other) noexcept {
    std::swap(core_, other.core_);
    std::swap(begun_, other.begun_);
    std::swap(after_, other.after_);
    return *this;
  }
  ~Pending() {
    if (core_ != nullptr && begun_.status == Status::pending) core_->forget(begun_.call);
  }

  // Waits for the result, once. timed_out, cancelled, no_buffer while `status` is pending: the wait has
  // ended, and the call goes on, and may be waited for again. Waits as long as it is told, whatever time the
  // call has.
  Result<Returned> wait(std::chrono::nanoseconds timeout = std::chrono::nanoseconds::max()) noexcept {
    if (begun_.status != Status::pending) return Result<Returned>(over_already());
    internal_::rpc::Landing landing;
    return over(core_->finish(begun_.call, timeout, landing), landing);
  }
  // The server is asked not to begin it, or told to end it. The result says what became of it.
  void cancel() noexcept {
    if (begun_.status == Status::pending) core_->cancel(begun_.call);
  }
  // pending: it is under way; otherwise why it was not started, or how it ended.
  Status status() const noexcept { return begun_.status; }
  CallId call() const noexcept { return begun_.call; }

 private:
  Result<Returned> over(internal_::rpc::Ending ending, internal_::rpc::Landing& landing) noexcept {
    if (internal_::rpc::goes_on(ending.status)) return Result<Returned>(std::move(ending));
    begun_.status = ending.status == Status::ok ? Status::closed : ending.status;
    begun_.cause = ending.cause;
    begun_.fate = ending.fate;
    Result<Returned> out = internal_::rpc::result_of<Returned>(std::move(ending), landing);
    after_(out);
    return out;
  }

  // Tells of one that did not start, or whose result was taken.
  internal_::rpc::Ending over_already() const noexcept {
    internal_::rpc::Ending out;
    out.status = begun_.status;
    out.cause = begun_.cause;
    out.fate = begun_.fate;
    out.call = begun_.call;
    return out;
  }

  Core* core_;
  internal_::rpc::Ending begun_;
  [[no_unique_address]] After after_;
};

// Calls with terms of their own: `client.within(5ms).call<&Calculator::add>(2, 3)`. A value, for one
// expression. Threads: one at a time. Owner: nobody; its client is there for longer.
template <class Type, class Hooks = NoHooks, class Core = internal_::rpc::ClientCore>
class Calls {
 public:
  // For clients.
  Calls(Core& core, const internal_::rpc::Terms& terms, internal_::rpc::HooksAt<Hooks> hooks) noexcept
      : core_(core), terms_(terms), hooks_(hooks) {}

  // The type that a procedure returns.
  template <auto kFunction>
  using Returned = typename internal_::rpc::ShapeAt<kFunction>::Result;
  // A call of it that was started.
  template <auto kFunction>
  using Started = Pending<Returned<kFunction>, internal_::rpc::AfterOf<kFunction, Hooks>, Core>;

  // Has these calls and their results overtake others on the way. Up to 320 bytes of arguments; a longer
  // result goes as any.
  Calls urgent() const noexcept {
    return Calls(core_, {terms_.time, Priority::urgent, terms_.trace}, hooks_);
  }
  // Has them carry this trace, which is there until they have left. Without, calls that a handler makes carry
  // that of the call that it serves.
  Calls traced(const Trace& trace) const noexcept {
    return Calls(core_, {terms_.time, terms_.priority, &trace}, hooks_);
  }
  Calls traced(Trace&&) const = delete;

  // Calls, and waits for the result. The procedure's arguments, as it takes them.
  template <auto kFunction, class... Given>
  Result<Returned<kFunction>> call(const Given&... arguments) const {
    Result<Returned<kFunction>> out = wait_for<kFunction>(arguments...);
    internal_::rpc::call_after<kFunction>(hooks_, std::as_const(out));
    return out;
  }
  // Starts a call, and never waits. The result's status is queue_full when all stacks are in use.
  template <auto kFunction, class... Given>
  Started<kFunction> start(const Given&... arguments) const {
    internal_::rpc::Terms terms = terms_;
    return started<kFunction>(begin<kFunction>(terms, false, nullptr, arguments...));
  }
  // Puts a call into a row, to leave with it.
  template <auto kFunction, class... Given>
  Started<kFunction> add(internal_::rpc::Row& row, const Given&... arguments) const {
    internal_::rpc::Terms terms = terms_;
    return started<kFunction>(begin<kFunction>(terms, false, &row, arguments...));
  }

 private:
  template <auto kFunction, class... Given>
  Result<Returned<kFunction>> wait_for(const Given&... arguments) const {
    internal_::rpc::Terms terms = terms_;
    internal_::rpc::Ending begun = begin<kFunction>(terms, true, nullptr, arguments...);
    if (begun.status != Status::pending) [[unlikely]]
      return Result<Returned<kFunction>>(std::move(begun));
    internal_::rpc::Landing landing;
    internal_::rpc::Ending ending = core_.finish(begun.call, terms.time, landing);
    if (internal_::rpc::goes_on(ending.status)) {
      core_.cancel(begun.call);
      core_.forget(begun.call);
    }
    return internal_::rpc::result_of<Returned<kFunction>>(std::move(ending), landing);
  }
  template <auto kFunction>
  Started<kFunction> started(internal_::rpc::Ending begun) const noexcept {
    if constexpr (internal_::rpc::kHasHooks<Hooks>)
      return Started<kFunction>(core_, std::move(begun), {hooks_});
    else
      return Started<kFunction>(core_, std::move(begun));
  }
  template <auto kFunction, class... Given>
  internal_::rpc::Ending begin(internal_::rpc::Terms& terms, bool wait, internal_::rpc::Row* row,
                               const Given&... arguments) const {
    constexpr std::size_t kPlace = internal_::rpc::place_of<Type, kFunction>();
    using Shape = internal_::rpc::ShapeAt<kFunction>;
    static_assert(internal_::rpc::Checked<Shape>::kGood);
    static_assert(std::tuple_size_v<typename Shape::Arguments> == sizeof...(Given),
                  "the procedure takes another number of arguments");
    internal_::rpc::call_before<kFunction>(hooks_, arguments...);
    const auto start = [&](std::span<const std::byte> frame) {
      if constexpr (std::is_same_v<Core, internal_::rpc::ClientCore>)
        return core_.start(kPlace, frame, terms, wait, row);
      else
        return core_.start(kPlace, frame, terms, wait);  // rows leave by links alone
    };
    return internal_::rpc::Caller<typename Shape::Arguments>::with_given(core_, start, arguments...);
  }

  Core& core_;
  internal_::rpc::Terms terms_;
  [[no_unique_address]] internal_::rpc::HooksAt<Hooks> hooks_;
};

// A client of a service whose class is `Type`, with hooks of a class as hamlyn/rpc/hooks.h has it.
template <class Type, class Hooks = NoHooks>
class Client {
 public:
  using Options = ClientOptions;

  // Finds the server by its name, for which it waits, and is let in. Throws Error: as Interface::lookup;
  // seed_wrong_kind (no service is registered there); version_mismatch (a procedure of that name has another
  // signature there: the text says both); peer_refused (as many clients as there may be); peer_died,
  // timed_out, cancelled, forked, invalid_argument, out_of_memory.
  Client(Interface& interface, std::string_view name,
         const Options& options) requires(!internal_::rpc::kHasHooks<Hooks>)
      : core_(interface, name, internal_::rpc::wanted(internal_::rpc::listing<Type>()), options) {}
  Client(Interface& interface, std::string_view name) : Client(interface, name, Options{}) {}
  // Has hooks, which are there for longer. As above.
  Client(Interface& interface, std::string_view name, const Options& options,
         Hooks& hooks) requires(internal_::rpc::kHasHooks<Hooks>)
      : core_(interface, name, internal_::rpc::wanted(internal_::rpc::listing<Type>()), options),
        hooks_{&hooks} {
    static_assert(internal_::rpc::fits_client<Hooks>(internal_::rpc::listing<Type>()),
                  "hooks of a client have a `before` or an `after` as hamlyn/rpc/hooks.h has them");
  }
  // Begins to open, and does not wait: `door` is what Interface::lookup says. Throws Error: seed_wrong_kind,
  // invalid_argument, out_of_memory, forked.
  Client(Interface& interface, const Ticket& door, const Options& options,
         Begin) requires(!internal_::rpc::kHasHooks<Hooks>)
      : core_(interface, door, internal_::rpc::wanted(internal_::rpc::listing<Type>()), options) {}
  Client(Interface& interface, const Ticket& door, Begin) : Client(interface, door, Options{}, kBegin) {}

  // Whether it is open, for calls. ok; timed_out: not yet; refused (as many clients as there may be), stale
  // (a procedure differs), link_ended, cancelled, forked.
  Status opened(std::chrono::nanoseconds timeout) noexcept { return core_.opened(timeout); }
  // Opens it again after its link has ended. Several threads may: all wait for one opening. As `opened`.
  Status reopen(std::chrono::nanoseconds timeout) noexcept { return core_.reopen(timeout); }

  // Calls with the options' time, as Calls::call.
  template <auto kFunction, class... Given>
  auto call(const Given&... arguments) {
    return plain().template call<kFunction>(arguments...);
  }
  // Starts a call with the options' time, as Calls::start.
  template <auto kFunction, class... Given>
  auto start(const Given&... arguments) {
    return plain().template start<kFunction>(arguments...);
  }
  // Calls that have no more time than that, at both sides; what is started, at the server's: its caller keeps
  // its own clock, and cancels.
  Calls<Type, Hooks> within(std::chrono::nanoseconds time) noexcept {
    return Calls<Type, Hooks>(core_, {time, Priority::normal, nullptr}, hooks_);
  }
  // Calls that overtake others, as Calls::urgent.
  Calls<Type, Hooks> urgent() noexcept { return plain().urgent(); }
  // Calls that carry a trace, as Calls::traced.
  Calls<Type, Hooks> traced(const Trace& trace) noexcept { return plain().traced(trace); }
  Calls<Type, Hooks> traced(Trace&&) = delete;

  // Whether the server has that procedure: it may be older than this program.
  template <auto kFunction>
  bool has() const noexcept {
    return core_.has(internal_::rpc::place_of<Type, kFunction>());
  }
  // Turns `unknown` into done or not_done, while the server lives and remembers. Opens the client again if
  // its link has ended.
  Fate settle(const CallId& call, std::chrono::nanoseconds timeout) noexcept {
    return core_.settle(call, timeout);
  }

  // Calls under way at most.
  std::size_t stacks() const noexcept { return core_.stacks(); }
  Interface& interface() noexcept { return core_.interface(); }
  // Internal: for rows and coroutines.
  internal_::rpc::ClientCore& core() noexcept { return core_; }

 private:
  Calls<Type, Hooks> plain() noexcept { return within(core_.options().time); }

  internal_::rpc::ClientCore core_;
  [[no_unique_address]] internal_::rpc::HooksAt<Hooks> hooks_;
};

// Calls that leave together: the server is woken once. Threads: one at a time. Owner: who made it; its client
// is there for longer.
template <class Type, class Hooks = NoHooks>
class Row {
 public:
  // Begins a row of that client's calls.
  explicit Row(Client<Type, Hooks>& client) noexcept : client_(client) {}
  Row(const Row&) = delete;
  Row& operator=(const Row&) = delete;
  // Drops the calls that have not left: their results say not_done.
  ~Row() { client_.core().drop(row_); }

  // Adds a call, which does not leave before `leave`.
  template <auto kFunction, class... Given>
  auto add(const Given&... arguments) {
    return client_.within(client_.core().options().time).template add<kFunction>(row_, arguments...);
  }
  // Has all of them leave. ok; otherwise why the next one has not, and may be called again.
  Status leave() noexcept { return client_.core().leave(row_); }

 private:
  Client<Type, Hooks>& client_;
  internal_::rpc::Row row_;
};

// Signatures of all procedures of the service that is registered under `name`, such as
// `minus(i32,i32)->i32`. Throws Error: as Client, and Failed.
std::vector<std::string> procedures(Interface& interface, std::string_view name,
                                    std::chrono::milliseconds timeout);

}  // namespace rpc

}  // namespace hamlyn
