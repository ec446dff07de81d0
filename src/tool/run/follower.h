#pragma once
// A host that follows: it has the ranks of its block, and reports to the one that leads.
#include <optional>
#include <vector>

#include "hamlyn/rpc.h"
#include "job/desk_service.h"
#include "tool/run/events.h"
#include "tool/run/options.h"
#include "tool/run/part.h"
#include "tool/run/streams.h"

namespace hamlyn::tool {

class Follower {
 public:
  // Throws Failure, Error.
  Follower(const RunOptions& options, int front);

  // Becomes part of the job, starts its ranks, and waits until they have ended. Returns the status of the
  // first that failed. Throws Failure.
  std::uint32_t run();

 private:
  using Desk = hamlyn::rpc::Client<internal_::job::DeskService>;

  // The status that ends it before its ranks have ended, if any does.
  std::optional<std::uint32_t> find_desk();
  std::optional<std::uint32_t> step();
  internal_::job::Secret enlist();
  bool takes_order();
  void follow_orders();
  void report(const RankEnd& end);
  void drain();

  const RunOptions& options_;
  Events events_;
  Streams streams_;
  Interface interface_;
  std::optional<Desk> desk_;
  std::optional<Part> part_;
  std::optional<hamlyn::rpc::Pending<internal_::job::Order>> order_;  // the next one
  std::vector<internal_::job::Order> orders_;                         // that have come
  bool look_soon_ = false;                                            // for it, without news
  std::optional<Failure> wrong_;                                      // why there are no orders any more
  bool asked_to_end_ = false;                                         // by a signal
  std::uint32_t status_ = 0;
};

}  // namespace hamlyn::tool
