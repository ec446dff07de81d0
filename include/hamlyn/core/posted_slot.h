#pragma once
// A slot whose owner posts buffers, and whose senders name no place: a message takes the oldest buffer when
// its first packet arrives, and lands there (paper 2, section 3.1: the receive queue of a VI). The interface
// lands it while the program computes.
//
// Its queue is told of the ends of all links (Notification::Kind::link_ended): any may have sent here.
//
// Threads: any. Owner: who made it; its queue outlives it. Buffers belong to the interface from `post` until
// they are notified or taken back. Tickets are values.
#include <cstddef>
#include <cstdint>
#include <span>

#include "hamlyn/core/notification_queue.h"
#include "hamlyn/values/status.h"
#include "hamlyn/values/ticket.h"

namespace hamlyn {

class PostedSlot {
 public:
  static constexpr std::size_t kMostPieces = 16;  // of a buffer

  struct Options {
    std::uint32_t buffers = 64;  // posted, being filled, or notified and not read; 1 to 65536
    // A message that finds no buffer, or one that is too short, halts the slot: it takes nothing more until
    // `resume`, and the queue has one notification of kind `halted`. So no later message overtakes it.
    bool halts = false;
  };

  // Throws Error: invalid_argument, out_of_memory, forked.
  PostedSlot(NotificationQueue& queue, Options options);
  // Nothing lands any more. Buffers that were not notified are free.
  ~PostedSlot();
  PostedSlot(const PostedSlot&) = delete;
  PostedSlot& operator=(const PostedSlot&) = delete;

  // A ticket for Terminus::send_posted.
  [[nodiscard]] Ticket ticket() const;

  // Posts a buffer of up to kMostPieces pieces of this process's memory, filled in their order. `number`,
  // less than 2^63, comes back in the notification's `offset`. ok; queue_full: all Options::buffers are in
  // use; invalid: too many pieces, or such a number; too_long: more than 2^32 - 1 bytes. Never waits,
  // allocates nothing.
  Status post(std::span<const std::span<std::byte>> pieces, std::uint64_t number) noexcept;
  Status post(std::span<std::byte> buffer, std::uint64_t number) noexcept {
    return post({&buffer, 1}, number);
  }
  // Takes back the oldest buffer that no message has taken. not_ready: there is none.
  Status take_back(std::uint64_t& number) noexcept;
  // Takes messages again after `halted`.
  void resume() noexcept;
  // Buffers that are posted and that no message has taken.
  std::uint32_t posted() const noexcept;
  // Gives the slot a new key: tickets given out before are refused. Buffers that are being filled fail.
  void change_key();

  // Number that the slot's notifications carry in `slot`.
  std::uint32_t number() const noexcept { return number_; }
  Interface& interface() noexcept { return queue_.interface(); }

 private:
  std::uint32_t index() const noexcept;

  NotificationQueue& queue_;
  std::uint32_t number_ = 0;
};

}  // namespace hamlyn
