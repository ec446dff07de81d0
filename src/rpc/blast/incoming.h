#pragma once
// One message on its way in. Each packet says where it belongs, and lands there. What has come is answered
// when a unit is whole, or when nothing has come for a while.
#include <array>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>
#include <span>

#include "base/namespaces.h"
#include "rpc/blast/blast_wire.h"
#include "rpc/blast/outgoing.h"
#include "rpc/blast/round_trip.h"

namespace hamlyn::internal_::rpc::blast {

class Incoming {
 public:
  enum class Took : std::uint8_t {
    news,
    unit,  // with it a unit is whole: an answer is due
    repeated,
    wrong,  // it cannot be one of this message, or is further ahead than anybody may send
    no_memory,
  };

  // Takes the first packet of a message that has come. Its length was found to be one that may be.
  Took begin(const Data& first, std::span<const std::byte> data, std::uint32_t packet, std::uint8_t unit,
             Time now) noexcept {
    bytes_.reset(new (std::nothrow) std::byte[std::max<std::size_t>(first.length, 1)]);
    if (bytes_ == nullptr) return Took::no_memory;
    length_ = first.length;
    packet_ = packet;
    size_ = unit;
    packets_ = packets_of(length_, packet_);
    units_ = (packets_ + size_ - 1) / size_;
    first_ = sent_ = 0;
    come_ = {};
    due_ = kNever;
    const Took took = take(first, data, now);
    if (took == Took::wrong) clear();
    return took;
  }
  Took take(const Data& packet, std::span<const std::byte> data, Time now) noexcept {
    const std::size_t at = std::size_t{packet.packet} * packet_;
    if (packet.length != length_ || packet.packet >= packets_ ||
        data.size() != std::min<std::size_t>(packet_, length_ - at))
      return Took::wrong;
    const std::uint32_t unit = packet.packet / size_;
    if (unit > first_ + 1) return Took::wrong;
    sent_ = std::max(sent_, packet.sent);
    const std::uint64_t bit = std::uint64_t{1} << packet.packet % size_;
    pause_ = std::clamp(static_cast<Time>(time_of(packet.pause).count()), RoundTrip::kLeastPause,
                        RoundTrip::kMostPause);
    if (unit < first_ || (come_[unit - first_] & bit) != 0) {
      if (due_ == kNever && !whole()) wait_anew(now);
      return Took::repeated;
    }
    if (!data.empty()) std::memcpy(bytes_.get() + at, data.data(), data.size());
    come_[unit - first_] |= bit;
    wait_anew(now);
    return advance() ? Took::unit : Took::news;
  }

  bool begun() const noexcept { return bytes_ != nullptr; }
  bool whole() const noexcept { return first_ == units_; }
  // When an answer is due because nothing has come.
  Time due() const noexcept { return due_; }
  // Notes that it has left. After so many in vain no more do before something comes.
  void answered_late(Time now, std::uint32_t most) noexcept {
    due_ =
        ++tries_ >= most ? kNever : now + std::min(pause_ << std::min(tries_ + 1, kMostDoubled), kMostWait);
  }
  Answer answer(bool late) const noexcept {
    Answer out;
    out.late = late ? 1 : 0;
    out.unit = first_;
    out.sent = sent_;
    out.mask = come_[0];
    out.ahead = come_[1];
    return out;
  }

  std::span<std::byte> bytes() noexcept { return {bytes_.get(), length_}; }
  std::unique_ptr<std::byte[]> take_bytes() noexcept { return std::move(bytes_); }
  void clear() noexcept {
    bytes_.reset();
    length_ = packets_ = units_ = first_ = 0;
    due_ = kNever;
  }

 private:
  static constexpr std::uint32_t kMostDoubled = 8;

  void wait_anew(Time now) noexcept {
    tries_ = 0;
    due_ = now + pause_;
  }
  // Whether the first unit has become whole.
  bool advance() noexcept {
    bool some = false;
    while (first_ != units_) {
      const std::uint32_t in_unit = std::min(size_, packets_ - first_ * size_);
      if (come_[0] != low_bits(in_unit)) break;
      come_ = {come_[1], 0};
      ++first_;
      some = true;
    }
    if (whole()) due_ = kNever;
    return some;
  }

  std::unique_ptr<std::byte[]> bytes_;
  std::uint32_t length_ = 0, packets_ = 0, units_ = 0;
  std::uint32_t packet_ = 1, size_ = 1;
  std::uint32_t first_ = 0;  // unit that is not whole
  std::uint32_t sent_ = 0;
  std::array<std::uint64_t, 2> come_{};
  Time pause_ = RoundTrip::kLeastPause;
  Time due_ = kNever;
  std::uint32_t tries_ = 0;
};

}  // namespace hamlyn::internal_::rpc::blast
