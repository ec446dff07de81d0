#pragma once
// Bundles and endpoints: Active Messages II (Mainwaring and Culler; paper 2, section 4.1; docs/am.md).
//
// A request calls a handler at another endpoint, by number. That handler may reply once, which calls a
// handler here. Handlers run in `Bundle::poll`, or in a call that waits, and one at a time in a bundle.
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>

#include "hamlyn/am/values.h"
#include "hamlyn/core/interface.h"

namespace hamlyn {

namespace am {

class Endpoint;

struct BundleOptions {
  bool events = false;  // as Bundle::set_events
};

// Endpoints that are polled together. Threads: any. Owner: who made it; its interface is there for longer,
// and its endpoints go, or move, before it.
class Bundle {
 public:
  using Options = BundleOptions;

  // Throws Error: out_of_memory, forked.
  explicit Bundle(Interface& interface, const Options& options = {});
  ~Bundle();  // ends calls that wait. Not to be called by a handler
  Bundle(const Bundle&) = delete;
  Bundle& operator=(const Bundle&) = delete;

  // Handles what has come, at most one message of each endpoint, and lets leave what had to wait. ok; in_use:
  // called by a handler; not_init.
  Result poll() noexcept;
  // Polls until nothing is there, at most `times` times, and keeps other threads out of the bundle meanwhile.
  // Answers as `poll()` does.
  Result poll(std::uint32_t times) noexcept;
  // Also says whether something may be left: the last time, too, there was something.
  Result poll(std::uint32_t times, bool& left) noexcept;
  // Whether `wait` waits for messages. At first it does not.
  bool events() const noexcept;
  void set_events(bool wanted) noexcept;
  // Sleeps until a message is there that `poll` would handle. ok; not_sent: the time is over, or
  // Interface::cancel was called; bad_argument:
  // it would wait for ever, for no events are wanted; in_use: called by a handler; not_init: the bundle goes.
  Result wait(std::chrono::nanoseconds timeout = std::chrono::nanoseconds::max()) noexcept;

  Interface& interface() noexcept;

 private:
  friend class Endpoint;
  friend class Token;
  friend class Entry;
  friend class Handling;
  struct Inside;
  std::shared_ptr<Inside> inside_;  // endpoints that have been here have it, too
};

// Stands for a message in its handler: who sent it, and the right to reply once. Good until the
// handler returns; a copy of its address that is used later is answered with bad_argument as long as the
// endpoint is there.
class Token {
 public:
  // Calls `handler` where the request came from. Never waits for a credit; a reply that finds no room is
  // kept, and leaves in a later poll. ok; bad_argument: this is no request, or was answered already, or is
  // over; too many arguments or bytes; resource: no memory to keep it in.
  Result reply(HandlerNumber handler, Arguments arguments = {}) noexcept;
  // Also with up to kMostMedium bytes.
  Result reply(HandlerNumber handler, std::span<const std::byte> data, Arguments arguments = {}) noexcept;
  // Also with bytes that land at `offset` of the asker's segment. Waits until they have left; a peer that is
  // stopped ends that with its link.
  Result reply_to(std::uint64_t offset, HandlerNumber handler, std::span<const std::byte> data,
                  Arguments arguments = {}) noexcept;

  // Names its sender. Its process is what the node attests; which endpoint of it, that process says.
  const Name& source() const noexcept;
  // The endpoint that it was sent to. Null when the token is over.
  Endpoint* endpoint() const noexcept;
  // The tag that its sender has mapped that endpoint with.
  Tag tag() const noexcept;

 private:
  friend class Endpoint;
  struct Inside;
  Inside* inside_ = nullptr;
};

struct EndpointOptions {
  // Requests to one other endpoint that may be under way, 1 to 512, and bytes of its landing ring, 32 KiB to
  // 1 MiB. The smaller of both sides' counts. 0 and 0: as HAMLYN_AM_CREDITS and HAMLYN_AM_RING say, or 128
  // and 64 KiB. Over VIs 1 to 32 requests, 8 if nothing is said, and no ring.
  std::uint32_t credits = 0;
  std::size_t ring = 0;
  Way way = Way::standard;
};

// Sends, and is sent to. Threads: any, unless said otherwise. Owner: who made it.
class Endpoint {
 public:
  using Options = EndpointOptions;
  using Handler = std::function<void(Token&, const Arrival&)>;
  using ReturnHandler = std::function<void(const Returned&)>;
  using Hook = std::function<void(Token&)>;

  // Throws Error: invalid_argument, also in a handler of another bundle; out_of_memory, forked.
  explicit Endpoint(Bundle& bundle, const Options& options = {});
  // Tells those that send here, and ends calls that wait. Not to be called by a handler.
  ~Endpoint();
  Endpoint(const Endpoint&) = delete;
  Endpoint& operator=(const Endpoint&) = delete;

  const Name& name() const noexcept;

  // Puts it into another bundle of the same interface, with all that it has. ok; bad_argument; in_use: called
  // by a handler.
  Result move_to(Bundle& bundle) noexcept;

  // --- who may send here

  // kNoTag in a handler of another bundle. There all that tell what the endpoint has tell of nothing.
  Tag tag() const noexcept;
  // From now on, of what is handled. ok; in_use: called by a handler of another bundle; not_init. So are all
  // of those below that answer.
  Result set_tag(Tag tag) noexcept;

  // --- whom it can send to

  // `index` stands for the endpoint of that name from here on, which has that tag. ok; bad_argument: no such
  // index, or a name that is none; in_use: it stands for one already; resource.
  Result map(std::uint32_t index, const Name& name, Tag tag) noexcept;
  // Maps the first index that is free; the table grows if none is.
  Result map_any(std::uint32_t& index, const Name& name, Tag tag) noexcept;
  Result unmap(std::uint32_t index) noexcept;  // ok; bad_argument: it stands for nobody
  bool mapped(std::uint32_t index) const noexcept;
  Result translation(std::uint32_t index, Name& name, Tag& tag) const noexcept;
  std::uint32_t translations() const noexcept;  // 256 at first
  // bad_argument: 0, or more than kMostTranslations; in_use: one beyond stands for somebody; resource.
  Result set_translations(std::uint32_t count) noexcept;

  // --- what is called here
  //
  // in_use: from inside of a handler or hook of this endpoint, but for setting a handler that does not run.

  // Sets a handler. null: there is none. bad_argument: 0, which `on_return` sets, or beyond `handlers`.
  Result set_handler(HandlerNumber number, Handler handler) noexcept;
  // Sets the first that is free. resource: none is.
  Result set_handler_any(HandlerNumber& number, Handler handler) noexcept;
  std::uint32_t handlers() const noexcept;  // 256 at first
  Result set_handlers(std::uint32_t count) noexcept;
  // Called with what comes back. The default passes over replies; of a request it says so on standard error,
  // and ends the process by _Exit.
  Result on_return(ReturnHandler handler) noexcept;
  // Called before and after each handler; null: nothing is.
  Result set_hooks(Hook before, Hook after) noexcept;

  // --- memory that others write to

  // Long messages land in this memory, which stays the caller's, until another is set or the endpoint goes.
  // Nothing: there is none. ok; bad_argument: not all of it is there and writable; resource.
  //
  // kAddressSpace: all that this process can write, by addresses, for ranks of its job (hamlyn/job/job.h)
  // that are of its user, and on this host or of a job whose network is trusted. Each piece of data is copied
  // by a call of the system, which reports addresses where there is nothing. bad_argument: this process is of
  // no job, or has rights that its user has not; resource: the system has no such calls.
  Result set_segment(std::span<std::byte> memory) noexcept;
  std::span<std::byte> segment() const noexcept;

  // --- requests

  // Calls `handler` at the endpoint that `index` stands for. Waits, and polls meanwhile, until there is a
  // credit and room; polls now and then otherwise. What the arguments name is the caller's again on return.
  // ok: the message has left, or comes back to `on_return`; bad_argument: too many arguments or bytes, or an
  // index beyond the table; in_use: called by a handler; resource; not_init.
  Result request(std::uint32_t index, HandlerNumber handler, Arguments arguments = {}) noexcept;
  // Also with up to kMostMedium bytes.
  Result request(std::uint32_t index, HandlerNumber handler, std::span<const std::byte> data,
                 Arguments arguments = {}) noexcept;
  // Also with up to kMostLong bytes, which land at `offset` of the other's segment.
  Result request_to(std::uint32_t index, std::uint64_t offset, HandlerNumber handler,
                    std::span<const std::byte> data, Arguments arguments = {}) noexcept;
  // Does that without a wait, up to 1 MiB: not_sent if there is no credit, or no room for all of it now.
  Result request_to_async(std::uint32_t index, std::uint64_t offset, HandlerNumber handler,
                          std::span<const std::byte> data, Arguments arguments = {}) noexcept;
  // Brings `length` bytes at `source` of the other's segment to `offset` of the own one, then calls `handler`
  // here. The other endpoint is to poll for it.
  Result get(std::uint32_t index, std::uint64_t source, HandlerNumber handler, std::uint64_t length,
             std::uint64_t offset, Arguments arguments = {}) noexcept;

  Statistics statistics() const noexcept;

 private:
  friend class Token;
  friend class Bundle;
  friend class Entry;
  struct Inside;
  std::unique_ptr<Inside> inside_;
};

}  // namespace am

}  // namespace hamlyn
