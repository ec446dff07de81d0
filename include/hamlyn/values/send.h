#pragma once
// Options, handles and parts of what a terminus sends (hamlyn/core/terminus.h). Values.
#include <cstddef>
#include <cstdint>
#include <span>

#include "hamlyn/values/priority.h"

namespace hamlyn {

class NotificationQueue;

// Tells when the buffer of a send may be reused. A value.
struct SendHandle {
  std::uint64_t sequence = 0;  // the terminus numbers its sends from 1 on; 0: of nothing
  std::uint32_t entry = 0;     // of the work queue
};

struct TerminusOptions {
  std::size_t entries = 63;  // messages that may be under way at a time, 1 to 4096; 63 in the paper
  Priority priority = Priority::normal;  // of everything that leaves here
};

// A part of a send buffer area: of the one bound to `tag`, `length` bytes from `offset` on.
struct Piece {
  std::uint32_t tag = 0;
  std::uint64_t offset = 0;
  std::uint64_t length = 0;
};

// One of a row of fast-mode messages: what send_fast is given for a single one.
struct FastMessage {
  std::span<const std::byte> data;  // up to the MTU
  std::uint64_t word = 0;           // of metadata
  std::uint64_t offset = 0;         // from the ticket's base
};

struct SendOptions {
  std::uint64_t offset = 0;                  // from the ticket's base
  std::span<const std::byte> metadata = {};  // up to 60 bytes, kept in the receiver's metadata entry
  // The message is pending until the receiving interface says that all of it has landed (paper 1, section
  // 2.4): then `ok`; `refused` if that interface refused it. The buffer must stay as long. At most 32 at a
  // time to one interface; further ones wait in the terminus.
  bool acknowledged = false;
  // The data is numbers of so many bytes, 2, 4 or 8: a receiver whose byte order is another finds them in its
  // own (paper 4, section 7.2.5). 0: it is bytes, and lands as it is. It must divide the length and where the
  // data lands, from the slot's base (misaligned), and costs nothing where the orders are the same.
  std::uint32_t element = 0;
  // Hears when a message that was `pending` is over, of whatever is answered otherwise nothing; must outlive
  // that. Its place is reserved when the message is taken: no_place, nothing was.
  NotificationQueue* queue = nullptr;
  std::uint64_t word = 0;  // for that notification
};

}  // namespace hamlyn
