#pragma once
// How an endpoint's pairs begin and end (am/machine.h), and its segment, of which they are told.
//
// Two endpoints greet each other: each says once to the other's door where it can be sent to, and may send as
// soon as it has heard that. Whoever is greeted by a stranger greets back. A pair has a session of each side,
// so that a process that begins anew is not taken for what it was.
#include "am/machine.h"

namespace hamlyn::internal_::am {

// Throws.
template <class Port>
auto Machine<Port>::make_pair(const Name& name) -> Other& {
  auto made = std::make_unique<Other>();
  Other& out = *made;
  do {
    out.number = last_pair_ = (last_pair_ + 1) & kPairNumber;
  } while (out.number == 0 || pairs_.contains(out.number));
  out.name = name;
  out.peer = interface_of(name);
  out.own_session = port_.door().random();
  out.way = port_.make_way(&out, limits_);
  restless_.reserve(4 * (pairs_.size() + 2));
  pairs_.emplace(out.number, std::move(made));
  try {
    by_name_[key_of(name)] = &out;
  } catch (...) {
    pairs_.erase(out.number);
    throw;
  }
  open_window(out);
  return out;
}

template <class Port>
void Machine<Port>::greet(Other& pair) noexcept {
  Hello hello{.credits = static_cast<std::uint16_t>(limits_.credits),
              .way = static_cast<std::uint16_t>(port_.way()),
              .from = own_,
              .to = number_of(pair.name),
              .session = pair.own_session,
              .door = on_wire(port_.door().ticket()),
              .segment = news_of(pair)};
  if (member_)
    hello.proof = proof_of(*member_, {interface_of(name_), own_, pair.peer, hello.to, hello.session});
  pair.way->describe(hello);
  pair.hello = protocols::in_wire_order(hello);
  switch (port_.door().say(door_of(pair.name), std::as_bytes(std::span(&pair.hello, 1)), pair.number,
                           pair.hello_handle)) {
    case Status::pending:
      pair.hello_under_way = true;
      pair.segment_owed = false;
      if (pair.link == 0) pair.link = port_.door().link(pair.peer);  // 0: that is being made
      return;
    case Status::ok:
      pair.hello_owed = pair.segment_owed = false;
      return;
    case Status::connecting:
    case Status::queue_full:
    case Status::no_place:
      mark(pair);
      return;
    case Status::refused:
    case Status::stale:
      end(pair, port_.door().link(pair.peer) != 0 ? Why::bad_endpoint : Why::unreachable);
      return;
    default:
      end(pair, Why::unreachable);
  }
}

// Notes the first link that the pair was greeted by; when that ends, the pair does, whether there is a later
// one or not. False: there is none any more, and the pair has ended.
template <class Port>
bool Machine<Port>::has_link(Other& pair) noexcept {
  const std::uint64_t now = port_.door().link(pair.peer);
  if (now == 0) end(pair, Why::unreachable);
  if (pair.link == 0) pair.link = now;
  return now != 0;
}

template <class Port>
void Machine<Port>::hear_said(std::uint64_t token, bool arrived, Refusal cause) noexcept {
  Other* const other = pair(static_cast<std::uint32_t>(token));
  if (other == nullptr || !other->hello_under_way) return;
  other->hello_under_way = false;
  if (arrived) {
    other->hello_owed = false;
    if (has_link(*other) && other->segment_owed) mark(*other);
    return;
  }
  switch (cause) {
    case Refusal::no_buffer:  // too many greet it at once
      mark(*other);
      return;
    case Refusal::bad_slot:
    case Refusal::stale_generation:
    case Refusal::bad_key:
      end(*other, Why::bad_endpoint);
      return;
    default:
      end(*other, Why::unreachable);
  }
}

template <class Port>
void Machine<Port>::hear_hello(std::uint64_t peer, std::span<const std::byte> bytes) noexcept {
  const auto hello = protocols::copy_of<Hello>(bytes);
  if (!hello || hello->version != kWireVersion || hello->to != own_ || hello->from == 0 || peer == 0) {
    ++statistics.refused;
    return;
  }
  const bool refuses = hello->why != 0;
  const bool other_way = hello->way != static_cast<std::uint16_t>(port_.way());
  if (refuses ? hello->why > static_cast<std::uint16_t>(Why::reply_rejected)
              : hello->credits == 0 || hello->session == 0 || (!other_way && !Port::may_greet(*hello))) {
    ++statistics.refused;
    return;
  }
  const auto found = by_name_.find({peer, hello->from});
  Other* other =
      found != by_name_.end() && found->second->state != Other::State::ended ? found->second : nullptr;
  if (refuses) {
    if (other != nullptr && other->own_session == hello->session) end(*other, static_cast<Why>(hello->why));
    return;
  }
  if (other_way)
    return refuse(ticket_of(hello->door, peer, Ticket::kPosted), hello->from, hello->session,
                  Why::bad_endpoint);
  if (other != nullptr && other->session == hello->session) return;
  if (other != nullptr && other->session != 0 && !begin_anew(*other)) other = nullptr;
  if (other == nullptr) other = welcome(peer, *hello);
  if (other == nullptr) return;
  learn(*other, *hello);
  if (other->state == Other::State::open && other->hello_owed && !other->hello_under_way) greet(*other);
}

// The other side has begun anew. If nothing of it was heard, this side stays what it is and says so again: it
// may be this side's hello that the other has begun anew by, and if both did so in turn, neither would end.
// Otherwise the pair ends. False: it has.
template <class Port>
bool Machine<Port>::begin_anew(Other& pair) noexcept {
  if (pair.expected != 0 || !pair.early.empty() || pair.promised != 0) {
    end(pair, Why::unreachable);
    return false;
  }
  give_up_requests(pair, Why::unreachable);
  pair.log = {};
  pair.asked = {};
  pair.answered = pair.rejected = 0;
  pair.told_tag = kNoTag;
  pair.segment = {};
  pair.laid = {};
  pair.asking = Other::Asking::no;
  pair.asked_longer = false;
  pair.ahead.reset();
  pair.hello_owed = true;
  return true;
}

// A pair for somebody who has greeted first. Null: it was refused.
template <class Port>
auto Machine<Port>::welcome(std::uint64_t peer, const Hello& hello) noexcept -> Other* {
  const auto strangers = std::ranges::count_if(
      pairs_, [&](const auto& each) { return each.second->peer == peer && each.second->users == 0; });
  if (pairs_.size() >= kMostPairs || strangers >= kMostOfOneProcess / port_.links_of_pair()) {
    refuse(ticket_of(hello.door, peer, Ticket::kPosted), hello.from, hello.session, Why::congestion);
    return nullptr;
  }
  try {
    Other& made = make_pair(name_of(ticket_of(hello.door, peer, Ticket::kPosted), hello.from));
    mark(made);  // it is greeted back
    return &made;
  } catch (const std::exception&) {
    refuse(ticket_of(hello.door, peer, Ticket::kPosted), hello.from, hello.session, Why::congestion);
    return nullptr;
  }
}

// Says to the endpoint of that door and number that this one cannot be sent to.
template <class Port>
void Machine<Port>::refuse(const Ticket& door, std::uint64_t to, std::uint64_t session, Why why) noexcept {
  const Hello answer = protocols::in_wire_order(
      Hello{.why = static_cast<std::uint16_t>(why), .from = own_, .to = to, .session = session});
  // If that finds no room, who asks waits until it ends, or we do.
  port_.door().say_once(door, std::as_bytes(std::span(&answer, 1)));
}

// The endpoint goes now. Those whose ring had no room for the news hear it at their door.
template <class Port>
void Machine<Port>::say_gone() noexcept {
  for (auto& [number, pair] : pairs_)
    if (pair->state == Other::State::open && !pair->said_bye)
      refuse(door_of(pair->name), number_of(pair->name), pair->session, Why::bad_endpoint);
}

template <class Port>
void Machine<Port>::learn(Other& pair, const Hello& hello) noexcept {
  if (!has_link(pair)) return;
  pair.session = hello.session;
  pair.most = std::min({limits_.credits, std::uint32_t{hello.credits}, kMostCredits});
  pair.way->aim(pair.peer, pair.own_session, hello);
  pair.is_member = proves(pair, hello);
  use_segment(pair, hello.segment);
  pair.segment_owed |= gives_all() && pair.is_member;  // what it was told before it had shown that
  pair.state = Other::State::open;
  pair.tag_fits = fits(pair.tag);
  mark(pair);
}

template <class Port>
void Machine<Port>::hear_link_ended(std::uint64_t peer) noexcept {
  for (auto& [number, pair] : pairs_) {
    if (pair->state == Other::State::ended || pair->link == 0) continue;  // of a greeting its own end tells
    if (peer != 0 && pair->peer != peer) continue;
    if (port_.door().link(pair->peer) != pair->link) end(*pair, Why::unreachable);
  }
}

// Ends a pair. Requests that are under way come back.
template <class Port>
void Machine<Port>::end(Other& pair, Why why) noexcept {
  if (pair.state == Other::State::ended) return;
  pair.state = Other::State::ended;
  pair.why = why;
  give_up_requests(pair, why);
  pair.early.clear();
  if (pair.hello_under_way) port_.door().unsay(pair.hello_handle);
  pair.hello_under_way = false;
  mark(pair);
  let_go(pair);
}

// Requests that have left, or were kept, come back. Nothing of what was kept leaves any more.
template <class Port>
void Machine<Port>::give_up_requests(Other& pair, Why why) noexcept {
  for (; pair.asked.outstanding() != 0; pair.asked.drop_oldest())
    come_back(why, pair.asked.oldest(), pair.name);
  for (const Kept& kept : pair.kept) {
    if (!is_request(kept.kind)) continue;
    std::array<std::int32_t, kMostArguments> arguments;
    arguments_of(kept, arguments);
    come_back(why,
              {.kind = kept.kind,
               .handler = kept.handler,
               .index = kept.index,
               .arguments = {arguments.data(), kept.count},
               .offset = kept.offset,
               .length = kept.length},
              pair.name);
  }
  pair.kept.clear();
  pair.promised = 0;
}

// Frees what an ended pair has, as soon as nobody looks at it.
template <class Port>
void Machine<Port>::let_go(Other& pair) noexcept {
  if (pair.state != Other::State::ended || pair.busy) return;
  pair.window.reset();
  pair.way.reset();
  if (pair.users == 0 && !pair.restless) erase(pair);
}

template <class Port>
void Machine<Port>::erase(Other& pair) noexcept {
  const auto found = by_name_.find(key_of(pair.name));
  if (found != by_name_.end() && found->second == &pair) by_name_.erase(found);
  pairs_.erase(pair.number);
}

// --- the segment

template <class Port>
void Machine<Port>::open_window(Other& pair) noexcept {
  if (area_ != nullptr) pair.window = port_.make_window(*area_, segment_);
}

template <class Port>
SegmentNews Machine<Port>::news_of(Other& pair) noexcept {
  if (gives_all()) return {{.bound = pair.is_member ? kEverywhere : 0}, segment_number_};
  return {pair.window != nullptr ? on_wire(pair.window->ticket()) : WireTicket{}, segment_number_};
}

template <class Port>
Result Machine<Port>::set_segment(std::span<std::byte> memory) {
  std::unique_ptr<typename Port::Area> area;
  if (!memory.empty() && !is_address_space(memory)) {
    area = port_.make_area(memory);
    if (area == nullptr) return Result::bad_argument;
  }
  for (auto& [number, pair] : pairs_) pair->window.reset();
  area_ = std::move(area);
  segment_ = memory;
  ++segment_number_;
  for (auto& [number, pair] : pairs_) {
    if (pair->state == Other::State::ended) continue;
    open_window(*pair);
    pair->segment_owed = true;
    mark(*pair);
    if (pair->state == Other::State::open) tell_segment(*pair);
  }
  return Result::ok;
}

template <class Port>
void Machine<Port>::tell_segment(Other& pair) noexcept {
  const SegmentNews news = protocols::in_wire_order(news_of(pair));
  const Leaving leaving{.kind = Kind::segment, .head = std::as_bytes(std::span(&news, 1))};
  if (!pair.kept.empty() || transmit(pair, leaving) == Sent::no_room)
    mark(pair);
  else
    pair.segment_owed = false;
}

template <class Port>
void Machine<Port>::use_segment(Other& pair, const SegmentNews& news) noexcept {
  // Bytes that were put there count.
  if (news.number == pair.segment.number && news.slot.bound == pair.segment.slot.bound) return;
  pair.segment = news;
  if (is_everywhere(news) && !pair.is_member) pair.segment.slot.bound = 0;  // no such side would be given it
  pair.segment_ticket = ticket_of(news.slot, pair.peer, Ticket::kFast);
  pair.put = 0;
}

}  // namespace hamlyn::internal_::am
