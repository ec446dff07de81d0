#include "tool/run/follower.h"

#include <fmt/core.h>

#include <utility>

#include "tool/failure.h"

namespace hamlyn::tool {
namespace {

using internal_::job::DeskService;
using namespace std::chrono_literals;

hamlyn::rpc::ClientOptions calls() { return {.stacks = 4, .frame = 8064, .result = 8064, .timeout = 60s}; }

Failure leader_gone() {
  return {"the 'hamlyn run' of the job's first host has ended", name(Status::link_ended), "see what it says"};
}

internal_::job::Secret enlisted(hamlyn::rpc::Client<DeskService>& desk, const RunOptions& options) {
  auto secret = desk.within(10s).call<&DeskService::enlist>(options.at, options.ranks, options.hosts);
  if (secret) return *secret;
  if (secret.text().empty()) throw leader_gone();
  throw Failure(fmt::format("job '{}': {}", options.job, secret.text()), "jobs_differ",
                "give the same -n and --hosts on each host, and each host once");
}

}  // namespace

Follower::Follower(const RunOptions& options, int front)
    : options_(options),
      events_(front),
      interface_({.node = options.node, .start_node = options.node.empty()}),
      desk_(interface_, internal_::job::desk_name(options.job), calls()),
      part_(options, block_of(options.ranks, options.hosts.size(), place_of(options)),
            enlisted(desk_, options)) {}

// Whether an order has come, or none comes any more.
bool Follower::takes_order() {
  if (!order_) order_ = desk_.start<&DeskService::orders>();
  auto order = order_->wait(0ns);
  if (order.status() == Status::timed_out) return false;
  order_.reset();
  if (order)
    orders_.push_back(std::move(*order));
  else
    lost_ = order.status() != Status::queue_full;  // no room now: asked again at the next look
  return order || lost_;
}

void Follower::follow_orders() {
  while (!lost_ && interface_.wait_any([&] { return takes_order(); }, 0ns) == Status::ok) {
  }
  for (const internal_::job::Order& each : std::exchange(orders_, {}))
    for (std::size_t i = 1; i < each.size(); ++i) part_.signal(each[i], static_cast<int>(each.front()));
}

void Follower::report(const RankEnd& end) {
  if (!desk_.within(10s).call<&DeskService::report>(end.rank, end.status)) lost_ = true;
}

std::uint32_t Follower::run() {
  part_.start();
  std::uint32_t status = 0;
  while (!part_.over()) {
    follow_orders();
    if (lost_) throw leader_gone();
    const Events::Came came = events_.wait(part_.lines(), 1h, interface_.descriptor());
    if (came.front_ended) return 128 + SIGKILL;
    // The leader passes on its own ones to all.
    for (const int each : came.signals)
      for (std::uint32_t here = 0; here != part_.block().ranks; ++here)
        part_.signal(part_.block().first + here, each);
    while (const auto child = take_ended()) {
      const auto rank = part_.take(child->pid);
      if (!rank) continue;
      if (status == 0) status = child->status;
      report({*rank, child->status});
    }
  }
  for (Lines& each : part_.lines()) each.pass_on(), each.end();
  return status;
}

}  // namespace hamlyn::tool
