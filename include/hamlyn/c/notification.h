#pragma once
// Notifications of a queue, and the reasons of refusals and failures, in C (hamlyn/c.h).
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

// Why a packet was refused; frozen numbers.
enum hamlyn_refusal {
  HAMLYN_REFUSAL_NONE = 0,
  HAMLYN_REFUSAL_MALFORMED = 1,
  HAMLYN_REFUSAL_BAD_SLOT = 2,
  HAMLYN_REFUSAL_STALE_GENERATION = 3,
  HAMLYN_REFUSAL_BAD_KEY = 4,
  HAMLYN_REFUSAL_MODE_FORBIDS = 5,
  HAMLYN_REFUSAL_OUT_OF_BOUNDS = 6,
  HAMLYN_REFUSAL_BAD_ENTRY = 7,
  HAMLYN_REFUSAL_ENTRY_NOT_ARMED = 8,
  HAMLYN_REFUSAL_ENTRY_BUSY = 9,
  HAMLYN_REFUSAL_STALE_MESSAGE = 10,
  HAMLYN_REFUSAL_METADATA_TOO_LONG = 11,
  HAMLYN_REFUSAL_NO_PLACE = 12,
  HAMLYN_REFUSAL_OVER_BUDGET = 13,
  HAMLYN_REFUSAL_MISALIGNED = 14,
  HAMLYN_REFUSAL_UNASKED_REPLY = 15,
  HAMLYN_REFUSAL_BAD_SHARE = 16,
  HAMLYN_REFUSAL_BAD_AREA = 17,
  HAMLYN_REFUSAL_TOO_LONG = 18,
  HAMLYN_REFUSAL_NOT_DURABLE = 19,
  HAMLYN_REFUSAL_NOT_PINNED = 20,
  HAMLYN_REFUSAL_INHIBITED = 21,
  HAMLYN_REFUSAL_HOLD_FULL = 22,
  HAMLYN_REFUSAL_NOT_PERMITTED = 23,
  HAMLYN_REFUSAL_NO_BUFFER = 24
};
// Never NULL.
const char* hamlyn_refusal_name(uint32_t refusal);

// Kinds of notification; frozen numbers.
enum hamlyn_notification_kind {
  HAMLYN_MESSAGE = 0,         // a message is complete
  HAMLYN_FAILED = 1,          // the entry will not complete; `word` is an enum hamlyn_failure
  HAMLYN_PROTOCOL_ERROR = 2,  // `word` packets of one link were refused for one `cause`
  // Links to `peer` (0: any) that had used this queue ended; `word` says how many, `entry` why (enum
  // hamlyn_link_reason), and `message_id` is 1 if the other side has said so.
  HAMLYN_LINK_ENDED_NOTICE = 3,
  HAMLYN_REMOTE_DONE = 4,    // a remote operation of this interface is over; `word` is its own
  HAMLYN_REMOTE_FAILED = 5,  // the same, but not done; `cause` says why it was refused
  HAMLYN_PUT = 6,            // puts have landed; `word` says how many
  HAMLYN_PUT_HELD = 7,       // the same, of puts that wait
  HAMLYN_GOT = 8,            // the same, of gets that were answered here
  HAMLYN_FETCHED = 9,        // the same, of fetch-and-ops that were done here
  HAMLYN_ATTACHMENT = 10,    // `word`: 1: cut off from the node's daemon, 0: attached again
  // As HAMLYN_PROTOCOL_ERROR, but something here has run out: `cause` says what, HAMLYN_REFUSAL_NO_PLACE
  // (places of this queue) or HAMLYN_REFUSAL_HOLD_FULL (puts that may wait). HAMLYN_REFUSAL_NONE:
  // descriptors, memory or links, for links that others wanted; `entry` says which (enum
  // hamlyn_link_reason), `word` how often, `peer` who was the last
  HAMLYN_RESOURCE_EXHAUSTED = 11,
  HAMLYN_SENT = 12,         // a message of this interface has been sent; `word` is its own
  HAMLYN_SEND_FAILED = 13,  // the same, but not sent; `cause` says why it was refused
  HAMLYN_HALTED = 14        // a slot with posted buffers takes no more; `cause` says what was missing
};

// Why an entry will not complete; frozen numbers.
enum hamlyn_failure {
  HAMLYN_FAILURE_NONE = 0,
  HAMLYN_FAILURE_LINK_ENDED = 1,  // of a link that was filling it, or that it was said to wait for
  HAMLYN_FAILURE_TIMED_OUT = 2,   // the time given to it has passed
  HAMLYN_FAILURE_ABANDONED = 3,   // its sender says that the rest will not come
  HAMLYN_FAILURE_MISCOUNTED = 4   // a group: its members' packets add more than the group has left
};

// One notification of a queue (paper 0, table 3).
typedef struct hamlyn_notification {
  uint8_t kind;         // enum hamlyn_notification_kind
  uint8_t wrap;         // 1: the first of a new turn of the queue
  uint8_t fast;         // 1: fast mode, without a metadata entry
  uint8_t cause;        // enum hamlyn_refusal
  uint32_t slot;        // hamlyn_slot_number of the slot
  uint32_t entry;       // metadata entry; of nothing in fast mode
  uint32_t message_id;  // the sender's number of the message
  uint64_t offset;      // of the first byte, from the slot's base; of a posted buffer its number
  uint64_t length;      // bytes that landed
  uint64_t word;        // fast mode, and posted buffers: the sender's word of metadata
  uint64_t peer;        // the interface that sent it, as the node attests; 0: several did, or nobody
  uint64_t reserved[2];
} hamlyn_notification;

#ifdef __cplusplus
}
#endif
