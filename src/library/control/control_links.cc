// The control thread's part of links within the host: it makes, grows, watches and ends them.
#include <sys/epoll.h>
#include <unistd.h>

#include <algorithm>

#include "base/link_reasons.h"
#include "base/socket.h"
#include "base/throw_system.h"
#include "library/control/control.h"
#include "library/control/control_loop.h"
#include "library/engine.h"

namespace hamlyn::internal_::library {
namespace {

constexpr std::chrono::milliseconds kPageDeadline{5000};  // for the peer's page, from the introduction

}  // namespace

void Control::want_link(std::uint64_t peer) noexcept {
  if (std::find(wanted_.begin(), wanted_.end(), peer) != wanted_.end()) return;
  if (wanted_.size() == wanted_.capacity()) return;  // asked again when introduce_wanted has made room
  wanted_.push_back(peer);
  attention();
}

void Control::introduce_wanted() {
  engine_.lock_.enter_as_other();
  const std::vector<std::uint64_t> wanted(wanted_);
  wanted_.clear();
  if (wanted.size() == wanted_.capacity()) engine_.wake_everybody();  // others may have found no room here
  std::vector<std::uint64_t> missing;
  for (const std::uint64_t peer : wanted) {
    if (engine_.core_.find_link(peer) == nullptr) missing.push_back(peer);
  }
  engine_.lock_.leave();
  for (const std::uint64_t peer : missing) {
    const bool asked = std::any_of(introductions_.begin(), introductions_.end(),
                                   [&](const auto& introduction) { return introduction.second == peer; });
    if (asked || keeper_of(peer) != nullptr || far_keeper_of(peer) != nullptr) continue;
    if (peer == interface_id_) {
      join_oneself();
    } else {
      introduce(peer);
    }
  }
}

void Control::introduce(std::uint64_t peer) {
  const std::uint64_t number = next_request_++;
  introductions_.emplace(number, peer);
  if (!client_) return await_daemon(peer);
  note_asked_anew(peer);
  client_->introduce(number, peer);
}

// Notes of a link that has ended that one is asked for anew, which does not fail by that end. Two reasons go
// on failing it until there is one, because the next answer may come after the patience of whoever asks: why
// none could be had, and that the process has gone.
void Control::note_asked_anew(std::uint64_t peer) noexcept {
  engine_.lock_.enter_as_other();
  interface::LinkEnds& ends = engine_.core_.link_ends();
  const LinkReason why = ends.of(peer).reason;
  if (base::status_of(why) == Status::link_ended && !base::has_gone(why)) ends.asked_anew(peer);
  engine_.lock_.leave();
}

// Remembers that there is no daemon to introduce the two, for callers of Interface::why.
void Control::await_daemon(std::uint64_t peer) noexcept {
  engine_.lock_.enter_as_other();
  engine_.core_.link_ends().remember(peer, {LinkReason::no_daemon, false}, true);
  engine_.lock_.leave();
}

LinkKeeper* Control::keeper_of(std::uint64_t peer) noexcept {
  for (const auto& keeper : keepers_) {
    if (keeper->peer() == peer) return keeper.get();
  }
  return nullptr;
}

// Whether this end takes a link that it may not have asked for. The daemon looks, too; it may have introduced
// somebody before it heard of the consent, or know none.
bool Control::lets(const node::Event& event) const noexcept {
  return event.initiator || event.peer_uid == own_uid_ ||
         node::lets(options_.consent, event.peer_uid, event.peer_gid);
}

void Control::introduced(node::Event event) {
  const std::uint64_t number = event.link;
  const std::uint64_t peer = event.peer;
  const bool asked = event.initiator;
  const bool no_room = event.kind == node::Event::Kind::no_room;
  base::ForeignSocket socket(foreign_, std::move(event.socket));
  // The node introduces again only when both ends have ended the link before; a former one here is being
  // ended.
  if (LinkKeeper* former = keeper_of(event.peer))
    end(*former, LinkKeeper::End::peer_gone, {LinkReason::ended, false});
  const bool holds_much = !handed_out_.allows(event.peer_uid, LeftBehind::Kind::link);
  if (no_room || holds_much || keepers_.size() >= most_links_ || !lets(event)) {
    if (holds_much) ++engine_.counters_.links_held_up;
    const WhyNoLink why{no_room        ? LinkReason::no_descriptors
                        : !lets(event) ? LinkReason::not_permitted
                        : holds_much   ? LinkReason::memory_left_behind
                                       : LinkReason::too_many_links,
                        false};
    say_farewell(socket.get(), why);
    client_->link_ended(number);
    refuse(peer, why, asked);
    { const base::ForeignSocket end(std::move(socket)); }
    if (no_room) foreign_.close_pending();
    return;
  }
  try {
    const LinkKeeper& keeper = keep(std::move(event), std::move(socket));
    watch(keeper.pidfd(), EPOLLIN, tag(keeper) | kPidfd);
  } catch (const Error& error) {
    const WhyNoLink why{base::reason_of(error), false};
    if (!keepers_.empty() && keepers_.back()->number() == number) {
      keepers_.back()->say_farewell(why);
      unwatch(*keepers_.back());
      by_tag_.erase(tag(*keepers_.back()));
      keepers_.pop_back();
    }
    client_->link_ended(number);
    refuse(peer, why, asked);
  }
}

LinkKeeper& Control::keep(node::Event introduction, base::ForeignSocket socket,
                          base::FileDescriptor own_end) {
  keepers_.push_back(std::make_unique<LinkKeeper>(std::move(introduction), std::move(socket),
                                                  kFirstSerial + next_serial_++, interface_id_, options_.mtu,
                                                  area_budget_, handed_out_, std::move(own_end)));
  LinkKeeper& keeper = *keepers_.back();
  by_tag_.emplace(tag(keeper), &keeper);
  watch(keeper.socket(), EPOLLIN | EPOLLRDHUP, tag(keeper));
  return keeper;
}

// A link of which this interface is both ends: what it puts it takes, with the same checks. No daemon and no
// other process has a part in it.
void Control::join_oneself() {
  const std::size_t kept = keepers_.size();
  if (kept >= most_links_) return refuse(interface_id_, {LinkReason::too_many_links, false}, true);
  try {
    auto [heard, said] = base::socket_pair();
    node::Event oneself;
    oneself.peer = interface_id_;
    oneself.initiator = true;
    oneself.peer_uid = geteuid();
    oneself.peer_gid = getegid();
    oneself.peer_pid = static_cast<std::uint32_t>(getpid());
    keep(std::move(oneself), base::ForeignSocket(foreign_, std::move(heard)), std::move(said));
  } catch (const Error& error) {
    if (keepers_.size() != kept) {
      by_tag_.erase(tag(*keepers_.back()));
      keepers_.pop_back();
    }
    refuse(interface_id_, {base::reason_of(error), false}, true);
  }
}

void Control::read_link(LinkKeeper& keeper) { go_on(keeper, keeper.read(engine_)); }

// Puts into effect what was read, or begun.
void Control::go_on(LinkKeeper& keeper, LinkKeeper::End how) {
  if (keeper.link() != nullptr) {
    if (keeper.fresh()) {
      join(keeper);
      serve_imports();
    }
    engine_.lock_.enter_as_other();
    const bool grows = keeper.ring_taken();
    const LinkKeeper::End settled = keeper.settle();
    if (grows) engine_.wake_everybody();  // whoever waits for a longer ring
    engine_.lock_.leave();
    keeper.answer();
    keeper.unmap_forgotten();
    if (how == LinkKeeper::End::none) how = settled;
    answer_imports(keeper);
  }
  if (how != LinkKeeper::End::none) end(keeper, how, keeper.why());
}

// Reads the peer's last words first: they may say why it has ended.
void Control::peer_died(LinkKeeper& keeper) {
  const std::uint64_t serial = keeper.serial();
  read_link(keeper);
  const auto still = std::ranges::find_if(keepers_, [&](const auto& one) { return one->serial() == serial; });
  if (still != keepers_.end()) end(**still, LinkKeeper::End::peer_gone, {LinkReason::died, false});
}

// Some of what was handed to others was read or let go of, or may have been: what waits for that has its
// turn.
void Control::hand_out_more() {
  handed_out_.settle();
  struct Deferred {
    std::uint64_t number;  // of the link: to go on may end one
    std::uint32_t uid;
    std::uint64_t descriptors;
  };
  std::vector<Deferred> waiting;
  for (const auto& keeper : keepers_) {
    if (keeper->waits_to_show() || keeper->import_waits() || keeper->offers_later())
      waiting.push_back({keeper->number(), keeper->uid(), keeper->import_waits() ? 2u : 1u});
  }
  for (const Deferred& next : waiting) {
    if (!handed_out_.fits(next.uid, next.descriptors)) continue;
    const auto found =
        std::ranges::find_if(keepers_, [&](const auto& keeper) { return keeper->number() == next.number; });
    if (found == keepers_.end()) continue;
    LinkKeeper& keeper = **found;
    if (keeper.offers_later()) grow(keeper, true);
    if (keeper.waits_to_show()) {
      go_on(keeper, keeper.begin(engine_));
    } else if (keeper.import_waits()) {
      answer_imports(keeper);
      if (!keeper.import_waits()) listen(keeper, true);
    }
  }
}

void Control::count_handed_out() noexcept {
  interface::CounterPage& page = engine_.counters_;
  page.unread = handed_out_.unread().count();
  page.left_pieces = handed_out_.left().pieces();
  page.left_bytes = handed_out_.left().bytes();
}

void Control::join(LinkKeeper& keeper) {
  interface::CounterPage& page = engine_.counters_;
  engine_.lock_.enter_as_other();
  shm::ShmLink& link = *keeper.link();
  for (interface::LinkCounters& row : page.link) {
    if (row.peer != 0) continue;
    row = {};
    row.peer = keeper.peer();
    row.peer_uid = keeper.uid();
    row.peer_pid = keeper.pid();
    row.memory_out = link.memory_out();
    row.memory_in = link.memory_in();
    link.counters = &row;
    break;
  }
  link.user = keeper.user();
  link.same_user = !HandedOut::counts(link.user.uid);
  link.asked = keeper.asked();
  engine_.core_.add_link(link);
  // A thread that sleeps does not watch this link yet.
  engine_.wake_everybody();
  engine_.lock_.leave();
}

// There will be no link with `peer`: whoever waits for one, with or without a message, is told. `asked`: this
// process wanted it.
void Control::refuse(std::uint64_t peer, WhyNoLink why, bool asked) {
  fail_imports(peer, why);
  engine_.lock_.enter_as_other();
  engine_.core_.refuse_link(peer, why, asked);
  engine_.wake_everybody();
  engine_.lock_.leave();
}

void Control::end(LinkKeeper& keeper, LinkKeeper::End how, WhyNoLink why) {
  keeper.say_farewell(why);
  interface::CounterPage& page = engine_.counters_;
  if (shm::ShmLink* link = keeper.link(); link != nullptr) {
    fail_imports(keeper.peer(), why);
    engine_.lock_.enter_as_other();
    // Packets that arrived whole before the peer went are not lost.
    if (how == LinkKeeper::End::peer_gone) engine_.core_.drain(*link);
    if (how == LinkKeeper::End::protocol_broken) engine_.core_.note_broken(*link);
    engine_.core_.end_link(*link, why);
    page.packets_in += link->counters->packets_in;
    page.packets_out += link->counters->packets_out;
    *link->counters = {};
    engine_.wake_everybody();
    engine_.lock_.leave();
  } else {
    refuse(keeper.peer(), why, keeper.asked());
    engine_.lock_.enter_as_other();
    if (how == LinkKeeper::End::protocol_broken) ++page.links_broken;
    engine_.lock_.leave();
  }
  if (keeper.with_oneself()) {
    // No daemon knows of it.
  } else if (client_) {
    client_->link_ended(keeper.number());
  } else {
    standing_.links.erase(keeper.number());  // the next daemon must not be told of it
  }
  unwatch(keeper);
  by_tag_.erase(tag(keeper));
  std::erase_if(keepers_, [&](const auto& owned) { return owned.get() == &keeper; });
}

// Looks at the links that the data path has marked: those that broke, and those that want to grow.
void Control::look_at_links() {
  look_at_far();
  std::vector<LinkKeeper*> all;
  for (const auto& keeper : keepers_) all.push_back(keeper.get());
  look_at(all);
}

// Looks at the links alone that had a word to read. With 900 links each word would cost a look at all.
void Control::look_at_served(const std::vector<std::uint64_t>& served) {
  look_at_far();
  std::vector<LinkKeeper*> there;
  for (const std::uint64_t tag : served) {
    if (const auto found = by_tag_.find(tag); found != by_tag_.end()) there.push_back(found->second);
  }
  look_at(there);
}

void Control::look_at(const std::vector<LinkKeeper*>& keepers) {
  std::vector<LinkKeeper*> broken;
  std::vector<LinkKeeper*> growing;
  std::vector<std::pair<LinkKeeper*, std::uint64_t>> showing;
  engine_.lock_.enter_as_other();
  for (LinkKeeper* const keeper : keepers) {
    if (keeper->link() == nullptr) continue;
    if (keeper->link()->broken) {
      broken.push_back(keeper);
    } else if (keeper->link()->wants_growth()) {
      keeper->link()->growth_asked();
      growing.push_back(keeper);
    }
    const std::uint64_t wanted = keeper->link()->areas_wanted & ~keeper->link()->areas_shown;
    if (wanted != 0) showing.emplace_back(keeper, wanted);
  }
  engine_.lock_.leave();
  for (LinkKeeper* keeper : growing) grow(*keeper);
  for (const auto& [keeper, wanted] : showing) show_areas(*keeper, wanted);
  for (LinkKeeper* keeper : broken)
    end(*keeper, LinkKeeper::End::protocol_broken, {LinkReason::protocol_broken, false});
}

void Control::grow(LinkKeeper& keeper) {
  const std::uint32_t cells = keeper.link()->next_size();
  // Without a daemon to count the bytes: it hears of them when it is back. One's own it never counts.
  if (!client_ || keeper.with_oneself()) {
    grow(keeper, true);
    return;
  }
  const std::uint64_t number = next_request_++;
  growths_.emplace(number, keeper.number());
  client_->link_bytes(number, keeper.number(), sizeof(shm::Page) + cells * interface::kCell);
}

void Control::grow(LinkKeeper& keeper, bool granted) {
  if (granted && !keeper.may_offer_ring()) return;
  if (granted && keeper.offer_ring(keeper.link()->next_size())) return;
  engine_.lock_.enter_as_other();
  keeper.link()->growth_refused();
  engine_.wake_everybody();
  engine_.lock_.leave();
}

void Control::answer_growth(std::uint64_t link, bool granted) {
  for (const auto& keeper : keepers_) {
    if (keeper->number() == link && keeper->link() != nullptr) grow(*keeper, granted);
  }
}

// The daemon that was asked has gone.
void Control::grow_uncounted() {
  for (const auto& [request, link] : std::exchange(growths_, {})) answer_growth(link, true);
}

void Control::look_for_stalls() {
  if (keepers_.empty() && far_keepers_.empty()) return;
  const auto now = std::chrono::steady_clock::now();
  if (!stall_watch_.due(now)) return;
  look_for_unmade();
  report_refusals();
  std::vector<LinkKeeper*> stalled;
  std::vector<std::pair<FarKeeper*, WhyNoLink>> far_stalled;
  engine_.lock_.enter_as_other();
  stall_watch_.sees_sleep(engine_.sleep_of_now());
  // Between hosts both ends say all the time that they live; and without a daemon there is one to be found.
  if (!far_keepers_.empty() || !client_) stall_watch_.sees_other_work();
  for (const auto& keeper : keepers_) {
    shm::ShmLink* link = keeper->link();
    if (link == nullptr) {
      stall_watch_.sees_other_work();
      continue;
    }
    link->tell_taken();  // who polls without ever sleeping does not say it
    const auto limit = keeper->with_oneself() ? std::chrono::milliseconds{0} : options_.stall;
    const auto found = keeper->stall.look(link->work_pending(), link->progress(), limit, now);
    stall_watch_.sees(found);
    if (found == StallClock::Found::stalled) stalled.push_back(keeper.get());
  }
  for (FarKeeper& keeper : far_keepers_) {
    const auto found = keeper.stall.look(keeper.link->work_pending(), keeper.link->protocol().progress(),
                                         options_.stall, now);
    if (found == StallClock::Found::stalled)
      far_stalled.emplace_back(&keeper, keeper.link->why_over({LinkReason::stalled, false}));
  }
  if (stall_watch_.rest()) rest();
  engine_.lock_.leave();
  engine_.counters_.links_stalled += stalled.size() + far_stalled.size();
  for (LinkKeeper* keeper : stalled) end(*keeper, LinkKeeper::End::peer_gone, {LinkReason::stalled, false});
  for (const auto& [keeper, why] : far_stalled) end_far(*keeper, true, why);
}

// There is nothing to look at until somebody wakes, who calls for attention by way of the interface thread,
// or sends, who does so by the link. Under the run lock.
void Control::rest() noexcept {
  engine_.control_rests_.store(true, std::memory_order_relaxed);
  for (const auto& keeper : keepers_) keeper->link()->leave_unwatched();
}

void Control::end_rest() noexcept {
  const auto now = std::chrono::steady_clock::now();
  if (!stall_watch_.end_rest(now)) return;
  engine_.lock_.enter_as_other();
  engine_.control_rests_.store(false, std::memory_order_relaxed);
  for (const auto& keeper : keepers_) {
    keeper->link()->watch_again();
    keeper->stall.start_anew(now);
  }
  engine_.lock_.leave();
}

// Once per look and link, however many they are. Late packets of what is over are not held against anybody:
// an honest sender cannot know.
void Control::report_refusals() {
  if (!client_) return;
  for (const auto& keeper : keepers_) {
    if (keeper->link() == nullptr || keeper->with_oneself()) continue;
    report_refusals(*keeper->link(), keeper->number(), keeper->reported);
  }
  for (FarKeeper& keeper : far_keepers_) report_refusals(*keeper.link, keeper.number, keeper.reported);
}

void Control::report_refusals(const interface::Link& link, std::uint64_t number, std::uint64_t& reported) {
  std::uint64_t refused = 0;
  engine_.lock_.enter_as_other();
  for (std::size_t cause = 0; cause < static_cast<std::size_t>(Refusal::count); ++cause) {
    if (static_cast<Refusal>(cause) != Refusal::stale_message) refused += link.counters->refused[cause];
  }
  engine_.lock_.leave();
  if (refused == reported) return;
  reported = refused;
  client_->report(number, refused);
}

// A peer that was introduced but never shows its page, or that cannot be shown one of ours.
void Control::look_for_unmade() {
  hand_out_more();
  const auto now = std::chrono::steady_clock::now();
  std::vector<LinkKeeper*> late;
  for (const auto& keeper : keepers_) {
    if (keeper->link() == nullptr && now - keeper->made >= kPageDeadline) late.push_back(keeper.get());
  }
  for (LinkKeeper* keeper : late) {
    const bool waits = keeper->waits_to_show();
    if (waits) ++engine_.counters_.links_held_up;
    end(*keeper, waits ? LinkKeeper::End::unread : LinkKeeper::End::protocol_broken,
        {waits ? LinkReason::unread : LinkReason::no_page, false});
  }
}

}  // namespace hamlyn::internal_::library
