// Links between hosts: what the control thread and the interface thread do for them in real processes.
#include <algorithm>

#include "library/engine.h"
#include "simulation/host/host.h"
#include "simulation/host/simulated_services.h"

namespace hamlyn::simulation {

namespace {
constexpr std::uint64_t kTryAgain = 1'000'000;  // what the wire did not take is offered to it again
}  // namespace

void Host::open_far(Inhabitant& process) {
  if (wire_ == nullptr) return;
  process.port = wire_->make_port();
  port_owners_.push_back(process.number);
  process.exchange = std::make_unique<ofi::Exchange>(*process.port, rules_.far);
}

void Host::close_far(Inhabitant& process) {
  if (process.exchange == nullptr) return;
  while (process.alive && process.exchange->closing()) {
    process.exchange->pump();
    process.exchange->send_due(true);
    process.exchange->look_at_clocks(process.exchange->now());
    pause(soon());
  }
  process.exchange.reset();
  process.port.reset();
}

std::unique_ptr<ofi::OfiLink> Host::make_far(Inhabitant& from, const Inhabitant& to, std::uint64_t number,
                                             bool initiator) {
  const ofi::LinkIdentity identity{number, from.host + 1, to.host + 1};
  return std::make_unique<ofi::OfiLink>(*from.exchange, from.services->engine(), to.number,
                                        to.port->whole_address(), identity, initiator);
}

void Host::send_before_sleep(Inhabitant& process) noexcept {
  if (process.exchange == nullptr) return;
  process.exchange->send_due(true);
  process.asleep_since = time();
}

std::uint64_t Host::far_next(const Inhabitant& process) const noexcept {
  if (process.exchange == nullptr) return kNever;
  if (process.exchange->something_to_do()) return 0;
  std::uint64_t next = std::min(process.port->next_time(), process.exchange->next_time());
  if (process.exchange->sending_waits()) next = std::min(next, process.asleep_since + kTryAgain);
  return next;
}

LinkEnd* Host::other_end(const Inhabitant& process, std::uint64_t peer, const LinkEnd& end) {
  const auto other = inhabitant(peer).links.find(process.number);
  return other != inhabitant(peer).links.end() && other->second.number == end.number ? &other->second
                                                                                     : nullptr;
}

void Host::look_at_far(Inhabitant& process) {
  for (auto& [peer, end] : process.links) {
    if (end.far == nullptr || !end.over() || std::exchange(end.known_over, true)) continue;
    trace_.note(time(), process.number, "finds its link to % over", {peer});
    demand(end.may_end || troubled_, "a link between hosts ended though nothing had happened");
    cut_off(process, inhabitant(peer));
    after(soon(), [this, number = process.number, peer = peer] { end_far(number, peer); });
  }
}

void Host::end_far(std::uint64_t number, std::uint64_t peer) {
  Inhabitant& process = inhabitant(number);
  const auto found = process.links.find(peer);
  if (found == process.links.end() || found->second.far == nullptr || !found->second.over()) return;
  if (process.stopped) return after(soon(), [=, this] { end_far(number, peer); });
  library::Engine& engine = process.services->engine();
  engine.lock().enter_as_other();
  engine.core().drain(found->second.link());
  engine.lock().leave();
  forget_far(process, peer, found->second.far->why_over());
}

void Host::forget_far(Inhabitant& process, std::uint64_t peer, WhyNoLink why) {
  LinkEnd& end = process.links.at(peer);
  cut_off(process, inhabitant(peer));
  if (LinkEnd* const other = other_end(process, peer, end)) other->may_end = true;
  library::Engine& engine = process.services->engine();
  engine.lock().enter_as_other();
  engine.core().end_link(end.link(), why);
  // A dead process says nothing more.
  if (process.alive) {
    process.exchange->retire(std::move(end.far), why);
  } else {
    end.far.reset();
  }
  engine.lock().leave();
  process.links.erase(peer);
  process.services->fail_imports(peer);
  engine.look_again();
  trace_.note(time(), process.number, "ends its link to %", {peer});
}

// Ends a far link of a process that leaves, or has died. Others hear of that from the process's node, or from
// its silence.
void Host::leave_far(Inhabitant& process, std::uint64_t peer) {
  const std::uint64_t number = process.links.at(peer).number;
  forget_far(process, peer, {LinkReason::left, false});
  if (process.alive || chance_.one_in(2)) return;
  after(soon(), [this, from = process.number, peer, number] {
    const auto found = inhabitant(peer).links.find(from);
    if (found != inhabitant(peer).links.end() && found->second.number == number && !inhabitant(peer).stopped)
      found->second.far->expect_end();
  });
}

// --- the wire

void Host::part(Inhabitant& one, Inhabitant& other, bool both_ways, std::uint64_t nanoseconds) {
  if (wire_ == nullptr || one.host == other.host) return;
  trace_.note(time(), 0, "nothing gets from host % to % for %", {one.host, other.host, nanoseconds});
  ++partitions;
  troubled_ = true;
  for (const auto& from : inhabitants_) {
    for (const auto& to : inhabitants_) {
      if (from->host != one.host || to->host != other.host || !from->port || !to->port) continue;
      struck(Fault::partition, *from, *to);
      for (const bool back : {false, true}) {
        if (back && !both_ways) continue;
        const std::uint64_t a = (back ? to : from)->port->address(), b = (back ? from : to)->port->address();
        wire_->cut(a, b);
        after(nanoseconds, [this, a, b] { wire_->mend(a, b); });
      }
    }
  }
}

void Host::be_kind() {
  if (wire_ == nullptr) return;
  RoughNet::Weather& weather = wire_->weather();
  weather.lost_one_in = weather.repeated_one_in = weather.not_now_one_in = 0;
  wire_->mend_all();
}

}  // namespace hamlyn::simulation
