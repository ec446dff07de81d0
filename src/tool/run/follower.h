#pragma once
// A host that follows: it has the ranks of its block, and reports to the one that leads.
#include <optional>
#include <vector>

#include "hamlyn/rpc.h"
#include "job/desk_service.h"
#include "tool/run/options.h"
#include "tool/run/part.h"

namespace hamlyn::tool {

class Follower {
 public:
  // Is part of the job from here on. Throws Failure, Error.
  Follower(const RunOptions& options, int front);

  // Starts its ranks, and waits until they have ended. Returns the status of the first that failed. Throws
  // Failure.
  std::uint32_t run();

 private:
  bool takes_order();
  void follow_orders();
  void report(const RankEnd& end);

  const RunOptions& options_;
  Events events_;
  Interface interface_;
  hamlyn::rpc::Client<internal_::job::DeskService> desk_;
  Part part_;
  std::optional<hamlyn::rpc::Pending<internal_::job::Order>> order_;  // the next one
  std::vector<internal_::job::Order> orders_;                         // that have come
  bool lost_ = false;                                                 // the leader has gone
};

}  // namespace hamlyn::tool
