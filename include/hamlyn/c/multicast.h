#pragma once
// One message to an exact list of recipients, in C, with a count of those that have got it (hamlyn/c.h,
// docs/slots.md).
#include <stddef.h>
#include <stdint.h>

#include "hamlyn/c/interface.h"
#include "hamlyn/c/status.h"
#include "hamlyn/c/terminus.h"
#include "hamlyn/c/ticket.h"

#ifdef __cplusplus
extern "C" {
#endif

// Sends to lists, one after the other. One send at a time.
typedef struct hamlyn_multicast hamlyn_multicast;

// Recipients of the last send, by how it stands with them.
typedef struct hamlyn_multicast_count {
  size_t delivered;  // all of it is in their memory
  size_t failed;     // will not have it: hamlyn_multicast_state says why
  size_t waiting;    // have not answered yet
} hamlyn_multicast_count;

// To `most` recipients at a time at most, 1 to 4096; 0: 63.
HAMLYN_NODISCARD hamlyn_status hamlyn_multicast_make(hamlyn_interface* interface, size_t most,
                                                     hamlyn_multicast** made);
HAMLYN_NODISCARD hamlyn_status hamlyn_multicast_free(hamlyn_multicast* multicast);
// Sends into the metadata entry of each ticket. `data` stays until nobody is waiting. ok; or, and then
// nothing was sent: pending (somebody is waiting for the last one), too_long (more recipients than `most`, or
// metadata), invalid (one is no ticket, or is for fast mode), out_of_bounds, misaligned; no_buffer: no
// memory.
HAMLYN_NODISCARD hamlyn_status hamlyn_multicast_send(hamlyn_multicast* multicast,
                                                     const hamlyn_ticket* recipients, size_t count,
                                                     const void* data, size_t length,
                                                     const hamlyn_send_options* options);
// Waits until nobody is waiting, delivered or not: ok. Also timed_out, cancelled.
HAMLYN_NODISCARD hamlyn_status hamlyn_multicast_wait(hamlyn_multicast* multicast, int64_t timeout);
// Tells how it stands now with the last send. Waits for nothing.
HAMLYN_NODISCARD hamlyn_status hamlyn_multicast_count_now(hamlyn_multicast* multicast,
                                                          hamlyn_multicast_count* count);
// Says how it stands with one of the list: pending, ok (delivered), link_ended, refused, not_durable,
// cancelled; invalid: the list was not so long.
HAMLYN_NODISCARD hamlyn_status hamlyn_multicast_state(hamlyn_multicast* multicast, size_t recipient);
// Waits no more: who is waiting is cancelled, and the data is free. What has left may arrive.
HAMLYN_NODISCARD hamlyn_status hamlyn_multicast_stop(hamlyn_multicast* multicast);

#ifdef __cplusplus
}
#endif
