#pragma once
// Slots (paper 0, section 2.2), in C (hamlyn/c.h).
#include <stddef.h>
#include <stdint.h>

#include "hamlyn/c/message_area.h"
#include "hamlyn/c/notification.h"
#include "hamlyn/c/notification_queue.h"
#include "hamlyn/c/status.h"
#include "hamlyn/c/ticket.h"

#ifdef __cplusplus
extern "C" {
#endif

// The unit of protection: a part of an area, a key, and metadata entries.
typedef struct hamlyn_slot hamlyn_slot;

// How a slot checks what arrives (paper 0, section 2.7).
enum hamlyn_mode {
  HAMLYN_MODE_GUARDED = 0,           // the slot's key and bounds hold for every entry
  HAMLYN_MODE_PARANOID = 1,          // each entry has a key and bounds of its own
  HAMLYN_MODE_PARANOID_ONE_SHOT = 2  // the same, and the entry takes one message per arming
};

// Operations that peers may do at a slot (paper 1, section 3.5.2).
enum hamlyn_access { HAMLYN_READ_WRITE = 0, HAMLYN_READ_ONLY = 1, HAMLYN_WRITE_ONLY = 2 };

// Bits of hamlyn_slot_options.flags.
#define HAMLYN_NO_FAST UINT32_C(1)  // takes no fast-mode packets
#define HAMLYN_FETCHES UINT32_C(2)  // takes fetch-and-ops
#define HAMLYN_PUTS UINT32_C(4)     // takes puts (hamlyn/c/segment.h)

typedef struct hamlyn_slot_options {
  size_t size;
  size_t base;       // first byte, from the area's start
  size_t bound;      // bytes; 0: to the area's end
  uint32_t mode;     // enum hamlyn_mode
  uint32_t access;   // enum hamlyn_access
  uint32_t entries;  // metadata entries, at most 2^20; armed at once unless paranoid
  uint32_t places;   // queue places kept for fast mode per link that sends here; 256
  uint32_t gets;     // bytes that one remote get may ask for, up to 64 KiB
  uint32_t flags;    // HAMLYN_NO_FAST, HAMLYN_FETCHES, HAMLYN_PUTS
  uint64_t hold;     // bytes for puts that wait while a part of it is inhibited or not pinned; 65536
} hamlyn_slot_options;

// A slot on `area`, which tells in `queue`.
HAMLYN_NODISCARD hamlyn_status hamlyn_slot_make(hamlyn_area* area, hamlyn_queue* queue,
                                                const hamlyn_slot_options* options, hamlyn_slot** made);
// Its tickets are refused from here on.
HAMLYN_NODISCARD hamlyn_status hamlyn_slot_free(hamlyn_slot* slot);
// Gives the number that notifications of the slot carry in `slot`. Slots that had its place before had
// others.
HAMLYN_NODISCARD hamlyn_status hamlyn_slot_number(const hamlyn_slot* slot, uint32_t* number);
// A ticket for fast mode, remote operations and mapping, whichever the slot takes.
HAMLYN_NODISCARD hamlyn_status hamlyn_slot_ticket(const hamlyn_slot* slot, hamlyn_ticket* ticket);
// A ticket for a metadata entry.
HAMLYN_NODISCARD hamlyn_status hamlyn_slot_entry_ticket(const hamlyn_slot* slot, uint32_t entry,
                                                        hamlyn_ticket* ticket);
// Takes the next message in `entry`: when its notification was read, or after disarm.
HAMLYN_NODISCARD hamlyn_status hamlyn_slot_arm(hamlyn_slot* slot, uint32_t entry);
// Paranoid modes: the same with a new key and new bounds, `bound` bytes from `base` on.
HAMLYN_NODISCARD hamlyn_status hamlyn_slot_arm_within(hamlyn_slot* slot, uint32_t entry, uint64_t base,
                                                      uint64_t bound);
// Takes a group of messages in `entry`, with one notification when all have come (paper 0, section 2.5), and
// fills `shares`, one for each of `members` (1 to 65536): for `part` bytes each, side by side; or, if `part`
// is 0, for the same bytes, all of the slot's. invalid: it is armed, as those of a guarded slot are at first,
// or was not read.
HAMLYN_NODISCARD hamlyn_status hamlyn_slot_arm_group(hamlyn_slot* slot, uint32_t entry, uint32_t members,
                                                     uint64_t part, hamlyn_share* shares);
// Takes nothing more in `entry`; what was under way is forgotten.
HAMLYN_NODISCARD hamlyn_status hamlyn_slot_disarm(hamlyn_slot* slot, uint32_t entry);
// Paranoid modes: takes back the right of whoever has the ticket of `entry`, at any moment.
HAMLYN_NODISCARD hamlyn_status hamlyn_slot_revoke(hamlyn_slot* slot, uint32_t entry);
// An armed entry fails if it is not complete within `time`; HAMLYN_FOREVER takes that back.
HAMLYN_NODISCARD hamlyn_status hamlyn_slot_fail_after(hamlyn_slot* slot, uint32_t entry, int64_t time);
// An armed entry fails also if the link with interface `peer` ends before `peer` has sent anything.
HAMLYN_NODISCARD hamlyn_status hamlyn_slot_expect(hamlyn_slot* slot, uint32_t entry, uint64_t peer);
// One notification for the next `messages` messages together; 0: each has its own.
HAMLYN_NODISCARD hamlyn_status hamlyn_slot_notify_after(hamlyn_slot* slot, uint32_t messages);
// Bytes that have landed since it was made: of messages when they are whole, of puts packet by packet.
HAMLYN_NODISCARD hamlyn_status hamlyn_slot_landed(const hamlyn_slot* slot, uint64_t* bytes);
// Waits until so many have. ok, timed_out, cancelled, forked.
HAMLYN_NODISCARD hamlyn_status hamlyn_slot_wait_landed(hamlyn_slot* slot, uint64_t bytes, int64_t timeout);
// Tickets given out before are refused.
HAMLYN_NODISCARD hamlyn_status hamlyn_slot_change_key(hamlyn_slot* slot);
// Where it is, in its area, and how long.
HAMLYN_NODISCARD hamlyn_status hamlyn_slot_bytes(hamlyn_slot* slot, void** data, size_t* length);
// The bytes of the message that `notification` tells of, in place. out_of_bounds: it is not of this slot.
HAMLYN_NODISCARD hamlyn_status hamlyn_slot_message(hamlyn_slot* slot, const hamlyn_notification* notification,
                                                   void** data, size_t* length);
// Out-of-band metadata of the entry's message, up to 60 bytes; until the entry is armed again.
HAMLYN_NODISCARD hamlyn_status hamlyn_slot_metadata(const hamlyn_slot* slot, uint32_t entry,
                                                    const void** data, size_t* length);

#ifdef __cplusplus
}
#endif
