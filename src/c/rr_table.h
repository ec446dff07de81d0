#pragma once
// The numbers of hamlyn/c/rr.h: an index and a generation, as a segment descriptor has in paper 4, section
// 4.2.1. Places are taken in turn, so that a number comes again after 2^31 exports at the earliest.
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <utility>

#include "hamlyn/segment/segment.h"

namespace hamlyn::c {

// Segment that threads share by its number. The two atomics are values of their own, and nothing is read by
// them.
struct Exported {
  Exported(Interface& interface, const SegmentOptions& options) : segment(interface, options) {}
  Segment segment;
  std::atomic<Control> control{Control::conditional};
};

// Reads that were begun, are not waited for, and of which no record tells: the operation behind them does
// (docs/c-interface.md). As many as an import has under way at most; of each it is known for as long how it
// has ended.
class BegunReads {
 public:
  void add(RemoteHandle read) noexcept {
    const std::lock_guard guard(mutex_);
    if (count_ == kMost) drop_first();
    reads_[(first_ + count_) % kMost] = read;
    ++count_;
  }
  // Tells how the first read has ended that is over, was not done, and was not told of before; ok: none.
  Outcome first_failure(const Import& import) noexcept {
    const std::lock_guard guard(mutex_);
    while (count_ != 0) {
      const Outcome outcome = import.outcome(reads_[first_]);
      if (outcome.status == Status::pending) break;
      drop_first();
      if (outcome.status != Status::ok && outcome.status != Status::invalid) return outcome;
    }
    return {Status::ok, {}, 0};
  }

 private:
  static constexpr std::size_t kMost = 64;
  void drop_first() noexcept {
    first_ = (first_ + 1) % kMost;
    --count_;
  }

  std::mutex mutex_;
  std::array<RemoteHandle, kMost> reads_{};
  std::size_t first_ = 0;
  std::size_t count_ = 0;
};

struct Imported {
  Imported(Interface& interface, const Ticket& ticket, const Import::Options& options)
      : access(options.access), import(interface, ticket, options), link(interface, {.entries = 16}) {}
  const Access access;
  Import import;
  Terminus link;  // to wait for a link that has ended, and can be made again or not
  BegunReads reads;
  std::atomic<std::uint32_t> nonce{0};  // that stood where the last rrcsi was done: the next begins with it
};

class RrTable {
 public:
  using Owned = std::pair<std::shared_ptr<Exported>, std::shared_ptr<Imported>>;

  // `parents`: of the process that this one was forked from; its numbers mean nothing here.
  explicit RrTable(const RrTable* parents) {
    if (parents == nullptr) return;
    next_ = parents->next_;
    for (std::size_t i = 0; i < kPlaces; ++i) places_[i].generation = parents->places_[i].generation + 1;
  }

  // Its number; -1: there are as many as may be.
  int add(Owned owned) {
    const std::lock_guard guard(mutex_);
    for (std::size_t tried = 0; tried < kPlaces; ++tried) {
      const std::size_t index = next_++ % kPlaces;
      Place& place = places_[index];
      if (place.owned.first != nullptr || place.owned.second != nullptr) continue;
      place.owned = std::move(owned);
      if (++place.generation > kGenerations) place.generation = 1;  // no number is 0
      return number(index);
    }
    return -1;
  }
  // Both null: there is no such number.
  Owned find(int number) {
    const std::lock_guard guard(mutex_);
    Place* const place = at(number);
    return place != nullptr ? place->owned : Owned{};
  }
  Owned remove(int number) {
    const std::lock_guard guard(mutex_);
    Place* const place = at(number);
    return place != nullptr ? std::exchange(place->owned, Owned{}) : Owned{};
  }

 private:
  static constexpr std::size_t kPlaces = 2048;
  static constexpr std::uint32_t kGenerations = (1u << 20) - 1;
  struct Place {
    std::uint32_t generation = 0;
    Owned owned;
  };

  int number(std::size_t index) const {
    return static_cast<int>(places_[index].generation * kPlaces + index);
  }
  Place* at(int wanted) {
    if (wanted < 0) return nullptr;
    const std::size_t index = static_cast<std::size_t>(wanted) % kPlaces;
    return number(index) == wanted ? &places_[index] : nullptr;
  }

  std::mutex mutex_;
  std::size_t next_ = 0;
  std::array<Place, kPlaces> places_;
};

}  // namespace hamlyn::c
