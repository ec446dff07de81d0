#pragma once
// Calls over datagrams that may be lost, repeated and overtaken, for whoever has no links (docs/calls.md,
// "Without links"; paper 4, section 5.3.1). The class of the service, and the calls, are those of
// hamlyn/rpc/server.h and hamlyn/rpc/client.h:
//
//   hamlyn::rpc::BlastServer<Calculator> server{"10.0.0.1:4711", calculator};
//   server.run();
//
//   hamlyn::rpc::BlastClient<Calculator> client{"10.0.0.1:4711"};
//   hamlyn::rpc::Result<std::int32_t> difference = client.call<&Calculator::minus>(5, 3);
//
// Each call is done once or not at all. Neither side has an interface or a daemon: nobody attests who calls,
// and nothing is hidden. The network is trusted; whoever merely sends datagrams to a server is not.
//
// An address is one of this machine's and a port: `10.0.0.1:4711`, `[fe80::1]:4711`; without a port any is
// taken. Needs libfabric, whose provider `udp` carries the datagrams.
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "hamlyn/rpc/client.h"
#include "hamlyn/rpc/server.h"

namespace hamlyn {

namespace rpc {

struct BlastServerOptions {
  std::uint32_t clients = 64;                // at a time, 1 to 1024
  std::uint32_t calls = 16;                  // of each under way, 1 to 1024
  std::size_t frame = 65536;                 // bytes of arguments at most, 128 to 1 GiB
  std::size_t result = 65536;                // bytes of a result at most, 128 to 1 GiB
  std::chrono::milliseconds silence{60000};  // a client that says nothing for so long is forgotten
  Waits waits = Waits::lately;               // for calls
};

struct BlastClientOptions {
  std::uint32_t calls = 16;    // under way at most, 1 to 1024, as the server allows
  std::size_t result = 65536;  // bytes of a result at most, 128 to 1 GiB
  std::uint32_t packet = 0;    // bytes of data of a datagram, from 16 on; 0: as many as it carries
  std::uint32_t unit = 16;     // packets that are answered together, 1 to 64
  std::chrono::milliseconds timeout{5000};  // to be let in
  std::chrono::milliseconds dead{5000};     // a server that is not heard for so long ends calls
  std::chrono::nanoseconds time = std::chrono::nanoseconds::max();  // of each call
  Waits waits = Waits::lately;                                      // for results
  std::string address = {};  // this side's; empty: the one from which the server is reached
};

// Causes for which a packet that anybody has sent was not taken. Each costs its sender, and nobody else.
enum class BlastRefused : std::uint8_t {
  kind,      // no packet of ours, or with what cannot be
  greeting,  // a client that cannot be, or one more than there may be
  session,   // of no client that there is: of an earlier life, or made up
  line,      // no such line
  length,    // of a call that is longer than it may be
  packet,    // an offset or length that is none of its message, or a unit further ahead than anybody may send
  mask,      // an answer to what has not been sent: a mask of no unit
  sequence,  // of a call that is over: late, twice, or made up
  busy,      // a second call in a line whose first is not over
  count,     // (how many there are)
};

}  // namespace rpc

namespace internal_::rpc {

struct BlastPort;  // owns a datagram port

// A server over datagrams, of procedures by number.
class BlastServerCore {
 public:
  // Throws Error.
  BlastServerCore(std::string_view address, std::vector<Offered> procedures, void* object,
                  const hamlyn::rpc::BlastServerOptions& options);
  BlastServerCore(BlastPort port, std::vector<Offered> procedures, void* object,
                  const hamlyn::rpc::BlastServerOptions& options);
  ~BlastServerCore();
  BlastServerCore(const BlastServerCore&) = delete;
  BlastServerCore& operator=(const BlastServerCore&) = delete;

  std::string address() const;
  Status run() noexcept;
  Status serve_one(std::chrono::nanoseconds timeout) noexcept;
  void stop() noexcept;
  std::size_t clients() const noexcept;
  std::uint64_t refused(hamlyn::rpc::BlastRefused cause) const noexcept;
  std::uint64_t sent_again() const noexcept;

 private:
  struct Inside;
  std::unique_ptr<Inside> inside_;
};

// A client over datagrams, of procedures by their place in its own listing.
class BlastClientCore {
 public:
  // Throws Error.
  BlastClientCore(std::string_view server, std::vector<Procedure> procedures,
                  const hamlyn::rpc::BlastClientOptions& options);
  BlastClientCore(BlastPort port, std::span<const std::byte> server, std::vector<Procedure> procedures,
                  const hamlyn::rpc::BlastClientOptions& options);
  ~BlastClientCore();
  BlastClientCore(const BlastClientCore&) = delete;
  BlastClientCore& operator=(const BlastClientCore&) = delete;

  // As those of ClientCore.
  bool has(std::size_t place) const noexcept;
  Ending start(std::size_t place, std::span<const std::byte> frame, Terms& terms, bool wait) noexcept;
  Ending finish(hamlyn::rpc::CallId call, std::chrono::nanoseconds timeout, Landing& into) noexcept;
  // Moves packets until `ready`, which looks at calls, says that it may end. ok, cancelled (nobody can wait
  // here), forked.
  Status wait_any(const std::function<bool()>& ready);
  void cancel(hamlyn::rpc::CallId call) noexcept;
  void forget(hamlyn::rpc::CallId call) noexcept;
  hamlyn::rpc::Fate settle(hamlyn::rpc::CallId call, std::chrono::nanoseconds timeout) noexcept;
  std::size_t calls() const noexcept;
  std::size_t longest() const noexcept;
  std::uint64_t refused() const noexcept;
  std::uint64_t sent_again() const noexcept;
  const hamlyn::rpc::BlastClientOptions& options() const noexcept;

 private:
  struct Inside;
  std::unique_ptr<Inside> inside_;
};

template <class Type, class Hooks = hamlyn::rpc::NoHooks>
using BlastCalls = hamlyn::rpc::Calls<Type, Hooks, BlastClientCore>;

// Whether each function of a listing answers when it returns.
template <auto... kFunctions>
constexpr bool answer_at_once(hamlyn::rpc::Listing<kFunctions...>) noexcept {
  return !(ShapeAt<kFunctions>::kAnswersLater || ...);
}

}  // namespace internal_::rpc

namespace rpc {

// Serves the functions that HAMLYN_RPC lists for `Type`, of one object, over datagrams, with hooks as Server
// has them. Threads: any; as many serve as call `run` or `serve_one`. Owner: who made it; object and hooks
// are there for longer. Threads that serve have left before it goes.
template <class Type, class Hooks = NoHooks>
class BlastServer {
  static_assert(internal_::rpc::answer_at_once(internal_::rpc::listing<Type>()),
                "over datagrams no handler answers later");

 public:
  using Options = BlastServerOptions;

  // Serves at that address of this machine. Throws Error: invalid_argument (address, options), system (the
  // address or port cannot be had, or there is no libfabric), out_of_memory.
  BlastServer(std::string_view address, Type& object,
              const Options& options) requires(!internal_::rpc::kHasHooks<Hooks>)
      : core_(address, internal_::rpc::offered<Type, Hooks>(internal_::rpc::listing<Type>()), &object,
              options) {}
  BlastServer(std::string_view address, Type& object) : BlastServer(address, object, Options{}) {}
  // Has hooks. As above.
  BlastServer(std::string_view address, Type& object, const Options& options,
              Hooks& hooks) requires(internal_::rpc::kHasHooks<Hooks>)
      : target_{&object, {&hooks}},
        core_(address, internal_::rpc::offered<Type, Hooks>(internal_::rpc::listing<Type>()), &target_,
              options) {
    static_assert(internal_::rpc::fits_server<Hooks>(internal_::rpc::listing<Type>()),
                  "hooks of a server have a `before` or an `after` as hamlyn/rpc/hooks.h has them");
  }

  // The address that clients need, with the port.
  std::string address() const { return core_.address(); }
  // Serves calls in this thread until `stop`. ok: it was stopped; cancelled: nobody can wait here (no
  // memory); forked.
  Status run() noexcept { return core_.run(); }
  // Waits for one call and serves it. ok, timed_out (0: one look), cancelled (stopped), forked.
  Status serve_one(std::chrono::nanoseconds timeout) noexcept { return core_.serve_one(timeout); }
  // Ends `run` and `serve_one` in all threads, once they have answered what they have begun, and from now on.
  void stop() noexcept { core_.stop(); }

  // Clients that there are now; in a forked child 0.
  std::size_t clients() const noexcept { return core_.clients(); }
  // How often something was refused, by cause.
  std::uint64_t refused(BlastRefused cause) const noexcept { return core_.refused(cause); }
  // Datagrams of results that were sent more than once.
  std::uint64_t sent_again() const noexcept { return core_.sent_again(); }

 private:
  [[no_unique_address]] internal_::rpc::TargetOf<Type, Hooks> target_;
  internal_::rpc::BlastServerCore core_;
};

// A client of such a server, with hooks as Client has them. Datagrams go out and come in while one of its
// threads is in a call of it. Threads: any, several at a time. Owner: who made it; it is there for longer
// than its pending calls, and its hooks for longer than it.
template <class Type, class Hooks = NoHooks>
class BlastClient {
 public:
  using Options = BlastClientOptions;

  // Is let in by the server at that address, for which it waits. Throws Error: version_mismatch (a procedure
  // has another signature there: the text says both); peer_refused (as many clients as there may be, or
  // packets longer than it takes); timed_out, system, invalid_argument, out_of_memory, forked.
  BlastClient(std::string_view server, const Options& options) requires(!internal_::rpc::kHasHooks<Hooks>)
      : core_(server, internal_::rpc::wanted(internal_::rpc::listing<Type>()), options) {}
  explicit BlastClient(std::string_view server) : BlastClient(server, Options{}) {}
  // Has hooks. As above.
  BlastClient(std::string_view server, const Options& options,
              Hooks& hooks) requires(internal_::rpc::kHasHooks<Hooks>)
      : core_(server, internal_::rpc::wanted(internal_::rpc::listing<Type>()), options), hooks_{&hooks} {
    static_assert(internal_::rpc::fits_client<Hooks>(internal_::rpc::listing<Type>()),
                  "hooks of a client have a `before` or an `after` as hamlyn/rpc/hooks.h has them");
  }

  // Calls with the options' time, as Calls::call.
  template <auto kFunction, class... Given>
  auto call(const Given&... arguments) {
    return within(core_.options().time).template call<kFunction>(arguments...);
  }
  // Starts a call with the options' time, as Calls::start. While no thread waits for anything here its
  // packets stay as they are.
  template <auto kFunction, class... Given>
  auto start(const Given&... arguments) {
    return within(core_.options().time).template start<kFunction>(arguments...);
  }
  // Calls that have no more time than that, at both sides; what is started, at the server's alone.
  internal_::rpc::BlastCalls<Type, Hooks> within(std::chrono::nanoseconds time) noexcept {
    return internal_::rpc::BlastCalls<Type, Hooks>(core_, {time, Priority::normal, nullptr}, hooks_);
  }
  // Calls that carry a trace, as Calls::traced.
  internal_::rpc::BlastCalls<Type, Hooks> traced(const Trace& trace) noexcept {
    return within(core_.options().time).traced(trace);
  }
  internal_::rpc::BlastCalls<Type, Hooks> traced(Trace&&) = delete;

  // Whether the server has that procedure: it may be older than this program.
  template <auto kFunction>
  bool has() const noexcept {
    return core_.has(internal_::rpc::place_of<Type, kFunction>());
  }
  // Turns `unknown` into done or not_done, while the server lives: a call that has not begun by then never
  // does. Unknown stays what a server of before had.
  Fate settle(const CallId& call, std::chrono::nanoseconds timeout) noexcept {
    return core_.settle(call, timeout);
  }

  // For loops.
  internal_::rpc::BlastClientCore& core() noexcept { return core_; }
  // Calls under way at most.
  std::size_t calls() const noexcept { return core_.calls(); }
  // Packets that came and were not taken: late, twice, made up.
  std::uint64_t refused() const noexcept { return core_.refused(); }
  // Datagrams of calls that were sent more than once.
  std::uint64_t sent_again() const noexcept { return core_.sent_again(); }

 private:
  internal_::rpc::BlastClientCore core_;
  [[no_unique_address]] internal_::rpc::HooksAt<Hooks> hooks_;
};

}  // namespace rpc

}  // namespace hamlyn
