#pragma once
// Parts of a client, for those files that have some of its functions.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/namespaces.h"
#include "base/pending_calls.h"
#include "base/run_lock.h"
#include "hamlyn/core/notification_queue.h"
#include "hamlyn/rpc/client.h"
#include "library/call_row.h"
#include "library/wait/waiting.h"
#include "rpc/client_machine.h"
#include "rpc/client_port.h"
#include "rpc/spin.h"

namespace hamlyn::internal_::rpc {

using hamlyn::rpc::ClientOptions;
using library::Clock;

struct ClientCore::Inside {
  using Guard = base::RunLockGuard;
  static constexpr std::uint32_t kNone = ~0u;  // a question of the client's own
  static constexpr std::uint32_t kTimedEvery = 16;

  Inside(Interface& from, std::string_view called, std::vector<Procedure> all, const ClientOptions& asked);

  // Only if it has ended.
  void open(const Ticket& to);
  Status opened(library::Patience& patience) noexcept;
  // Hears what stands in the queue, then asks `ready`, under the lock. False: somebody else may wait for what
  // came.
  bool hear_standing() noexcept;
  bool take_standing(Notification& out) noexcept;
  template <class Ready>
  Status wait(Ready ready, library::Deadline deadline) noexcept {
    return wait(ready, deadline, waiting.cancels());
  }
  template <class Ready>
  Status wait(Ready ready, library::Deadline deadline, std::uint32_t cancels) noexcept;
  // The next ones are called under the lock.
  Status leave_or_join(std::size_t place, std::span<const std::byte> frame, Manner how, Row* row,
                       CallId& call) noexcept;
  // False: it goes on.
  bool over(CallId call, Landing& into, Ending& out) noexcept;
  // Now, of one call in sixteen.
  Clock::time_point time_of_start() noexcept {
    if (--until_timed != 0) [[likely]]
      return {};
    until_timed = kTimedEvery;
    return Clock::now();
  }
  void note_start(std::uint32_t place, CallId call, Clock::time_point now) noexcept {
    rows[place]->begun();
    places[call.stack] = place;
    if (now != Clock::time_point{}) [[unlikely]] {
      began[call.stack] = now;
      ++timed;
    }
  }
  void note_result(CallId call) noexcept {
    if (timed != 0) [[unlikely]]
      note_time(call, true);
  }
  __attribute__((noinline)) void note_time(CallId call, bool ended_well) noexcept;
  // `cause`: as CallCounters::failed has them.
  void note_failure(CallId call, std::size_t cause) noexcept;
  // Not under the lock.
  Ending not_started(std::size_t place, Ending why) noexcept;
  bool calls_at(std::uint64_t server) noexcept {
    const Guard guard(lock);
    return guard && door.interface == server;
  }
  // Asks for one of the library's own procedures. ok: `landing` has the answer.
  Status ask(Own own, std::span<const std::byte> frame, library::Patience& patience, Landing& landing,
             Ending& out) noexcept;
  Fate ask_fate(CallId call, library::Patience& patience) noexcept;

  Interface& interface;
  library::Waiting& waiting;
  const ClientOptions options;
  const std::vector<Procedure> procedures;
  const std::string name;  // empty: it was given the door
  NotificationQueue queue;
  ClientPort port;
  base::RunLock lock;
  ClientMachine<ClientPort> machine;  // under the lock, as the next
  Ticket door;
  const std::vector<std::unique_ptr<library::CallRow>> rows;  // of the procedures
  std::vector<std::uint32_t> places;                          // of the calls under way, by stack; or kNone
  std::vector<Clock::time_point> began;                       // of those that are timed
  std::uint32_t timed = 0;                                    // of them
  std::uint32_t until_timed = 1;                              // calls
  Spin spin;
  base::PendingCalls calls;
};

template <class Ready>
Status ClientCore::Inside::wait(Ready ready, library::Deadline deadline, std::uint32_t cancels) noexcept {
  base::PendingCall<Guard, base::RunLock> pending(lock, calls);
  if (!pending.enter()) return Status::forked;
  const auto look = [&] {
    const Guard guard(lock);
    if (!guard) return Status::forked;
    if (pending.closing()) return Status::cancelled;
    const bool others = hear_standing();
    machine.settle_owed();
    const Status status = ready();
    // A call that ends frees its stack, too.
    if ((others || status != Status::pending) && calls.count() > 1) waiting.changed();
    return status;
  };
  return waiting.until(look, deadline, cancels);
}

}  // namespace hamlyn::internal_::rpc
