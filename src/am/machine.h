#pragma once
// An endpoint without waiting: calls and messages in, messages and deliveries out. All of it under the
// bundle's lock.
//
// `Port` is the way to the interface: am/slots_port.h, am/vi_port.h, in tests another. It has a door, where
// hellos come, and makes these:
//   Way     there and back with one other endpoint: what it says of itself in a hello, whom it sends to, and
//           the room there, which each message takes some of until it is done. One that can ask for more room
//           `is_short`. `put` moves a long message's data to the other's segment.
//   Area    the memory of a segment.
//   Window  what one other endpoint may write of it: a ticket for that, and how many bytes have landed.
//   Memory  the whole address space as a segment (am/address_space.h).
// A pair takes `links_of_pair` of what there are few of: VIs.
// Messages and news are heard from the port, by whoever polls it: `hear`, `hear_hello` and so on.
//
// A message to another endpoint goes by a pair's way, is numbered, and is handled there in the order of the
// numbers. Each message says how many of the other side's are done. So it gives back credits, and the room
// that they stood in.
#include <algorithm>
#include <bitset>
#include <cstdint>
#include <cstring>
#include <deque>
#include <exception>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "am/am_wire.h"
#include "am/membership.h"
#include "am/pair.h"
#include "base/assert.h"
#include "base/namespaces.h"
#include "hamlyn/values/notification.h"
#include "hamlyn/values/send.h"
#include "hamlyn/values/status.h"

namespace hamlyn::internal_::am {

inline constexpr std::uint32_t kMostPairs = 16384;
inline constexpr std::uint32_t kMostOfOneProcess = 256;  // pairs that nobody here has mapped
inline constexpr std::size_t kMostReturned = 4096;       // that nobody has heard of
inline constexpr std::uint32_t kFirstTranslations = 256;
inline constexpr std::uint32_t kPairNumber = 0x7FFFFFFF;  // bits of a pair's number: words of a NIC have more

struct Limits {
  std::uint32_t credits = 128;
  std::size_t ring = 65536;
};

// How a try ends.
enum class Try : std::uint8_t {
  ok,
  later,  // no credit, no room, or not greeted yet
  bad_argument,
  resource,
};

// `leaving` as the message behind the data: the head in the place of the data.
inline Leaving behind_data(const Leaving& leaving, const LongHead& head) noexcept {
  Leaving out = leaving;
  out.head = std::as_bytes(std::span(&head, 1));
  out.length = leaving.data.size();
  out.data = {};
  return out;
}

template <class Port>
class Machine {
 public:
  using Other = Pair<Port>;

  // A message for a handler. Over when `finish` has been called.
  struct Delivery {
    Other* pair = nullptr;
    Kind kind{};
    HandlerNumber handler = 0;
    std::uint8_t count = 0;
    bool may_reply = false;
    bool done = false;  // it was counted as done, and as over, already
    bool over = false;
    std::uint32_t weight = 0, place = 0;  // as of Come
    std::uint64_t offset = 0;             // of a get: where its data lands
    std::span<std::byte> data;
    std::array<std::int32_t, kMostArguments> arguments;  // not written beyond `count`
  };
  // A long message that leaves: its data first.
  struct Moving {
    std::uint32_t pair = 0;
    LongHead head;
    SendHandle handle;
    std::uint64_t data = 0;  // of a whole address space: number of its Kept::Data, which has the message
  };

  // Throws Error, std::bad_alloc.
  Machine(Port& port, const Limits& limits, const std::optional<Membership>& member = {})
      : port_(port), limits_(limits), member_(member), own_(port.door().random()) {
    translations_.resize(kFirstTranslations);
    name_ = name_of(port_.door().ticket(), own_);
  }
  ~Machine() {
    for (const auto& [number, pair] : pairs_)
      if (pair->hello_under_way) port_.door().unsay(pair->hello_handle);  // it stands in the pair
  }
  Machine(const Machine&) = delete;
  Machine& operator=(const Machine&) = delete;

  const Name& name() const noexcept { return name_; }
  const Limits& limits() const noexcept { return limits_; }
  Statistics statistics;

  // --- who may send here, and what is called

  Tag tag() const noexcept { return tag_; }
  void set_tag(Tag tag) noexcept {
    tag_ = tag;
    for (auto& [number, pair] : pairs_) pair->tag_fits = fits(pair->tag);
  }
  void set_handler(HandlerNumber number, bool there) noexcept { handlers_.set(number, there); }
  bool has_handler(HandlerNumber number) const noexcept { return handlers_.test(number); }

  // --- translations

  struct Translation {
    bool used = false;
    Name name;
    Tag tag = kNoTag;
    Other* pair = nullptr;
  };
  Result map(std::uint32_t index, const Name& name, Tag tag);
  Result map_any(std::uint32_t& index, const Name& name, Tag tag);
  Result unmap(std::uint32_t index) noexcept;
  const Translation* translation(std::uint32_t index) const noexcept {
    return index < translations_.size() && translations_[index].used ? &translations_[index] : nullptr;
  }
  std::uint32_t translations() const noexcept { return static_cast<std::uint32_t>(translations_.size()); }
  Result set_translations(std::uint32_t count);

  // --- memory

  // Throws std::bad_alloc. Without effect if it fails. Whether this process may give its whole address space
  // the caller has seen to.
  Result set_segment(std::span<std::byte> memory);
  bool is_member() const noexcept { return member_.has_value(); }
  bool gives_all() const noexcept { return is_address_space(segment_); }
  std::span<std::byte> segment() const noexcept { return segment_; }

  // --- what leaves

  // A short or medium request, or a get.
  Try request(std::uint32_t index, Leaving& leaving) noexcept;
  // Puts the data of a long request, which stays the caller's until `moved`. ok and a pair of 0: it comes
  // back.
  Try begin_long(std::uint32_t index, Leaving& leaving, Moving& moving) noexcept;
  // pending, or how that ended.
  Status moved(const Moving& moving) noexcept;
  // The data is the caller's again. True: the message does not leave. A pair ends some of whose data has
  // left: what lands of it is no whole message's. False: it has left, or has come back.
  bool cancel(const Moving& moving) noexcept;
  // The message behind the data. `keep`: it is kept if there is no room.
  Try end_long(const Moving& moving, Leaving& leaving, bool keep) noexcept;

  // Answers a delivery. It leaves now or is kept. bad_argument: it may not.
  Try reply(Delivery& to, Leaving& leaving) noexcept;
  Try reply_long(Delivery& to, const Leaving& leaving) noexcept;

  // --- what comes

  // A message of a pair. True: `out` is to be handled.
  bool hear(Other& pair, const Come& come, Delivery& out) noexcept;
  // Handles what came before its turn and can be handled now.
  bool hear_early(Delivery& out) noexcept;
  // The handler has returned.
  void finish(Delivery& delivery) noexcept;
  void hear_hello(std::uint64_t peer, std::span<const std::byte> bytes) noexcept;
  // A hello has arrived, or has not.
  void hear_said(std::uint64_t token, bool arrived, Refusal cause) noexcept;
  // peer 0: of any.
  void hear_link_ended(std::uint64_t peer) noexcept;
  // Nothing comes by a pair's way any more.
  void hear_way_ended(Other& pair, Sent sent) noexcept { end(pair, why_over(pair, sent)); }
  // By a pair's way has come what is no message. No delivery.
  bool hear_lie(Other& pair) noexcept {
    protest(pair);
    return false;
  }

  // --- what is left to do

  bool restless() const noexcept { return !restless_.empty(); }
  void step() noexcept;
  bool has_returned() const noexcept { return !returned_.empty(); }
  Returned take_returned() {
    Returned out = std::move(returned_.front());
    returned_.pop_front();
    return out;
  }
  // Whether something has come before its turn and can be handled now.
  bool has_early() const noexcept;
  // Tells all that the endpoint goes. False: some have not heard it yet, as far as is known. `answers(name)`:
  // that endpoint may say so; otherwise it is enough that the news stands in its ring.
  template <class Answers>
  bool say_bye(Answers answers) noexcept;
  // Tells those whom that could not be said to.
  void say_gone() noexcept;
  bool is_of(const Name& name) const noexcept { return key_of(name) == key_of(name_); }
  // The endpoint goes: a message that would have been handled is not.
  void turn_away(Delivery& delivery) noexcept;

  Other* pair(std::uint32_t number) noexcept {
    const auto found = pairs_.find(number);
    return found != pairs_.end() ? found->second.get() : nullptr;
  }
  std::size_t pairs() const noexcept { return pairs_.size(); }

 private:
  using Key = std::pair<std::uint64_t, std::uint64_t>;  // an interface, and an endpoint's number there
  static Key key_of(const Name& name) noexcept { return {interface_of(name), number_of(name)}; }

  bool fits(Tag tag) const noexcept { return tag_ == kAnyTag || (tag_ != kNoTag && tag == tag_); }
  void mark(Other& pair) noexcept {
    if (pair.restless) return;
    pair.restless = true;
    restless_.push_back(&pair);  // it has room for all of them
  }

  // --- sending.h
  Sent transmit(Other& pair, const Leaving& leaving) noexcept;
  std::span<const std::byte> compose(const Leaving& leaving) noexcept;
  std::span<const std::byte> compose_in_scratch(const Leaving& leaving) noexcept;
  Sent give(Other& pair, Word word, std::span<const std::byte> bytes, const Leaving& leaving) noexcept;
  Why why_over(const Other& pair, Sent sent) noexcept;
  void note(Asked& asked, const Leaving& leaving) noexcept;
  void has_told(Other& pair) noexcept;
  bool room_in_logs(Other& pair, bool asks) noexcept;
  bool make_room_in_logs(Other& pair, bool asks) noexcept;
  // ok: `out` can be sent to. later; bad_argument.
  Try pair_for(std::uint32_t index, const Leaving& leaving, Other*& out) noexcept;
  Try pair_for_slowly(std::uint32_t index, const Leaving& leaving, Other*& out) noexcept;
  Try begin_put(Other& pair, const Leaving& leaving, Moving& moving) noexcept;
  Try keep(Other& pair, const Leaving& leaving) noexcept;
  bool knows_segment(Other& pair) noexcept;
  void cannot_land(Delivery& to, const Leaving& leaving, Why why) noexcept;
  void come_back(Why why, const Leaving& leaving, const Name& to) noexcept;
  void come_back(Why why, const Asked& asked, const Name& to) noexcept;
  void come_back(Returned&& returned) noexcept;
  static void arguments_of(const Kept& kept, std::span<std::int32_t, kMostArguments> out) noexcept;
  void ask_longer(Other& pair) noexcept;
  bool flush(Other& pair) noexcept;
  void tell(Other& pair) noexcept;
  void tell_if_owed(Other& pair) noexcept;

  // --- hearing.h
  enum class Taken : std::uint8_t { nothing, delivery, not_yet };
  Taken take(Other& pair, const Word& word, const Come& come, Delivery& out) noexcept;
  bool hear_later(Other& pair, std::uint64_t number, const Come& come) noexcept;
  void acknowledged(Other& pair, const Word& word) noexcept;
  void hear_acknowledge(Other& pair, const Word& word) noexcept;
  std::uint32_t credits_in(const Other& pair, const Word& word) const noexcept;
  void close(Other& pair) noexcept;
  bool may_come(Other& pair, const Word& word, const Come& come) noexcept;
  bool fits_length(const Word& word, std::size_t length) const noexcept;
  void read_head(Kind kind, const Come& come) noexcept;
  bool data_landed(const Other& pair, const LongHead& head) const noexcept;
  bool can_be_taken(const Other& pair, const Come& come) const noexcept;
  void fill(Other& pair, const Word& word, const Come& come, Delivery& out) noexcept;
  Why check(Other& pair, const Word& word, Delivery& out) noexcept;
  void hear_other(Other& pair, const Word& word, const Come& come, std::uint64_t answered) noexcept;
  Why find_data(Other& pair, const Word& word, const Come& come, Delivery& out) noexcept;
  void reject(Delivery& delivery, Why why) noexcept;
  void cannot_handle(Delivery& delivery, Why why, std::uint64_t answered) noexcept;
  bool may_return(const Other& pair) const noexcept;
  void hear_returned(Other& pair, const Word& word, const Come& come, std::uint64_t answered) noexcept;
  void hear_news(Other& pair, const Word& word, const Come& come) noexcept;
  void hear_grow(Other& pair) noexcept;
  void count_done(Other& pair, std::uint32_t weight, std::uint32_t place) noexcept;
  // Ends the pair: no honest side sends what has come.
  void protest(Other& pair) noexcept;

  // --- laying.h
  Try unless_lost(Delivery& to, Try replied) noexcept;
  Try begin_data(Other& pair, const Leaving& leaving, Moving& moving) noexcept;
  Try keep_with_data(Other& pair, const Leaving& leaving) noexcept;
  Try reply_with_data(Delivery& to, Leaving leaving) noexcept;
  Sent send_data(Other& pair, Kept& kept) noexcept;
  bool read_piece(const Kept::Data& data, std::byte* to, std::size_t length) const noexcept;
  Sent not_there(Other& pair, Kept& kept) noexcept;
  bool is_kept(const Other& pair, std::uint64_t data) const noexcept;
  bool drop_data(Other& pair, std::uint64_t data) noexcept;
  bool take_piece(Other& pair, const Come& come) noexcept;
  bool has_come(Other& pair, const LongHead& head) noexcept;
  Status put(Other& pair, std::span<const std::byte> data, std::uint64_t offset) noexcept;
  Status put_checked(Other& pair, const Leaving& leaving) noexcept;
  bool proves(const Other& pair, const Hello& hello) noexcept;

  // --- opening.h
  Other& make_pair(const Name& name);
  void erase(Other& pair) noexcept;
  bool has_link(Other& pair) noexcept;
  void greet(Other& pair) noexcept;
  void learn(Other& pair, const Hello& hello) noexcept;
  Other* welcome(std::uint64_t peer, const Hello& hello) noexcept;
  void refuse(const Ticket& door, std::uint64_t to, std::uint64_t session, Why why) noexcept;
  bool begin_anew(Other& pair) noexcept;
  void end(Other& pair, Why why) noexcept;
  void give_up_requests(Other& pair, Why why) noexcept;
  void let_go(Other& pair) noexcept;
  SegmentNews news_of(Other& pair) noexcept;
  void open_window(Other& pair) noexcept;
  void tell_segment(Other& pair) noexcept;
  void use_segment(Other& pair, const SegmentNews& news) noexcept;

  Port& port_;
  const Limits limits_;
  const std::uint32_t quarter_ = std::max(limits_.credits / 4, 1u);  // so many credits are told at once
  const std::optional<Membership> member_;
  const std::uint64_t own_;  // this endpoint's number
  Name name_;
  Tag tag_ = kNoTag;
  std::bitset<kHandlers> handlers_;
  std::vector<Translation> translations_;
  std::map<std::uint32_t, std::unique_ptr<Other>> pairs_;
  std::map<Key, Other*> by_name_;  // live ones, and the last that has ended
  std::uint32_t last_pair_ = 0;
  std::vector<Other*> restless_;
  std::deque<Returned> returned_;
  std::span<std::byte> segment_;
  std::uint64_t segment_number_ = 0;
  std::unique_ptr<typename Port::Area> area_;  // the segment's
  alignas(64) std::array<std::byte, kMostBytes> scratch_;
  // Heads of the message that is looked at, copied once: its sender may change it at any time.
  ReturnedHead returned_head_;
  LongHead long_head_;
  GetHead get_head_;
};

// --- translations

template <class Port>
Result Machine<Port>::map(std::uint32_t index, const Name& name, Tag tag) {
  if (index >= translations_.size() || !good(name)) return Result::bad_argument;
  Translation& entry = translations_[index];
  if (entry.used) return Result::in_use;
  const auto found = by_name_.find(key_of(name));
  Other* pair = found != by_name_.end() ? found->second : nullptr;
  if (pair == nullptr || pair->state == Other::State::ended) {
    if (pairs_.size() >= kMostPairs) return Result::resource;
    pair = &make_pair(name);
    greet(*pair);
  }
  ++pair->users;
  entry = {true, name, tag, pair};
  return Result::ok;
}

template <class Port>
Result Machine<Port>::map_any(std::uint32_t& index, const Name& name, Tag tag) {
  std::uint32_t at = 0;
  while (at != translations_.size() && translations_[at].used) ++at;
  if (at == kMostTranslations) return Result::resource;
  if (at == translations_.size()) translations_.resize(std::min(2 * at, kMostTranslations));
  const Result result = map(at, name, tag);
  if (result == Result::ok) index = at;
  return result;
}

template <class Port>
Result Machine<Port>::unmap(std::uint32_t index) noexcept {
  if (translation(index) == nullptr) return Result::bad_argument;
  Other& pair = *std::exchange(translations_[index], {}).pair;
  --pair.users;
  let_go(pair);
  return Result::ok;
}

template <class Port>
Result Machine<Port>::set_translations(std::uint32_t count) {
  if (count == 0 || count > kMostTranslations) return Result::bad_argument;
  for (std::size_t at = count; at < translations_.size(); ++at)
    if (translations_[at].used) return Result::in_use;
  translations_.resize(count);
  return Result::ok;
}

}  // namespace hamlyn::internal_::am

#include "am/hearing.h"
#include "am/laying.h"
#include "am/opening.h"
#include "am/sending.h"
