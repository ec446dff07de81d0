#pragma once
// Termini, where messages leave (paper 0, section 2.3), in C (hamlyn/c.h).
#include <stddef.h>
#include <stdint.h>

#include "hamlyn/c/interface.h"
#include "hamlyn/c/notification_queue.h"
#include "hamlyn/c/send_buffer_area.h"
#include "hamlyn/c/status.h"
#include "hamlyn/c/ticket.h"

#ifdef __cplusplus
extern "C" {
#endif

// A work queue, private to this process.
typedef struct hamlyn_terminus hamlyn_terminus;

// Levels of urgency, end to end (docs/slots.md).
enum hamlyn_priority { HAMLYN_NORMAL = 0, HAMLYN_URGENT = 1 };

typedef struct hamlyn_terminus_options {
  size_t size;
  uint32_t entries;   // messages that may be under way at a time, 1 to 4096; 63
  uint32_t priority;  // enum hamlyn_priority, of everything that leaves here
} hamlyn_terminus_options;

// Tells when the buffer of a send may be reused. A value, to be given back as it is; zeros: of nothing.
typedef struct hamlyn_send_handle {
  uint64_t sequence;  // the terminus numbers its sends from 1 on
  uint64_t entry;     // of the work queue
} hamlyn_send_handle;

// Bits of hamlyn_send_options.flags.
#define HAMLYN_ACKNOWLEDGED UINT64_C(1)  // pending until all of it has landed; at most 32 at a time
// Here and in hamlyn_remote_options.flags of a get, at most one of HAMLYN_ELEMENT_2, HAMLYN_ELEMENT_4 and
// HAMLYN_ELEMENT_8: the data is numbers of so many bytes, which a receiver of the other byte order finds
// in its own.
#define HAMLYN_ELEMENT_2 UINT64_C(2)
#define HAMLYN_ELEMENT_4 UINT64_C(4)
#define HAMLYN_ELEMENT_8 UINT64_C(8)

typedef struct hamlyn_send_options {
  size_t size;
  uint64_t offset;         // from the ticket's base
  const void* metadata;    // kept in the receiver's metadata entry
  size_t metadata_length;  // up to 60
  uint64_t flags;          // HAMLYN_ACKNOWLEDGED, HAMLYN_ELEMENT_2, _4 or _8
  hamlyn_queue* queue;     // hears when a message that was pending is over; NULL: none does
  uint64_t word;           // for that notification
} hamlyn_send_options;

// `length` bytes from `offset` on of the send buffer area that is bound to `tag`.
typedef struct hamlyn_piece {
  uint64_t tag;
  uint64_t offset;
  uint64_t length;
} hamlyn_piece;

// As many as wanted, per process and per thread.
HAMLYN_NODISCARD hamlyn_status hamlyn_terminus_make(hamlyn_interface* interface,
                                                    const hamlyn_terminus_options* options,
                                                    hamlyn_terminus** made);
// Cancels what was not sent whole.
HAMLYN_NODISCARD hamlyn_status hamlyn_terminus_free(hamlyn_terminus* terminus);
// Makes the link to the ticket's interface and, for a fast-mode ticket, gets places there.
HAMLYN_NODISCARD hamlyn_status hamlyn_connect(hamlyn_terminus* terminus, const hamlyn_ticket* ticket,
                                              int64_t timeout);
// The papers' h_send_msg: any number of bytes into the ticket's metadata entry. Returns at once: ok, the
// buffer is free; pending, it must stay until hamlyn_send_state(handle) no longer says so; anything else,
// nothing was taken. `handle` may be NULL.
HAMLYN_NODISCARD hamlyn_status hamlyn_send(hamlyn_terminus* terminus, const hamlyn_ticket* ticket,
                                           const void* data, size_t length,
                                           const hamlyn_send_options* options, hamlyn_send_handle* handle);
// Sends as a member of a group; uses the share up.
HAMLYN_NODISCARD hamlyn_status hamlyn_send_share(hamlyn_terminus* terminus, const hamlyn_share* share,
                                                 const void* data, size_t length,
                                                 const hamlyn_send_options* options,
                                                 hamlyn_send_handle* handle);
// Names an area by a tag of this terminus, 0 to 7; `area` NULL: takes the name back.
HAMLYN_NODISCARD hamlyn_status hamlyn_bind(hamlyn_terminus* terminus, uint32_t tag, hamlyn_send_area* area);
// Up to 16 pieces of bound areas as one message. The areas' bytes stay in use until it is no longer pending.
HAMLYN_NODISCARD hamlyn_status hamlyn_send_gathered(hamlyn_terminus* terminus, const hamlyn_ticket* ticket,
                                                    const hamlyn_piece* pieces, size_t count,
                                                    const hamlyn_send_options* options,
                                                    hamlyn_send_handle* handle);
// Fast mode (paper 0, section 2.7): one packet, up to the MTU, and one word of metadata.
HAMLYN_NODISCARD hamlyn_status hamlyn_send_fast(hamlyn_terminus* terminus, const hamlyn_ticket* ticket,
                                                const void* data, size_t length, uint64_t word,
                                                uint64_t offset);
// Waits until a fast-mode send to `ticket` has a place, or the link has ended: also just before, said once.
HAMLYN_NODISCARD hamlyn_status hamlyn_wait_for_place(hamlyn_terminus* terminus, const hamlyn_ticket* ticket,
                                                     int64_t timeout);
// How it stands with a send: pending, ok, refused, link_ended, cancelled. Runs nothing.
HAMLYN_NODISCARD hamlyn_status hamlyn_send_state(const hamlyn_terminus* terminus, hamlyn_send_handle handle);
// Waits until it is no longer pending.
HAMLYN_NODISCARD hamlyn_status hamlyn_send_wait(hamlyn_terminus* terminus, hamlyn_send_handle handle,
                                                int64_t timeout);
// Says why an acknowledged message was refused (enum hamlyn_refusal).
HAMLYN_NODISCARD hamlyn_status hamlyn_send_refusal(const hamlyn_terminus* terminus, hamlyn_send_handle handle,
                                                   uint32_t* cause);
// Forgets the rest of a message that is pending. HAMLYN_PENDING: all of it has left, and the receiver still
// reads its areas.
HAMLYN_NODISCARD hamlyn_status hamlyn_send_cancel(hamlyn_terminus* terminus, hamlyn_send_handle handle);
// The sequence word: every send up to that number is over.
HAMLYN_NODISCARD hamlyn_status hamlyn_sequence(const hamlyn_terminus* terminus, uint64_t* sequence);
// Takes the first `bytes` of a share's buffer off as `piece`, for a helper or for another message.
HAMLYN_NODISCARD hamlyn_status hamlyn_share_split(hamlyn_share* share, uint64_t bytes, hamlyn_share* piece);

#ifdef __cplusplus
}
#endif
