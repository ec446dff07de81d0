#pragma once
// One message on its way out (paper 4, section 5.3.1): packets in units of N, sent without waiting, one unit
// ahead of the first that is not known to have come whole. An answer says what has come. Only what is missing
// goes again, and only if the answer is late: then it is lost, and was not overtaken.
#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/assert.h"
#include "base/namespaces.h"
#include "rpc/blast/blast_wire.h"
#include "rpc/blast/round_trip.h"

namespace hamlyn::internal_::rpc::blast {

constexpr std::uint64_t low_bits(std::uint32_t count) noexcept {
  return count >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << count) - 1;
}

class Outgoing {
 public:
  // old: nothing has come that was not known to have.
  enum class Heard : std::uint8_t { news, old, wrong };

  // Throws std::bad_alloc.
  void make_room(std::uint8_t unit) {
    departures_.resize(std::size_t{2} * unit);
    size_ = unit;
  }
  void begin(std::uint32_t packets) noexcept {
    std::ranges::fill(departures_, Departure{});
    packets_ = packets;
    units_ = (packets + size_ - 1) / size_;
    first_ = next_ = sends_ = 0;
    come_ = again_ = {};
    asks_ = false;
  }

  // The packet that may leave now; nothing: none.
  std::optional<std::uint32_t> next() const noexcept {
    for (std::uint32_t i = 0; i != 2; ++i) {
      if (again_[i] != 0)
        return (first_ + i) * size_ + static_cast<std::uint32_t>(std::countr_zero(again_[i]));
    }
    if (next_ < std::min<std::uint64_t>(packets_, (first_ + std::uint64_t{2}) * size_)) return next_;
    if (asks_) return to_ask_with();
    return std::nullopt;
  }
  // Tells what that packet says in `sent`.
  std::uint32_t sends() const noexcept { return sends_ + 1; }
  // Notes that it has left.
  void left(std::uint32_t packet, Time now) noexcept {
    ++sends_;
    asks_ = false;
    if (packet == next_)
      ++next_;
    else
      ++again_sent_;
    if (first_ == units_) return;
    again_[packet / size_ - first_] &= ~bit(packet);
    departures_[packet % departures_.size()] = {sends_, now};
  }
  // Has one packet go again that will be answered.
  void ask() noexcept {
    asks_ = next_ != 0 && again_ == Masks{} && (next_ == packets_ || next_ == (first_ + 2) * size_);
  }

  Heard hear(const Answer& answer, Time now, RoundTrip& trip) noexcept {
    if (!possible(answer)) return Heard::wrong;
    if (answer.unit < first_) return Heard::old;
    const std::uint32_t before = first_;
    const Masks had = come_;
    if (answer.late == 0) measure(answer.sent, now, trip);
    while (first_ != answer.unit) move_on();
    come_[0] |= answer.mask;
    come_[1] |= answer.ahead;
    while (first_ != units_ && come_[0] == all(first_)) move_on();  // told in several answers
    for (std::uint32_t i = 0; i != 2; ++i) again_[i] &= ~come_[i];
    if (answer.late != 0) find_lost(answer.sent, now, trip.time() + trip.pause());
    return first_ != before || come_ != had ? Heard::news : Heard::old;
  }

  // All of it has come.
  bool arrived() const noexcept { return first_ == units_; }
  std::uint64_t sent_again() const noexcept { return again_sent_; }

 private:
  using Masks = std::array<std::uint64_t, 2>;
  struct Departure {
    std::uint32_t number = 0;
    Time time = 0;
  };

  void move_on() noexcept {
    ++first_;
    come_ = {come_[1], 0};
    again_ = {again_[1], 0};
  }
  std::uint64_t bit(std::uint32_t packet) const noexcept { return std::uint64_t{1} << packet % size_; }
  // Bits of packets of that unit that have left.
  std::uint64_t gone(std::uint64_t unit) const noexcept {
    const std::uint64_t begin = unit * size_;
    return begin >= next_
               ? 0
               : low_bits(static_cast<std::uint32_t>(std::min<std::uint64_t>(next_ - begin, size_)));
  }
  // Bits of all packets of that unit.
  std::uint64_t all(std::uint64_t unit) const noexcept {
    const std::uint64_t begin = unit * size_;
    return begin >= packets_
               ? 0
               : low_bits(static_cast<std::uint32_t>(std::min<std::uint64_t>(packets_ - begin, size_)));
  }
  // Whether it can be an answer to what has left: no other is believed.
  bool possible(const Answer& answer) const noexcept {
    if (answer.unit > units_ || answer.sent > sends_) return false;
    if (answer.unit != 0 && gone(answer.unit - 1) != all(answer.unit - 1)) return false;
    if ((answer.mask & ~gone(answer.unit)) != 0 ||
        (answer.ahead & ~gone(answer.unit + std::uint64_t{1})) != 0)
      return false;
    return answer.unit == units_ || answer.mask != all(answer.unit);
  }
  void measure(std::uint32_t sent, Time now, RoundTrip& trip) noexcept {
    for (const Departure& each : departures_) {
      if (each.number == sent && sent != 0) trip.measured(now - each.time);
    }
  }
  // Packets that have not come though they left before the newest that has are lost. Of those that left after
  // it, one that should have come goes again: the answer to that decides about the others.
  void find_lost(std::uint32_t sent, Time now, Time due) noexcept {
    for (std::uint32_t i = 0; i != 2; ++i) {
      for (std::uint64_t left = gone(first_ + std::uint64_t{i}) & ~come_[i]; left != 0; left &= left - 1) {
        const std::uint64_t bit = left & ~(left - 1);
        const auto place = static_cast<std::uint32_t>(std::countr_zero(left));
        const Departure& one = departures_[((first_ + i) * size_ + place) % departures_.size()];
        const bool overdue = again_ == Masks{} && now - one.time >= due;
        if (one.number <= sent || overdue) again_[i] |= bit;
      }
    }
  }
  std::uint32_t to_ask_with() const noexcept {
    if (first_ == units_) return packets_ - 1;
    return first_ * size_ + static_cast<std::uint32_t>(std::countr_one(come_[0]));
  }

  std::vector<Departure> departures_;  // of the two units, by packet
  std::uint32_t packets_ = 0;
  std::uint32_t size_ = 1;   // of a unit
  std::uint32_t units_ = 0;  // that there are
  std::uint32_t first_ = 0;  // unit that is not known to have come whole
  std::uint32_t next_ = 0;   // packet that has not left
  std::uint32_t sends_ = 0;
  Masks come_{}, again_{};
  bool asks_ = false;
  std::uint64_t again_sent_ = 0;
};

}  // namespace hamlyn::internal_::rpc::blast
