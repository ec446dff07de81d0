#pragma once
// Rings: pieces come in order and whole, and stay as they are until they are freed, though their sender hears
// of what is free late, twice, and in any order. Receivers withdraw rings; senders give up in the middle.
#include <optional>

#include "hamlyn/core/bulk.h"
#include "interface/packets/packet.h"
#include "test/simulation/books/protocols/bulk_offers.h"

namespace hamlyn::simulation {

struct Ring {
  std::uint64_t number = 0;
  std::uint64_t owner = 0;
  std::uint64_t sender = 0;
  BulkRingOffer offer;
  std::size_t bytes = 0;
  std::vector<std::size_t> lengths;  // of pieces that were accepted
  std::vector<std::uint64_t> ends;   // where each ends, counted on from lap to lap
  std::vector<BulkFreed> freed;      // after each piece
  std::size_t received = 0;
  bool over = false;  // its sender has gone
  bool torn = false;  // when something was still to leave
  bool gone = false;
};

inline std::vector<std::byte> content(const Ring& ring, std::size_t piece) {
  return pattern(ring.lengths[piece], kBulkContent + (ring.number << 32 | (piece + 1)));
}

struct Rings {
  void check() {
    for (const Ring& ring : all) {
      const bool excused = ring.sender == 0 || ring.gone || ring.torn;
      if (excused || may_never_come(stage, ring.sender, ring.owner)) continue;
      stage.host.demand(ring.received == ring.lengths.size(),
                        "pieces of a ring were accepted, and have not come");
    }
  }

  Stage& stage;
  std::deque<Ring> all;
};

class RingReceiver {
 public:
  RingReceiver(Rings& book, NotificationQueue& queue) : book_(book), stage_(book.stage), queue_(queue) {}
  ~RingReceiver() { drop(!stage_.ending); }
  RingReceiver(const RingReceiver&) = delete;
  RingReceiver& operator=(const RingReceiver&) = delete;

  void act() {
    if (!memory_) return offer();
    sim::Generator& chance = stage_.chance();
    for (std::uint64_t most = chance.below(4); most != 0 && next(); --most) {
    }
    for (std::uint64_t most = chance.below(4); most != 0 && free(); --most) {
    }
    const bool no_more = ring_->torn || ring_->received == ring_->lengths.size();
    if (chance.one_in(ring_->over && held_.empty() && no_more ? 4 : 200)) drop(true);
  }
  bool takes(const Notification& arrival) {
    if (!memory_ || !memory_->holds(arrival)) return false;
    if (arrival.kind == Notification::Kind::message) {
      stage_.demand(ring_->sender != 0 && arrival.peer == ring_->sender, "a ring was filled by nobody");
      stage_.demand(memory_->arrived(arrival), "an honest piece is none");
      return true;
    }
    stage_.demand(!memory_->arrived(arrival), "a piece that has failed is one");
    stage_.demand(stage_.may_have_gone(ring_->sender) || ring_->torn, "a piece has failed for nothing");
    drop(true);
    failed_ = ring_;
    return true;
  }
  // Whether it is of the last ring that went because a piece of it had failed.
  bool failed(const Notification& arrival) const {
    return failed_ != nullptr &&
           interface::number_of(interface::slot_word(failed_->offer.ticket)) == arrival.slot;
  }
  // All that has come. True if there was something.
  bool take_all() {
    bool any = false;
    while (memory_ && (next() || free())) any = true;
    return any;
  }

 private:
  void offer() {
    sim::Generator& chance = stage_.chance();
    Ring& ring = book_.all.emplace_back();
    ring.number = book_.all.size();
    ring.owner = stage_.me();
    ring.bytes = chance.between(16, chance.one_in(3) ? kMostBulk : 400);
    memory_.emplace(queue_, ring.bytes, static_cast<std::uint32_t>(chance.between(1, 8)));
    ring.offer = memory_->offer();
    ring_ = &ring;
    stage_.host.note("offers ring %", {ring.number});
  }
  bool next() {
    const std::optional<std::span<std::byte>> piece = memory_->next();
    if (!piece || !stage_.alive()) return false;
    const std::size_t number = ring_->received++;
    stage_.host.note("has piece % of ring %", {number, ring_->number});
    stage_.demand(number < ring_->lengths.size(), "a piece came that nobody sent");
    if (!stage_.alive()) return false;
    stage_.demand(same(*piece, content(*ring_, number)), "a piece is not what was sent");
    held_.push_back({*piece, number});
    ++stage_.counts.completed;
    return true;
  }
  bool free() {
    if (held_.empty()) {
      stage_.demand(!memory_->free(), "a ring frees what it has not");
      return false;
    }
    const Held held = held_.front();
    held_.pop_front();
    stage_.demand(same(held.bytes, content(*ring_, held.number)), "a piece has changed before it was freed");
    stage_.demand(memory_->free(), "a piece cannot be freed");
    ring_->freed.push_back(memory_->freed());
    return true;
  }
  void drop(bool gone) {
    if (!memory_) return;
    held_.clear();
    memory_.reset();
    ring_->gone = gone;
  }

  struct Held {
    std::span<const std::byte> bytes;
    std::size_t number;
  };
  Rings& book_;
  Stage& stage_;
  NotificationQueue& queue_;
  std::optional<BulkRing> memory_;
  Ring* ring_ = nullptr;
  const Ring* failed_ = nullptr;
  std::deque<Held> held_;  // until they are freed
};

class RingSender {
 public:
  RingSender(Stage& stage, Manager& manager, Ring& ring)
      : sends_(stage),
        doing_(stage, OperationKind::bulk_ring, ring.owner),
        stage_(stage),
        ring_(ring),
        terminus_(manager.interface(), {.entries = stage.chance().between(1, 4)}),
        sender_(terminus_, ring.offer) {
    ring.sender = stage_.me();
    stage_.host.note("begins to fill ring %", {ring.number});
  }
  ~RingSender() {
    stage_.host.note("fills ring % no more", {ring_.number});
    ring_.over = true;
    ring_.torn = ended_ || !sending_.empty();
  }
  RingSender(const RingSender&) = delete;
  RingSender& operator=(const RingSender&) = delete;

  void act() {
    sim::Generator& chance = stage_.chance();
    if (!chance.one_in(3)) hear();
    for (std::uint64_t count = chance.between(1, 6); count != 0 && send(); --count) {
    }
  }
  // Whether it goes on.
  bool goes_on() {
    while (!sending_.empty() && !ended_) {
      const Status status = terminus_.status(sending_.front().handle);
      if (status == Status::pending) break;
      sending_.pop_front();
      if (status != Status::ok) ended(status);
    }
    return !ended_ && !ring_.gone;
  }
  // Whether anything is still on its way.
  bool waits() {
    return goes_on() && stage_.alive() && ring_.received != ring_.lengths.size() &&
           !may_never_come(stage_, stage_.me(), ring_.owner);
  }

 private:
  // The words come as late as they like, twice, and in any order.
  void hear() {
    if (ring_.freed.empty()) return;
    sim::Generator& chance = stage_.chance();
    const std::size_t back = chance.one_in(2) ? 0 : chance.below(std::min(ring_.freed.size(), kLate));
    const BulkFreed& freed = ring_.freed[ring_.freed.size() - 1 - back];
    stage_.demand(sender_.freed(freed), "a ring's sender does not believe what is free");
    told_ = std::max<std::size_t>(told_, freed.pieces);
    const BulkFreed more{ring_.lengths.size() + 1, freed.bytes};
    stage_.demand(!sender_.freed(more), "a ring's sender believes that more is free than it has sent");
  }
  // Where the next piece would end: behind the last, or at the buffer's beginning if it does not fit there.
  std::uint64_t end_of_next(std::size_t length) const {
    const std::uint64_t last = ring_.ends.empty() ? 0 : ring_.ends.back();
    const std::uint64_t left = ring_.bytes - last % ring_.bytes;
    return last + (length <= left ? 0 : left) + length;
  }
  bool has_room(std::uint64_t end) const {
    const std::size_t sent = ring_.lengths.size();
    if (sent - told_ == ring_.offer.pieces) return false;
    return sent == told_ || end - (told_ == 0 ? 0 : ring_.ends[told_ - 1]) <= ring_.bytes;
  }
  // False: not now.
  bool send() {
    sim::Generator& chance = stage_.chance();
    if (!goes_on()) return false;
    const std::size_t length = chance.between(1, chance.one_in(4) ? ring_.bytes : 1 + ring_.bytes / 3);
    const std::uint64_t end = end_of_next(length);
    const bool room = has_room(end);
    ring_.lengths.push_back(length);
    ring_.ends.push_back(end);
    Sending& sending = sending_.emplace_back();
    sending.data = content(ring_, ring_.lengths.size() - 1);
    const Status status = sender_.send(sending.data, &sending.handle);
    ++stage_.counts.operations;
    if (status == Status::ok || status == Status::pending) {
      stage_.demand(room, "a piece was sent to where another stands");
      return true;
    }
    sending_.pop_back();
    ring_.lengths.pop_back();
    ring_.ends.pop_back();
    ++stage_.counts.failed;
    stage_.met(OperationKind::bulk_ring, status);
    stage_.demand((status == Status::no_place) == !room, "a ring has room, and says that it has none",
                  status);
    if (status != Status::no_place && status != Status::queue_full) ended(status);
    return false;
  }
  void ended(Status status) {
    ended_ = true;
    const bool as_it_can = status == Status::link_ended || status == Status::refused;  // the link was
    stage_.demand(as_it_can && stage_.may_have_gone(ring_.owner), "a piece has ended as it cannot", status);
  }

  static constexpr std::size_t kLate = 8;  // words of what is free that may still be on their way
  struct Sending {
    std::vector<std::byte> data;
    SendHandle handle;
  };
  const Sends sends_;
  const Doing doing_;
  Stage& stage_;
  Ring& ring_;
  std::size_t told_ = 0;  // pieces of which it knows that they are free
  bool ended_ = false;
  std::deque<Sending> sending_;
  Terminus terminus_;  // reads what is sent
  BulkRingSender sender_;
};

}  // namespace hamlyn::simulation
