#include "tool/run/follower.h"

#include <fmt/core.h>
#include <signal.h>

#include <chrono>
#include <string_view>
#include <utility>

#include "tool/failure.h"
#include "tool/run/descendants.h"

namespace hamlyn::tool {
namespace {

using internal_::job::DeskService;
using namespace std::chrono_literals;

constexpr auto kPatienceForLeader = 60s;  // for the host that leads

// Why the desk has not done what it was asked.
Failure desk_failed(Status status, std::string_view text) {
  if (status == Status::link_ended)
    return {"the 'hamlyn run' of the job's first host has ended", name(status), "see what it says"};
  return failure(fmt::format("the 'hamlyn run' of the job's first host does not answer as it should{}{}",
                             text.empty() ? "" : ": ", text),
                 status);
}

// Whether the desk may still come, or come again in the place of one that has ended.
bool may_come(ErrorCode code) {
  return code == ErrorCode::timed_out || code == ErrorCode::name_unknown || code == ErrorCode::peer_died;
}

}  // namespace

Follower::Follower(const RunOptions& options, int front)
    : options_(options),
      events_(front),
      interface_({.node = options.node, .start_node = options.node.empty()}) {}

// A look at a time, so that signals are heard meanwhile.
std::optional<std::uint32_t> Follower::find_desk() {
  constexpr std::chrono::milliseconds kLook = 500ms, kBetween = 50ms;
  const auto until = std::chrono::steady_clock::now() + kPatienceForLeader;
  while (!desk_) {
    try {
      desk_.emplace(interface_, internal_::job::desk_name(options_.job), internal_::job::desk_calls(kLook));
    } catch (const Error& error) {
      if (!may_come(error.code()) || std::chrono::steady_clock::now() > until) throw;
    }
    const Events::Came came = events_.wait(streams_, desk_ ? 0ms : kBetween);
    if (came.front_ended) return 128 + SIGKILL;
    if (const int ending = came.ending(); ending != 0) return 128 + static_cast<std::uint32_t>(ending);
  }
  return std::nullopt;
}

internal_::job::Secret Follower::enlist() {
  auto secret = desk_->within(10s).call<&DeskService::enlist>(options_.at, options_.token, options_.ranks,
                                                              check_of(options_.hosts));
  if (secret) return *secret;
  if (secret.cause() != hamlyn::rpc::Cause::threw) throw desk_failed(secret.status(), secret.text());
  throw Failure(fmt::format("job '{}': {}", options_.job, secret.text()), "jobs_differ",
                "give the same -n and --hosts on each host, and each host once");
}

// Whether an order has come, or none comes any more.
bool Follower::takes_order() {
  if (!order_) order_ = desk_->start<&DeskService::orders>();
  auto order = order_->wait(0ns);
  // No room, or no memory, now: there is another look soon.
  look_soon_ = order.status() == Status::queue_full || order.status() == Status::no_buffer;
  if (order_->status() == Status::pending) return false;
  order_.reset();
  if (look_soon_) return false;
  if (order)
    orders_.push_back(std::move(*order));
  else
    wrong_ = desk_failed(order.status(), order.text());
  return true;
}

void Follower::follow_orders() {
  while (!wrong_ && interface_.wait_any([&] { return takes_order(); }, 0ns) == Status::ok) {
  }
  for (const internal_::job::Order& each : std::exchange(orders_, {})) {
    if (each.empty()) continue;  // no order, whoever says so
    asked_to_end_ |= is_ending(static_cast<int>(each.front()));
    for (std::size_t i = 1; i < each.size(); ++i) part_->signal(each[i], static_cast<int>(each.front()));
  }
}

// Tells the desk, unless it has failed to answer before: each try lasts, and no signal is heard meanwhile.
void Follower::report(const RankEnd& end) {
  if (wrong_) return;
  const auto told = desk_->within(10s).call<&DeskService::report>(end.rank, end.status);
  if (!told) wrong_ = desk_failed(told.status(), told.text());
}

std::optional<std::uint32_t> Follower::step() {
  follow_orders();
  if (wrong_) throw *wrong_;
  const auto most = look_soon_ ? 100ms : std::chrono::milliseconds(1h);
  const Events::Came came = events_.wait(streams_, most, interface_.descriptor());
  if (came.front_ended) return 128 + SIGKILL;
  asked_to_end_ |= came.ending() != 0;
  // Signals that the leader has got come as orders.
  for (const Passed& each : came.signals)
    if (!each.terminal) part_->signal_all(each.number);
  while (const auto child = take_ended()) {
    const auto rank = part_->take(child->pid);
    if (!rank) continue;
    if (status_ == 0) status_ = child->status;
    report({*rank, child->status});
  }
  return std::nullopt;
}

std::uint32_t Follower::run() {
  if (const auto ended = find_desk()) return *ended;
  part_.emplace(options_, own_block(options_), enlist(), streams_);
  static_cast<void>(takes_order());  // it is there for the leader from here on
  part_->start();
  while (!part_->over())
    if (const auto ended = step()) return *ended;
  drain();
  return status_;
}

// Passes on what ranks have written, to its end.
void Follower::drain() {
  kill_all();  // whoever is left may write for ever
  const auto until = std::chrono::steady_clock::now() + 3s;
  while (!streams_.over()) {
    const Events::Came came = events_.wait(streams_, asked_to_end_ ? 100ms : std::chrono::milliseconds(1h));
    asked_to_end_ |= came.ending() != 0;
    if (came.front_ended || (asked_to_end_ && std::chrono::steady_clock::now() > until)) return;
  }
  if (streams_.failed() && status_ == 0) throw streams_.failure();
}

}  // namespace hamlyn::tool
