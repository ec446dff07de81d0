#include <algorithm>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "hamlyn/core/message_area.h"
#include "hamlyn/core/notification_queue.h"
#include "hamlyn/core/slot.h"
#include "hamlyn/core/terminus.h"
#include "hamlyn/protocols/local_call.h"
#include "library/wait/waiting.h"
#include "library/with_memory.h"
#include "protocols/local_call.h"

namespace hamlyn {

using protocols::CallNumber;
using protocols::Greeting;

namespace {

constexpr std::uint32_t kMostClients = 4095;  // with a reply to each the terminus has room for one more
constexpr std::size_t kDoor = 64;  // bytes, where nothing is kept: what is said at the door is words
constexpr std::size_t kMostBytes = std::size_t{1} << 30;  // of a request

const LocalService::Options& checked(const LocalService::Options& options) {
  if (options.clients == 0 || options.clients > kMostClients)
    throw Error(ErrorCode::invalid_argument, "a service has 1 to 4095 clients");
  if (options.request == 0 || options.request > kMostBytes || options.reply > kMostBytes)
    throw Error(ErrorCode::invalid_argument, "a request has 1 byte to 1 GiB, a reply as many at most");
  return options;
}

}  // namespace

struct LocalService::Clients {
  // Whose record it is.
  struct Client {
    std::uint64_t interface = 0;  // 0: nobody's
    bool taken = false;           // there is a call that is to be answered
    bool gone = false;            // nobody's, once it is
    std::uint64_t number = 0;     // of that call
    Ticket reply;
    std::vector<std::byte> said;  // until it has left
    SendHandle handle;
  };

  Clients(Interface& interface, const Options& asked)
      : options(checked(asked)),
        stride((options.request + 63) / 64 * 64),
        area(interface, kDoor + stride * options.clients),
        queue(interface, 4096),
        door(area, queue, {.bound = kDoor, .access = Access::write_only, .places = 2 * Greeting::kWords}),
        records(area, queue,
                {.base = kDoor, .mode = Mode::paranoid, .entries = options.clients, .fast = false}),
        all(options.clients),
        terminus(interface, {.entries = options.clients + std::size_t{1}}) {}

  bool take(const Notification& next, LocalCall& out) noexcept;
  bool begin(const Notification& next, LocalCall& out) noexcept;
  void hear(std::uint64_t peer, std::uint64_t word) noexcept;
  void admit(std::uint64_t peer, const Ticket& reply);
  void link_ended(std::uint64_t peer) noexcept;
  void free(std::uint32_t record) noexcept;
  // Takes the next call. Fails while one that came stands unread in the queue: that is found first.
  void make_ready(std::uint32_t record) noexcept { static_cast<void>(records.arm(record)); }
  Status say(Client& client, std::uint64_t number, std::span<const std::byte> what) noexcept;
  void tell(const Ticket& reply, std::span<const std::byte> metadata) noexcept;

  const Options options;
  std::string name;
  const std::size_t stride;
  MessageArea area;
  NotificationQueue queue;
  Slot door, records;
  std::mutex mutex;  // of what follows
  std::vector<Client> all;
  std::unordered_map<std::uint64_t, Greeting> greetings;  // that are not whole; no more than there are links
  Terminus terminus;  // a reply to each client at a time; goes before what they stand in
};

bool LocalService::Clients::take(const Notification& next, LocalCall& out) noexcept {
  const std::lock_guard guard(mutex);
  switch (next.kind) {
    case Notification::Kind::message:
      if (next.slot == records.number()) return begin(next, out);
      if (next.fast) hear(next.peer, next.word);
      return false;
    case Notification::Kind::link_ended:
      link_ended(next.peer);
      return false;
    default:
      return false;
  }
}

bool LocalService::Clients::begin(const Notification& next, LocalCall& out) noexcept {
  Client& client = all[next.entry];
  if (client.taken) return false;
  // The record was let go meanwhile: maybe for the end of a link before the one that its client calls by.
  if (client.interface == 0) {
    if (client.reply.interface == next.peer) tell(client.reply, {});
    return false;
  }
  const auto number = CallNumber::of(records.metadata(next.entry));
  // Nobody else has the key, unless the client has told it.
  if (client.interface != next.peer || !number) {
    make_ready(next.entry);
    return false;
  }
  client.taken = true;
  client.number = *number;
  out = {client.interface, records.bytes(next), *number, next.entry};
  return true;
}

void LocalService::Clients::hear(std::uint64_t peer, std::uint64_t word) noexcept {
  try {
    Greeting& greeting = greetings[peer];
    greeting.take(word);
    if (!greeting.whole()) return;
    const auto reply = greeting.ticket(peer);
    greetings.erase(peer);
    if (reply) admit(peer, *reply);
  } catch (const std::exception&) {  // no memory: the client hears nothing
  }
}

// One record for each interface, so that none can have all of them.
void LocalService::Clients::admit(std::uint64_t peer, const Ticket& reply) {
  bool busy = false;
  for (std::uint32_t record = 0; record < all.size(); ++record) {
    if (all[record].interface != peer) continue;
    busy = busy || all[record].taken;
    if (!all[record].taken) free(record);
  }
  for (std::uint32_t record = 0; record < all.size() && !busy; ++record) {
    Client& client = all[record];
    if (client.interface != 0) continue;
    client.said.reserve(std::max(options.reply, sizeof(protocols::DatagramReply)));
    const Limits limits{stride * record, options.request};
    // Somebody's last call may stand there that was not read yet.
    if (records.arm(record, limits) != Status::ok) continue;
    client.interface = peer;
    client.reply = reply;
    // A client that cannot be told hears so by its own time-out.
    static_cast<void>(say(client, 0, Greeting(records.ticket(record)).data()));
    return;
  }
  const CallNumber number(0);
  tell(reply, number.data());
}

// The ends of many links may be told as one, of peer 0: then any of them may have.
void LocalService::Clients::link_ended(std::uint64_t peer) noexcept {
  if (peer == 0) greetings.clear();
  greetings.erase(peer);
  for (std::uint32_t record = 0; record < all.size(); ++record) {
    Client& client = all[record];
    if (client.interface == 0 || (peer != 0 && client.interface != peer)) continue;
    client.gone = client.taken;  // what was taken stays as it is until it is answered
    if (!client.gone) free(record);
  }
}

void LocalService::Clients::free(std::uint32_t record) noexcept {
  Client& client = all[record];
  static_cast<void>(records.revoke(record));  // cannot fail: there is such a record, and it is no guarded one
  client.interface = 0;                       // what was said to it last may still leave
  client.taken = client.gone = false;
}

// Answers a client. An earlier answer that the client has not taken is dropped.
Status LocalService::Clients::say(Client& client, std::uint64_t number,
                                  std::span<const std::byte> what) noexcept {
  // Cannot fail: no part of it lies in an area that the client still reads.
  if (terminus.status(client.handle) == Status::pending) static_cast<void>(terminus.cancel(client.handle));
  client.said.assign(what.begin(), what.end());  // there is memory since it was let in
  const Status status =
      terminus.send(client.reply, client.said, {.metadata = CallNumber(number).data()}, &client.handle);
  return status == Status::pending ? Status::ok : status;
}

// Tells a sender that is no client. Without room the sender is told nothing: one that takes nothing must not
// use up the terminus.
void LocalService::Clients::tell(const Ticket& reply, std::span<const std::byte> metadata) noexcept {
  SendHandle handle;
  if (terminus.send(reply, {}, {.metadata = metadata}, &handle) == Status::pending)
    static_cast<void>(terminus.cancel(handle));
}

LocalService::LocalService(Interface& interface, std::string_view name, const Options& options) try
    : clients_(std::make_unique<Clients>(interface, options)) {
  interface.publish(name, clients_->door.ticket(), options.rights);
  clients_->name = name;
} catch (const std::bad_alloc&) {
  library::throw_no_memory("a service");
}

LocalService::~LocalService() {
  Interface& interface = clients_->queue.interface();
  interface.waiting().close_and_drain(clients_->queue.calls());
  try {
    interface.withdraw(clients_->name);
  } catch (
      const std::exception&) {  // the node has gone, and will not know it; or there is no memory to ask it
  }
}

Status LocalService::take(LocalCall& out, std::chrono::nanoseconds timeout) noexcept {
  library::Patience patience(timeout);
  library::PendingCall call(clients_->queue.interface().waiting(), clients_->queue.calls());
  for (std::size_t late = 0;;) {
    Notification next;
    const Status status = clients_->queue.receive(next, patience.left(), call);
    if (status != Status::ok) return status;
    if (clients_->take(next, out)) return Status::ok;
    // Notifications that are no calls may come without end. But the descriptor tells once of all that stands
    // there, so a thread that hears of no call has seen all of it.
    const bool over = patience.deadline() && patience.left() <= std::chrono::nanoseconds{0};
    if (over && ++late == clients_->queue.capacity()) return Status::timed_out;
  }
}

Status LocalService::answer(const LocalCall& call, std::span<const std::byte> reply) noexcept {
  // There a thread of the parent's may have the mutex.
  if (clients_->queue.interface().waiting().forked()) return Status::forked;
  const std::lock_guard guard(clients_->mutex);
  if (call.record >= clients_->all.size()) return Status::invalid;
  Clients::Client& client = clients_->all[call.record];
  if (!client.taken || client.interface != call.client || client.number != call.number)
    return Status::invalid;
  if (reply.size() > clients_->options.reply || reply.size() > client.reply.bound) return Status::too_long;
  client.taken = false;
  if (!client.gone) {
    clients_->make_ready(call.record);  // before the client hears of it, who may call again at once
    return clients_->say(client, call.number, reply);
  }
  // The link that has ended may be one before that by which it called.
  static_cast<void>(clients_->say(client, call.number, reply));
  clients_->free(call.record);
  return Status::link_ended;
}

int LocalService::descriptor() { return clients_->queue.descriptor(); }

std::size_t LocalService::clients() const {
  // As in `answer`.
  if (clients_->queue.interface().waiting().forked()) return 0;
  const std::lock_guard guard(clients_->mutex);
  return static_cast<std::size_t>(
      std::ranges::count_if(clients_->all, [](const Clients::Client& each) { return each.interface != 0; }));
}

}  // namespace hamlyn
