#pragma once
// The receiving end of a stream (paper 0, section 3.3), as a state machine: nothing here waits or knows a
// thread. Parcels land in a ring of its memory wherever the sender says, and may arrive in any order; they
// are checked against what an honest sender would do, and given out in sequence, record by record, in place.
// What was released is told to the sender when a quarter is free, or at once when it waits for it. A sender
// that runs out of room gets a longer ring, up to a bound.
#include <algorithm>
#include <bit>
#include <cstring>
#include <deque>
#include <new>
#include <vector>

#include "base/namespaces.h"
#include "hamlyn/values/error.h"
#include "protocols/port.h"
#include "protocols/stream_wire.h"

namespace hamlyn::internal_::protocols {

struct StreamLimits {
  std::uint64_t first = 65536;   // bytes of the first ring
  std::uint64_t most = 4194304;  // of any
  std::uint32_t parcels = 64;    // unreleased; a power of two
};

struct StreamRecord {
  std::span<std::byte> bytes;
  std::uint64_t number = 0;  // of the stream's records: 1, 2, ...
};

template <Port P>
class StreamSink {
 public:
  StreamSink(P& port, const StreamLimits& limits)
      : port_(port),
        limits_(limits),
        door_(port.make_landing(128, {.mode = Mode::paranoid, .entries = 2, .fast = false})) {}

  // A ticket for one sender, in place of those that were given out before. ok; invalid: a stream is open, or
  // has records that were not taken.
  Status offer(Ticket& out) noexcept {
    if (state_ == State::open && end() == Status::ok) return Status::invalid;
    if (state_ == State::offered) static_cast<void>(door_->disarm(0));  // if it cannot be, the arming says so
    if (const Status status = door_->arm(0, {0, sizeof(StreamOpen)}); status != Status::ok) return status;
    static_cast<void>(
        door_->disarm(kWatch));  // of the sender that was; the next one's arming says if it cannot be
    clear();
    state_ = State::offered;
    out = door_->ticket(0);
    return Status::ok;
  }

  // A message, or a failure, at a slot of ours. `admit(sender)` says whether that one may send.
  template <class Admit>
  void arrived(const Notification& arrival, Admit admit) noexcept {
    if (arrival.slot == door_->number()) return take_open(arrival, admit);
    for (Ring& ring : rings_) {
      if (ring.landing->number() == arrival.slot) return take_parcel(ring, arrival);
    }
  }

  // The next record, in place until it is released. False: none is here; `end()` says whether one may come.
  bool next(StreamRecord& out) noexcept {
    if (at_ != nullptr) return next_of_batch(out);
    while (read_ != in_order_) {
      Parcel& parcel = this->parcel(read_);
      if (parcel.what == StreamWord::end) {
        pass(parcel);
        continue;
      }
      if (parcel.what == StreamWord::record) {
        out = {{parcel.data, parcel.length}, ++given_};
        pass(parcel);
        return true;
      }
      at_ = parcel.data;
      until_ = parcel.data + parcel.length;
      return next_of_batch(out);
    }
    return false;
  }

  // Gives back that record and all before it. invalid: it was not given out.
  Status release(std::uint64_t number) noexcept {
    if (number > given_) return Status::invalid;
    if (number > given_back_) given_back_ = number;
    give_back();
    return Status::ok;
  }

  // How the stream has ended, once all records were given out; ok: it has not. It is told when the sender,
  // too, has heard what it waits for: who hears of the end may never run us again, or offer this to another.
  Status end() const noexcept { return read_ == in_order_ && !owes_last_word() ? end_ : Status::ok; }
  bool open() const noexcept { return state_ == State::open; }
  std::uint64_t sender() const noexcept { return sender_; }
  std::uint64_t ring_bytes() const noexcept { return rings_.empty() ? 0 : rings_.back().size; }

  // Wants no more: what has come and was not taken is dropped. `over()` when the sender has said that nothing
  // more is on its way, or has gone.
  void stop() noexcept {
    if (state_ == State::offered) static_cast<void>(door_->disarm(0));  // or its opening waits to be read
    if (state_ != State::open) {
      state_ = State::over;
      return;
    }
    if (end_ == Status::ok) {
      owe(kStop);
      stopping_ = true;
    }
    drop_all();
    settle();
  }
  bool over() const noexcept {
    return state_ != State::open || (end_ != Status::ok && !owes_last_word() && nothing_on_its_way());
  }
  // Gives the last word of a receiver that goes away. False: nothing.
  bool farewell(Ticket& ticket, std::uint64_t& word) const noexcept {
    ticket = answers_;
    word = word_of(is_due(kEndTaken) ? StreamWord::end_taken : StreamWord::stop, 0);
    return state_ == State::open && (end_ == Status::ok || owes_last_word());
  }

  // Says what is due. True: nothing is any more.
  bool settle() noexcept { return due_ == 0 || say_what_is_due(); }

 private:
  static constexpr std::uint32_t kWatch = 1;  // entry of the door's slot

  enum class State { idle, offered, open, over };

  // Words that the receiver has still to say.
  enum Owed : std::uint8_t { kRefuse = 1, kRing = 2, kBroken = 4, kStop = 8, kEndTaken = 16, kReleased = 32 };
  bool is_due(Owed what) const noexcept { return (due_ & what) != 0; }
  void owe(Owed what) noexcept { due_ = static_cast<std::uint8_t>(due_ | what); }
  void owe_no_more(Owed what) noexcept { due_ = static_cast<std::uint8_t>(due_ & ~what); }
  // By which a sender that closes hears that it need not wait any longer.
  bool owes_last_word() const noexcept { return is_due(kEndTaken) || is_due(kStop); }
  // A refusal is for somebody else.
  void owe_nothing_to_the_sender() noexcept { due_ &= kRefuse; }

  struct Ring {
    std::unique_ptr<typename P::Landing> landing;
    std::uint32_t number = 0;
    std::uint64_t size = 0;
    std::uint64_t head = 0;   // bytes used so far, with what was left out at its end
    std::uint64_t tail = 0;   // and released
    std::uint32_t needs = 0;  // that came here
  };
  struct Parcel {
    StreamWord what{};  // none: not here
    Ring* ring = nullptr;
    std::byte* data = nullptr;
    std::uint64_t offset = 0;
    std::uint64_t length = 0;
    std::uint32_t needs = 0;    // that the sender had sent before
    std::uint64_t at = 0;       // where it ends, in bytes from the start of its ring's first lap
    std::uint64_t records = 0;  // number of its last record, once all of them were given out
    bool passed = false;
  };

  Parcel& parcel(std::uint32_t sequence) noexcept { return parcels_[sequence & (limits_.parcels - 1)]; }

  void clear() noexcept {
    rings_.clear();
    std::ranges::fill(parcels_, Parcel{});
    end_ = Status::ok;
    stopping_ = wants_ = false;
    owe_nothing_to_the_sender();
    in_order_ = read_ = released_ = told_ = 0;
    current_ = needs_before_ = needs_in_all_ = needs_gone_ = 0;
    sender_ = 0;
    untold_ = given_ = given_back_ = 0;
    at_ = nullptr;
  }

  void finish(Status why) noexcept {
    if (end_ == Status::ok) end_ = why;
  }
  // Ends a stream whose sender has said what no sender says. Records before it are good.
  void break_off() noexcept {
    if (end_ == Status::ok) owe(kBroken);
    finish(Status::broken);
    settle();
  }

  // --- opening

  template <class Admit>
  void take_open(const Notification& arrival, Admit admit) noexcept {
    if (arrival.entry == kWatch) {
      if (state_ != State::open || arrival.peer != sender_) return;
      finish(Status::link_ended);
      owe_nothing_to_the_sender();  // it has gone
      return;
    }
    if (state_ != State::offered) return;
    if (arrival.kind == Notification::Kind::failed) {  // in the middle of its only message
      open_door();
      return;
    }
    const auto open = copy_of<StreamOpen>(door_->bytes().subspan(arrival.offset, arrival.length));
    if (!open || !good(*open, arrival.peer)) {
      open_door();
      return;
    }
    if (!admit(arrival.peer) || !make_ring(limits_.first, 0) || !watch(arrival.peer)) {
      rings_.clear();
      refused_ = open->answers;
      owe(kRefuse);
      open_door();
      settle();
      return;
    }
    state_ = State::open;
    answers_ = open->answers;
    sender_ = arrival.peer;
    owe(kRing);
    settle();
  }

  // Takes the next opening. Cannot fail once the one before was read.
  void open_door() noexcept { static_cast<void>(door_->arm(0)); }
  // An entry that nobody can fill: it fails with the link, which is how we hear of the end.
  bool watch(std::uint64_t sender) noexcept {
    static_cast<void>(door_->disarm(kWatch));  // if it cannot be, neither can it be armed
    return door_->arm(kWatch, {0, 0}) == Status::ok && door_->expect(kWatch, sender) == Status::ok;
  }

  bool make_ring(std::uint64_t bytes, std::uint32_t number) noexcept {
    try {
      parcels_.resize(limits_.parcels);
      // Places that are free again are told of when half of all are. As many as parcels and three more must
      // be left to a sender that has not heard of the others, whatever the receiver does meanwhile.
      auto landing =
          port_.make_landing(bytes, {.entries = limits_.parcels, .places = 2 * (limits_.parcels + 3)});
      rings_.push_back({std::move(landing), number, bytes});
      return true;
    } catch (const std::exception&) {  // no memory, no slot
      return false;
    }
  }

  // --- parcels

  void take_parcel(Ring& ring, const Notification& arrival) noexcept {
    if (arrival.kind == Notification::Kind::failed) {
      // A receiver that wants no more does not miss a batch that is cut short because of that.
      const Status given_up = stopping_ ? Status::closed : Status::abandoned;
      finish(arrival.failure() == Failure::link_ended ? Status::link_ended : given_up);
      return;
    }
    if (arrival.peer != sender_) return;
    StreamMessage message = message_of(arrival.word);
    if (end_ != Status::ok) {
      if (arrival.fast && message.what == StreamWord::need) ++ring.needs;
      return;
    }
    if (!arrival.fast) {
      message = message_of(ring.landing->word(arrival.entry));
      if (arrival.entry != (message.sequence & (limits_.parcels - 1)) ||
          ring.landing->arm(arrival.entry) != Status::ok)
        return break_off();
    }
    if (message.what == StreamWord::need) {
      ++ring.needs;
      return take_need(message.value);
    }
    if (message.what == StreamWord::abandoned && has_come(message.sequence)) {
      finish(Status::abandoned);
      if (stopping_) drop_all();
      settle();
      return;
    }
    if (message.what < StreamWord::record || message.what > StreamWord::abandoned ||
        message.sequence - released_ >= limits_.parcels || message.sequence - in_order_ >= limits_.parcels)
      return break_off();
    Parcel& parcel = this->parcel(message.sequence);
    if (parcel.what != StreamWord{}) return break_off();
    std::byte* const data = ring.landing->bytes().data() + arrival.offset;
    parcel = {message.what, &ring, data, arrival.offset, arrival.length, message.value};
    while (in_order_ - released_ < limits_.parcels && this->parcel(in_order_).what != StreamWord{}) {
      if (!take_in_order(this->parcel(in_order_))) return break_off();
      ++in_order_;
      if (end_ != Status::ok) break;
    }
    if (stopping_) drop_all();
    settle();
  }

  // A parcel may have come whole though its sender gave it up, not knowing whether all of it had left.
  bool has_come(std::uint32_t sequence) noexcept {
    return in_order_ - sequence - 1 < limits_.parcels ||
           (sequence - in_order_ < limits_.parcels && parcel(sequence).what != StreamWord{});
  }

  // Takes the parcel by the rule by which the sender places it. False: the sender has not placed it so.
  bool take_in_order(Parcel& parcel) noexcept {
    Ring& ring = *parcel.ring;
    if (&ring != current()) {
      if (ring.number <= current_) return false;
      current_ = ring.number;  // it has gone on in a longer ring
      needs_before_ = parcel.needs;
      untold_ = 0;
    }
    const std::uint64_t room = room_for(parcel.length);
    if (room != 0) {
      const std::uint64_t left = ring.size - ring.head % ring.size;
      if (parcel.offset != ring.head % ring.size) {
        if (parcel.offset != 0) return false;
        ring.head += left;
        if (released_ == in_order_) ring.tail = ring.head;
      }
      if (ring.head + room - ring.tail > ring.size || parcel.offset + room > ring.size) return false;
      ring.head += room;
    }
    parcel.at = ring.head;
    if (parcel.what == StreamWord::end) {
      needs_in_all_ = parcel.needs;
      finish(Status::closed);
      if (!stopping_) owe(kEndTaken);
    } else if (parcel.what == StreamWord::abandoned) {
      finish(Status::abandoned);
      parcel.what = StreamWord::end;
    }
    return true;
  }

  Ring* current() noexcept {
    for (Ring& ring : rings_) {
      if (ring.number == current_) return &ring;
    }
    return nullptr;
  }

  // The bytes are the sender's to change, so a length is read once.
  bool next_of_batch(StreamRecord& out) noexcept {
    std::uint64_t length = 0;
    const auto left = static_cast<std::uint64_t>(until_ - at_);
    if (left >= sizeof length) length = base::load_little<std::uint64_t>(at_);
    if (left < sizeof length || length > left - sizeof length) [[unlikely]] {
      in_order_ = read_;
      at_ = nullptr;
      break_off();
      return false;
    }
    out = {{at_ + sizeof length, length}, ++given_};
    at_ += sizeof length + std::min((length + 7) / 8 * 8, left - sizeof length);
    if (at_ == until_) pass(parcel(read_));
    return true;
  }
  // All records of the parcel at `read_` were given out.
  void pass(Parcel& parcel) noexcept {
    parcel.records = given_;
    parcel.passed = true;
    at_ = nullptr;
    ++read_;
    if (parcel.what == StreamWord::end) give_back();
  }

  void give_back() noexcept {
    Ring* last = nullptr;
    while (released_ != read_) {
      Parcel& parcel = this->parcel(released_);
      if (!parcel.passed || parcel.records > given_back_) break;
      last = parcel.ring;
      last->tail = parcel.at;
      if (last->number == current_) untold_ += room_for(parcel.length);
      parcel = Parcel{};
      ++released_;
    }
    if (last == nullptr) return;
    drop_rings(last->number);
    if (end_ != Status::ok) return;
    // Bytes that the sender has left out of its ring do not count. Told of each parcel, it begins anew at the
    // start of the ring with each, and would be told of each for ever.
    if (wants_ || released_ - told_ >= limits_.parcels / 4 || untold_ >= last->size / 4) {
      owe(kReleased);
      settle();
    }
  }
  // Drops the rings before that one, if nothing more is on its way there.
  void drop_rings(std::uint32_t number) noexcept {
    if (rings_.size() == 1) return;
    // An honest sender has nothing there that was not released. What another one has there keeps them.
    number = std::min(number, current_);
    for (const Parcel& each : parcels_) {
      if (each.what != StreamWord{} && each.ring->number < number) return;
    }
    std::uint32_t needs = needs_gone_;
    for (const Ring& ring : rings_) needs += ring.number < current_ ? ring.needs : 0;
    if (((needs ^ needs_before_) & kStreamValueLimit) != 0) return;
    while (rings_.front().number < number) {
      needs_gone_ += rings_.front().needs;
      rings_.pop_front();
    }
  }
  bool nothing_on_its_way() const noexcept {
    std::uint32_t needs = needs_gone_;
    for (const Ring& ring : rings_) needs += ring.needs;
    return end_ != Status::closed || ((needs ^ needs_in_all_) & kStreamValueLimit) == 0;
  }
  void told() noexcept {
    told_ = released_;
    untold_ = 0;
    owe_no_more(kReleased);
    wants_ = false;
  }

  // Drops records that are here and were not given out. Those that were given out stay until they are
  // released.
  void drop_all() noexcept {
    for (; read_ != in_order_; ++read_) {
      parcel(read_).records = given_;
      parcel(read_).passed = true;
    }
    at_ = nullptr;
    give_back();
  }

  // --- room

  void take_need(std::uint32_t units) noexcept {
    wants_ = true;
    const std::uint64_t room = std::uint64_t{units} * kStreamUnit;
    const Ring& last = rings_.back();
    // One that the sender has not used yet is tried first, unless it would be too short.
    const bool in_vain = last.number != current_ && room <= last.size;
    if (room != 0 && !in_vain && last.size < limits_.most && room <= limits_.most) {
      const std::uint64_t bytes = std::min(limits_.most, std::max(2 * last.size, std::bit_ceil(room)));
      if (make_ring(bytes, last.number + 1)) owe(kRing);
    }
    if (released_ != told_) owe(kReleased);
    settle();
  }

  // --- saying

  bool say_what_is_due() noexcept {
    if (is_due(kRefuse) &&
        (!port_.linked(refused_.interface) || say(word_of(StreamWord::refuse, 0), refused_)))
      owe_no_more(kRefuse);
    if (state_ != State::open) return !is_due(kRefuse);
    if (is_due(kRing) && !say_ring()) return false;
    if (is_due(kBroken) && say(word_of(StreamWord::broken, 0), answers_)) owe_no_more(kBroken);
    if (is_due(kStop) && say(word_of(StreamWord::stop, 0), answers_)) owe_no_more(kStop);
    if (is_due(kEndTaken) && say(word_of(StreamWord::end_taken, 0), answers_)) owe_no_more(kEndTaken);
    if (is_due(kReleased) && say(word_of(StreamWord::released, released_), answers_)) told();
    return due_ == 0;
  }
  // False: not now. A sender that cannot be told anything has gone, which does not end the stream: what it
  // has sent may still be on its way, and its last word, or the end of its link, comes behind that.
  bool say(std::uint64_t word, const Ticket& to) noexcept {
    return !for_now(port_.send_fast(to, {}, word, 0));
  }
  bool say_ring() noexcept {
    const Ring& ring = rings_.back();
    StreamRing structure;
    structure.number = ring.number;
    structure.parcels = limits_.parcels;
    structure.most = limits_.most;
    const Ticket ticket = ring.landing->ticket();
    structure.slot = ticket.slot;
    structure.generation = ticket.generation;
    structure.key = ticket.key;
    structure.bytes = ring.size;
    structure.incarnation = ring.landing->ticket(0).incarnation;
    structure = in_wire_order(structure);
    const bool first = ring.number == 0;
    const std::uint64_t word = word_of(first ? StreamWord::accept : StreamWord::more, 0);
    const std::uint64_t places = std::max<std::uint64_t>(answers_.bound / kStreamUnit, 1);
    const Status said = port_.send_fast(answers_, std::as_bytes(std::span{&structure, 1}), word,
                                        ring.number % places * kStreamUnit);
    if (for_now(said)) return false;
    // The sender does not know where to send anything, nor a last word. A refusal without a link is the
    // node's: the link that the sender asked over has ended.
    const bool ended = said == Status::link_ended || !port_.linked(answers_.interface);
    if (said != Status::ok && first) finish(ended ? Status::link_ended : Status::abandoned);
    owe_no_more(kRing);
    return true;
  }

  P& port_;
  const StreamLimits limits_;
  std::unique_ptr<typename P::Landing> door_;
  State state_ = State::idle;
  Status end_ = Status::ok;
  Ticket answers_;
  Ticket refused_;
  std::uint64_t sender_ = 0;

  std::deque<Ring> rings_;          // the oldest of which something is in use, first
  std::uint32_t needs_before_ = 0;  // that were sent to rings before the current one
  std::uint32_t needs_in_all_ = 0;  // once the end has come
  std::uint32_t needs_gone_ = 0;    // of rings that have gone
  std::uint32_t current_ = 0;       // number of the one that the sender uses
  std::vector<Parcel> parcels_;     // by sequence number
  std::uint32_t in_order_ = 0;      // parcels up to here are here
  std::uint32_t read_ = 0;          // and were given out
  std::uint32_t released_ = 0;      // and were released
  std::uint32_t told_ = 0;          // and the sender knows
  std::uint64_t untold_ = 0;        // bytes of the current ring released since
  std::byte* at_ = nullptr;         // where the next record begins in the batch at `read_`; null: in none
  std::byte* until_ = nullptr;      // and where the batch ends
  std::uint64_t given_ = 0;         // records
  std::uint64_t given_back_ = 0;    // records
  bool stopping_ = false;
  bool wants_ = false;  // the sender waits
  std::uint8_t due_ = 0;
};

}  // namespace hamlyn::internal_::protocols
