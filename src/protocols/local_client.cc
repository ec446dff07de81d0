#include <optional>
#include <string>
#include <vector>

#include "base/longest_time.h"
#include "hamlyn/core/message_area.h"
#include "hamlyn/core/notification_queue.h"
#include "hamlyn/core/slot.h"
#include "hamlyn/core/terminus.h"
#include "hamlyn/protocols/local_call.h"
#include "library/no_link.h"
#include "library/with_memory.h"
#include "protocols/dispatcher.h"
#include "protocols/local_call.h"

namespace hamlyn {

using protocols::CallNumber;
using protocols::Greeting;

namespace {

[[noreturn]] void throw_not_let_in(Status status) {
  switch (status) {
    case Status::timed_out:
      throw Error(ErrorCode::timed_out, "the clerk did not let this client in in time");
    case Status::cancelled:
      throw Error(ErrorCode::cancelled, "cancelled while the clerk was asked to let this client in");
    case Status::forked:
      protocols::throw_forked();
    case Status::link_ended:
      throw Error(ErrorCode::peer_died, "the clerk's process has ended, or its link has");
    default:
      throw Error(ErrorCode::seed_wrong_kind, std::string("no service is registered there: ") + name(status));
  }
}

std::size_t room(const LocalClient::Options& options) {
  if (options.reply > std::size_t{1} << 30)
    throw Error(ErrorCode::invalid_argument, "a reply has at most 1 GiB");
  return std::max(options.reply, sizeof(protocols::DatagramReply));  // the first one says where calls go
}

}  // namespace

struct LocalClient::Connection {
  Connection(Interface& interface, std::size_t reply)
      : area(interface, reply),
        queue(interface, 16),
        slot(area, queue, {.entries = 1, .fast = false}),
        terminus(interface) {}

  Status greet(const Ticket& door, library::Patience& patience) noexcept;
  Status hear(std::uint64_t number, std::span<const std::byte>& reply, library::Patience& patience) noexcept;
  Status settle(library::Patience& patience, std::span<const std::byte>& reply) noexcept;

  MessageArea area;
  NotificationQueue queue;
  Slot slot;
  // Takes the next reply. Fails while news of the one before stand in the queue: `hear` finds those first.
  void make_ready() noexcept { static_cast<void>(slot.arm(0)); }

  Ticket record;  // where calls go
  std::vector<std::byte> said;
  Terminus terminus;  // goes before what stands in `said`
  SendHandle handle;
  std::uint64_t number = 0;
  bool open = false;  // that one has no answer yet
};

Status LocalClient::Connection::greet(const Ticket& door, library::Patience& patience) noexcept {
  Status status = terminus.connect(door, patience.left());
  if (status == Status::ok)
    status = slot.expect(0, door.interface);  // it may die before it has said anything
  const Greeting greeting(slot.ticket(0));
  for (std::size_t place = 0; status == Status::ok && place != Greeting::kWords;) {
    status = terminus.send_fast_waiting(door, {}, greeting.word(place), 0, patience.left());
    if (status == Status::ok) ++place;
  }
  return status;
}

// Waits for the reply of that number. Others are of calls that nobody waits for any more.
Status LocalClient::Connection::hear(std::uint64_t wanted, std::span<const std::byte>& reply,
                                     library::Patience& patience) noexcept {
  for (;;) {
    Notification next;
    const Status status = queue.receive(next, patience.left());
    if (status != Status::ok) return status;
    if (next.kind == Notification::Kind::link_ended) return Status::link_ended;
    const bool came = next.kind == Notification::Kind::message;
    const auto number_there = came ? CallNumber::of(slot.metadata(0)) : std::nullopt;
    if (came && number_there == wanted) {
      reply = slot.bytes(next);
      return Status::ok;
    }
    if (came && !number_there) return Status::stale;
    if (came || next.kind == Notification::Kind::failed) make_ready();
    if (next.failure() == Failure::link_ended) return Status::link_ended;
    if (patience.deadline() && patience.left() <= std::chrono::nanoseconds{0}) return Status::timed_out;
  }
}

// How the call that is open ends.
Status LocalClient::Connection::settle(library::Patience& patience,
                                       std::span<const std::byte>& reply) noexcept {
  Status status = terminus.status(handle);
  if (status == Status::pending) status = terminus.wait(handle, patience.left());
  if (status == Status::ok) status = hear(number, reply, patience);
  if (status != Status::timed_out && status != Status::cancelled) open = false;
  if (status != Status::refused) return status;
  // A record is refused only by a clerk that has gone; without a refusal there is no link.
  return terminus.refusal(handle) == Refusal::none ? Status::refused : Status::stale;
}

LocalClient::LocalClient(Interface& interface, std::string_view service, const Options& options) try
    : connection_(std::make_unique<Connection>(interface, room(options))) {
  library::Patience patience(base::within_clock(options.timeout));
  patience.deadline();
  const Ticket door = interface.lookup(service, options.timeout);
  if (door.purpose != 0 || !door.fast())
    throw Error(ErrorCode::seed_wrong_kind, "something else than a service is registered there");
  Status status = connection_->greet(door, patience);
  std::span<const std::byte> reply;
  if (status == Status::ok) status = connection_->hear(0, reply, patience);
  if (status != Status::ok) {
    library::throw_if_no_link("the clerk cannot be called", interface, door.interface);
    throw_not_let_in(status);
  }
  const auto record = protocols::reply_of(reply, door.interface);
  if (!record)
    throw Error(ErrorCode::peer_refused,
                "the clerk has as many clients as it may have, or a call of this interface's that is not "
                "answered yet");
  connection_->record = record->ticket;
  connection_->record.host = door.host;
  connection_->record.purpose = 0;
  connection_->make_ready();
} catch (const std::bad_alloc&) {
  library::throw_no_memory("a client of a service");
}

LocalClient::~LocalClient() = default;

Status LocalClient::call(std::span<const std::byte> request, std::span<const std::byte>& reply,
                         std::chrono::nanoseconds timeout) noexcept {
  Connection& connection = *connection_;
  library::Patience patience(timeout);
  patience.deadline();
  if (connection.open) {
    const Status before = connection.settle(patience, reply);
    if (before == Status::timed_out) return Status::not_ready;
    if (before != Status::ok && before != Status::stale) return before;
  }
  if (request.size() > connection.record.bound) return Status::too_long;
  connection.make_ready();
  try {
    connection.said.assign(request.begin(), request.end());
  } catch (const std::bad_alloc&) {
    return Status::no_buffer;
  }
  const CallNumber number(++connection.number);
  const Status status =
      connection.terminus.send(connection.record, connection.said,
                               {.metadata = number.data(), .acknowledged = true}, &connection.handle);
  if (status != Status::pending && status != Status::ok) return status;
  connection.open = true;
  return connection.settle(patience, reply);
}

}  // namespace hamlyn
