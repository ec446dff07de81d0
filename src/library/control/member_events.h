#pragma once
// Turns a daemon's news of the nodes (MemberReply) into events for its process. Without socket or clock, so
// that simulated clusters tell the same.
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "base/namespaces.h"
#include "hamlyn/core/membership.h"
#include "node/client/protocol.h"

namespace hamlyn::internal_::library {

class MemberEvents {
 public:
  // By id.
  const std::vector<Membership::Node>& nodes() const noexcept { return nodes_; }

  // Nothing: nothing that is worth telling.
  std::optional<Membership::Event> take(const node::MemberReply& reply);
  // The daemon has ended.
  Membership::Event lose();

 private:
  Membership::Node* row(std::uint16_t id) noexcept;

  std::vector<Membership::Node> nodes_;
  std::map<std::uint16_t, std::uint64_t> told_;  // incarnations, by node
};

}  // namespace hamlyn::internal_::library
