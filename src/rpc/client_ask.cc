// Questions of a client besides calls: what became of a call, and which procedures there are.
#include <algorithm>
#include <array>
#include <stdexcept>
#include <string>
#include <vector>

#include "hamlyn/rpc/layout.h"
#include "rpc/client_inside.h"

namespace hamlyn {

namespace internal_::rpc {

namespace {
constexpr std::chrono::milliseconds kStillRunningPause{1};
}  // namespace

Status ClientCore::Inside::ask(Own own, std::span<const std::byte> frame, library::Patience& patience,
                               Landing& landing, Ending& out) noexcept {
  CallId asked;
  const auto send = [&] {
    const Status status = machine.ask(own, frame, asked);
    if (status == Status::ok) places[asked.stack] = kNone;
    return status == Status::queue_full ? Status::pending : status;
  };
  const Status sent = wait(send, patience.deadline());
  if (sent != Status::ok) return sent;
  const auto answered = [&] { return over(asked, landing, out) ? Status::ok : Status::pending; };
  const Status status = wait(answered, patience.deadline());
  if (status == Status::ok) return out.status;
  const Guard guard(lock);
  if (guard) machine.forget(asked);
  return status;
}

// --- what became of a call

Fate ClientCore::settle(CallId call, std::chrono::nanoseconds timeout) noexcept {
  Inside& inside = *inside_;
  library::Patience patience(timeout);
  patience.deadline();
  if (call.sequence == 0) return Fate::not_done;
  const auto known = [&] {
    if (inside.machine.fate(call) != Fate::unknown) return Status::ok;
    return inside.machine.is_out(call) && !inside.machine.ended() ? Status::pending : Status::stale;
  };
  if (inside.wait(known, patience.deadline()) == Status::ok) {
    const Inside::Guard guard(inside.lock);
    return guard ? inside.machine.fate(call) : Fate::unknown;
  }
  // The link may end again and again.
  while (reopen(patience.left()) == Status::ok && inside.calls_at(call.server)) {
    const Fate fate = inside.ask_fate(call, patience);
    const Inside::Guard guard(inside.lock);
    if (fate != Fate::unknown || !guard || !inside.machine.ended()) return fate;
  }
  return Fate::unknown;
}

// Asks the server in a new session. A procedure that is still running there has an end.
Fate ClientCore::Inside::ask_fate(CallId call, library::Patience& patience) noexcept {
  const FateQuestion question =
      protocols::in_wire_order(FateQuestion{call.session, call.stack, call.sequence});
  while (patience.left() > std::chrono::nanoseconds{0}) {
    Landing landing;
    Ending out;
    const Status status = ask(Own::settle, std::as_bytes(std::span{&question, 1}), patience, landing, out);
    if (status != Status::ok || landing.bytes.size() != 1) return Fate::unknown;
    const auto said = static_cast<std::uint8_t>(landing.bytes[0]);
    if (said != kStillRunning)
      return said <= static_cast<std::uint8_t>(Fate::unknown) ? static_cast<Fate>(said) : Fate::unknown;
    const auto never = [] { return Status::pending; };
    const auto until = std::min<std::chrono::nanoseconds>(patience.left(), kStillRunningPause);
    const Status paused = wait(never, library::deadline_in(until));
    if (paused != Status::timed_out) return Fate::unknown;
  }
  return Fate::unknown;
}

// --- which procedures there are

namespace {

// Throws Failed when a server says what cannot be.
void read_list(const Landing& landing, std::vector<std::string>& out, std::size_t& count) {
  Reader from(landing.bytes);
  count = from.number<std::uint32_t>();
  const std::size_t before = out.size();
  while (from.good() && from.left() != 0) {
    std::string& signature = out.emplace_back();
    Layout<std::string>::get(from, signature);
    std::ranges::replace_if(
        signature, [](char each) { return each < ' ' || each > '~'; }, '?');
  }
  if (from.whole() && count < kReserved && out.size() <= count && (out.size() > before || count == before))
    return;
  Ending broken;
  broken.status = Status::broken;
  throw_failed(broken);
}

}  // namespace

std::vector<std::string> ClientCore::list(std::chrono::nanoseconds timeout) {
  library::Patience patience(timeout);
  patience.deadline();
  std::vector<std::string> out;
  std::size_t count = 1;
  while (out.size() != count) {
    std::array<std::byte, sizeof(std::uint32_t)> first;
    base::store_little(first.data(), static_cast<std::uint32_t>(out.size()));
    Landing landing;
    Ending ending;
    ending.status = inside_->ask(Own::list, first, patience, landing, ending);
    if (ending.status != Status::ok) throw_failed(ending);
    read_list(landing, out, count);
  }
  return out;
}

}  // namespace internal_::rpc

std::vector<std::string> rpc::procedures(Interface& interface, std::string_view name,
                                         std::chrono::milliseconds timeout) {
  internal_::rpc::ClientCore core(interface, name, {}, {.stacks = 1, .timeout = timeout});
  return core.list(timeout);
}

}  // namespace hamlyn
