#pragma once
// A NIC's inside: its machine, and how threads wait for what it does. One lock guards the machine; it
// is taken before the interface's own.
#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "base/namespaces.h"
#include "base/pending_calls.h"
#include "base/run_lock.h"
#include "hamlyn/vi/nic.h"
#include "library/wait/own_thread.h"
#include "library/wait/waiting.h"
#include "vi/machine.h"
#include "vi/names.h"
#include "vi/port.h"

namespace hamlyn {

namespace vi {

struct Nic::Inside {
  using Guard = internal_::base::RunLockGuard;
  using Pending = internal_::base::PendingCall<Guard, internal_::base::RunLock>;
  using Machine = internal_::vi::Machine<internal_::vi::Port>;
  using Side = internal_::vi::Side;

  Inside(Interface& from, Rights opened_to);

  // Does `what` under the lock. Memory that has run out, and objects that cannot be made, are error_resource.
  template <class What>
  Result locked(What what) noexcept {
    const Guard guard(lock);
    if (!guard) return Result::invalid_state;
    try {
      return what();
    } catch (const std::exception&) {
      return Result::error_resource;
    }
  }
  // As `locked`; what can leave leaves, and others look again.
  template <class What>
  Result stepped(What what) noexcept {
    return locked([&] {
      const Result result = what();
      step();
      tell();
      return result;
    });
  }

  // All of these under the lock.
  void hear(const Notification& next) noexcept;
  void step() noexcept;
  // Nothing stood there to be heard.
  void found_nothing() noexcept;
  // Has others look again, if something is over.
  void tell() noexcept;
  // Hears one notification. False: there was none.
  bool poll() noexcept;
  // As `poll`, for whoever has found that queue empty and takes what it gets an entry for.
  Taken poll_for(const internal_::vi::QueueObject& from) noexcept;
  void poll_all() noexcept;
  Completion event(std::uint32_t of) noexcept;
  void hear_standing() noexcept;

  // Waits until `ready`, called under the lock, says something else than nothing. By a call that is pending:
  // the NIC stays until that has left.
  template <class Ready>
  Result wait_in_call(Ready ready, Time timeout) noexcept;
  Completed done(std::uint32_t vi, Side side) noexcept;
  Completed wait_done(std::uint32_t vi, Side side, Time timeout) noexcept;
  Result notify(std::uint32_t vi, Side side, Handler handler) noexcept;

  // Names of those who wait, each once, however many do. success, error_resource, error_nameservice.
  Result publish(const Address& local) noexcept;
  void withdraw(const Address& local) noexcept;
  // Takes a name back from the node, and leaves it to other NICs of this interface.
  void give_up(const std::string& name) noexcept;
  // The door of the NIC where somebody waits at that address.
  Result find_door(const Address& asked, Ticket& out) noexcept;
  // The name of a peer request is there until it is over. success, error_resource, error_nameservice.
  Result begin_peering(std::uint32_t vi, const Address& own) noexcept;
  void end_peering(std::uint32_t vi) noexcept;
  Result peer_outcome(std::uint32_t vi) noexcept;
  void fill(std::uint32_t vi, ViAttributes* other) noexcept;

  // Starts the thread that calls handlers, if it is not there. success, error_resource, invalid_state.
  Result start_teller() noexcept;
  void call_handlers() noexcept;

  Interface& interface;
  const Rights opened;  // of the names
  internal_::library::Waiting& waiting;
  NotificationQueue queue;
  internal_::vi::Port port;
  internal_::base::RunLock lock;
  Machine machine;  // under the lock, as the next
  internal_::base::PendingCalls calls;

  std::mutex naming;                                 // held while the node is asked
  std::map<std::string, int> names;                  // under it, as the next: how many wait there
  std::map<std::uint32_t, Address> peering;          // by VI
  std::unique_ptr<internal_::library::Task> teller;  // under it
};

template <class Ready>
Result Nic::Inside::wait_in_call(Ready ready, Time timeout) noexcept {
  const std::uint32_t cancels = waiting.cancels();
  const internal_::library::Deadline deadline = internal_::library::deadline_in(timeout);
  Result out = Result::not_done;
  const auto look = [&] {
    const Guard guard(lock);
    if (!guard) return Status::forked;
    hear_standing();
    out = calls.closing() ? Result::invalid_state : ready();
    if (machine.changed() && (calls.count() > 1 || machine.has_notice())) waiting.changed();
    return out == Result::not_done ? Status::pending : Status::ok;
  };
  switch (waiting.until(look, deadline, cancels)) {
    case Status::ok:
      return out;
    case Status::timed_out:
      return Result::timeout;
    default:
      return Result::invalid_state;
  }
}

}  // namespace vi

}  // namespace hamlyn
