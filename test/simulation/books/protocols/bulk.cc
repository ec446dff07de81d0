// Bulk by negotiation: spaces for one message (bulk_spaces.h), and rings (bulk_rings.h). Offers and words of
// what is free travel beside it, as in an application's own messages.
#include "test/simulation/books/protocols/bulk_rings.h"
#include "test/simulation/books/protocols/bulk_spaces.h"

namespace hamlyn::simulation {

namespace {

class Bulk final : public Book {
 public:
  explicit Bulk(Stage& stage) : spaces{stage, {}}, rings{stage, {}} {}
  std::unique_ptr<Part> come(Manager& manager) override;
  void check() override {
    spaces.check();
    rings.check();
  }

  Spaces spaces;
  Rings rings;
};

class BulkPart final : public Part {
 public:
  BulkPart(Bulk& book, Manager& manager)
      : book_(book),
        stage_(book.spaces.stage),
        manager_(manager),
        queue_(manager.interface(), 16),
        spaces_(book.spaces, queue_),
        rings_(book.rings, queue_) {}

  void act() override {
    sim::Generator& chance = stage_.chance();
    take();
    const std::uint64_t dice = chance.below(100);
    if (dice < 10) {
      spaces_.offer();
    } else if (dice < 30) {
      if (!space_sender_) space_sender_.emplace(book_.spaces, manager_);
      space_sender_->send();
    } else if (dice < 55) {
      rings_.act();
    } else if (dice < 90) {
      fill();
    } else if (dice < 97) {
      Notification arrival;
      if (queue_.receive(arrival, stage_.a_while()) == Status::ok) hear(arrival);
    } else if (dice < 98) {
      space_sender_.reset();
    } else if (dice < 99) {
      ring_sender_.reset();
    }
  }
  bool stop_sending() override {
    if (space_sender_ && space_sender_->collect() && stage_.alive()) return true;
    space_sender_.reset();
    if (ring_sender_ && ring_sender_->waits()) return true;
    ring_sender_.reset();
    return false;
  }
  bool take_all() override {
    const bool any = take();
    return rings_.take_all() || any;
  }

 private:
  bool take() {
    bool any = false;
    while (stage_.alive()) {
      const std::optional<Notification> arrival = queue_.poll();
      if (!arrival) break;
      any = true;
      hear(*arrival);
    }
    return any;
  }
  void hear(const Notification& arrival) {
    if (arrival.kind != Notification::Kind::message && arrival.kind != Notification::Kind::failed) return;
    if (spaces_.takes(arrival) || rings_.takes(arrival)) return;
    // Where a piece of a ring has failed the ring goes at once, and what stood behind it in the queue is
    // told.
    stage_.demand(rings_.failed(arrival), "something came of what has gone");
  }
  void fill() {
    if (ring_sender_ && !ring_sender_->goes_on()) ring_sender_.reset();
    if (ring_sender_) return ring_sender_->act();
    if (Ring* const ring = any_offered(stage_, book_.rings.all))
      ring_sender_.emplace(stage_, manager_, *ring);
  }

  Bulk& book_;
  Stage& stage_;
  Manager& manager_;
  NotificationQueue queue_;
  SpaceReceiver spaces_;
  RingReceiver rings_;
  std::optional<SpaceSender> space_sender_;
  std::optional<RingSender> ring_sender_;
};

std::unique_ptr<Part> Bulk::come(Manager& manager) { return std::make_unique<BulkPart>(*this, manager); }

}  // namespace

std::unique_ptr<Book> make_bulk(Stage& stage) { return std::make_unique<Bulk>(stage); }

}  // namespace hamlyn::simulation
