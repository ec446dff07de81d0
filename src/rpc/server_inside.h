#pragma once
// Parts of a server, for those files that have some of its functions.
#include <atomic>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/namespaces.h"
#include "base/pending_calls.h"
#include "base/run_lock.h"
#include "hamlyn/core/notification_queue.h"
#include "hamlyn/rpc/server.h"
#include "library/call_row.h"
#include "library/wait/waiting.h"
#include "rpc/inherited.h"
#include "rpc/reference_reach.h"
#include "rpc/server_machine.h"
#include "rpc/server_port.h"
#include "rpc/server_watch.h"
#include "rpc/spin.h"

namespace hamlyn::internal_::rpc {

using hamlyn::rpc::ServerOptions;
using hamlyn::rpc::Trace;
using library::Clock;

// A call while its handler runs.
struct Serving {
  using Machine = ServerMachine<ServerPort>;
  ServerCore::Inside* server = nullptr;  // null, as the next: it came over datagrams (blast/server.cc)
  const Machine::Taken* call = nullptr;
  Inherited own{};            // for the calls that the handler makes
  Clock::time_point began{};  // of one that is timed
};

namespace blast {

// Tells a `Call` of one that came over datagrams.
std::size_t procedure(const Serving& serving) noexcept;
bool cancelled(const Serving& serving) noexcept;
bool urgent(const Serving& serving) noexcept;

}  // namespace blast

// Where answers that handlers owe find their server, for as long as there is one.
struct Home {
  explicit Home(ServerCore::Inside& own) noexcept : server(&own) {}
  void leave() noexcept {
    const base::RunLockGuard guard(lock);
    if (guard) server = nullptr;
  }
  base::RunLock lock;  // taken before the server's
  ServerCore::Inside* server;
};

struct ServerCore::Inside {
  using Machine = ServerMachine<ServerPort>;
  using Guard = base::RunLockGuard;

  Inside(Interface& from, std::string_view called, std::vector<Offered> all, void* of,
         const ServerOptions& asked);

  Status serve(std::chrono::nanoseconds timeout) noexcept;
  Status wait_for_call(library::Patience& patience, std::uint32_t cancels, Machine::Heard& heard,
                       Machine::Taken& out) noexcept;
  // Serves the first call of all that stands there. ok, timed_out.
  __attribute__((noinline)) Status serve_standing(Spin::Round& round) noexcept;
  __attribute__((always_inline)) Machine::Heard hear(const Notification& next, Machine::Taken& out) noexcept {
    const Guard guard(lock);
    if (!guard) return Machine::Heard::nothing;
    // However many calls come, what others are owed leaves.
    if (machine.owes() && ++heard_ % kSettleEvery == 0) [[unlikely]]
      machine.settle_owed();
    const Machine::Heard heard = machine.hear(next, out);
    if (heard == Machine::Heard::call) [[likely]]
      return heard;
    if (next.kind == Notification::Kind::link_ended) reach.forget_ended();
    return heard;
  }
  bool take_standing(Notification& out) noexcept;
  __attribute__((always_inline)) void perform(const Machine::Taken& call) noexcept;
  __attribute__((noinline)) void do_not_perform(const Machine::Taken& call) noexcept;
  __attribute__((noinline)) void begin_time(Serving& serving) noexcept;
  void administer(const Machine::Taken& call) noexcept;
  template <std::size_t kFrame, std::size_t kReply>
  void perform_here(const Offered& procedure, Serving& serving) noexcept;
  void run_it(const Offered& procedure, Serving& serving, std::span<std::byte> frame, Reply& reply) noexcept;
  // Ends a call of a procedure of the object's.
  __attribute__((always_inline)) void finish(const Machine::Taken& call, Cause cause, bool begun,
                                             std::span<const std::byte> data,
                                             Clock::time_point began) noexcept {
    const Guard guard(lock);
    if (!guard) return;
    library::CallRow &of_all = *rows[call.word.procedure()], &of_client = call.client->place->row;
    of_all.begun();
    of_client.begun();
    if ((cause != Cause::none) | (began != Clock::time_point{})) [[unlikely]]
      for (library::CallRow* const row : {&of_all, &of_client}) note(*row, cause, began);
    machine.finish(call, cause, begun, data);
  }
  static void note(library::CallRow& row, Cause cause, Clock::time_point began) noexcept;
  bool cancelled(const Machine::Taken& call) noexcept;

  Interface& interface;
  library::Waiting& waiting;
  const ServerOptions options;
  const std::vector<Offered> procedures;
  const std::vector<Procedure> table;
  const std::vector<std::unique_ptr<library::CallRow>> rows;  // of the procedures; under the lock
  void* const object;
  const std::string name;
  NotificationQueue queue;
  ServerWatch watch;
  ServerPort port;
  base::RunLock lock;
  Machine machine;           // under the lock, as the next
  std::uint32_t heard_ = 0;  // while something is owed
  std::uint32_t owed = 0;    // answers, by handlers
  Spin spin;
  base::PendingCalls calls;
  // Relaxed: whoever sees it late serves one call more.
  std::atomic<bool> stopped{false};
  const std::shared_ptr<Home> home;
  Reach reach;

 private:
  static constexpr std::uint32_t kSettleEvery = 16;  // notifications
};

}  // namespace hamlyn::internal_::rpc
