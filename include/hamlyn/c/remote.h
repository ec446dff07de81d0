#pragma once
// Remote operations (paper 1, sections 3.1 and 3.3), in C (hamlyn/c.h).
#include <stddef.h>
#include <stdint.h>

#include "hamlyn/c/notification_queue.h"
#include "hamlyn/c/slot.h"
#include "hamlyn/c/status.h"
#include "hamlyn/c/terminus.h"
#include "hamlyn/c/ticket.h"

#ifdef __cplusplus
extern "C" {
#endif

// Operations on the word, each done at one moment; frozen numbers. HAMLYN_SWAP puts the operand there.
enum hamlyn_fetch_op {
  HAMLYN_ADD = 1,
  HAMLYN_AND = 2,
  HAMLYN_OR = 3,
  HAMLYN_XOR = 4,
  HAMLYN_SWAP = 5,
  HAMLYN_MIN_SIGNED = 6,
  HAMLYN_MAX_SIGNED = 7,
  HAMLYN_MIN_UNSIGNED = 8,
  HAMLYN_MAX_UNSIGNED = 9,
  HAMLYN_COMPARE_AND_SWAP = 10
};

// A fetch-and-op on a word that lies at a multiple of its size.
typedef struct hamlyn_fetch_request {
  uint32_t op;       // enum hamlyn_fetch_op
  uint32_t bytes;    // of the word, 4 or 8
  uint64_t operand;  // of a word of 4 bytes the low half counts
  uint64_t compare;  // for HAMLYN_COMPARE_AND_SWAP: what must stand there
} hamlyn_fetch_request;

// Data in chunks: `x_chunks` of `chunk` bytes, one every `x_stride` bytes, and `y_chunks` such rows, one
// every `y_stride` bytes (paper 4, section 3.3, WRITEV).
typedef struct hamlyn_strides {
  uint32_t chunk;
  uint32_t x_chunks;
  uint32_t y_chunks;
  uint32_t reserved;  // 0
  uint64_t x_stride;
  uint64_t y_stride;
} hamlyn_strides;

// Bits of hamlyn_remote_options.flags.
#define HAMLYN_NO_ANSWER UINT64_C(1)  // a fetch of which nothing comes back
#define HAMLYN_FENCED UINT64_C(32)  // such a fetch counts as a put: hamlyn_fence says whether it was refused
#define HAMLYN_TELL UINT64_C(16)    // the owner is told when it is done, if it wants to be; as of puts

typedef struct hamlyn_remote_options {
  size_t size;
  uint64_t offset;      // from the ticket's base
  hamlyn_queue* queue;  // hears when it is over, with `word`; must outlive it
  uint64_t word;
  uint64_t flags;                 // HAMLYN_NO_ANSWER, _FENCED, _TELL, _ELEMENT_2, _4 or _8
  const hamlyn_strides* strides;  // a get gathers these chunks; NULL: from one run
} hamlyn_remote_options;

// Names a remote operation of one terminus. A value.
typedef struct hamlyn_remote_handle {
  uint64_t sequence;  // 0: of nothing
} hamlyn_remote_handle;

// How a remote operation ended. After link_ended nobody knows whether it was done.
typedef struct hamlyn_outcome {
  hamlyn_status status;  // pending, ok, refused, link_ended, cancelled
  uint32_t cause;        // enum hamlyn_refusal
  uint64_t value;        // fetch: what stood there before
} hamlyn_outcome;

// Asks for a fetch-and-op: pending, or why it was not asked for. `handle` may be NULL.
HAMLYN_NODISCARD hamlyn_status hamlyn_fetch(hamlyn_terminus* terminus, const hamlyn_ticket* ticket,
                                            const hamlyn_fetch_request* request,
                                            const hamlyn_remote_options* options,
                                            hamlyn_remote_handle* handle);
// Asks for `length` bytes, which land in `into`, a slot of this interface, from its byte `at` on.
HAMLYN_NODISCARD hamlyn_status hamlyn_get(hamlyn_terminus* terminus, const hamlyn_ticket* ticket,
                                          hamlyn_slot* into, uint64_t at, size_t length,
                                          const hamlyn_remote_options* options, hamlyn_remote_handle* handle);
// How it stands. The answer is `outcome->status`, too.
HAMLYN_NODISCARD hamlyn_status hamlyn_remote_outcome(const hamlyn_terminus* terminus,
                                                     hamlyn_remote_handle handle, hamlyn_outcome* outcome);
// Waits until it is over; also timed_out, cancelled.
HAMLYN_NODISCARD hamlyn_status hamlyn_remote_wait(hamlyn_terminus* terminus, hamlyn_remote_handle handle,
                                                  int64_t timeout, hamlyn_outcome* outcome);
// Why the link has ended with which puts may be lost: of the outcome of a fence or a flush that is
// link_ended, as enum hamlyn_link_reason; `told` becomes 1 if the process at the other side has said so. Of
// another: 0.
HAMLYN_NODISCARD hamlyn_status hamlyn_outcome_why(const hamlyn_outcome* outcome, uint32_t* reason,
                                                  uint32_t* told);

#ifdef __cplusplus
}
#endif
