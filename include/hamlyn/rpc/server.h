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
#include <vector>

#include "hamlyn/core/interface.h"
#include "hamlyn/rpc/call.h"
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

enum class Ran : std::uint8_t { done, bad_arguments, no_memory, too_long };

struct Offered {
  Procedure procedure;
  Ran (*run)(void* object, std::span<std::byte> frame, Reply& reply, hamlyn::rpc::Call& call) = nullptr;
  bool short_result = false;  // it fits kShortReply always
};
inline constexpr std::size_t kShortReply = 256;

template <class Type>
Ran answer(const Type& value, Reply& reply) noexcept {
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

template <class Type, auto kFunction>
Ran run_procedure(void* object, std::span<std::byte> frame, Reply& reply, hamlyn::rpc::Call& call) {
  using Shape = ShapeAt<kFunction>;
  using Result = typename Shape::Result;
  Reader reader(frame);
  typename Shape::Arguments arguments{};
  try {
    std::apply([&](auto&... all) { Shape::Row::get(reader, all...); }, arguments);
  } catch (const std::exception&) {
    return Ran::no_memory;
  }
  if (!reader.whole()) [[unlikely]]
    return Ran::bad_arguments;
  const auto invoke = [&](auto&... all) -> decltype(auto) {
    if constexpr (Shape::kAsksWho)
      return (static_cast<Type*>(object)->*kFunction)(call, std::move(all)...);
    else
      return (static_cast<Type*>(object)->*kFunction)(std::move(all)...);
  };
  if constexpr (std::is_void_v<Result>) {
    std::apply(invoke, arguments);
    return Ran::done;
  } else {
    return answer<Result>(std::apply(invoke, arguments), reply);
  }
}

template <class Type, auto... kFunctions>
std::vector<Offered> offered(hamlyn::rpc::Listing<kFunctions...> listing) {
  std::vector<Offered> out;
  out.reserve(sizeof...(kFunctions));
  const auto names = names_of(listing);
  const auto add = [&]<auto kFunction>(std::integral_constant<decltype(kFunction), kFunction>) {
    using Shape = ShapeAt<kFunction>;
    Offered each;
    each.procedure.name = names[out.size()];
    each.procedure.signature = signature_of<Shape>(each.procedure.name);
    each.procedure.named = hash_of(each.procedure.name);
    each.procedure.signed_ = hash_of(each.procedure.signature);
    each.run = run_procedure<Type, kFunction>;
    if constexpr (std::is_void_v<typename Shape::Result>)
      each.short_result = true;
    else if constexpr (Fixed<typename Shape::Result>)
      each.short_result = Layout<typename Shape::Result>::kSize <= kShortReply;
    out.push_back(std::move(each));
  };
  (add(std::integral_constant<decltype(kFunctions), kFunctions>{}), ...);
  return out;
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
  struct Inside;
  std::unique_ptr<Inside> inside_;
};

}  // namespace internal_::rpc

namespace rpc {

// Serves the functions that HAMLYN_RPC lists for `Type`, of one object.
template <class Type>
class Server {
 public:
  using Options = ServerOptions;

  // Registers it under `name`. Throws Error: as Interface::publish; invalid_argument (options),
  // out_of_memory.
  Server(Interface& interface, std::string_view name, Type& object, const Options& options)
      : core_(interface, name, internal_::rpc::offered<Type>(internal_::rpc::listing<Type>()), &object,
              options) {}
  Server(Interface& interface, std::string_view name, Type& object)
      : Server(interface, name, object, Options{}) {}

  // Serves calls in this thread until `stop`, or until the interface is cancelled. ok: it was stopped;
  // cancelled, forked.
  Status run() noexcept { return core_.run(); }
  // Waits for one call and serves it. ok, timed_out (0: one look), cancelled (stopped, too), forked.
  Status serve_one(std::chrono::nanoseconds timeout) noexcept { return core_.serve_one(timeout); }
  // Ends `run` and `serve_one` in all threads, once they have answered what they have begun, and from now on.
  void stop() noexcept { core_.stop(); }

  // For epoll: readable when there may be a call. Serve until timed_out before going back. Owned by the
  // server. Throws Error: system, forked.
  int descriptor() { return core_.descriptor(); }
  // Clients that there are now; in a forked child 0.
  std::size_t clients() const noexcept { return core_.clients(); }
  // How often something was refused, by cause.
  std::uint64_t refused(Refused cause) const noexcept {
    return core_.refused()[static_cast<std::size_t>(cause)];
  }

 private:
  internal_::rpc::ServerCore core_;
};

}  // namespace rpc

}  // namespace hamlyn
