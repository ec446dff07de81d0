#pragma once
// Simple datagrams (paper 0, section 3.3): the interface itself, with little around it. A receiver has one
// metadata entry and is ready or not; there is no queue. A datagram may have any length up to the receiver's
// buffer, says at which offset it stands, and may bring a ticket to reply to.
//
// Threads: any.
// Owner: who made it; its manager outlives it. A Datagram's bytes are the receiver's.
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "hamlyn/core/message_area.h"
#include "hamlyn/core/slot.h"
#include "hamlyn/protocols/receiver.h"
#include "hamlyn/values/seed.h"

namespace hamlyn {

// One that has landed.
struct Datagram {
  std::span<std::byte> bytes;  // in place, in the receiver's buffer, until it is made ready again
  std::uint64_t offset = 0;    // of the first of them in the buffer
  std::uint64_t sender = 0;    // its interface, as the node attests
  std::optional<Seed> reply;   // of a receiver of the sender's own, if it brought one
};

// Has the buffer, and is ready for one datagram at a time.
class DatagramReceiver : public Receiver {
 public:
  // A buffer of `bytes`. It is ready. Throws Error: invalid_argument, out_of_memory, forked.
  DatagramReceiver(Manager& manager, std::size_t bytes);
  ~DatagramReceiver() override;  // its seeds are stale from here on

  // For any number of senders, for as long as this receiver lives. Throws Error(forked).
  [[nodiscard]] Seed make_seed() const;

  // Takes the next datagram; the bytes of the last one may be overwritten from here on. ok, also if it is
  // ready already; invalid: a datagram has come that was not received yet, or is coming; forked.
  Status make_ready() noexcept;
  bool ready() const noexcept;

  // Waits for the datagram. From here on the receiver is not ready: further ones are answered not_ready at
  // their senders. ok; timed_out (0: one look), cancelled, forked; abandoned, link_ended: its sender gave up,
  // or has gone, in the middle of it; invalid: inside process_arrival, with a time-out.
  Status receive(Datagram& out, std::chrono::nanoseconds timeout) noexcept;
  Status receive(Datagram& out) noexcept { return receive(out, std::chrono::nanoseconds::max()); }

 protected:
  void process_arrival(const Notification& arrival) override;

 private:
  Status take(Datagram& out) noexcept;

  MessageArea area_;
  Slot slot_;
  Notification arrived_;
  enum class State : std::uint8_t { ready, arrived, taken } state_ = State::ready;
};

struct DatagramOptions {
  std::uint64_t offset = 0;                 // in the receiver's buffer
  const DatagramReceiver* reply = nullptr;  // its seed goes along; it must be of the same manager
};

// Threads: any, one `deliver` at a time of each object. Whoever destroys one ends a `deliver` that waits in
// another thread, with `cancelled`, and waits until it has left.
class DatagramSender {
 public:
  // Throws Error: seed_invalid, seed_wrong_kind, forked. Whether the receiver lives, the first datagram says.
  DatagramSender(Manager& manager, const Seed& seed);
  DatagramSender(const DatagramSender&) = delete;
  DatagramSender& operator=(const DatagramSender&) = delete;

  // As Terminus::send, with all that it says. A receiver that is not ready refuses it without a word to us.
  Status send(std::span<const std::byte> data, const DatagramOptions& options = {},
              SendHandle* handle = nullptr) noexcept;
  // As Terminus::status.
  Status status(SendHandle handle) noexcept;

  // Waits until the datagram has landed: ok. not_ready: nothing has landed, send it again; refused: the
  // receiver has gone, or the seed was forged; too_long: than the receiver's buffer; out_of_bounds: with its
  // offset; link_ended, timed_out (it may still land), cancelled, forked; invalid: inside process_arrival.
  Status deliver(std::span<const std::byte> data, const DatagramOptions& options,
                 std::chrono::nanoseconds timeout) noexcept;
  Status deliver(std::span<const std::byte> data, std::chrono::nanoseconds timeout) noexcept {
    return deliver(data, {}, timeout);
  }

 private:
  Status post(std::span<const std::byte> data, const DatagramOptions& options, bool acknowledged,
              SendHandle* handle) noexcept;

  Manager& manager_;
  Ticket ticket_;
  Terminus terminus_;  // goes first, and sees off who waits
};

}  // namespace hamlyn
