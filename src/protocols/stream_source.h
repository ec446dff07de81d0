#pragma once
// The sending end of a stream (paper 0, section 3.3), as a state machine: nothing here waits or knows a
// thread. It places parcels in the receiver's ring, one behind the other, each under the next sequence
// number; at most so many, and so many bytes, as the receiver has not released yet. Small records wait in
// `staged_`, as one parcel, until it is full or `flush` is called; when to call it is the caller's to decide.
#include <algorithm>
#include <array>
#include <cstring>
#include <vector>

#include "base/namespaces.h"
#include "protocols/port.h"
#include "protocols/stream_wire.h"

namespace hamlyn::internal_::protocols {

template <Port P>
class StreamSource {
 public:
  // Records up to that length are put together.
  static constexpr std::size_t kSmall = 1024;

  StreamSource(P& port, const Ticket& door, std::size_t together)
      : port_(port),
        door_(door),
        answers_(port.make_landing(kRingPlaces * kStreamUnit, {.entries = 1, .places = kAnswers})),
        staged_(together) {
    open_.answers = answers_->ticket();
    open_ = in_wire_order(open_);
  }

  std::uint64_t peer() const noexcept { return door_.interface; }

  // Goes on with the opening: ok when the stream is open, connecting while it is not, otherwise why it never
  // will be. `refused`: `refusal()` says by which interface check, or none: the receiver does not want us.
  Status open() noexcept {
    if (end_ != Status::ok) return end_;
    if (state_ == State::fresh) {
      const Status linked = port_.connect(door_);
      if (for_now(linked)) return Status::connecting;
      if (linked != Status::ok) return finished(linked);
      // The link that we ask over is watched before: the answer, its end and another link with the same peer
      // may all be there when we look again, and that one's end would tell us nothing.
      if (!watch()) return Status::connecting;
      const Status sent =
          port_.send(door_, std::as_bytes(std::span{&open_, 1}), {.acknowledged = true}, &asked_);
      if (sent == Status::queue_full) return Status::connecting;
      if (sent != Status::ok && sent != Status::pending) return finished(sent);
      state_ = State::asked;
    }
    if (state_ == State::asked) {
      const Status asked = port_.status(asked_);
      if (asked == Status::refused) refusal_ = port_.refusal(asked_);
      if (asked != Status::ok && asked != Status::pending) return finished(asked);
    }
    return state_ == State::asked ? Status::connecting : Status::ok;
  }
  Refusal refusal() const noexcept { return refusal_; }
  // Whether it was open once.
  bool opened() const noexcept { return state_ == State::open || state_ == State::ending; }
  // Whether nothing but an answer of the receiver's can bring the opening on.
  bool awaits_answer() const noexcept {
    return state_ == State::asked && port_.status(asked_) != Status::pending;
  }

  // Whether the receiver may agree yet, or refuse.
  bool may_be_answered() const noexcept {
    if (state_ != State::asked || end_ != Status::ok) return false;
    const Status asked = port_.status(asked_);
    return asked == Status::ok || asked == Status::pending;
  }

  // Takes a small record, if it only needs to be put to others. False: nothing was done.
  bool gather(std::span<const std::byte> data) noexcept {
    return data.size() <= kSmall && data.size() <= most_ && state_ == State::open && end_ == Status::ok &&
           stage(data);
  }

  // Takes a record: ok, or pending, when `data` must stay until `status(*handle)` is no longer pending.
  // Otherwise nothing was taken: no_place (too much is unreleased: wait for an arrival), queue_full (the link
  // has no room now), connecting, too_long, or how the stream has ended.
  Status post(std::span<const std::byte> data, SendHandle* handle) noexcept {
    if (end_ != Status::ok || state_ == State::ending) return end_ != Status::ok ? end_ : Status::closed;
    if (state_ == State::open && data.size() > most_) return Status::too_long;
    const bool small = data.size() <= kSmall;
    if (small && stage(data)) return Status::ok;
    const Status flushed = flush();
    if (flushed != Status::ok) return flushed;
    if (small && stage(data)) return Status::ok;
    return put(StreamWord::record, data, handle);
  }
  // Posts a record that stands in an area of the port's: it is copied once, and mostly pending. Also invalid,
  // out_of_bounds.
  Status post(const Piece& piece, SendHandle* handle) noexcept {
    if (end_ != Status::ok || state_ == State::ending) return end_ != Status::ok ? end_ : Status::closed;
    if (state_ == State::open && piece.length > most_) return Status::too_long;
    const Status flushed = flush();
    if (flushed != Status::ok) return flushed;
    take_back();
    if (end_ != Status::ok) return end_;
    if (lent_count_ == kMostLent) return Status::queue_full;
    const Status sent = place(StreamWord::record, piece.length, 1,
                              [&](std::uint64_t at) { return put_piece(at, piece, handle); });
    if (sent == Status::pending) lent_[lent_count_++] = {*handle, next_ - 1};
    return sent;
  }
  // Handles of pieces that the receiver has not copied yet: the first if there can be no more, and the last.
  // Empty if there is none.
  SendHandle first_if_full() noexcept {
    take_back();
    return lent_count_ == kMostLent ? lent_[0].handle : SendHandle{};
  }
  SendHandle last_lent() const noexcept {
    return lent_count_ != 0 ? lent_[lent_count_ - 1].handle : SendHandle{};
  }
  // The first of those up to that one that it has not copied: a short one may be over before longer ones that
  // were sent earlier.
  SendHandle first_lent(SendHandle last) noexcept {
    take_back();
    const bool any = lent_count_ != 0 && lent_[0].handle.sequence <= last.sequence;
    return any ? lent_[0].handle : SendHandle{};
  }
  // Forgets those that it has. If the area of one has gone, the stream has ended.
  void take_back() noexcept {
    std::size_t kept = 0;
    for (std::size_t i = 0; i != lent_count_; ++i) {
      const Status status = port_.status(lent_[i].handle);
      if (status == Status::cancelled) cut_short(lent_[i].sequence);
      if (status == Status::pending) lent_[kept++] = lent_[i];
    }
    lent_count_ = kept;
  }
  Status status(SendHandle handle) const noexcept { return port_.status(handle); }
  std::uint32_t last_sequence() const noexcept { return next_ - 1; }
  // Ends the stream at that parcel, which will never leave whole: nothing behind it is received.
  void cut_short(std::uint32_t sequence) noexcept {
    if (end_ != Status::ok) return;
    cut_ = true;
    cut_sequence_ = sequence;
    finish(Status::abandoned);
    settle();
  }

  // Everything that was taken has been given to the link: ok; otherwise as `post`.
  Status flush() noexcept { return flush(1); }
  // Flushes what need not leave yet. A quarter of the parcels is kept for full ones, so that a receiver that
  // looks elsewhere for a while does not stop a sender of small records.
  Status flush_early() noexcept { return flush(std::max(ring_.parcels / 4, 1u)); }
  // So much is unreleased that more is better put together.
  bool crowded() const noexcept { return next_ - released_ >= ring_.parcels / 2; }
  // As `flush`, and nothing of it is left for the interface to move, which would be lost with the sender.
  Status drain() noexcept {
    const Status flushed = flush();
    if (flushed != Status::ok || !staged_lent_) return flushed;
    const Status left = port_.status(staged_handle_);
    if (left == Status::pending) return Status::queue_full;
    staged_lent_ = false;
    return ended_by(left);
  }
  bool staged() const noexcept { return staged_bytes_ != 0; }
  std::uint64_t batches() const noexcept { return batches_; }  // begun so far
  const Ticket& ring() const noexcept { return ticket_; }
  std::size_t most() const noexcept { return most_; }  // bytes of a record

  // Closes: ok when the receiver has everything; pending while it is to wait for that; otherwise as `post`.
  Status close() noexcept {
    take_back();  // whose area has gone has cut the stream short
    if (end_ != Status::ok) return end_ == Status::closed && complete_ ? Status::ok : end_;
    if (state_ != State::ending) {
      const Status flushed = flush();
      if (flushed != Status::ok) return flushed;
      if (lent()) return Status::queue_full;
      const Status sent = put(StreamWord::end, {}, nullptr);
      if (sent != Status::ok) return sent;
      state_ = State::ending;
    }
    return Status::pending;
  }

  // How the stream has ended; ok: it has not.
  Status end() const noexcept { return end_; }
  // Gives the last word of a sender that goes away without closing, and the slot that it goes to. False:
  // nothing.
  bool farewell(Ticket& ticket, std::uint64_t& word) const noexcept {
    const bool leaves = (end_ == Status::ok && state_ == State::open) || (cut_ && !cut_said_);
    const bool owes_end = stopping_ && !end_said_;
    ticket = ticket_;
    // Parcels that have not left go with our terminus: nobody would hear of an end behind them.
    std::uint32_t sequence = next_;
    const auto ends_before = [&](std::uint32_t other) {
      if (next_ - other > next_ - sequence) sequence = other;
    };
    if (cut_) ends_before(cut_sequence_);
    bool more = false;  // than has left
    if (staged_lent_ && port_.status(staged_handle_) == Status::pending) {
      ends_before(staged_sequence_);
      more = true;
    }
    // Pieces that the receiver has not copied count as not sent: their areas may go before it reads them.
    for (std::size_t i = 0; i != lent_count_; ++i) {
      if (port_.status(lent_[i].handle) == Status::ok) continue;
      ends_before(lent_[i].sequence);
      more = true;
    }
    // The receiver was told of an end behind parcels that may never come, and would wait for them in vain.
    // `abandoned` ends that wait. A parcel that comes all the same is no fault behind it.
    const bool cut_off = end_said_ && more;
    word = word_of(leaves || cut_off ? StreamWord::abandoned : StreamWord::end, sequence,
                   needs_sent_ & kStreamValueLimit);
    return leaves || owes_end || cut_off;
  }

  // A message, or a failure, at a slot of ours.
  void arrived(const Notification& arrival) noexcept {
    // A receiver that stops at once may be heard before it has said where its ring is.
    if (end_ != Status::ok && !(stopping_ && state_ == State::asked)) {
      if (state_ == State::asked && arrival.fast && arrival.peer == peer()) turn_down(arrival);
      return;
    }
    if (arrival.kind == Notification::Kind::failed) {
      finish(Status::link_ended);
      return;
    }
    // Only by the receiver's doing can somebody have a ticket to the entry by which we hear of its end.
    if (!arrival.fast) {
      finish(Status::broken);
      return;
    }
    if (arrival.peer != peer()) return;  // of somebody who was shown our ticket, and who is not the receiver
    const StreamMessage message = message_of(arrival.word);
    switch (message.what) {
      case StreamWord::accept:
      case StreamWord::more:
        return take_ring(message.what, arrival);
      case StreamWord::refuse:
        if (state_ == State::asked) finish(Status::refused);
        return;
      case StreamWord::released:
        return take_released(message.sequence);
      case StreamWord::end_taken:
        complete_ = state_ == State::ending;
        finish(complete_ ? Status::closed : Status::broken);
        return;
      case StreamWord::stop:
        take_stop();
        return;
      case StreamWord::broken:
        finish(Status::broken);
        return;
      default:
        finish(Status::broken);
    }
  }

  // Names the slot where the receiver's answers come. `overhear` sees one before it is given to `arrived`:
  // a release makes room though nobody runs the manager. To hear of it twice does no harm.
  std::uint32_t answers() const noexcept { return answers_->number(); }
  void overhear(const Notification& answer) noexcept {
    if (end_ != Status::ok || state_ != State::open || !answer.fast || answer.peer != peer()) return;
    const StreamMessage message = message_of(answer.word);
    if (message.what == StreamWord::released) take_released(message.sequence);
  }

  // Says what could not be said yet, because the receiver has asked for it or a record was cut short. True:
  // nothing is left to say.
  bool settle() noexcept {
    if (cut_) {
      const std::uint64_t word =
          word_of(StreamWord::abandoned, cut_sequence_, needs_sent_ & kStreamValueLimit);
      cut_said_ = cut_said_ || !for_now(port_.send_fast(ticket_, {}, word, 0));
      return cut_said_;
    }
    if (!stopping_ || end_said_ || state_ == State::asked) return true;
    if (lent()) return false;
    const Status sent = put(StreamWord::end, {}, nullptr);
    end_said_ = !for_now(sent);
    return end_said_;
  }

 private:
  static constexpr std::uint32_t kHalfOfAll = 1u << 31;  // sequence numbers
  static constexpr std::size_t kPrefix = 8;
  // Places for a receiver's answers while nobody takes them: it tells of what was released a quarter of its
  // parcels or bytes at a time, which are eight answers, and answers a need. There are more to be sure.
  static constexpr std::uint32_t kAnswers = 32;
  static constexpr std::size_t kMostLent = 7;  // pieces; an entry of the terminus is left for what is staged

  enum class State { fresh, asked, open, ending };

  // The first end is the one that counts.
  void finish(Status why) noexcept {
    if (end_ == Status::ok) end_ = why;
  }
  Status finished(Status why) noexcept {
    finish(why);
    return end_;
  }

  bool stage(std::span<const std::byte> data) noexcept {
    const std::size_t room = kPrefix + (data.size() + 7) / 8 * 8;
    // A batch is one parcel, and must fit the receiver's ring as it is now. When the batch leaves, nobody may
    // be there to hear that there is a longer ring.
    const std::size_t most = std::min<std::size_t>(staged_.size(), batch_most_);
    if (staged_bytes_ + room > most || lent()) return false;
    std::byte* const at = staged_.data() + staged_bytes_;
    base::store_little<std::uint64_t>(at, data.size());
    if (!data.empty()) std::memcpy(at + kPrefix, data.data(), data.size());
    if (staged_records_++ == 0) {
      first_length_ = data.size();
      ++batches_;
    }
    staged_bytes_ += room;
    return true;
  }
  // Whether the staged bytes are still being sent.
  bool lent() noexcept {
    if (!staged_lent_) [[likely]]
      return false;
    staged_lent_ = port_.status(staged_handle_) == Status::pending;
    return staged_lent_;
  }

  // `kept`: so many parcels are left for others.
  Status flush(std::uint32_t kept) noexcept {
    if (const Status status = open(); status != Status::ok) return status;
    if (staged_bytes_ == 0) return Status::ok;
    if (lent()) return Status::queue_full;
    const std::span<const std::byte> all{staged_.data(), staged_bytes_};
    const bool one = staged_records_ == 1;
    const Status status = put(one ? StreamWord::record : StreamWord::batch,
                              one ? all.subspan(kPrefix, first_length_) : all, &staged_handle_, kept);
    if (status != Status::ok && status != Status::pending) return status;
    staged_lent_ = status == Status::pending;
    staged_sequence_ = next_ - 1;
    staged_bytes_ = staged_records_ = 0;
    return Status::ok;
  }
  // The last parcel is kept for the end.
  Status put(StreamWord what, std::span<const std::byte> data, SendHandle* handle,
             std::uint32_t kept = 1) noexcept {
    return place(what, data.size(), kept, [&](std::uint64_t at) { return put_at(what, at, data, handle); });
  }
  // Finds the next parcel its place in the ring; `put_there(offset)` sends it.
  template <class Put>
  Status place(StreamWord what, std::uint64_t length, std::uint32_t kept, Put put_there) noexcept {
    const bool ends = what == StreamWord::end;
    if (next_ - released_ >= ring_.parcels - (ends ? 0 : kept)) return need(0);
    const std::uint64_t size = ring_.bytes;
    const std::uint64_t room = room_for(length);
    if (room > size) return need(room);
    std::uint64_t at = head_;
    std::uint64_t freed = tail_;
    if (room != 0) {
      const std::uint64_t left = size - at % size;
      if (released_ == next_ && at % size != 0) {
        at += left;  // all is free: from the start, where the caches know it
        freed = at;
      } else if (room > left) {
        at += left;
      }
      if (at + room - freed > size) return need(room);
    }
    const Status sent = put_there(at % size);
    if (sent != Status::ok && sent != Status::pending) return sent;
    head_ = at + room;
    tail_ = freed;
    ends_[next_ & (ring_.parcels - 1)] = {head_, ring_.number};
    ++next_;
    return sent;
  }

  Status put_at(StreamWord what, std::uint64_t offset, std::span<const std::byte> data,
                SendHandle* handle) noexcept {
    const std::uint64_t word = next_word(what);
    if (data.size() <= fast_limit_) [[likely]] {
      const Status sent = port_.send_fast(ticket_, data, word, offset);
      if (sent == Status::no_place) return Status::queue_full;  // the interface's, not the stream's
      if (sent != Status::too_long) return ended_by(sent);
      fast_limit_ = data.size() - 1;
    }
    std::byte metadata[sizeof word];
    base::store_little(metadata, word);
    const SendOptions options{.offset = offset, .metadata = metadata};
    return ended_by(port_.send(next_entry(), data, options, handle));
  }
  Status put_piece(std::uint64_t offset, const Piece& piece, SendHandle* handle) noexcept {
    const std::uint64_t word = next_word(StreamWord::record);
    std::byte metadata[sizeof word];
    base::store_little(metadata, word);
    const SendOptions options{.offset = offset, .metadata = metadata};
    const Status sent = port_.send_piece(next_entry(), piece, options, handle);
    const bool no_such_piece = sent == Status::invalid || sent == Status::out_of_bounds;
    return no_such_piece ? sent : ended_by(sent);
  }
  std::uint64_t next_word(StreamWord what) const noexcept {
    const std::uint32_t needs = what == StreamWord::end ? needs_sent_ : needs_before_;
    return word_of(what, next_, needs & kStreamValueLimit);
  }
  Ticket next_entry() const noexcept {
    Ticket ticket = ticket_;
    ticket.entry = next_ & (ring_.parcels - 1);
    ticket.incarnation = ring_.incarnation;
    return ticket;
  }
  Status ended_by(Status status) noexcept {
    if (status == Status::ok || for_now(status)) [[likely]]
      return status;
    if (status != Status::refused) return finished(status);
    // Without a link, the one that the stream had has ended, and the node makes no other.
    if (!port_.linked(peer())) return finished(Status::link_ended);
    // Once it has taken something, a ring that takes nothing more is one that has gone.
    return finished(next_ != 0 ? Status::abandoned : status);
  }

  // Says, once until something is released, that we wait.
  Status need(std::uint64_t room) noexcept {
    if (room > ring_most_) return Status::too_long;
    if (needs_ && room <= needed_) return Status::no_place;
    const std::uint64_t word = word_of(StreamWord::need, 0, static_cast<std::uint32_t>(room / kStreamUnit));
    const Status sent = port_.send_fast(ticket_, {}, word, 0);
    if (sent != Status::ok) return sent == Status::no_place ? Status::queue_full : ended_by(sent);
    ++needs_sent_;
    needs_ = true;
    needed_ = room;
    return Status::no_place;
  }

  // From here on the end of the link fails the answers' entry, which is how we hear of it. False: there is no
  // link.
  bool watch() noexcept { return watches_ = watches_ || answers_->expect(0, peer()) == Status::ok; }

  // The receiver agrees, and the opening has failed here: it is told, or it would wait for records.
  void turn_down(const Notification& arrival) noexcept {
    if (message_of(arrival.word).what != StreamWord::accept) return;
    const auto ring = copy_of<StreamRing>(answers_->bytes().subspan(arrival.offset, arrival.length));
    if (!ring || !good(*ring)) return;
    ticket_ = ring->ticket(peer());
    cut_ = true;
    settle();
  }

  void take_ring(StreamWord what, const Notification& arrival) noexcept {
    const auto ring = copy_of<StreamRing>(answers_->bytes().subspan(arrival.offset, arrival.length));
    const bool first = what == StreamWord::accept;
    if (!ring || !good(*ring) || (state_ == State::asked) != first ||
        (!first && ring->parcels != ring_.parcels)) {
      finish(Status::broken);
      return;
    }
    if (!first && ring->number <= ring_.number) return;  // overtaken by a longer one
    if (first) {
      try {
        ends_.resize(ring->parcels);
      } catch (const std::bad_alloc&) {
        finish(Status::abandoned);
        return;
      }
      state_ = State::open;
      if (!watch()) finish(Status::link_ended);
    }
    ring_ = *ring;
    ticket_ = ring_.ticket(peer());
    ring_most_ = ring->most;
    most_ = ring->most;
    batch_most_ = ring->bytes;
    head_ = tail_ = 0;
    needs_ = false;
    needs_before_ = needs_sent_;
  }

  void take_released(std::uint32_t released) noexcept {
    if (state_ != State::open && state_ != State::ending) {
      finish(Status::broken);
      return;
    }
    // Overtaken by later ones, of which there may be any number while a frame is sent again.
    if (released_ - released < kHalfOfAll) return;
    if (released - released_ > next_ - released_) {  // more than it was given
      finish(Status::broken);
      return;
    }
    released_ = released;
    const End& end = ends_[(released - 1) & (ring_.parcels - 1)];
    if (end.ring == ring_.number) tail_ = std::max(tail_, end.at);
    needs_ = false;
  }

  // The receiver wants no more. It is told where the stream ends, so that it can let its memory go.
  void take_stop() noexcept {
    staged_bytes_ = staged_records_ = 0;
    stopping_ = true;
    if (state_ == State::ending) end_said_ = true;
    settle();
    finish(Status::closed);
  }

  struct End {
    std::uint64_t at = 0;  // where the parcel ends, in bytes from the start of its ring's first lap
    std::uint32_t ring = 0;
  };

  P& port_;
  Ticket door_;
  std::unique_ptr<typename P::Landing> answers_;
  StreamOpen open_;
  SendHandle asked_;
  State state_ = State::fresh;
  Status end_ = Status::ok;
  Refusal refusal_ = Refusal::none;
  bool watches_ = false;
  bool complete_ = false;
  bool stopping_ = false;
  bool end_said_ = false;
  bool needs_ = false;        // it was said that we wait, for
  std::uint64_t needed_ = 0;  // so many bytes in one piece

  std::uint32_t needs_sent_ = 0;
  std::uint32_t needs_before_ = 0;  // to earlier rings

  StreamRing ring_;
  Ticket ticket_;  // of it
  std::uint64_t ring_most_ = 0;
  std::size_t most_ = 0;           // bytes of a record
  std::size_t batch_most_ = 0;     // and of a batch
  std::uint64_t head_ = 0;         // bytes of this ring used so far, with what was left out at its end
  std::uint64_t tail_ = 0;         // and released
  std::uint32_t next_ = 0;         // parcel
  std::uint32_t released_ = 0;     // parcels
  std::size_t fast_limit_ = 8192;  // what goes in one packet
  std::vector<End> ends_;          // by parcel

  std::vector<std::byte> staged_;
  std::size_t staged_bytes_ = 0;
  std::size_t staged_records_ = 0;
  std::uint64_t batches_ = 0;
  std::size_t first_length_ = 0;
  SendHandle staged_handle_;
  bool staged_lent_ = false;
  std::uint32_t staged_sequence_ = 0;  // of the last that were sent
  bool cut_ = false;
  bool cut_said_ = false;
  std::uint32_t cut_sequence_ = 0;
  struct Lent {
    SendHandle handle;
    std::uint32_t sequence = 0;
  };
  std::array<Lent, kMostLent> lent_;  // in sequence
  std::size_t lent_count_ = 0;
};

}  // namespace hamlyn::internal_::protocols
