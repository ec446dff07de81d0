// The control thread's part of links to other hosts: it has the way there opened, is introduced by the node,
// and makes and ends the links. It sends nothing itself: the endpoint's descriptors are not in its table.
#include <algorithm>

#include "base/link_reasons.h"
#include "library/control/control.h"
#include "library/engine.h"
#include "library/far/far_fabric.h"
#include "library/far/far_thread.h"

namespace hamlyn::internal_::library {

// The node says that the way to others will be needed: somebody there wants a link with this process, or this
// process with somebody there, or it has a name to be found by.
void Control::open_far(const std::string& text) {
  if (far_state_ == FarState::opening) return;
  if (far_state_ == FarState::open) return say_far_address();
  far_state_ = FarState::opening;
  // The address, and the engine that the node asks for, if it does.
  const std::size_t space = text.find(' ');
  far_engine_ = space == std::string::npos ? std::string{} : text.substr(space + 1);
  engine_.want_far(text.substr(0, space), far_engine_);
  look_at_far();  // it may be known already that it cannot be opened
}

void Control::look_at_far() {
  if (far_state_ == FarState::opening) {
    engine_.lock_.enter_as_other();
    const FarThread* const thread = engine_.far_thread_.get();
    const bool failed = engine_.far_failed_.exchange(false);
    const bool done = failed || (thread != nullptr && thread->done());
    const bool open = done && !failed && thread->error().empty();
    far_why_ = done && !failed ? thread->error() : std::string{};
    engine_.lock_.leave();
    if (done) {
      far_state_ = open ? FarState::open : FarState::none;
      say_far_address();
    }
  }
  struct Over {
    FarKeeper* keeper;
    bool gone;
    WhyNoLink why;
  };
  std::vector<Over> over;
  engine_.lock_.enter_as_other();
  for (FarKeeper& keeper : far_keepers_) {
    const bool broken = keeper.link->broken;
    if (broken || keeper.link->over() != ofi::LinkProtocol::End::none)
      over.push_back({&keeper, !broken, keeper.link->why_over(keeper.why)});
  }
  engine_.lock_.leave();
  for (const auto& [keeper, gone, why] : over) end_far(*keeper, gone, why);
}

void Control::say_far_address() {
  if (!client_) return;
  if (far_state_ == FarState::open) {
    client_->fabric_address(engine_.far_->engine(), engine_.far_->address());
  } else {
    // A daemon that asks for no engine may be one that takes no reason.
    const std::string& why = far_engine_.empty() ? far_engine_ : far_why_;
    client_->fabric_address({}, std::as_bytes(std::span(why)));
  }
}

Control::FarKeeper* Control::far_keeper_of(std::uint64_t peer) noexcept {
  const auto found = std::find_if(far_keepers_.begin(), far_keepers_.end(),
                                  [&](const auto& one) { return one.peer == peer; });
  return found == far_keepers_.end() ? nullptr : &*found;
}

void Control::introduced_far(const node::Event& event) {
  if (FarKeeper* former = far_keeper_of(event.peer)) {
    engine_.lock_.enter_as_other();
    const WhyNoLink why = former->link->why_over({LinkReason::ended, false});
    engine_.lock_.leave();
    end_far(*former, true, why);
  }
  LinkReason refused = LinkReason::none;
  if (far_state_ != FarState::open) {
    refused = LinkReason::no_way;
  } else if (!lets(event)) {
    refused = LinkReason::not_permitted;
  } else if (keepers_.size() + far_keepers_.size() >= most_links_) {
    refused = LinkReason::too_many_links;
  } else if (event.far.engine != engine_.far_->engine()) {
    refused = LinkReason::other_engine;
  }
  if (refused != LinkReason::none) {
    say_far_end(event.link, {refused, false});
    return refuse(event.peer, {refused, false}, event.initiator);
  }
  const ofi::LinkIdentity identity{event.link, event.far.own_incarnation, event.far.peer_incarnation};
  interface::CounterPage& page = engine_.counters_;
  engine_.lock_.enter_as_other();
  auto link = std::make_unique<ofi::OfiLink>(engine_.far_->exchange(), engine_, event.peer, event.far.address,
                                             identity, event.initiator);
  for (interface::LinkCounters& row : page.link) {
    if (row.peer != 0) continue;
    row = {};
    row.peer = event.peer;
    row.peer_uid = event.peer_uid;
    row.peer_pid = event.peer_pid;
    link->counters = &row;
    break;
  }
  link->user = {event.peer_uid, event.peer_gid};
  link->asked = event.initiator;
  engine_.core_.add_link(*link);
  engine_.wake_everybody();  // whoever runs next says the first words
  engine_.lock_.leave();
  far_keepers_.push_back({event.peer, event.link, std::move(link), 0});
  serve_imports();  // some may have waited to hear where that process is
}

// Tells the node that a link to another one has ended here, and why if that is for this process to say.
void Control::say_far_end(std::uint64_t number, WhyNoLink why) {
  if (!why.told && base::may_be_told(static_cast<std::uint64_t>(why.reason)))
    client_->end_reason(number, why.reason);
  client_->link_ended(number);
}

// `gone`: the other side has; what has come from it is handed over.
void Control::end_far(FarKeeper& keeper, bool gone, WhyNoLink why) {
  interface::CounterPage& page = engine_.counters_;
  engine_.lock_.enter_as_other();
  ofi::OfiLink& link = *keeper.link;
  if (gone) engine_.core_.drain(link);
  engine_.core_.end_link(link, why);
  page.packets_in += link.counters->packets_in;
  page.packets_out += link.counters->packets_out;
  *link.counters = {};
  link.counters = &link.spare_counters;
  engine_.far_->exchange().retire(std::move(keeper.link), why);
  engine_.wake_everybody();
  engine_.lock_.leave();
  if (client_) {
    say_far_end(keeper.number, why);
  } else {
    standing_.links.erase(keeper.number);
  }
  far_keepers_.remove_if([&](const FarKeeper& one) { return &one == &keeper; });
}

// The node says so: sooner than by a silence.
void Control::far_leaves(const node::Event& event) {
  FarKeeper* const keeper = far_keeper_of(event.peer);
  if (keeper == nullptr || keeper->number != event.link) return;
  if (event.error == ErrorCode::timed_out) {  // it is silent: the process there may live
    engine_.lock_.enter_as_other();
    keeper->link->doubt();
    engine_.wake_everybody();
    engine_.lock_.leave();
    return;
  }
  keeper->why = {event.reason, base::may_be_told(static_cast<std::uint64_t>(event.reason))};
  engine_.lock_.enter_as_other();
  keeper->link->expect_end();
  engine_.wake_everybody();
  engine_.lock_.leave();
}

void Control::cut_far(std::uint64_t number, std::uint64_t peer) {
  FarKeeper* const keeper = far_keeper_of(peer);
  if (keeper != nullptr && keeper->number == number) end_far(*keeper, false, {LinkReason::cut, false});
}

}  // namespace hamlyn::internal_::library
