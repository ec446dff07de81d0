#pragma once
// Notification queues (paper 0, section 2.6), in C (hamlyn/c.h).
#include <stddef.h>
#include <stdint.h>

#include "hamlyn/c/interface.h"
#include "hamlyn/c/notification.h"
#include "hamlyn/c/status.h"

#ifdef __cplusplus
extern "C" {
#endif

// Tells of what has landed, in this process's own memory. It is freed after its slots.
typedef struct hamlyn_queue hamlyn_queue;

// `places`: from 16 to 2^20, rounded up to a power of two; 0: 4096.
HAMLYN_NODISCARD hamlyn_status hamlyn_queue_make(hamlyn_interface* interface, size_t places,
                                                 hamlyn_queue** made);
HAMLYN_NODISCARD hamlyn_status hamlyn_queue_free(hamlyn_queue* queue);
// The papers' h_rcv: up to `most` notifications that are there; `count` may be 0. Never waits.
HAMLYN_NODISCARD hamlyn_status hamlyn_poll(hamlyn_queue* queue, hamlyn_notification* notifications,
                                           size_t most, size_t* count);
// The papers' h_rcv_block: waits for the next one. ok, timed_out, cancelled, forked.
HAMLYN_NODISCARD hamlyn_status hamlyn_receive(hamlyn_queue* queue, int64_t timeout,
                                              hamlyn_notification* notification);
// For poll and epoll: readable when the queue may hold something. Poll the queue until it is empty before
// going back to epoll. Owned by the queue.
HAMLYN_NODISCARD hamlyn_status hamlyn_queue_descriptor(hamlyn_queue* queue, int* descriptor);

#ifdef __cplusplus
}
#endif
