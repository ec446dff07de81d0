#pragma once
// Messages that come to an endpoint (am/machine.h). One is handled when all before it are, and when the data
// that it tells of has landed.
#include <tuple>

#include "am/machine.h"

namespace hamlyn::internal_::am {

// --- order

template <class Port>
__attribute__((always_inline)) inline bool Machine<Port>::hear(Other& pair, const Come& come,
                                                               Delivery& out) noexcept {
  const Word word = word_of(come.word);
  if (word.kind == Kind::acknowledge) {
    hear_acknowledge(pair, word);
    return false;
  }
  if (!good(word)) [[unlikely]] {
    protest(pair);
    return false;
  }
  const auto ahead = static_cast<std::uint16_t>(word.number - static_cast<std::uint16_t>(pair.expected));
  if ((ahead != 0) | (pair.state != Other::State::open)) [[unlikely]]
    return hear_later(pair, pair.expected + ahead, come);
  switch (take(pair, word, come, out)) {
    case Taken::delivery:
      return true;
    case Taken::nothing:
      return false;
    case Taken::not_yet:
      return hear_later(pair, pair.expected, come);
  }
  return false;
}

// Keeps what came before its turn, where it stands. No delivery.
template <class Port>
bool Machine<Port>::hear_later(Other& pair, std::uint64_t number, const Come& come) noexcept {
  const bool fresh = number - pair.expected < kMostOutstanding && !pair.early.contains(number);
  if (!fresh) {
    protest(pair);
    return false;
  }
  try {
    pair.early.emplace(number, come);
    mark(pair);
  } catch (const std::bad_alloc&) {
    end(pair, Why::unreachable);  // what is lost cannot be had again
  }
  return false;
}

template <class Port>
bool Machine<Port>::has_early() const noexcept {
  return std::ranges::any_of(restless_, [&](const Other* pair) {
    const auto first = pair->early.find(pair->expected);
    return first != pair->early.end() && can_be_taken(*pair, first->second);
  });
}

template <class Port>
bool Machine<Port>::hear_early(Delivery& out) noexcept {
  for (std::size_t i = 0; i != restless_.size(); ++i) {
    Other& pair = *restless_[i];
    if (pair.state != Other::State::open) continue;
    for (auto first = pair.early.begin(); first != pair.early.end(); first = pair.early.begin()) {
      if (first->first != pair.expected) break;
      const auto [number, come] = *first;
      const Taken taken = take(pair, word_of(come.word), come, out);
      if (taken == Taken::not_yet) break;
      pair.early.erase(number);
      if (taken == Taken::delivery) return true;
    }
  }
  return false;
}

// --- one message

template <class Port>
__attribute__((always_inline)) inline auto Machine<Port>::take(Other& pair, const Word& word,
                                                               const Come& come, Delivery& out) noexcept
    -> Taken {
  if (!may_come(pair, word, come)) [[unlikely]] {
    protest(pair);
    return Taken::nothing;
  }
  if (is_long(word.kind) && !data_landed(pair, long_head_)) [[unlikely]]
    return Taken::not_yet;
  ++pair.expected;
  pair.heard += std::uint64_t{is_request(word.kind)};
  acknowledged(pair, word);
  const std::uint64_t answered = pair.asked.over();  // number behind that of the request that a reply answers
  if (pair.ahead) [[unlikely]]
    hear_acknowledge(pair, *std::exchange(pair.ahead, std::nullopt));
  if (word.kind >= Kind::returned) [[unlikely]] {
    hear_other(pair, word, come, answered);
    return Taken::nothing;
  }
  fill(pair, word, come, out);
  Why why = check(pair, word, out);
  if ((why == Why::none) & !is_short(word.kind)) [[unlikely]]
    why = find_data(pair, word, come, out);
  if (why != Why::none) [[unlikely]] {
    cannot_handle(out, why, answered);
    return Taken::nothing;
  }
  pair.busy = true;
  ++(is_request(word.kind) ? statistics.requests_heard : statistics.replies_heard);
  statistics.bytes_heard += out.data.size();
  return Taken::delivery;
}

// A message that no handler is called for.
template <class Port>
void Machine<Port>::hear_other(Other& pair, const Word& word, const Come& come,
                               std::uint64_t answered) noexcept {
  const bool honest = word.kind != Kind::piece || take_piece(pair, come);
  count_done(pair, come.weight, come.place);
  if (!honest)
    protest(pair);
  else if (word.kind == Kind::returned)
    hear_returned(pair, word, come, answered);
  else if (word.kind != Kind::piece)
    hear_news(pair, word, come);
  if (pair.state == Other::State::open) tell_if_owed(pair);
}

// Whether what comes back is a request.
inline bool closes_request(const ReturnedHead& head) noexcept {
  const auto operation = static_cast<Operation>(head.operation);
  return (operation >= Operation::request_short && operation <= Operation::request_long) ||
         operation == Operation::get;
}

// Whether an honest side may have sent it: its length, that there was a credit for it, and that an answer was
// asked for. Copies its head.
template <class Port>
__attribute__((always_inline)) inline bool Machine<Port>::may_come(Other& pair, const Word& word,
                                                                   const Come& come) noexcept {
  if (!fits_length(word, come.bytes.size())) return false;
  if (head_bytes(word.kind) != 0) [[unlikely]]
    read_head(word.kind, come);
  // The other side knows of no more credits than it was told last.
  if (is_request(word.kind)) return pair.heard - pair.over_told < pair.most;
  if (!is_reply(word.kind)) return true;
  if (word.kind == Kind::returned) {
    if (!may_return(pair)) return false;
    if (!closes_request(returned_head_)) return true;
  }
  const std::uint32_t credits = credits_in(pair, word);
  return credits != 0 && credits <= pair.asked.outstanding();
}

template <class Port>
void Machine<Port>::read_head(Kind kind, const Come& come) noexcept {
  const auto read = [&]<class Head>(Head& out) {
    out = *protocols::copy_of<Head>(come.bytes.first(sizeof(Head)));
  };
  if (kind == Kind::returned) return read(returned_head_);
  if (kind == Kind::get) return read(get_head_);
  if (is_long(kind)) read(long_head_);
}

template <class Port>
inline bool Machine<Port>::fits_length(const Word& word, std::size_t length) const noexcept {
  const std::size_t arguments = 4 * std::size_t{word.count};
  if (is_short(word.kind)) [[likely]]
    return length == arguments;
  switch (word.kind) {
    case Kind::request_medium:
    case Kind::reply_medium:
      return length >= data_at(word.count) && length - data_at(word.count) <= kMostMedium;
    case Kind::request_long:
    case Kind::reply_long:
    case Kind::get:
    case Kind::returned:
      return length == head_bytes(word.kind) + arguments;
    case Kind::piece:
      return word.count == 0 && length > sizeof(PieceHead) && length <= sizeof(PieceHead) + kMostMedium;
    case Kind::tag:
      return length == sizeof(Tag);
    case Kind::segment:
      return length == sizeof(SegmentNews);
    case Kind::grown:
      return length == sizeof(WireTicket);
    default:
      return length == 0;
  }
}

template <class Port>
inline bool Machine<Port>::data_landed(const Other& pair, const LongHead& head) const noexcept {
  const bool here = pair.window != nullptr && head.segment == segment_number_;
  return !here || pair.window->landed() >= head.landed;  // of another segment it is turned away
}

// Whether `take` does something with it. Also with what no honest side sends.
template <class Port>
bool Machine<Port>::can_be_taken(const Other& pair, const Come& come) const noexcept {
  const Word word = word_of(come.word);
  if (!is_long(word.kind) || !fits_length(word, come.bytes.size())) return true;
  return data_landed(pair, *protocols::copy_of<LongHead>(come.bytes.first(sizeof(LongHead))));
}

// How many credits a word brings.
template <class Port>
inline std::uint32_t Machine<Port>::credits_in(const Other& pair, const Word& word) const noexcept {
  return (word.credited - static_cast<std::uint32_t>(pair.asked.over())) & kCreditedMask;
}

// Frees what a word says to be over. An older word than others that were heard says nothing new.
template <class Port>
inline void Machine<Port>::acknowledged(Other& pair, const Word& word) noexcept {
  const auto done = static_cast<std::uint16_t>(word.done - static_cast<std::uint16_t>(pair.log.over()));
  if (done <= pair.log.outstanding()) [[likely]] {
    for (std::uint32_t i = 0; i != done; ++i) {
      pair.way->done(pair.log.oldest());
      pair.log.drop_oldest();
    }
  }
  const std::uint32_t credits = credits_in(pair, word);
  if (credits > pair.asked.outstanding()) return;
  for (std::uint32_t i = 0; i != credits; ++i) pair.asked.drop_oldest();
}

// One alone. Replies that were sent before it are heard before it, so that no request is over whose reply may
// still be lost.
template <class Port>
inline void Machine<Port>::hear_acknowledge(Other& pair, const Word& word) noexcept {
  const auto ahead = static_cast<std::uint16_t>(word.number - static_cast<std::uint16_t>(pair.expected));
  if (ahead == 0 || ahead > kMostOutstanding) [[likely]]
    return acknowledged(pair, word);
  const auto age = [&](const Word& of) {
    return std::tuple(static_cast<std::uint16_t>(of.number - static_cast<std::uint16_t>(pair.expected)),
                      static_cast<std::uint16_t>(of.done - static_cast<std::uint16_t>(pair.log.over())),
                      credits_in(pair, of));
  };
  if (!pair.ahead || age(word) > age(*pair.ahead)) pair.ahead = word;  // all that an older one says, it says
}

template <class Port>
inline void Machine<Port>::fill(Other& pair, const Word& word, const Come& come, Delivery& out) noexcept {
  out.pair = &pair;
  out.kind = word.kind;
  out.handler = word.handler;
  out.count = word.count;
  out.may_reply = is_request(word.kind);
  out.over = !out.may_reply;
  out.weight = come.weight;
  out.place = come.place;
  out.data = {};
  const std::byte* const from = come.bytes.data() + head_bytes(word.kind);
  load_arguments(out.arguments.data(), from, word.count);
  // Arguments are copied, and need their place no more.
  out.done = !is_medium(word.kind);
  if (out.done) count_done(pair, come.weight, come.place);
}

template <class Port>
inline Why Machine<Port>::check(Other& pair, const Word& word, Delivery& out) noexcept {
  if (is_request(word.kind) && !pair.tag_fits) [[unlikely]]
    return Why::bad_tag;
  const bool known = word.kind == Kind::get || (word.handler != 0 && handlers_.test(word.handler));
  if (known) [[likely]]
    return Why::none;
  return out.may_reply ? Why::bad_handler : Why::reply_rejected;
}

template <class Port>
Why Machine<Port>::find_data(Other& pair, const Word& word, const Come& come, Delivery& out) noexcept {
  if (is_medium(word.kind)) {
    out.data = come.bytes.subspan(data_at(word.count));
    return Why::none;
  }
  std::uint64_t offset = 0, length = 0;
  bool here = !segment_.empty();
  if (word.kind == Kind::get) {
    offset = get_head_.source, length = get_head_.length;
    out.offset = get_head_.offset;
    here = here && (!gives_all() || pair.is_member);
  } else {
    offset = long_head_.offset, length = long_head_.length;
    here =
        here && long_head_.segment == segment_number_ &&
        (gives_all() ? pair.is_member && has_come(pair, long_head_) && offset != 0 : pair.window != nullptr);
  }
  if (!here || offset >= segment_.size()) return out.may_reply ? Why::bad_offset : Why::reply_rejected;
  if (length > segment_.size() - offset) return out.may_reply ? Why::bad_length : Why::reply_rejected;
  out.data = gives_all() ? std::span(reinterpret_cast<std::byte*>(offset), length)
                         : segment_.subspan(offset, length);
  return Why::none;
}

// --- the end of one

template <class Port>
inline void Machine<Port>::count_done(Other& pair, std::uint32_t weight, std::uint32_t place) noexcept {
  pair.way->free(place);
  ++pair.done;
  pair.owed_room += weight;
}

template <class Port>
__attribute__((always_inline)) inline void Machine<Port>::finish(Delivery& delivery) noexcept {
  Other& pair = *delivery.pair;
  delivery.may_reply = false;
  pair.busy = false;
  if (!delivery.done) count_done(pair, delivery.weight, delivery.place);
  if (!delivery.over) close(pair);
  if (pair.state != Other::State::open) [[unlikely]] {
    let_go(pair);
    return;
  }
  tell_if_owed(pair);
}

// A request is over that nothing was replied to: its credit goes back, behind those of earlier ones.
template <class Port>
inline void Machine<Port>::close(Other& pair) noexcept {
  if (pair.kept.empty()) [[likely]] {
    ++pair.over;
    return;
  }
  if (keep(pair, {.kind = Kind::acknowledge}) != Try::ok) end(pair, Why::unreachable);
}

template <class Port>
void Machine<Port>::turn_away(Delivery& delivery) noexcept {
  delivery.pair->busy = false;
  if (is_request(delivery.kind))
    reject(delivery, Why::bad_endpoint);
  else
    finish(delivery);
}

// Sends it back: what it was, and its arguments.
template <class Port>
void Machine<Port>::reject(Delivery& delivery, Why why) noexcept {
  Other& pair = *delivery.pair;
  ++statistics.rejected;
  if (!delivery.done) count_done(pair, delivery.weight, delivery.place);
  ReturnedHead head;
  head.why = static_cast<std::uint8_t>(why);
  head.operation = static_cast<std::uint8_t>(operation_of(delivery.kind));
  head = protocols::in_wire_order(head);
  Leaving leaving{.kind = Kind::returned,
                  .handler = delivery.handler,
                  .closes = is_request(delivery.kind),
                  .arguments = {delivery.arguments.data(), delivery.count},
                  .head = std::as_bytes(std::span(&head, 1))};
  Sent sent = Sent::no_room;
  if (pair.kept.empty()) {
    pair.over += leaving.closes ? 1 : 0;
    sent = transmit(pair, leaving);
    if (sent == Sent::no_room) pair.over -= leaving.closes ? 1 : 0;
  }
  // Without memory its sender would wait for ever.
  if (sent == Sent::no_room && keep(pair, leaving) != Try::ok) end(pair, Why::unreachable);
  if (pair.state == Other::State::open) tell_if_owed(pair);
}

// Sends back what cannot be handled. The data of a get was asked for here, and comes back here.
template <class Port>
void Machine<Port>::cannot_handle(Delivery& delivery, Why why, std::uint64_t answered) noexcept {
  Other& pair = *delivery.pair;
  if (delivery.kind != Kind::reply_long || pair.asked.over(answered - 1).kind != Kind::get)
    return reject(delivery, why);
  come_back(why, pair.asked.over(answered - 1), pair.name);
  tell_if_owed(pair);
}

// Whether an honest side may send back what `returned_head_` says.
template <class Port>
bool Machine<Port>::may_return(const Other& pair) const noexcept {
  if (returned_head_.why == 0 || returned_head_.why > static_cast<std::uint8_t>(Why::reply_rejected))
    return false;
  if (closes_request(returned_head_)) return true;
  const auto operation = static_cast<Operation>(returned_head_.operation);
  const bool is_reply = operation >= Operation::reply_short && operation <= Operation::reply_long;
  return is_reply && pair.rejected < pair.answered;
}

// A request comes back as it was sent, whatever the other side says of it.
template <class Port>
void Machine<Port>::hear_returned(Other& pair, const Word& word, const Come& come,
                                  std::uint64_t answered) noexcept {
  const auto why = static_cast<Why>(returned_head_.why);
  if (closes_request(returned_head_)) return come_back(why, pair.asked.over(answered - 1), pair.name);
  ++pair.rejected;
  Returned out;
  out.why = why;
  out.operation = static_cast<Operation>(returned_head_.operation);
  out.handler = word.handler;
  out.count = word.count;
  out.offset = returned_head_.offset;
  out.length = returned_head_.length;
  out.to = pair.name;
  for (std::size_t i = 0; i != word.count; ++i)
    out.room[i] = base::load_little<std::int32_t>(come.bytes.data() + sizeof(ReturnedHead) + 4 * i);
  come_back(std::move(out));
}

// --- news

template <class Port>
void Machine<Port>::hear_news(Other& pair, const Word& word, const Come& come) noexcept {
  switch (word.kind) {
    case Kind::tag:
      pair.tag = base::load_little<Tag>(come.bytes.data());
      pair.tag_fits = fits(pair.tag);
      return;
    case Kind::ask:
      pair.segment_owed = true;
      tell_segment(pair);
      return;
    case Kind::segment:
      use_segment(pair, *protocols::copy_of<SegmentNews>(come.bytes));
      if (pair.asking == Other::Asking::yes) pair.asking = Other::Asking::answered;
      return;
    case Kind::grow:
      hear_grow(pair);
      return;
    case Kind::grown: {
      const auto ticket = *protocols::copy_of<WireTicket>(come.bytes);
      const bool asked = pair.asked_longer && pair.way->is_short();
      if (!asked || !pair.way->aim_longer(ticket_of(ticket, pair.peer, Ticket::kFast))) protest(pair);
      return;
    }
    case Kind::bye:
      // The other side waits for ours, so that nothing comes to it when its slots have gone.
      if (!pair.said_bye)
        pair.said_bye = give(pair, {.kind = Kind::bye}, {}, {.kind = Kind::bye}) == Sent::ok;
      if (pair.said_bye) pair.way->part();
      end(pair, Why::bad_endpoint);
      return;
    default:
      protest(pair);
  }
}

template <class Port>
void Machine<Port>::hear_grow(Other& pair) noexcept {
  if (std::exchange(pair.heard_grow, true)) return protest(pair);
  tell(pair);  // the sender may wait for all room of the short one
  if (pair.state != Other::State::open) return;
  Ticket longer;
  if (pair.way->lengthen(limits_.ring, longer)) {
    const WireTicket ticket = protocols::in_wire_order(on_wire(longer));
    const Leaving leaving{.kind = Kind::grown, .head = std::as_bytes(std::span(&ticket, 1))};
    const Sent sent = pair.kept.empty() ? transmit(pair, leaving) : Sent::no_room;
    if (sent != Sent::no_room || keep(pair, leaving) == Try::ok) return;
  }
  pair.tells_room_at = 1;  // no memory: messages go on to come by the short one
}

template <class Port>
void Machine<Port>::protest(Other& pair) noexcept {
  ++statistics.refused;
  if (pair.state == Other::State::open)
    static_cast<void>(give(pair, {.kind = Kind::bye}, {}, {.kind = Kind::bye}));
  end(pair, Why::unreachable);
}

}  // namespace hamlyn::internal_::am
