// The node's mind, as far as requests of other nodes wait: what happens to many of them at once is dealt with
// in turns of the users whom it concerns, one request a step.
#include <utility>

#include "node/node.h"
#include "node/replies.h"

namespace hamlyn::node {
namespace {

constexpr std::uint64_t kNoSerial = ~std::uint64_t{};
constexpr std::uint64_t kNodes = std::uint64_t{1} << 32;  // turns of a node, beside those of users

}  // namespace

// Introductions from other nodes may have waited for something at this interface.
void Node::arrivals_happened(std::uint64_t uid, std::uint64_t interface) {
  if (!arrivals_at_.contains(interface)) return try_way_again(interface);
  happened(uid, {.what = Due::What::arrivals, .of = interface});
}

// A name has come, or has gone for good: processes of other nodes may wait for it.
void Node::far_name_happened(std::uint64_t uid, std::string_view name) {
  if (far_awaited_.contains(name)) happened(uid, {.what = Due::What::far_name, .name = std::string(name)});
}

// One introduction. Whether there is more: a process that has had its part is not asked about the others.
bool Node::step_arrivals(Due& due) {
  const auto at = arrivals_at_.find(due.of);
  const auto next = at == arrivals_at_.end() ? std::nullopt : at->second.next(due.after);
  if (next) {
    due.after = next->first;
    take_up_arrival(next->second);
  }
  const auto there = interfaces_.find(due.of);
  if (next && (there == interfaces_.end() || !environment_.behind(there->second))) return true;
  try_way_again(due.of);
  return false;
}

// A process was asked for a way to other nodes and could not open one. Those who waited have been told, and
// whoever wants one next has it tried again.
void Node::try_way_again(std::uint64_t interface) {
  const auto there = interfaces_.find(interface);
  if (there == interfaces_.end()) return;
  Connection& process = connections_.at(there->second);
  if (std::exchange(process.reach_again, false)) process.reach = Reach::unasked;
}

// One look-up. Whether there is more.
bool Node::step_far_name(Due& due) {
  const auto awaited = far_awaited_.find(due.name);
  const auto next = awaited == far_awaited_.end() ? std::nullopt : awaited->second.next(due.after);
  if (!next) return false;
  due.after = next->first;
  answer_far_waiter(next->second);
  return true;
}

// One answer that there was no room for. Whether there is more.
bool Node::step_room(const Due& due) {
  const auto node = static_cast<NodeId>(due.of);
  const auto at = crowded_.lower_bound({node, 0});
  if (at == crowded_.end() || at->first != node || !others_->has_room(node)) return false;
  const FarKey key = *at;
  crowded_.erase(at);
  take_up_arrival(key);
  answer_far_waiter(key);
  return true;
}

// Nodes that had much to hear may have taken it.
void Node::go_on_telling() {
  for (auto at = unsaid_.begin(); at != unsaid_.end();) tell_lookups((at++)->first);
  for (auto at = crowded_.begin(); at != crowded_.end(); at = crowded_.upper_bound({at->first, kNoSerial})) {
    if (others_->has_room(at->first))
      happened(kNodes | at->first, {.what = Due::What::room, .of = at->first});
  }
}

// Nobody of the run before comes back any more.
void Node::end_grace_of_far() {
  for (const auto& [interface, waiting] : arrivals_at_) arrivals_happened(options_.uid, interface);
  for (const auto& [name, waiting] : far_awaited_) far_name_happened(options_.uid, name);
}

}  // namespace hamlyn::node
