#pragma once
// Pair: what one daemon keeps of another that it talks to. It has the keys, a window of the packets taken,
// and the messages that the other has not confirmed, which are sent until it has. Each arrives once and in
// order, over a wire that loses, repeats and reorders.
#include <chrono>
#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <vector>

#include "node/mind/node_wire.h"

namespace hamlyn::node {

using Time = std::chrono::milliseconds;  // since any fixed moment

class Pair {
 public:
  // Bytes. What processes ask for waits beyond the first: then there is always room for what has to be said,
  // answers and ends, of which there are at most as many as links and requests. Beyond the second the other
  // does not take what it is sent.
  static constexpr std::size_t kMostAsked = 64 << 10;
  static constexpr std::size_t kMostUnconfirmed = 4 << 20;
  static constexpr std::size_t kMostUnderWay = 8 << 10;

  Pair(const Secret& out, const Secret& in, std::uint64_t of, Time now)
      : incarnation(of), heard(now), said(now), out_(out), in_(in) {}

  // The plain of a packet that is whole, sealed by the other, and had not come before.
  enum class Verdict : std::uint8_t { good, forged, repeated, malformed };
  Verdict open(std::span<const std::byte> packet, Plain& plain);

  // The next message of a packet, if it is its turn.
  bool takes(std::uint64_t number) noexcept;
  // The other has taken all before `number`; false if that cannot be.
  bool confirmed(std::uint64_t number, Time now);

  // Whether a process's request may be queued.
  bool has_room() const noexcept { return bytes_ < kMostAsked; }
  // False: too much waits.
  bool queue(std::vector<std::byte> message, Time now);
  // The next packet that has messages which may go now; empty if there is none.
  std::vector<std::vector<std::byte>> next_messages(std::uint64_t& first);
  // Sends again what was not confirmed.
  void again(Time now);
  bool unconfirmed() const noexcept { return !outbox_.empty(); }
  Time resend_at() const noexcept { return resend_; }
  std::uint64_t next_sequence() noexcept { return ++sequence_; }
  std::uint64_t taken() const noexcept { return taken_; }
  const Secret& out() const noexcept { return out_; }

  const std::uint64_t incarnation;  // of the other
  Address address;
  std::array<std::byte, 24> asked{};  // of the handshake that has made it
  Time heard;
  bool overdue = false;  // nothing was heard for as long as there is patience, when it was looked last
  Time said;
  Time asked_for_life{};      // when an answer was last demanded
  std::optional<Time> apart;  // since its table differs from ours
  bool boot = false;
  bool owes = false;  // a packet has come that wants to be answered

 private:
  static constexpr Time kResend{100};

  Secret out_;
  Secret in_;
  std::uint64_t sequence_ = 0;  // of the last packet sent
  std::uint64_t highest_ = 0;   // of the packets taken
  std::uint64_t window_ = 0;    // bit i: highest - i was taken
  std::uint64_t taken_ = 0;     // messages
  std::deque<std::vector<std::byte>> outbox_;
  std::size_t bytes_ = 0;
  std::uint64_t first_ = 0;  // number of the first message in the outbox
  std::size_t sent_ = 0;     // messages of the outbox that are under way
  std::uint64_t most_ = 0;   // number after the last message that was ever sent
  Time resend_{};
};

}  // namespace hamlyn::node
