#pragma once
// A link through shared memory: what this side writes is read by the other and the reverse, and neither
// writes anything that the other also writes. Everything here runs under the run lock.
#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "fabric/shm/bell.h"
#include "fabric/shm/layout.h"
#include "fabric/shm/ring.h"
#include "fabric/shm/sealed_memory.h"
#include "interface/areas/good_areas.h"
#include "interface/deposit.h"
#include "interface/link.h"

namespace hamlyn::shm {

class ShmLink final : public interface::Link {
 public:
  // `mine` is a page that prepare_page made for interface `own`, `theirs` a peer's page that was checked.
  // Nothing is ever loaded from `mine`, nor from the rings that this side makes.
  ShmLink(interface::Surroundings& surroundings, std::uint64_t own, std::uint64_t peer, std::size_t mtu,
          Mapping mine, Mapping theirs);

  // A page to show to a peer.
  static OwnedMemory prepare_page(std::uint64_t interface, std::size_t mtu);
  // A peer's page as it describes itself, read once; `refusal` if no link with `peer` can be made of it.
  struct PageCheck {
    const char* refusal;
    std::size_t mtu;
  };
  static PageCheck check_page(const Mapping& theirs, std::uint64_t peer) noexcept;

  using Link::put;
  Status put(const Packet& packet, const std::byte* data, const std::byte* metadata,
             Priority level) noexcept override;
  // The shortest way out: a packet of a shape (shapes.h), from registers. Calls nothing. After the last of a
  // row must_ring() is to be asked, and if so ring() called.
  //
  // Whether a packet of one cell may be published: there is room, and nobody waits for it (others_wait).
  bool cached_room() const noexcept { return out_.cached_room(); }
  // Whether a packet of several cells may be published: short enough for the ring, too.
  bool cached_room(const FastBlock& block) const noexcept {
    return block.length <= payload_limit_ && block.cells() <= out_.count() / kPacketsAhead &&
           out_.cached_room(block.cells());
  }
  template <class Shape>
  __attribute__((always_inline)) void publish(const Shape& shape) noexcept {
    out_.publish(shape);
    ++puts_;
    if (Shape::kOneCell && puts_ > kBurst) out_.prefetch_ahead();
    ++counters->packets_out;
    counters->bytes_out += shape.bytes();
  }
  bool must_ring() noexcept { return bell_.must_ring(); }
  // To be called behind what has left, when nothing is in a hurry: the cells for a next one like it, which
  // the other side still has, are ours then; behind a block of the next one a word is cleared. Only once the
  // other side looks there again must they be asked for anew.
  template <class Shape>
  __attribute__((always_inline)) void prepare_next(const Shape& shape) const noexcept {
    if constexpr (Shape::kOneCell) {
      if (puts_ <= kBurst) out_.prefetch_next();
    } else {
      if (puts_ <= kBurst && shape.cells() <= kPrepared) out_.prefetch_next(shape.cells() + 1);
    }
  }
  // Something has left since this was asked last, but no row: an answer may be expected.
  bool answer_expected() noexcept { return std::exchange(puts_, 0) == 1; }
  void ring() noexcept;
  Status put_reply(const Packet& packet, const std::byte* data) noexcept override;
  Status put_answer(const Packet& packet, const std::byte* data, bool more) noexcept override;
  unsigned arrive(interface::Core& core, unsigned budget) noexcept override;
  // The short ways in. A kind (kinds.h) says what the next packet must be and lands it; what it refuses, and
  // what it is not for, stays for `arrive`. Calls nothing but for what its kind needs.
  enum class Taken : std::uint8_t { nothing_there, taken, other };  // other: nothing was done
  template <class Kind>
  __attribute__((always_inline)) Taken take(Kind&& kind) noexcept {
    // In an open run nothing else needs a look (ShortRun).
    if (!kind.kInRun && (broken || something_first())) [[unlikely]]
      return Taken::nothing_there;
    interface::Words words;
    if (!in_.look(words)) return Taken::nothing_there;
    if (!kind.land(*this, words)) [[unlikely]]
      return Taken::other;
    const Lead lead = lead_of(words.word[interface::kLeadWord]);
    if (!kind.kCountedLater) {
      ++counters->packets_in;
      counters->bytes_in += interface::data_bytes(words);
    }
    if (kind.kInRun) {  // no ring ends in a run, and no credit is due (until_settled)
      in_.step(kind.kCountedLater ? 1 : interface::cells_of(lead));
    } else {
      step_over(interface::cells_of(lead));
    }
    return Taken::taken;
  }
  // The kind that the next packet seems to have: of several ways in, which to try first.
  std::uint64_t next_lead() const noexcept { return in_.next_lead(); }
  // How many packets like the one before are best taken in a row (PollRest::await_row): few of those for
  // which there is room and a place, so that the sender goes on meanwhile. 0: too few.
  std::uint32_t row() const noexcept {
    const interface::ReceiveCredit* const kept =
        cached.write.places != nullptr ? cached.write.places : cached.opened.places;
    if (kept == nullptr) return 0;
    const std::uint32_t row = std::min({kMostInARow, in_.count() / 8, kept->granted / 4});
    return row < kLeastInARow ? 0 : row;
  }
  bool row_there(std::uint32_t row) const noexcept { return in_.something_there(row - 1); }
  // Something that comes before whatever stands in the ring.
  bool something_first() const noexcept {
    return replies_in_.something_there() || urgent_in_.something_there();
  }
  // So many packets of one cell may be taken before settle() is to be called.
  std::uint32_t until_settled() const noexcept { return in_.until_stop(); }
  std::size_t mtu() const noexcept { return mtu_; }
  const RingReader<>& in() const noexcept { return in_; }
  // An answer of one cell can leave at once. It leaves.
  bool cached_reply_room() const noexcept { return replies_out_.cached_room(); }
  void reply(const interface::Words& words) noexcept {
    replies_out_.publish(WholeCell{words});
    remote.left(Priority::normal);
    reply_left();
  }
  void settle(interface::Core& core) noexcept;
  // Takes one reply, if there is one: a look for the next would take its line from the peer, who is to write
  // there. Otherwise takes packets of a long answer, if they come next.
  bool take_answer(interface::Core& core) noexcept {
    if (broken) return false;
    if (replies_in_.something_there()) return take_short_reply(core) || arrive_replies(core, 1) != 0;
    return interface::is_get_data(in_.next_lead()) && in_.something_there() && arrive_long(core) != 0;
  }
  // Tells the peer of the replies that were taken, if it soon has to know. To be called when nothing is in a
  // hurry: what is published next waits until the peer has given up the line that this is written to.
  void tell_replies() noexcept {
    if (replies_in_.taken() - replies_told_ >= kRepliesTold) publish_replies_taken();
  }
  bool something_arrived() const noexcept override { return in_.something_there() || something_first(); }
  interface::ColdLook cold_look() const noexcept override;
  // Once urgent packets have come here, `take` is not the only way to look.
  bool urgent_happened() const noexcept { return urgent_in_.taken() != 0; }
  bool has_room(Priority level) noexcept override;
  bool has_reply_room() noexcept override;
  using Link::payload_limit;
  std::size_t payload_limit() const noexcept override { return payload_limit_; }
  std::size_t urgent_payload_limit() const noexcept override;
  std::size_t payload_limit_ever() const noexcept override {
    return growth_ == Growth::refused ? payload_limit_ : mtu_;
  }
  void want_room() noexcept override;
  void others_wait(bool wait) noexcept override { wait ? out_.hold_back() : out_.go_on(); }
  bool area_good(std::uint32_t number) const noexcept override {
    return interface::GoodAreas<>::told(theirs_->watch.areas, number);
  }
  std::uint64_t put_count() const noexcept override { return out_.written(); }
  std::uint64_t taken_count() noexcept override {
    take_credit();
    return last_taken_;
  }

  // Growth by continuation: when wants_growth(), somebody makes a longer ring, shows it to the peer, and
  // gives it here when the peer has said that it has it.
  bool wants_growth() const noexcept { return growth_ == Growth::wanted; }
  std::uint32_t next_size() const noexcept;
  void growth_asked() noexcept { growth_ = Growth::asked; }
  // The ring it has is all that it will have.
  void growth_refused() noexcept;
  void continue_out(Mapping ring) noexcept;
  // The peer's next ring, which it will continue in. False: there is one already.
  bool continue_in(Mapping ring) noexcept;

  // Sleeping.
  std::uint32_t arm(std::uint32_t epoch) noexcept {
    tell_taken();
    armed_ = epoch | (wakes_for_room() ? kWantsRoom : 0);
    return Sleeper<>::arm(theirs_->watch.doorbell, mine_->watch.watch, armed_);
  }
  // Room is wanted now, and was not when it was armed. (A link that is looked at by the clock is not.)
  bool must_arm_anew() const noexcept {
    return armed_ != 0 && wakes_for_room() && (armed_ & kWantsRoom) == 0;
  }
  void disarm() noexcept {
    armed_ = 0;
    Sleeper<>::disarm(mine_->watch.watch);
  }
  const std::uint32_t* doorbell() const noexcept { return &theirs_->watch.doorbell; }

  std::uint64_t arrived_at_most() const noexcept override {
    return in_.count() + next_in_.size() / interface::kCell + urgent_in_.count() + replies_in_.count();
  }

  // Tells the peer all that was taken, which is otherwise done by the quarter of a ring: a side that has
  // nothing more to do would look like one that has stalled.
  void tell_taken() noexcept {
    if (in_.untold()) publish_taken();
  }
  // Cells that the peer has not taken yet, and a count that moves when it takes some.
  bool work_pending() noexcept;
  std::uint64_t progress() const noexcept { return last_taken_ + urgent_taken_; }
  // Nothing is pending, and nobody looks whether the peer takes what is sent from now on: the first that
  // sends something calls for attention. It costs those that send nothing, for they find no room, once.
  void leave_unwatched() noexcept;
  // Somebody does look.
  void watch_again() noexcept { unwatched_ = false; }
  std::uint64_t memory_out() const noexcept { return my_page_.size() + out_ring_.size(); }
  std::uint64_t memory_in() const noexcept { return their_page_.size() + in_ring_.size(); }

  // Judges the peer's ring at the end of a sleep. `slept_on`: what the doorbell said before; nothing: this
  // side did not watch it. A ring has a cause if the peer has sent or taken something since the judgement
  // before: sleepers wait for room and credits, too, and what has come may have been taken before the sleep.
  void judge_ring(std::optional<std::uint32_t> slept_on) noexcept;
  unsigned empty_rings = 0;  // in a row that had no cause

 private:
  enum class Growth : std::uint8_t { none, wanted, asked, ready, refused };

  // Whether the peer has sent or taken something since the last call. What it says that it has taken is
  // checked: that moves no oftener than this side sends.
  bool moved() noexcept;

  void tell_areas(std::uint64_t good) noexcept override {
    interface::GoodAreas<>::tell(mine_->watch.areas, good);
  }
  bool wakes_for_room() const noexcept {
    return departures != 0 || lent != 0 || taken_wanted != 0 || answers_due() || room_wanted;
  }
  void break_off() noexcept;
  Status put_normal(const Packet& packet, const std::byte* data, const std::byte* metadata,
                    std::uint32_t grows_to) noexcept;
  bool make_room(std::uint32_t cells, std::uint32_t grows_to) noexcept;
  Status no_room() noexcept {
    ++counters->full;
    return Status::queue_full;
  }
  bool take_credit() noexcept;
  bool former_ring_left() noexcept;
  void ask_to_be_watched() noexcept;
  void switch_out() noexcept;
  bool switch_in() noexcept;
  Status put_urgent(const Packet& packet, const std::byte* data, const std::byte* metadata) noexcept;
  bool take_urgent_credit() noexcept;
  unsigned arrive_replies(interface::Core& core, unsigned most) noexcept;
  unsigned arrive_long(interface::Core& core) noexcept;
  bool take_short_reply(interface::Core& core) noexcept;
  void reply_left() noexcept;
  unsigned arrive_urgent(interface::Core& core, unsigned budget) noexcept;
  // Behind a packet that a short way has taken.
  __attribute__((always_inline)) void step_over(std::uint32_t cells) noexcept {
    if (cells != 1) {
      in_.skip(cells);
      if (in_.credit_due()) publish_taken();
    } else if (!in_.step()) [[unlikely]] {
      after_step();
    }
  }
  bool arrive_other(interface::Core& core, const Packet& packet) noexcept;
  void after_step() noexcept;
  void publish_taken() noexcept;
  void publish_replies_taken() noexcept;
  void take_reply_credit() noexcept;
  void announce() noexcept;

  // The shortest way needs these.
  RingWriter<> out_;
  RingReader<> in_;
  RingReader<> replies_in_;
  Bell<> bell_;
  Page* mine_;
  const Page* theirs_;
  std::size_t payload_limit_;
  std::size_t mtu_;
  // So many packets in a row without a look for arrivals are a burst: then the cells ahead are fetched for
  // writing, so that no publication waits for its line.
  static constexpr unsigned kBurst = 4;
  static constexpr std::uint32_t kPrepared = 2;  // cells for the next packet
  // The longest packets of a ring: with fewer ahead their sender would fetch the reader's word for what it
  // has taken before almost each, which is one more journey (docs/performance.md). Who sends such wants a
  // longer ring.
  static constexpr std::uint32_t kPacketsAhead = 4;
  static constexpr std::uint32_t kMostInARow = 64;
  static constexpr std::uint32_t kLeastInARow = 8;
  unsigned puts_ = 0;  // since this side last looked for arrivals

  RingWriter<> replies_out_;
  RingWriter<> urgent_out_;
  RingReader<> urgent_in_;
  std::uint64_t urgent_taken_ = 0;  // by the peer
  std::uint32_t announced_ = 0;
  unsigned urgent_in_a_row_ = 0;                      // since a normal packet had its turn because of them
  static constexpr std::uint32_t kRepliesTold = 2;    // so many, in cells, are told of when there is time
  static constexpr std::uint32_t kRepliesUntold = 4;  // and so many in any case
  std::uint64_t replies_told_ = 0;
  interface::Surroundings& surroundings_;
  std::uint64_t last_taken_ = 0;
  Growth growth_ = Growth::none;
  bool unwatched_ = false;
  std::uint32_t armed_ = 0;  // what the watch word says
  std::uint64_t moved_ =
      0;  // cells that both sides had taken, and what room the peer had made, at the last look
  std::size_t grown_ = 0;  // how often
  Mapping my_page_;
  Mapping their_page_;
  Mapping out_ring_;  // empty: the home page's cells
  Mapping in_ring_;
  Mapping next_out_;
  Mapping next_in_;
  Mapping former_out_;  // until the peer has left it
  std::uint64_t former_until_ = 0;
};

}  // namespace hamlyn::shm
