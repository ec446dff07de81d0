#pragma once
// The C interface of the protocols (docs/messages.md): managers, datagrams, streams, tagged remote writes.
// The rules of all functions and handles stand at the top of hamlyn/c.h.
#include "hamlyn/c.h"

#ifdef __cplusplus
extern "C" {
#endif

// --- managers (paper 0, section 3.3): an interface, and what the protocols need of it

// One attachment to the node, and what runs all receivers of it. `_free` refuses while something is made
// from it.
typedef struct hamlyn_manager hamlyn_manager;

typedef struct hamlyn_manager_options {
  size_t size;
  const hamlyn_interface_options* interface;  // NULL: its defaults
  size_t places;                              // of its notification queue; 8192
} hamlyn_manager_options;

// Attaches this process to its host's node.
HAMLYN_NODISCARD hamlyn_status hamlyn_manager_make(const hamlyn_manager_options* options,
                                                   hamlyn_manager** made);
HAMLYN_NODISCARD hamlyn_status hamlyn_manager_free(hamlyn_manager* manager);
// Its interface, which stays the manager's: not to be freed, nor used when the manager has gone.
HAMLYN_NODISCARD hamlyn_status hamlyn_manager_interface(hamlyn_manager* manager,
                                                        hamlyn_interface** interface);
// Registers a seed under a name: as hamlyn_publish; also seed_invalid.
HAMLYN_NODISCARD hamlyn_status hamlyn_manager_publish(hamlyn_manager* manager, const char* name,
                                                      const hamlyn_seed* seed, uint32_t rights);
// As hamlyn_withdraw.
HAMLYN_NODISCARD hamlyn_status hamlyn_manager_withdraw(hamlyn_manager* manager, const char* name);
// The seed registered under `name`; waits for somebody to register it. As hamlyn_lookup; also
// seed_wrong_kind: a plain ticket is registered there.
HAMLYN_NODISCARD hamlyn_status hamlyn_manager_lookup(hamlyn_manager* manager, const char* name,
                                                     int64_t timeout, hamlyn_seed* seed);
// The papers' poll_nowait: gives the next message that has arrived to its receiver. `given`: 0, there was
// none, and since the last call none was given to any receiver.
HAMLYN_NODISCARD hamlyn_status hamlyn_manager_poll(hamlyn_manager* manager, int* given);
// Waits until one was given, to any receiver.
HAMLYN_NODISCARD hamlyn_status hamlyn_manager_wait(hamlyn_manager* manager, int64_t timeout);
// For epoll: before going back to it take from each receiver until it has nothing more, and anew as long as
// hamlyn_manager_poll says that something was given.
HAMLYN_NODISCARD hamlyn_status hamlyn_manager_descriptor(hamlyn_manager* manager, int* descriptor);
// Ends every wait that is going on in other threads with HAMLYN_CANCELLED.
HAMLYN_NODISCARD hamlyn_status hamlyn_manager_cancel(hamlyn_manager* manager);

// --- datagrams: one at a time, or not at all; no queue

// Has a buffer, and is ready for one datagram, or is not.
typedef struct hamlyn_datagram_receiver hamlyn_datagram_receiver;
// Sends to one receiver.
typedef struct hamlyn_datagram_sender hamlyn_datagram_sender;

// One that has landed.
typedef struct hamlyn_datagram {
  void* data;          // in place, until the receiver is made ready again
  size_t length;       // bytes
  uint64_t offset;     // of the first byte in the receiver's buffer
  uint64_t sender;     // its interface, as the node attests
  uint64_t has_reply;  // 1: `reply` is a seed of a receiver of the sender's own
  hamlyn_seed reply;
} hamlyn_datagram;

typedef struct hamlyn_datagram_options {
  size_t size;
  uint64_t offset;                        // in the receiver's buffer
  const hamlyn_datagram_receiver* reply;  // its seed goes along; of the same manager
} hamlyn_datagram_options;

// The receiver is ready at once.
HAMLYN_NODISCARD hamlyn_status hamlyn_datagram_receiver_make(hamlyn_manager* manager, size_t bytes,
                                                             hamlyn_datagram_receiver** made);
HAMLYN_NODISCARD hamlyn_status hamlyn_datagram_receiver_free(hamlyn_datagram_receiver* receiver);
// The papers' make_seed; for any number of senders.
HAMLYN_NODISCARD hamlyn_status hamlyn_datagram_make_seed(const hamlyn_datagram_receiver* receiver,
                                                         hamlyn_seed* seed);
// Takes the next datagram; the bytes of the last one may be overwritten from here on.
HAMLYN_NODISCARD hamlyn_status hamlyn_datagram_make_ready(hamlyn_datagram_receiver* receiver);
// Waits for the datagram. ok; timed_out, cancelled, forked; abandoned, link_ended: its sender gave up, or
// has gone, in the middle of it.
HAMLYN_NODISCARD hamlyn_status hamlyn_datagram_receive(hamlyn_datagram_receiver* receiver, int64_t timeout,
                                                       hamlyn_datagram* datagram);
// seed_invalid, seed_wrong_kind. Whether the receiver lives, the first datagram says.
HAMLYN_NODISCARD hamlyn_status hamlyn_datagram_sender_make(hamlyn_manager* manager, const hamlyn_seed* seed,
                                                           hamlyn_datagram_sender** made);
HAMLYN_NODISCARD hamlyn_status hamlyn_datagram_sender_free(hamlyn_datagram_sender* sender);
// As hamlyn_send; a receiver that is not ready drops it without a word. `handle` may be NULL.
HAMLYN_NODISCARD hamlyn_status hamlyn_datagram_send(hamlyn_datagram_sender* sender, const void* data,
                                                    size_t length, const hamlyn_datagram_options* options,
                                                    hamlyn_send_handle* handle);
// As hamlyn_send_state.
HAMLYN_NODISCARD hamlyn_status hamlyn_datagram_state(hamlyn_datagram_sender* sender,
                                                     hamlyn_send_handle handle);
// Waits until it has landed: ok; not_ready: nothing has, send it again; refused: the receiver has gone, or
// the seed was forged. One at a time per sender.
HAMLYN_NODISCARD hamlyn_status hamlyn_datagram_deliver(hamlyn_datagram_sender* sender, const void* data,
                                                       size_t length, const hamlyn_datagram_options* options,
                                                       int64_t timeout);

// --- streams: one way, in order, nothing lost; records, or bytes

// Has one sender at a time.
typedef struct hamlyn_stream_receiver hamlyn_stream_receiver;
// One end of one stream.
typedef struct hamlyn_stream_sender hamlyn_stream_sender;

// In the receiver's memory.
typedef struct hamlyn_record {
  void* data;       // in place, until it is released
  size_t length;    // bytes
  uint64_t number;  // of the stream's: 1, 2, ...
} hamlyn_record;

typedef struct hamlyn_stream_receiver_options {
  size_t size;
  size_t first;    // bytes of buffer to begin with; 64 KiB
  size_t most;     // and at most; no record is longer; 4 MiB. Whole multiples of 64, to 2^30
  size_t parcels;  // messages unreleased at a time, a power of two from 4 to 4096; 64
  // Whether interface `sender`, which has come with the seed, may send: not 0. NULL: it may. Called by any
  // thread that runs the manager; it must not wait, nor free a receiver.
  int (*admit)(void* context, uint64_t sender);
  void* context;  // for `admit`
} hamlyn_stream_receiver_options;

typedef struct hamlyn_stream_sender_options {
  size_t size;
  size_t together;  // bytes that small records are gathered in, 2048 to 65536; 8192
  int64_t timeout;  // for the opening; 10 s
  // How long the first of them waits for company before it leaves all the same, to a second; 50 us.
  // HAMLYN_FOREVER: small records leave when enough have gathered, at a flush, at the close and before a
  // wait.
  int64_t linger;
} hamlyn_stream_sender_options;

// For one stream after the other.
HAMLYN_NODISCARD hamlyn_status hamlyn_stream_receiver_make(hamlyn_manager* manager,
                                                           const hamlyn_stream_receiver_options* options,
                                                           hamlyn_stream_receiver** made);
HAMLYN_NODISCARD hamlyn_status hamlyn_stream_receiver_free(hamlyn_stream_receiver* receiver);
// The papers' make_seed; for one sender, once. invalid_argument: a sender is there.
HAMLYN_NODISCARD hamlyn_status hamlyn_stream_make_seed(hamlyn_stream_receiver* receiver, hamlyn_seed* seed);
// Waits for the next record. Also how the stream has ended: closed, abandoned, link_ended, broken.
HAMLYN_NODISCARD hamlyn_status hamlyn_stream_receive(hamlyn_stream_receiver* receiver, int64_t timeout,
                                                     hamlyn_record* record);
// Gives back this record and all before it.
HAMLYN_NODISCARD hamlyn_status hamlyn_stream_release(hamlyn_stream_receiver* receiver,
                                                     const hamlyn_record* record);
// As bytes: waits for some, copies up to `most` of them. The end of the stream is closed, with a count of 0.
HAMLYN_NODISCARD hamlyn_status hamlyn_stream_read(hamlyn_stream_receiver* receiver, void* into, size_t most,
                                                  int64_t timeout, size_t* count);
// Wants no more: the sender is told closed. Waits until it has stopped.
HAMLYN_NODISCARD hamlyn_status hamlyn_stream_receiver_close(hamlyn_stream_receiver* receiver,
                                                            int64_t timeout);
// Its interface, as the node attests; 0: there was none yet.
HAMLYN_NODISCARD hamlyn_status hamlyn_stream_sender_of(const hamlyn_stream_receiver* receiver,
                                                       uint64_t* sender);

// Begins to open the stream, and waits for nobody: for hamlyn_stream_sender_open, or a send that waits. The
// options' timeout says nothing here.
HAMLYN_NODISCARD hamlyn_status hamlyn_stream_sender_begin(hamlyn_manager* manager, const hamlyn_seed* seed,
                                                          const hamlyn_stream_sender_options* options,
                                                          hamlyn_stream_sender** made);
// Waits until the receiver's program has looked, and agreed (0: one look). ok: it is open; timed_out,
// cancelled: it goes on opening. Any other is final: seed_used, seed_stale, seed_forged, peer_refused,
// peer_died.
HAMLYN_NODISCARD hamlyn_status hamlyn_stream_sender_open(hamlyn_stream_sender* sender, int64_t timeout);
// Begins, and waits up to the options' timeout. Whoever is not open by then is not made.
HAMLYN_NODISCARD hamlyn_status hamlyn_stream_sender_make(hamlyn_manager* manager, const hamlyn_seed* seed,
                                                         const hamlyn_stream_sender_options* options,
                                                         hamlyn_stream_sender** made);
// Without a close before it the receiver is told abandoned.
HAMLYN_NODISCARD hamlyn_status hamlyn_stream_sender_free(hamlyn_stream_sender* sender);
// Sends a record; ok: the buffer is free. Waits for room until it begins, up to `timeout`. connecting: the
// stream is not open yet.
HAMLYN_NODISCARD hamlyn_status hamlyn_stream_send(hamlyn_stream_sender* sender, const void* data,
                                                  size_t length, int64_t timeout);
// Names an area by a tag of this sender, 0 to 7, in the place of what it named before. The area is of an
// interface of this manager's (hamlyn_manager_interface), or else invalid. It is not to be freed before what
// was sent out of it is waited for: the stream would end, abandoned.
HAMLYN_NODISCARD hamlyn_status hamlyn_stream_bind(hamlyn_stream_sender* sender, uint32_t tag,
                                                  hamlyn_send_area* area);
// Sends a record out of the area that is bound to `piece->tag`, copied once, by the receiving side. ok: it
// has begun; its bytes stay as they are until hamlyn_stream_wait(handle), a flush or a close has said ok.
// Otherwise as hamlyn_stream_send; also invalid: nothing is bound to the tag; out_of_bounds: it reaches
// beyond its area. `handle` may be NULL.
HAMLYN_NODISCARD hamlyn_status hamlyn_stream_send_piece(hamlyn_stream_sender* sender,
                                                        const hamlyn_piece* piece, int64_t timeout,
                                                        hamlyn_send_handle* handle);
// Waits until the bytes of that piece are free. ok, also of a handle of zeros; timed_out, cancelled; or how
// the stream has ended, and they may still be read.
HAMLYN_NODISCARD hamlyn_status hamlyn_stream_wait(hamlyn_stream_sender* sender, hamlyn_send_handle handle,
                                                  int64_t timeout);
// As bytes, of any number: waits until all are sent.
HAMLYN_NODISCARD hamlyn_status hamlyn_stream_write(hamlyn_stream_sender* sender, const void* data,
                                                   size_t length);
// All that was sent so far is on its way.
HAMLYN_NODISCARD hamlyn_status hamlyn_stream_flush(hamlyn_stream_sender* sender, int64_t timeout);
// Nothing more will be sent. Waits until the receiver has everything.
HAMLYN_NODISCARD hamlyn_status hamlyn_stream_sender_close(hamlyn_stream_sender* sender, int64_t timeout);
// How the stream has ended, as far as this side knows; ok: it has not.
HAMLYN_NODISCARD hamlyn_status hamlyn_stream_end(const hamlyn_stream_sender* sender);

// --- tagged remote write: bytes at an offset of the receiver's buffer, and a tag

// Has a buffer that others write to, and takes tags.
typedef struct hamlyn_tagged_receiver hamlyn_tagged_receiver;
// Writes there.
typedef struct hamlyn_tagged_sender hamlyn_tagged_sender;

// A write that has landed.
typedef struct hamlyn_tagged {
  uint64_t tag;     // the sender's word
  uint64_t offset;  // of its first byte in the receiver's buffer
  uint64_t length;  // bytes
  uint64_t sender;  // its interface, as the node attests
} hamlyn_tagged;

typedef struct hamlyn_tagged_receiver_options {
  size_t size;
  size_t places;    // tags of one sender that may stand untaken; 256
  size_t capacity;  // of all senders; 4096
  size_t aside;     // tags that hamlyn_get_specific_tag may put aside; 4096
} hamlyn_tagged_receiver_options;

// A buffer of `bytes`, zeroed.
HAMLYN_NODISCARD hamlyn_status hamlyn_tagged_receiver_make(hamlyn_manager* manager, size_t bytes,
                                                           const hamlyn_tagged_receiver_options* options,
                                                           hamlyn_tagged_receiver** made);
HAMLYN_NODISCARD hamlyn_status hamlyn_tagged_receiver_free(hamlyn_tagged_receiver* receiver);
// The papers' make_seed; for any number of senders.
HAMLYN_NODISCARD hamlyn_status hamlyn_tagged_make_seed(const hamlyn_tagged_receiver* receiver,
                                                       hamlyn_seed* seed);
// The buffer, until it is freed.
HAMLYN_NODISCARD hamlyn_status hamlyn_tagged_bytes(hamlyn_tagged_receiver* receiver, void** data,
                                                   size_t* length);
// The next tag, whichever it is. ok; timed_out, cancelled, forked; link_ended: the link with
// `tagged->sender` has ended.
HAMLYN_NODISCARD hamlyn_status hamlyn_get_tag(hamlyn_tagged_receiver* receiver, int64_t timeout,
                                              hamlyn_tagged* tagged);
// The next one with this tag; others are put aside. queue_full: as many are aside as may be.
HAMLYN_NODISCARD hamlyn_status hamlyn_get_specific_tag(hamlyn_tagged_receiver* receiver, uint64_t tag,
                                                       int64_t timeout, hamlyn_tagged* tagged);
// For epoll: readable when there may be a tag. Take until there is none before going back to it. Owned by
// the receiver.
HAMLYN_NODISCARD hamlyn_status hamlyn_tagged_descriptor(hamlyn_tagged_receiver* receiver, int* descriptor);

// Begins to make the link and to get places, and waits for nobody. seed_invalid, seed_wrong_kind.
HAMLYN_NODISCARD hamlyn_status hamlyn_tagged_sender_begin(hamlyn_manager* manager, const hamlyn_seed* seed,
                                                          hamlyn_tagged_sender** made);
// Waits until there are both (0: one look). ok: it is open; timed_out, cancelled: it goes on opening. Any
// other is final: seed_stale, peer_refused, peer_died.
HAMLYN_NODISCARD hamlyn_status hamlyn_tagged_sender_open(hamlyn_tagged_sender* sender, int64_t timeout);
// Begins, and waits up to `timeout`. Whoever is not open by then is not made.
HAMLYN_NODISCARD hamlyn_status hamlyn_tagged_sender_make(hamlyn_manager* manager, const hamlyn_seed* seed,
                                                         int64_t timeout, hamlyn_tagged_sender** made);
HAMLYN_NODISCARD hamlyn_status hamlyn_tagged_sender_free(hamlyn_tagged_sender* sender);
// Writes up to one packet at `offset`. Waits for a place, up to `timeout`; 0: no_place, queue_full or
// connecting (it is not open yet) instead.
HAMLYN_NODISCARD hamlyn_status hamlyn_tagged_send(hamlyn_tagged_sender* sender, const void* data,
                                                  size_t length, uint64_t offset, uint64_t tag,
                                                  int64_t timeout);

#ifdef __cplusplus
}
#endif
