#pragma once
// Loans in C (docs/large-data.md): large messages that are read where their sender has written them, by one
// receiver or many, without a copy. The rules of all functions and handles stand at the top of hamlyn/c.h;
// what each side must not trust stands in hamlyn/protocols/loan.h.
#include "hamlyn/c/protocols.h"

#ifdef __cplusplus
extern "C" {
#endif

// One area of memory, cut into buffers, which every receiver that a sender was grown for can read.
typedef struct hamlyn_loan_pool hamlyn_loan_pool;
// Room for one buffer of a pool, to be filled in place and lent. One thread at a time.
typedef struct hamlyn_loan hamlyn_loan;
// Tells one receiver of loans.
typedef struct hamlyn_loan_sender hamlyn_loan_sender;
// Has one sender at a time.
typedef struct hamlyn_loan_receiver hamlyn_loan_receiver;
// Room for one loan that was received. One thread at a time.
typedef struct hamlyn_borrowed hamlyn_borrowed;

// So many buffers of one size.
typedef struct hamlyn_loan_class {
  size_t bytes;    // of each buffer, 1 to 2^30
  uint64_t count;  // of such buffers
} hamlyn_loan_class;

// --- what is lent

// Up to 8 classes, together up to 1024 buffers. invalid_argument, quota_bytes, out_of_memory, forked.
HAMLYN_NODISCARD hamlyn_status hamlyn_loan_pool_make(hamlyn_manager* manager,
                                                     const hamlyn_loan_class* classes, size_t count,
                                                     hamlyn_loan_pool** made);
HAMLYN_NODISCARD hamlyn_status hamlyn_loan_pool_free(hamlyn_loan_pool* pool);
// Shows the memory to nobody any more, and takes everything back. out_of_memory, forked.
HAMLYN_NODISCARD hamlyn_status hamlyn_loan_pool_revoke(hamlyn_loan_pool* pool);

// Makes room for one buffer, and takes none yet.
HAMLYN_NODISCARD hamlyn_status hamlyn_loan_make(hamlyn_loan_pool* pool, hamlyn_loan** made);
// Lets its buffer go.
HAMLYN_NODISCARD hamlyn_status hamlyn_loan_free(hamlyn_loan* loan);
// Takes the smallest free buffer of `bytes` or more in the place of what it had, waiting for one to come
// back. `data` is writable. ok; timed_out, cancelled; no_buffer: with a time of 0, all such are lent;
// too_long: no class has so large ones; invalid, forked.
HAMLYN_NODISCARD hamlyn_status hamlyn_loan_take(hamlyn_loan* loan, size_t bytes, int64_t timeout,
                                                void** data);
// How many of those who were told of it have not given it back, as far as is known now.
HAMLYN_NODISCARD hamlyn_status hamlyn_loan_holders(const hamlyn_loan* loan, uint32_t* holders);
// Takes it back by force, from all who have it.
HAMLYN_NODISCARD hamlyn_status hamlyn_loan_withdraw(hamlyn_loan* loan);
// Its buffer is free when the last of those who were told of it has given it back.
HAMLYN_NODISCARD hamlyn_status hamlyn_loan_let_go(hamlyn_loan* loan);

// Begins to open it, and waits for nobody.
HAMLYN_NODISCARD hamlyn_status hamlyn_loan_sender_begin(hamlyn_loan_pool* pool, const hamlyn_seed* seed,
                                                        hamlyn_loan_sender** made);
// Waits until the receiver's program has looked, and has mapped the pool. ok: it is open; timed_out,
// cancelled: it goes on opening. Any other is final: seed_used, seed_stale, seed_forged, peer_refused,
// peer_died.
HAMLYN_NODISCARD hamlyn_status hamlyn_loan_sender_open(hamlyn_loan_sender* sender, int64_t timeout);
HAMLYN_NODISCARD hamlyn_status hamlyn_loan_sender_free(hamlyn_loan_sender* sender);
// Lends the first `length` bytes, waiting as long as that. ok; timed_out, cancelled, connecting; with a time
// of 0: no_buffer, no_place, queue_full; closed, link_ended, broken: nobody will read it; too_long: the loan
// has fewer bytes; invalid: it has none, one of another pool, or this receiver was told of it before; forked.
HAMLYN_NODISCARD hamlyn_status hamlyn_loan_send(hamlyn_loan_sender* sender, const hamlyn_loan* loan,
                                                size_t length, int64_t timeout);
// Why nothing more can be sent; ok: it can, as far as is known now.
HAMLYN_NODISCARD hamlyn_status hamlyn_loan_end(const hamlyn_loan_sender* sender);

// --- what is borrowed

// For one sender after the other.
HAMLYN_NODISCARD hamlyn_status hamlyn_loan_receiver_make(hamlyn_manager* manager,
                                                         hamlyn_loan_receiver** made);
HAMLYN_NODISCARD hamlyn_status hamlyn_loan_receiver_free(hamlyn_loan_receiver* receiver);
// The papers' make_seed; for one sender, once.
HAMLYN_NODISCARD hamlyn_status hamlyn_loan_make_seed(hamlyn_loan_receiver* receiver, hamlyn_seed* seed);
// Its interface, as the node attests; 0: there is none.
HAMLYN_NODISCARD hamlyn_status hamlyn_loan_sender_of(const hamlyn_loan_receiver* receiver, uint64_t* sender);
// Readable when there may be something. Receive until timed_out before going back.
HAMLYN_NODISCARD hamlyn_status hamlyn_loan_descriptor(hamlyn_loan_receiver* receiver, int* descriptor);

// Makes room for one loan, and receives none yet.
HAMLYN_NODISCARD hamlyn_status hamlyn_borrowed_make(hamlyn_manager* manager, hamlyn_borrowed** made);
// Gives back what it has.
HAMLYN_NODISCARD hamlyn_status hamlyn_borrowed_free(hamlyn_borrowed* borrowed);
// Waits for the next loan; `borrowed` gives back what it had. Its bytes stay readable until then, whatever
// becomes of the sender, who can change them at any moment. ok; timed_out, cancelled, forked; or how it has
// ended: closed, link_ended, broken.
HAMLYN_NODISCARD hamlyn_status hamlyn_loan_receive(hamlyn_loan_receiver* receiver, hamlyn_borrowed* borrowed,
                                                   int64_t timeout, const void** data, size_t* length);
// `current`: 1, the sender still means it. If it does after it was read, what was read is what was sent.
HAMLYN_NODISCARD hamlyn_status hamlyn_borrowed_current(const hamlyn_borrowed* borrowed, int* current);
// From here on the sender may use it again. Once; later calls do nothing.
HAMLYN_NODISCARD hamlyn_status hamlyn_borrowed_give_back(hamlyn_borrowed* borrowed);

#ifdef __cplusplus
}
#endif
