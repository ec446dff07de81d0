#pragma once
// The unit of protection (paper 0, section 2.2): a part of a message area, a key, a queue, and metadata
// entries. Several slots may lie on one area and notify one queue. Threads: any.
#include <cstddef>
#include <cstdint>
#include <span>

#include "hamlyn/limits.h"
#include "hamlyn/message_area.h"
#include "hamlyn/mode.h"
#include "hamlyn/notification_queue.h"
#include "hamlyn/share.h"
#include "hamlyn/ticket.h"

namespace hamlyn {

class Slot {
 public:
  struct Options {
    std::size_t base = 0;   // first byte, from the area's start
    std::size_t bound = 0;  // bytes; 0: to the area's end
    Mode mode = Mode::guarded;
    std::uint32_t entries = 0;   // metadata entries, at most 2^20; armed at once unless paranoid
    bool fast = true;            // takes fast-mode packets (not in the paranoid modes)
    std::uint32_t places = 256;  // queue places kept for fast mode per link that sends here
  };

  // A part of the slot that an entry is limited to, from the slot's base.
  using Limits = hamlyn::Limits;

  // Throws Error: invalid_argument, out_of_memory.
  Slot(MessageArea& area, NotificationQueue& queue, Options options);
  ~Slot();  // its tickets are refused from here on: the generation moves
  Slot(const Slot&) = delete;
  Slot& operator=(const Slot&) = delete;

  // A ticket for fast mode. Throws Error(invalid_argument) if the slot does not take it.
  Ticket ticket() const;
  // A ticket for a metadata entry. In the paranoid modes it carries the entry's own key and bounds.
  Ticket ticket(std::uint32_t entry) const;

  // Takes the next message in `entry`: after its completion has been read, or after `disarm`. The metadata
  // and the count start anew. Tickets stay good, except in paranoid one-shot mode, where each arming has a
  // new key. invalid: no such entry, or a message is under way in it.
  Status arm(std::uint32_t entry) noexcept;
  // Paranoid modes: the same with a new key and new limits; tickets given out before are refused from here
  // on.
  Status arm(std::uint32_t entry, Limits limits) noexcept;
  // Takes nothing more in `entry`; what was under way is forgotten, and its late packets are refused.
  Status disarm(std::uint32_t entry) noexcept;

  // Gives the slot a new key: tickets given out before are refused. (In the paranoid modes: arm entry by
  // entry.)
  void change_key();

  // Out-of-band metadata of the entry's message (up to 60 bytes); valid until the entry is armed again.
  std::span<const std::byte> metadata(std::uint32_t entry) const noexcept;
  // The message's bytes in place.
  std::span<std::byte> bytes(const Notification& notification) noexcept;
  std::span<std::byte> bytes() noexcept { return {data_, size_}; }

  // A pointer of the user's own, kept in the entry (paper 0, section 2.4).
  void set_pointer(std::uint32_t entry, void* pointer) noexcept;
  void* pointer(std::uint32_t entry) const noexcept;

  std::uint32_t index() const noexcept { return index_; }

 private:
  Interface& interface_;
  std::byte* data_ = nullptr;
  std::size_t size_ = 0;
  std::uint32_t index_ = 0;
};

}  // namespace hamlyn
