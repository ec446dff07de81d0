#pragma once
// Slots with posted buffers (hamlyn/core/posted_slot.h), in C (hamlyn/c.h).
#include <stddef.h>
#include <stdint.h>

#include "hamlyn/c/notification_queue.h"
#include "hamlyn/c/status.h"
#include "hamlyn/c/terminus.h"
#include "hamlyn/c/ticket.h"

#ifdef __cplusplus
extern "C" {
#endif

// A key, and buffers that its owner posts: a message takes the oldest one when it arrives.
typedef struct hamlyn_posted_slot hamlyn_posted_slot;

// Bits of hamlyn_posted_slot_options.flags.
#define HAMLYN_HALTS UINT32_C(1)  // takes nothing more behind a message that had no buffer, until resumed

typedef struct hamlyn_posted_slot_options {
  size_t size;
  uint32_t buffers;  // posted, being filled, or notified and not read; 1 to 65536; 64
  uint32_t flags;    // HAMLYN_HALTS
} hamlyn_posted_slot_options;

// A part of a buffer.
typedef struct hamlyn_posted_piece {
  void* data;     // of this process; the interface's while it is posted
  size_t length;  // bytes
} hamlyn_posted_piece;

// A slot that tells in `queue`.
HAMLYN_NODISCARD hamlyn_status hamlyn_posted_slot_make(hamlyn_queue* queue,
                                                       const hamlyn_posted_slot_options* options,
                                                       hamlyn_posted_slot** made);
// Nothing lands any more. Buffers that were not notified are free.
HAMLYN_NODISCARD hamlyn_status hamlyn_posted_slot_free(hamlyn_posted_slot* slot);
// Gives the number that notifications of the slot carry in `slot`.
HAMLYN_NODISCARD hamlyn_status hamlyn_posted_slot_number(const hamlyn_posted_slot* slot, uint32_t* number);
// A ticket for hamlyn_send_posted.
HAMLYN_NODISCARD hamlyn_status hamlyn_posted_slot_ticket(const hamlyn_posted_slot* slot,
                                                         hamlyn_ticket* ticket);
// Posts a buffer of `count` pieces, at most 16. `number`, less than 2^63, comes back in the notification's
// `offset`. The memory belongs to the interface until then. queue_full, too_long, invalid.
HAMLYN_NODISCARD hamlyn_status hamlyn_posted_slot_post(hamlyn_posted_slot* slot,
                                                       const hamlyn_posted_piece* pieces, size_t count,
                                                       uint64_t number);
// Takes back the oldest buffer that no message has taken. not_ready: there is none.
HAMLYN_NODISCARD hamlyn_status hamlyn_posted_slot_take_back(hamlyn_posted_slot* slot, uint64_t* number);
// Takes messages again after a notification of kind HAMLYN_HALTED.
HAMLYN_NODISCARD hamlyn_status hamlyn_posted_slot_resume(hamlyn_posted_slot* slot);
// Tickets given out before are refused from here on.
HAMLYN_NODISCARD hamlyn_status hamlyn_posted_slot_change_key(hamlyn_posted_slot* slot);

// As hamlyn_send, to the oldest buffer of the ticket's slot, with a word for the notification there. Of the
// options only HAMLYN_ACKNOWLEDGED, `queue` and `word` may be set.
HAMLYN_NODISCARD hamlyn_status hamlyn_send_posted(hamlyn_terminus* terminus, const hamlyn_ticket* ticket,
                                                  const void* data, size_t length, uint64_t word,
                                                  const hamlyn_send_options* options,
                                                  hamlyn_send_handle* handle);

#ifdef __cplusplus
}
#endif
