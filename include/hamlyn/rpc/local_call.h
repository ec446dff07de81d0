#pragma once
// Calls of clients on the clerk of a service (paper 4, sections 7.2.1 and 7.2.4): local calls, and all that
// clients know of the service, whose segments they never see. Neither do they trust each other, nor does the
// clerk trust any of them. They are calls (hamlyn/rpc/server.h) of one procedure, from bytes to bytes, whose
// clerk takes a call when it likes and answers it when it likes.
//
// Each client has stacks of its own at the clerk, with a key that it alone is given. A request is copied out
// whole before anybody looks at it: what the clerk has checked stays as it was. A client can keep its own
// stacks busy, and nothing else; one that does not take its answers, stops or dies holds nobody up.
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "hamlyn/core/interface.h"
#include "hamlyn/values/plain.h"
#include "hamlyn/values/rights.h"
#include "hamlyn/values/status.h"

namespace hamlyn {

// One call, until it is answered. A value.
struct LocalCall {
  std::uint64_t client = 0;  // its interface, as the node attests
  std::span<const std::byte> request =
      {};                    // any bytes that the client likes; the service's, until the answer
  std::uint64_t number = 0;  // of the service's calls
  std::uint32_t record = 0;  // of the library
};

// The clerk's side. Threads: any; a call is answered by one. Owner: its interface is there for longer.
class LocalService {
 public:
  struct Options {
    // Bytes of a request at most, 1 to 1 GiB. Of requests of more than 8064 each client has one under way.
    std::size_t request = 256;
    std::size_t reply = 256;     // and of a reply, up to 1 GiB
    std::uint32_t clients = 64;  // at a time, 1 to 1024; 8 at most of one interface
    Rights rights = {};          // who may become one: whoever may look the name up
  };

  // Registers it under `name`. Throws Error: as Interface::publish; invalid_argument (sizes), out_of_memory.
  LocalService(Interface& interface, std::string_view name, const Options& options);
  LocalService(Interface& interface, std::string_view name) : LocalService(interface, name, Options{}) {}
  ~LocalService();  // waits end with `cancelled`; clients are told link_ended or timed_out from here on
  LocalService(const LocalService&) = delete;
  LocalService& operator=(const LocalService&) = delete;

  // Waits for the next call. Several may be taken before they are answered, and 16 of each client. ok,
  // timed_out (0: one look), cancelled, forked.
  Status take(LocalCall& out, std::chrono::nanoseconds timeout) noexcept;
  // Answers it, which never waits: `reply` is copied. Every call is to be answered, if with nothing. ok;
  // link_ended: the client has gone; too_long: than the options say, or than the client has room for: answer
  // otherwise; invalid: no call that is to be answered; no_buffer: no memory, which the client is told;
  // forked.
  Status answer(const LocalCall& call, std::span<const std::byte> reply) noexcept;

  // For epoll: readable when there may be a call. Take until timed_out before going back. Owned by the
  // service. Throws Error: system, forked.
  int descriptor();
  std::size_t clients() const;  // there are now; of a forked child 0

 private:
  struct Clients;
  std::unique_ptr<Clients> clients_;
};

// The client's side. Threads: any, 16 calls at a time; one more waits. Owner: its interface is there for
// longer.
class LocalClient {
 public:
  struct Options {
    std::size_t reply = 256;                  // bytes, at most, of each of 16; 128 to 1 GiB
    std::chrono::milliseconds timeout{5000};  // to find the clerk and to be let in
  };

  // Finds the clerk by its service's name, for which it waits, and is let in. Throws Error: as
  // Interface::lookup; seed_wrong_kind (no service is registered there), peer_refused (as many clients as
  // there may be, of all or of this interface), peer_died, timed_out, cancelled, forked, invalid_argument,
  // out_of_memory.
  LocalClient(Interface& interface, std::string_view service, const Options& options);
  LocalClient(Interface& interface, std::string_view service) : LocalClient(interface, service, Options{}) {}
  ~LocalClient();
  LocalClient(const LocalClient&) = delete;
  LocalClient& operator=(const LocalClient&) = delete;

  // Calls, and waits for the reply, which stays where it is until this thread's next call. ok; timed_out,
  // cancelled: it may have been done, or be done yet; not_ready: 16 calls before have no answer in that time,
  // or a request before of more than 8064 bytes has none and this is another, and it was not done; too_long,
  // than the clerk takes: it was not done; link_ended: the clerk has gone, make a new client; refused: it is
  // one of a chain of more than 15 calls; no_buffer: no memory; broken: the clerk has sent what no clerk
  // sends; forked.
  Status call(std::span<const std::byte> request, std::span<const std::byte>& reply,
              std::chrono::nanoseconds timeout) noexcept;
  // Calls with text, as `call` does with its bytes.
  Status call(std::string_view request, std::span<const std::byte>& reply,
              std::chrono::nanoseconds timeout) noexcept {
    return call(std::as_bytes(std::span(request)), reply, timeout);
  }
  // Calls for a value, with bytes or with another value. Also broken: the reply has another length.
  template <Plain Reply>
  Status call(std::span<const std::byte> request, Reply& reply, std::chrono::nanoseconds timeout) noexcept {
    return call_for(request, std::as_writable_bytes(std::span(&reply, 1)), timeout);
  }
  template <Plain Request, Plain Reply>
  Status call(const Request& request, Reply& reply, std::chrono::nanoseconds timeout) noexcept {
    return call(std::as_bytes(std::span(&request, 1)), reply, timeout);
  }

 private:
  struct Connection;
  Status call_for(std::span<const std::byte> request, std::span<std::byte> reply,
                  std::chrono::nanoseconds timeout) noexcept;
  std::unique_ptr<Connection> connection_;
};

}  // namespace hamlyn
