#pragma once
// Messages that leave an endpoint (am/machine.h).
#include "am/machine.h"

namespace hamlyn::internal_::am {

// --- one message

// The bytes of a message as they travel: in the caller's memory, or in this machine's.
template <class Port>
__attribute__((always_inline)) inline std::span<const std::byte> Machine<Port>::compose(
    const Leaving& leaving) noexcept {
  if (leaving.head.empty() && !is_medium(leaving.kind) && base::kLittleEndian) [[likely]]
    return std::as_bytes(leaving.arguments);
  return compose_in_scratch(leaving);
}

template <class Port>
std::span<const std::byte> Machine<Port>::compose_in_scratch(const Leaving& leaving) noexcept {
  const bool medium = is_medium(leaving.kind);
  std::byte* at = scratch_.data();
  if (!leaving.head.empty()) std::memcpy(at, leaving.head.data(), leaving.head.size());
  at += leaving.head.size();
  for (std::size_t i = 0; i != leaving.arguments.size(); ++i)
    base::store_little(at + 4 * i, leaving.arguments[i]);
  at += medium ? data_at(leaving.arguments.size()) : 4 * leaving.arguments.size();
  if (!leaving.data.empty()) std::memcpy(at, leaving.data.data(), leaving.data.size());
  return {scratch_.data(), static_cast<std::size_t>(at - scratch_.data()) + leaving.data.size()};
}

// Notes what is to be said if it comes back.
template <class Port>
inline void Machine<Port>::note(Asked& asked, const Leaving& leaving) noexcept {
  asked.kind = leaving.kind;
  asked.handler = leaving.handler;
  asked.count = static_cast<std::uint8_t>(leaving.arguments.size());
  asked.index = leaving.index;
  asked.offset = leaving.offset;
  asked.length = leaving.length;
  copy_arguments(asked.arguments.data(), leaving.arguments.data(), asked.count);
}

template <class Port>
__attribute__((always_inline)) inline bool Machine<Port>::room_in_logs(Other& pair, bool asks) noexcept {
  return (pair.log.has_room() & (!asks | pair.asked.has_room())) || make_room_in_logs(pair, asks);
}

template <class Port>
bool Machine<Port>::make_room_in_logs(Other& pair, bool asks) noexcept {
  try {
    return pair.log.make_room() && (!asks || pair.asked.make_room());
  } catch (const std::bad_alloc&) {
    return false;
  }
}

template <class Port>
__attribute__((always_inline)) inline Sent Machine<Port>::give(Other& pair, Word word,
                                                               std::span<const std::byte> bytes,
                                                               const Leaving& leaving) noexcept {
  const bool asks = is_request(leaving.kind);
  if (!room_in_logs(pair, asks)) [[unlikely]]
    return Sent::no_room;
  word.number = static_cast<std::uint16_t>(pair.log.posted());
  word.done = static_cast<std::uint16_t>(pair.done);
  word.credited = static_cast<std::uint16_t>(pair.over & kCreditedMask);
  const Sent sent = pair.way->send(word_of(word), bytes, pair.log.next());
  if (sent != Sent::ok) [[unlikely]]
    return sent;
  pair.log.post();
  if (asks) {
    note(pair.asked.next(), leaving);
    pair.asked.post();
  }
  has_told(pair);
  return Sent::ok;
}

template <class Port>
__attribute__((always_inline)) inline Sent Machine<Port>::transmit(Other& pair,
                                                                   const Leaving& leaving) noexcept {
  const Word word{.kind = leaving.kind,
                  .count = static_cast<std::uint8_t>(leaving.arguments.size()),
                  .handler = leaving.handler};
  const Sent sent = give(pair, word, compose(leaving), leaving);
  if (sent == Sent::no_room) [[unlikely]]
    ask_longer(pair);
  if (is_over(sent)) [[unlikely]]
    end(pair, why_over(pair, sent));
  return sent;
}

// Why a pair ends by which nothing can be sent. There may be a later link, by which its slots are gone too.
template <class Port>
Why Machine<Port>::why_over(const Other& pair, Sent sent) noexcept {
  return sent == Sent::gone && port_.door().link(pair.peer) == pair.link ? Why::bad_endpoint
                                                                         : Why::unreachable;
}

// Notes that a word has said all that was owed.
template <class Port>
inline void Machine<Port>::has_told(Other& pair) noexcept {
  pair.over_told = pair.over;
  pair.owed_room = 0;
}

// --- requests

template <class Port>
__attribute__((always_inline)) inline Try Machine<Port>::pair_for(std::uint32_t index, const Leaving& leaving,
                                                                  Other*& out) noexcept {
  if (index >= translations_.size()) [[unlikely]]
    return Try::bad_argument;
  Translation& entry = translations_[index];
  if (entry.pair == nullptr || entry.pair->state != Other::State::open || entry.pair->told_tag != entry.tag)
      [[unlikely]]
    return pair_for_slowly(index, leaving, out);
  Other& pair = *entry.pair;
  if ((pair.in_flight() >= pair.most) | !pair.kept.empty()) [[unlikely]]
    return Try::later;
  out = &pair;
  return Try::ok;
}

// ok and null: it comes back.
template <class Port>
Try Machine<Port>::pair_for_slowly(std::uint32_t index, const Leaving& leaving, Other*& out) noexcept {
  Translation& entry = translations_[index];
  out = nullptr;
  if (returned_.size() >= kMostReturned) return Try::later;
  if (!entry.used) {
    come_back(Why::bad_entry, leaving, {});
    return Try::ok;
  }
  if (entry.pair->state == Other::State::ended) {
    // The other endpoint may have greeted anew.
    const auto found = by_name_.find(key_of(entry.name));
    if (found == by_name_.end() || found->second->state == Other::State::ended) {
      come_back(entry.pair->why, leaving, entry.name);
      return Try::ok;
    }
    Other& before = *std::exchange(entry.pair, found->second);
    ++entry.pair->users;
    --before.users;
    let_go(before);
  }
  Other& pair = *entry.pair;
  if (pair.state != Other::State::open) return Try::later;
  if (pair.in_flight() >= pair.most || !pair.kept.empty()) return Try::later;
  if (pair.told_tag != entry.tag) {
    std::array<std::byte, sizeof(Tag)> bytes;
    base::store_little(bytes.data(), entry.tag);
    if (transmit(pair, {.kind = Kind::tag, .head = bytes}) != Sent::ok) return Try::later;
    pair.told_tag = entry.tag;
  }
  out = &pair;
  return Try::ok;
}

template <class Port>
Try Machine<Port>::request(std::uint32_t index, Leaving& leaving) noexcept {
  leaving.index = index;
  Other* pair = nullptr;
  const Try found = pair_for(index, leaving, pair);
  if (found != Try::ok || pair == nullptr) [[unlikely]]
    return found;
  if (transmit(*pair, leaving) != Sent::ok) [[unlikely]]
    return Try::later;
  ++statistics.requests;
  statistics.bytes += leaving.data.size();
  return Try::ok;
}

// --- long ones: their data first

template <class Port>
Try Machine<Port>::begin_put(Other& pair, const Leaving& leaving, Moving& moving) noexcept {
  SendHandle handle;
  switch (pair.way->put(pair.segment_ticket, leaving.data, leaving.offset, handle)) {
    case Status::ok:
    case Status::pending:
      break;
    case Status::connecting:
    case Status::queue_full:
    case Status::no_place:
      return Try::later;
    case Status::refused:  // the segment has just gone, and news of that are on their way; or the endpoint
    case Status::stale:
    case Status::out_of_bounds:
      moving = {pair.number, {leaving.offset, leaving.data.size(), 0, 0}, {}};
      return Try::ok;
    default:
      end(pair, Why::unreachable);
      return Try::later;
  }
  pair.put += leaving.data.size();
  moving = {pair.number, {leaving.offset, leaving.data.size(), pair.segment.number, pair.put}, handle};
  return Try::ok;
}

// Whether the other side has been asked for its segment, and has answered.
template <class Port>
bool Machine<Port>::knows_segment(Other& pair) noexcept {
  if (pair.asking == Other::Asking::no && transmit(pair, {.kind = Kind::ask}) == Sent::ok)
    pair.asking = Other::Asking::yes;
  return pair.asking == Other::Asking::answered;
}

template <class Port>
Try Machine<Port>::begin_long(std::uint32_t index, Leaving& leaving, Moving& moving) noexcept {
  leaving.index = index;
  moving.pair = 0;
  Other* pair = nullptr;
  const Try found = pair_for(index, leaving, pair);
  if (found != Try::ok || pair == nullptr) return found;
  const std::uint64_t size = pair->segment.slot.bound;
  if (leaving.offset >= size || leaving.data.size() > size - leaving.offset) {
    if (!knows_segment(*pair) || returned_.size() >= kMostReturned) return Try::later;
    pair->asking = Other::Asking::no;
    come_back(leaving.offset >= size ? Why::bad_offset : Why::bad_length, leaving, pair->name);
    return Try::ok;
  }
  if (is_everywhere(pair->segment)) return begin_data(*pair, leaving, moving);
  const Try put = begin_put(*pair, leaving, moving);
  if (put != Try::ok) return put;
  ++pair->promised;
  return Try::ok;
}

template <class Port>
Status Machine<Port>::moved(const Moving& moving) noexcept {
  Other* const other = pair(moving.pair);
  if (other == nullptr || other->way == nullptr) {  // it lands nowhere any more
    port_.give_up(moving.handle);
    return Status::ok;
  }
  if (moving.data != 0) return is_kept(*other, moving.data) ? Status::pending : Status::ok;
  if (moving.handle.sequence == 0) return Status::ok;
  return other->way->status(moving.handle);
}

template <class Port>
bool Machine<Port>::cancel(const Moving& moving) noexcept {
  Other* const other = pair(moving.pair);
  if (other == nullptr || other->way == nullptr) {
    port_.give_up(moving.handle);
    return moving.data == 0;  // with data it has come back already
  }
  if (moving.data != 0) return drop_data(*other, moving.data);
  if (other->state == Other::State::open) --other->promised;
  if (moved(moving) != Status::pending) return true;
  other->way->cancel(moving.handle);
  end(*other, Why::unreachable);
  return true;
}

template <class Port>
Try Machine<Port>::end_long(const Moving& moving, Leaving& leaving, bool keep_it) noexcept {
  if (moving.data != 0) return Try::ok;  // it goes, or has come back, with its data
  Other* const other = pair(moving.pair);
  if (other == nullptr || other->state != Other::State::open) {
    come_back(other != nullptr ? other->why : Why::unreachable, leaving, {});
    return Try::ok;
  }
  const LongHead head = protocols::in_wire_order(moving.head);
  const Leaving last = behind_data(leaving, head);
  const Sent sent = other->kept.empty() ? transmit(*other, last) : Sent::no_room;
  if (is_over(sent)) {
    come_back(other->why, leaving, other->name);
    return Try::ok;
  }
  if (sent == Sent::no_room) {
    if (!keep_it) return Try::later;
    if (const Try kept = keep(*other, last); kept != Try::ok) {
      --other->promised;
      return kept;
    }
  } else {
    --other->promised;
  }
  ++statistics.requests;
  statistics.bytes += leaving.data.size();
  return Try::ok;
}

// --- replies

template <class Port>
Try Machine<Port>::keep(Other& pair, const Leaving& leaving) noexcept {
  try {
    const std::span<const std::byte> bytes = compose(leaving);
    pair.kept.push_back({leaving.kind,
                         leaving.closes,
                         leaving.handler,
                         static_cast<std::uint8_t>(leaving.arguments.size()),
                         leaving.index,
                         leaving.offset,
                         leaving.length,
                         {bytes.begin(), bytes.end()}});
  } catch (const std::bad_alloc&) {
    return Try::resource;
  }
  if (leaving.kind != Kind::acknowledge) ++statistics.kept;
  mark(pair);
  return Try::ok;
}

// The credit of the request goes with its reply, unless that is kept.
template <class Port>
__attribute__((always_inline)) inline Try Machine<Port>::reply(Delivery& to, Leaving& leaving) noexcept {
  if (!to.may_reply) return Try::bad_argument;
  Other& pair = *to.pair;
  to.may_reply = false;
  if (pair.state != Other::State::open) return Try::ok;  // who asked has gone meanwhile
  Sent sent = Sent::no_room;
  if (pair.kept.empty()) [[likely]] {
    ++pair.over;
    sent = transmit(pair, leaving);
    if (sent == Sent::no_room) --pair.over;
  }
  to.over = true;  // now, or when it leaves
  ++pair.answered;
  ++statistics.replies;
  statistics.bytes += leaving.data.size();
  if (sent != Sent::no_room) [[likely]]
    return Try::ok;
  leaving.closes = true;
  const Try kept = keep(pair, leaving);
  to.over = kept == Try::ok;
  return kept;
}

// There is no place for the data at the asker. Whoever has said where it lands is told: of a get the asker.
template <class Port>
void Machine<Port>::cannot_land(Delivery& to, const Leaving& leaving, Why why) noexcept {
  to.may_reply = false;  // the request is over when its handler has returned
  if (to.kind != Kind::get) return come_back(Why::reply_rejected, leaving, to.pair->name);
  to.over = true;
  reject(to, why);
}

// Waits, in the port, until the data has left: the interface makes room for it, whatever programs do.
template <class Port>
Try Machine<Port>::reply_long(Delivery& to, const Leaving& leaving) noexcept {
  if (!to.may_reply) return Try::bad_argument;
  Other& pair = *to.pair;
  if (pair.state != Other::State::open) {  // who asked has gone meanwhile
    to.may_reply = false;
    return Try::ok;
  }
  const std::uint64_t size = pair.segment.slot.bound;
  if (leaving.offset >= size || leaving.data.size() > size - leaving.offset) {
    cannot_land(to, leaving, leaving.offset >= size ? Why::bad_offset : Why::bad_length);
    return Try::ok;
  }
  if (is_everywhere(pair.segment)) return unless_lost(to, reply_with_data(to, leaving));
  const Status landed = to.kind == Kind::get && gives_all() ? put_checked(pair, leaving)
                                                            : put(pair, leaving.data, leaving.offset);
  // News of another segment are on their way, or the data is not there.
  if (landed == Status::refused || landed == Status::stale || landed == Status::out_of_bounds) {
    cannot_land(to, leaving, Why::bad_offset);
    return Try::ok;
  }
  if (landed != Status::ok) {
    end(pair, Why::unreachable);
    to.may_reply = false;
    return Try::ok;
  }
  const LongHead head =
      protocols::in_wire_order(LongHead{leaving.offset, leaving.data.size(), pair.segment.number, pair.put});
  Leaving last = behind_data(leaving, head);
  statistics.bytes += leaving.data.size();
  return unless_lost(to, reply(to, last));
}

// Puts data into the other side's segment, and waits until it has left.
template <class Port>
Status Machine<Port>::put(Other& pair, std::span<const std::byte> data, std::uint64_t offset) noexcept {
  const Status landed = pair.way->put_waiting(pair.segment_ticket, data, offset);
  if (landed == Status::ok) pair.put += data.size();
  return landed;
}

// A get for whose answer there is no memory comes back: no handler hears of it here.
template <class Port>
Try Machine<Port>::unless_lost(Delivery& to, Try replied) noexcept {
  if (replied != Try::resource || to.kind != Kind::get) return replied;
  to.over = true;
  reject(to, Why::congestion);
  return Try::ok;
}

// --- what comes back

template <class Port>
void Machine<Port>::come_back(Returned&& returned) noexcept {
  try {
    returned_.push_back(std::move(returned));
    ++statistics.returned;
  } catch (const std::bad_alloc&) {  // nothing is left to say it with
  }
}

template <class Port>
void Machine<Port>::come_back(Why why, const Leaving& leaving, const Name& to) noexcept {
  Returned out{.why = why,
               .operation = operation_of(leaving.kind),
               .handler = leaving.handler,
               .count = static_cast<std::uint8_t>(leaving.arguments.size()),
               .index = is_request(leaving.kind) ? static_cast<std::int32_t>(leaving.index) : -1,
               .offset = leaving.offset,
               .length = leaving.length,
               .to = to};
  std::ranges::copy(leaving.arguments, out.room.begin());
  come_back(std::move(out));
}

template <class Port>
void Machine<Port>::come_back(Why why, const Asked& asked, const Name& to) noexcept {
  come_back(why,
            {.kind = asked.kind,
             .handler = asked.handler,
             .index = asked.index,
             .arguments = {asked.arguments.data(), asked.count},
             .offset = asked.offset,
             .length = asked.length},
            to);
}

// --- what is owed

// Where none of its messages stands there, room is wanting for another reason, as the first that leaves
// finds.
template <class Port>
void Machine<Port>::ask_longer(Other& pair) noexcept {
  if (pair.asked_longer || pair.log.outstanding() == 0 || !pair.way->is_short()) return;
  if (keep(pair, {.kind = Kind::grow}) == Try::ok) pair.asked_longer = true;
}

template <class Port>
void Machine<Port>::arguments_of(const Kept& kept, std::span<std::int32_t, kMostArguments> out) noexcept {
  const std::byte* const from = kept.bytes.data() + head_bytes(kept.kind);
  for (std::size_t i = 0; i != kept.count; ++i) out[i] = base::load_little<std::int32_t>(from + 4 * i);
}

// Lets leave what was kept. False: some of it is left.
template <class Port>
bool Machine<Port>::flush(Other& pair) noexcept {
  while (!pair.kept.empty()) {
    Kept& kept = pair.kept.front();
    if (kept.kind == Kind::acknowledge) {  // a credit, whose turn it is
      ++pair.over;
      pair.kept.pop_front();
      continue;
    }
    const Sent data = send_data(pair, kept);
    if (is_over(data)) end(pair, why_over(pair, data));
    if (data != Sent::ok) return pair.state != Other::State::open;
    const Word word{.kind = kept.kind, .count = kept.count, .handler = kept.handler};
    Leaving leaving{.kind = kept.kind,
                    .handler = kept.handler,
                    .index = kept.index,
                    .offset = kept.offset,
                    .length = kept.length};
    std::array<std::int32_t, kMostArguments> arguments;
    if (is_request(kept.kind)) {  // its record says them
      arguments_of(kept, arguments);
      leaving.arguments = {arguments.data(), kept.count};
    }
    pair.over += kept.closes ? 1 : 0;
    switch (const Sent sent = give(pair, word, kept.bytes, leaving)) {
      case Sent::ok:
        if (is_request(kept.kind)) --pair.promised;
        pair.kept.pop_front();
        break;
      case Sent::no_room:
        pair.over -= kept.closes ? 1 : 0;
        return false;
      case Sent::gone:
      case Sent::ended:
        end(pair, why_over(pair, sent));
        return true;
    }
  }
  return true;
}

// Says how many are done, by a message of its own.
template <class Port>
void Machine<Port>::tell(Other& pair) noexcept {
  const Word word{.kind = Kind::acknowledge,
                  .number = static_cast<std::uint16_t>(pair.log.posted()),
                  .done = static_cast<std::uint16_t>(pair.done),
                  .credited = static_cast<std::uint16_t>(pair.over & kCreditedMask)};
  switch (const Sent sent = pair.way->send_bare(word_of(word))) {
    case Sent::ok:
      has_told(pair);
      ++statistics.bare;
      return;
    case Sent::no_room:
      mark(pair);
      return;
    case Sent::gone:
    case Sent::ended:
      end(pair, why_over(pair, sent));
      return;
  }
}

template <class Port>
__attribute__((always_inline)) inline void Machine<Port>::tell_if_owed(Other& pair) noexcept {
  if ((pair.over - pair.over_told >= quarter_) | (pair.owed_room >= pair.tells_room_at)) [[unlikely]]
    tell(pair);
}

template <class Port>
void Machine<Port>::step() noexcept {
  const std::size_t count = restless_.size();
  for (std::size_t i = 0; i != count; ++i) {
    Other& pair = *restless_[i];
    pair.restless = false;
    if (pair.state == Other::State::ended) {
      let_go(pair);
      continue;
    }
    if (pair.hello_owed && !pair.hello_under_way) greet(pair);
    if (pair.state != Other::State::open) continue;
    if (pair.segment_owed) tell_segment(pair);
    const bool flushed = flush(pair);
    if (pair.state != Other::State::open) continue;
    tell_if_owed(pair);
    if (pair.state == Other::State::open && (!flushed || !pair.early.empty())) mark(pair);
  }
  restless_.erase(restless_.begin(), restless_.begin() + static_cast<std::ptrdiff_t>(count));
}

template <class Port>
template <class Answers>
bool Machine<Port>::say_bye(Answers answers) noexcept {
  bool all = true;
  for (auto& [number, pair] : pairs_) {
    if (pair->state != Other::State::open) continue;
    if (!pair->said_bye && flush(*pair) && pair->state == Other::State::open) {
      const Sent sent = give(*pair, {.kind = Kind::bye}, {}, {.kind = Kind::bye});
      pair->said_bye = sent == Sent::ok;
      if (is_over(sent)) end(*pair, why_over(*pair, sent));
    }
    all &= pair->state != Other::State::open || (pair->said_bye && !answers(pair->name));
  }
  return all;
}

}  // namespace hamlyn::internal_::am
