// Connections of a NIC: names at the node, and calls that wait for the other side. Each of those is pending
// until it has left, for it uses the NIC behind its wait, too.
#include "hamlyn/values/error.h"
#include "library/control/name_claims.h"
#include "vi/inside.h"

namespace hamlyn {

namespace vi {

using internal_::vi::name_of;

// --- names

Result Nic::Inside::publish(const Address& local) noexcept {
  try {
    const std::string name = name_of(interface.id() >> 48, local);
    const std::lock_guard guard(naming);
    if (++names[name] > 1) return Result::success;
    bool claimed = false;
    try {
      // Without the claim this NIC's registration would replace that of another NIC of this interface.
      claimed = internal_::library::name_claims(interface).take(name);
      if (claimed) interface.publish(name, machine.door(), opened);
    } catch (...) {
      names.erase(name);
      if (claimed) internal_::library::name_claims(interface).give_back(name);
      throw;
    }
    if (claimed) return Result::success;
    names.erase(name);
    return Result::error_resource;
  } catch (const Error& error) {
    const bool node = error.code() == ErrorCode::node_unreachable || error.code() == ErrorCode::timed_out;
    return node ? Result::error_nameservice : Result::error_resource;
  } catch (const std::exception&) {
    return Result::error_resource;
  }
}

void Nic::Inside::withdraw(const Address& local) noexcept {
  try {
    const std::string name = name_of(interface.id() >> 48, local);
    const std::lock_guard guard(naming);
    const auto found = names.find(name);
    if (found == names.end() || --found->second > 0) return;
    names.erase(found);
    give_up(name);
  } catch (const std::exception&) {  // there is no memory
  }
}

void Nic::Inside::give_up(const std::string& name) noexcept {
  try {
    interface.withdraw(name);
  } catch (const std::exception&) {  // the node has gone, and will not know it
  }
  internal_::library::name_claims(interface).give_back(name);
}

Result Nic::Inside::find_door(const Address& asked, Ticket& out) noexcept {
  try {
    LookupOptions options;
    options.node = static_cast<std::uint16_t>(asked.host);
    out = interface.lookup(name_of(asked.host, asked), options);
    return out.posted() ? Result::success : Result::no_match;
  } catch (const Error& error) {
    switch (error.code()) {
      case ErrorCode::name_unknown:
      case ErrorCode::not_permitted:  // a stranger does not learn that somebody waits there
        return Result::no_match;
      case ErrorCode::out_of_memory:
        return Result::error_resource;
      default:
        return Result::not_reachable;
    }
  } catch (const std::exception&) {
    return Result::error_resource;
  }
}

// --- who waits

Result Nic::connect_wait(const Address& local, Time timeout, Incoming& out) noexcept {
  Inside::Pending pending(inside_->lock, inside_->calls);
  if (!pending.enter()) return Result::invalid_state;
  std::uint32_t waiter = 0;
  Result result = inside_->locked([&] {
    waiter = inside_->machine.add_waiter(local);
    return waiter != 0 ? Result::success : Result::error_resource;
  });
  if (result != Result::success) return result;
  result = inside_->publish(local);
  const bool named = result == Result::success;
  std::uint32_t request = 0;
  const auto ready = [&] {
    request = inside_->machine.request_of(waiter);
    return request != 0 ? Result::success : Result::not_done;
  };
  if (named) result = inside_->wait_in_call(ready, timeout);
  static_cast<void>(inside_->locked([&] {
    request = inside_->machine.request_of(waiter);  // also at the last moment
    inside_->machine.remove_waiter(waiter);
    if (request == 0) return Result::success;
    const internal_::vi::Request& asked = *inside_->machine.request(request);
    out.number = request;
    out.from = Address::of(asked.asks.own_host, std::span(asked.asks.own).first(asked.asks.own_length));
    out.attributes = Inside::Machine::attributes_of(asked.asks);
    return Result::success;
  }));
  if (named) inside_->withdraw(local);
  return request != 0 ? Result::success : result;
}

Result Nic::accept(std::uint32_t request, std::uint32_t vi) noexcept {
  return inside_->stepped([&] {
    inside_->poll_all();
    return inside_->machine.accept(request, vi);
  });
}
Result Nic::reject(std::uint32_t request) noexcept {
  return inside_->stepped([&] { return inside_->machine.reject(request); });
}

// --- who asks

void Nic::Inside::fill(std::uint32_t number, ViAttributes* other) noexcept {
  const Guard guard(lock);
  if (!guard || other == nullptr) return;
  if (const Machine::Vi* const vi = machine.vi(number); vi != nullptr) *other = vi->other.attributes;
}

Result Nic::request(std::uint32_t vi, const Address& own, const Address& asked, Time timeout,
                    ViAttributes* other) noexcept {
  if (timeout <= Time{0}) return Result::invalid_parameter;
  Inside::Pending pending(inside_->lock, inside_->calls);
  if (!pending.enter()) return Result::invalid_state;
  Result result = inside_->locked([&] {
    const Inside::Machine::Vi* const found = inside_->machine.vi(vi);
    if (found == nullptr) return Result::invalid_parameter;
    return found->state == State::idle ? Result::success : Result::invalid_state;
  });
  if (result != Result::success) return result;
  Ticket door;
  result = inside_->find_door(asked, door);
  if (result != Result::success) return result;
  result = inside_->stepped([&] { return inside_->machine.ask_for(vi, own, asked, door); });
  if (result != Result::success) return result;
  result = inside_->wait_in_call([&] { return inside_->machine.outcome(vi); }, timeout);
  if (result != Result::success) {
    static_cast<void>(inside_->stepped([&] {
      // The answer may have come at the last moment.
      if (inside_->machine.outcome(vi) == Result::success)
        result = Result::success;
      else
        inside_->machine.give_up(vi);
      return Result::success;
    }));
    if (result != Result::success) return result;
  }
  inside_->fill(vi, other);
  return Result::success;
}

// --- who asks for each other

Result Nic::peer_request(std::uint32_t vi, const Address& own, const Address& asked, Time timeout) noexcept {
  if (timeout <= Time{0}) return Result::invalid_parameter;
  Inside::Pending pending(inside_->lock, inside_->calls);
  if (!pending.enter()) return Result::invalid_state;
  const auto until =
      internal_::library::deadline_in(timeout).value_or(std::chrono::steady_clock::time_point::max());
  Result result = inside_->locked([&] { return inside_->machine.peer_request(vi, own, asked, until); });
  if (result != Result::success) return result;
  // First known, then asking: so one of two finds the other.
  result = inside_->begin_peering(vi, own);
  Ticket door;
  if (result == Result::success && inside_->find_door(asked, door) == Result::success)
    return inside_->stepped([&] {
      inside_->machine.knock(vi, door);
      return Result::success;
    });
  if (result != Result::success)
    static_cast<void>(inside_->stepped([&] {
      inside_->machine.give_up(vi);
      return Result::success;
    }));
  return result;
}

Result Nic::Inside::begin_peering(std::uint32_t vi, const Address& own) noexcept {
  const Result result = publish(own);
  if (result != Result::success) return result;
  try {
    const std::lock_guard guard(naming);
    peering[vi] = own;
    return Result::success;
  } catch (const std::exception&) {
    withdraw(own);
    return Result::error_resource;
  }
}

void Nic::Inside::end_peering(std::uint32_t vi) noexcept {
  std::optional<Address> own;
  {
    const std::lock_guard guard(naming);
    const auto found = peering.find(vi);
    if (found == peering.end()) return;
    own = found->second;
    peering.erase(found);
  }
  withdraw(*own);
}

// Under the lock.
Result Nic::Inside::peer_outcome(std::uint32_t vi) noexcept {
  lock.assert_held();
  const Result result = machine.outcome(vi);
  if (result != Result::not_done) return result;
  return internal_::library::Clock::now() >= machine.vi(vi)->until ? Result::timeout : Result::not_done;
}

Result Nic::peer_done(std::uint32_t vi, ViAttributes* other) noexcept {
  Inside::Pending pending(inside_->lock, inside_->calls);
  if (!pending.enter()) return Result::invalid_state;
  ViStatus status;
  if (const Result known = query_vi(vi, status); known != Result::success) return known;
  {
    const std::lock_guard guard(inside_->naming);
    if (!inside_->peering.contains(vi)) return Result::invalid_state;
  }
  const Result result = inside_->locked([&] {
    inside_->poll_all();
    const Result outcome = inside_->peer_outcome(vi);
    if (outcome != Result::not_done && outcome != Result::success) inside_->machine.give_up(vi);
    inside_->tell();
    return outcome;
  });
  if (result == Result::not_done) return result;
  inside_->end_peering(vi);
  if (result == Result::success) inside_->fill(vi, other);
  return result;
}

Result Nic::peer_wait(std::uint32_t vi, ViAttributes* other) noexcept {
  Inside::Pending pending(inside_->lock, inside_->calls);
  if (!pending.enter()) return Result::invalid_state;
  Result result = peer_done(vi, other);
  if (result != Result::not_done) return result;
  Time left = Time::max();
  static_cast<void>(inside_->locked([&] {
    if (const Inside::Machine::Vi* const found = inside_->machine.vi(vi); found != nullptr)
      if (found->until != std::chrono::steady_clock::time_point::max())
        left = std::max(Time{1}, Time{found->until - internal_::library::Clock::now()});
    return Result::success;
  }));
  result = inside_->wait_in_call([&] { return inside_->peer_outcome(vi); }, left);
  return result == Result::invalid_state ? result : peer_done(vi, other);
}

Result Nic::disconnect(std::uint32_t vi) noexcept {
  // A forked child must not wait for `naming`, which a thread of its parent's may hold.
  Inside::Pending pending(inside_->lock, inside_->calls);
  if (!pending.enter()) return Result::invalid_state;
  inside_->end_peering(vi);
  return inside_->stepped([&] {
    inside_->poll_all();  // what had come is there
    return inside_->machine.disconnect(vi);
  });
}

}  // namespace vi

}  // namespace hamlyn
