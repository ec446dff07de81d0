#pragma once
// Segments that processes export for a protocol, and import from each other.
#include <deque>
#include <optional>

#include "hamlyn/segment/segment.h"
#include "test/simulation/books/protocols/part.h"
#include "test/simulation/books/protocols/stage.h"

namespace hamlyn::simulation {

// What everybody knows of one. A protocol's own is derived from it.
struct Exported {
  std::uint64_t number = 0;
  std::uint64_t owner = 0;
  Ticket ticket;
  std::byte* bytes = nullptr;  // null: it has gone
  bool gone = false;           // before the run's end
};

// The bytes at an offset of one that has not gone, as a value.
template <class Value>
Value value_at(const Exported& place, std::size_t offset) {
  Value value;
  std::memcpy(&value, place.bytes + offset, sizeof value);
  return value;
}

// One of this process.
template <class Place>
class OwnExport {
 public:
  OwnExport(Stage& stage, Manager& manager) : stage_(stage), manager_(manager) {}

  Place& make(std::deque<Place>& all, std::size_t bytes) {
    place_ = &all.emplace_back();
    place_->number = all.size();
    place_->owner = stage_.me();
    const auto sharing = static_cast<Sharing>(stage_.chance().below(3));
    segment_.emplace(manager_.interface(), SegmentOptions{.name = {}, .bytes = bytes, .sharing = sharing});
    place_->bytes = segment_->bytes().data();
    place_->ticket = segment_->ticket();
    stage_.host.note("exports % of %", {place_->number, bytes});
    return *place_;
  }
  // Takes it back from all who have it imported.
  void revoke() {
    segment_->revoke();
    place_->ticket = segment_->ticket();
  }
  void go() {
    stage_.host.note("exports % no more", {place_->number});
    place_->gone = !stage_.ending;
    place_->bytes = nullptr;
    segment_.reset();
  }

  explicit operator bool() const { return segment_.has_value(); }
  Segment& operator*() { return *segment_; }
  Place& place() { return *place_; }

 private:
  Stage& stage_;
  Manager& manager_;
  std::optional<Segment> segment_;
  Place* place_ = nullptr;
};

// One of another process, imported by its ticket.
template <class Place>
class OthersImport {
 public:
  OthersImport(Stage& stage, Manager& manager) : stage_(stage), manager_(manager) {}

  // False: it cannot be, and may be not.
  bool open(Place& place) {
    place_ = &place;
    sim::Generator& chance = stage_.chance();
    const Ticket ticket = place.ticket;
    const Import::Options options{.map = !chance.one_in(4),
                                  .timeout = std::chrono::milliseconds{chance.between(1, 3)}};
    ++stage_.counts.operations;
    try {
      const Doing doing(stage_, OperationKind::segment_opening, place.owner);
      import_.emplace(manager_.interface(), ticket, options);
    } catch (const Error& error) {
      ++stage_.counts.failed;
      const bool as_it_can =
          error.code() == ErrorCode::timed_out || may_have_gone() || !(ticket == place.ticket);
      stage_.demand(as_it_can, "a segment cannot be imported", error.code());
      return false;
    }
    return stage_.alive();
  }
  // How an operation has ended that is not done. What was only late leaves it as it is.
  void ended(Status how) {
    ++stage_.counts.failed;
    if (how == Status::timed_out) return;
    const bool as_it_can = how == Status::stale || how == Status::refused || how == Status::link_ended;
    const bool revoked = how != Status::link_ended && !(import_->ticket() == place_->ticket);
    stage_.demand(as_it_can && (revoked || may_have_gone()), "a segment has ended as it cannot", how);
    import_.reset();
  }
  bool may_have_gone() { return place_->gone || stage_.may_have_gone(place_->owner); }
  std::chrono::nanoseconds patience() { return stage_.a_while() + std::chrono::microseconds{100}; }
  void reset() { import_.reset(); }

  explicit operator bool() const { return import_.has_value(); }
  Import* operator->() { return &*import_; }
  Import& operator*() { return *import_; }
  Place& place() { return *place_; }

 private:
  Stage& stage_;
  Manager& manager_;
  std::optional<Import> import_;
  Place* place_ = nullptr;
};

}  // namespace hamlyn::simulation
