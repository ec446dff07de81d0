#pragma once
// The C interface of puts and segments (docs/remote-memory.md): memory that others write, read and
// swap in without its owner's help (paper 4, chapters 3 and 4). The rules of all functions and handles
// stand at the top of hamlyn/c.h. The thesis's own calls are in hamlyn/c/rr.h.
#include "hamlyn/c.h"

#ifdef __cplusplus
extern "C" {
#endif

// --- puts: data into a slot, and nothing said of it (paper 4, section 3.3)

// How a put of 4 or 8 bytes to an aligned word signals what was put before: behind all that waits there.
enum hamlyn_signal { HAMLYN_NO_SIGNAL = 0, HAMLYN_SIGNAL_SET = 1, HAMLYN_SIGNAL_ADD = 2 };

// Bits of hamlyn_put_options.flags and hamlyn_write_options.flags, beside HAMLYN_ELEMENT_2, 4 and 8.
#define HAMLYN_NOTIFY UINT64_C(1)  // the owner is told when all of it has landed, if it wants to be

typedef struct hamlyn_put_options {
  size_t size;
  uint64_t offset;                // from the ticket's base
  const hamlyn_strides* strides;  // scattered; NULL: it lands in one run
  uint64_t flags;                 // HAMLYN_NOTIFY, HAMLYN_ELEMENT_2, _4 or _8
  uint64_t signal;                // enum hamlyn_signal
} hamlyn_put_options;

// `length` bytes to a slot that takes puts. ok: the buffer is free; pending: it is in use until
// hamlyn_send_state(handle) no longer says so; anything else: nothing was taken. `handle` may be NULL.
HAMLYN_NODISCARD hamlyn_status hamlyn_put(hamlyn_terminus* terminus, const hamlyn_ticket* ticket,
                                          const void* data, size_t length, const hamlyn_put_options* options,
                                          hamlyn_send_handle* handle);
// Puts, and waits until the put can be done and the buffer is free.
HAMLYN_NODISCARD hamlyn_status hamlyn_put_wait(hamlyn_terminus* terminus, const hamlyn_ticket* ticket,
                                               const void* data, size_t length,
                                               const hamlyn_put_options* options, int64_t timeout);
// Asks whether all that this terminus has put there has landed: pending, and hamlyn_remote_outcome(handle)
// says it. `handle` may be NULL.
HAMLYN_NODISCARD hamlyn_status hamlyn_fence(hamlyn_terminus* terminus, const hamlyn_ticket* ticket,
                                            const hamlyn_remote_options* options,
                                            hamlyn_remote_handle* handle);
// Flushes, and waits for the answer: ok; refused: a part was refused, and `outcome->cause` is why;
// link_ended: hamlyn_outcome_why says why.
HAMLYN_NODISCARD hamlyn_status hamlyn_flush(hamlyn_terminus* terminus, const hamlyn_ticket* ticket,
                                            int64_t timeout, hamlyn_outcome* outcome);

// --- what the owner of a slot or a segment says of puts

// Whether it is told of them (paper 4, section 3.4.5).
enum hamlyn_control {
  HAMLYN_TOLD_IF_ASKED = 0,  // of those that ask for it
  HAMLYN_TOLD_NEVER = 1,
  HAMLYN_TOLD_ALWAYS = 2  // of those that arrive while one is not read yet, together
};

// One user, in the place of what the group and the others may.
typedef struct hamlyn_grant {
  uint32_t uid;     // the user
  uint32_t access;  // 4: read, 2: write, 6: both, 0: nothing
} hamlyn_grant;

// Rights to read and write, whatever ticket a process holds.
typedef struct hamlyn_protection {
  uint32_t mode;   // bits as of a file, 0640: of the owner, its group and the others
  uint32_t users;  // grants
  const hamlyn_grant* grants;
} hamlyn_protection;

// A put that arrived where nothing may land now.
typedef struct hamlyn_held_put {
  uint64_t offset;  // from the slot's base
  uint64_t length;  // bytes
  uint64_t peer;    // the interface that sent it
  uint64_t notify;  // 1: it asked that the owner be told
} hamlyn_held_put;

// `control`: enum hamlyn_control; at first HAMLYN_TOLD_IF_ASKED.
HAMLYN_NODISCARD hamlyn_status hamlyn_slot_set_control(hamlyn_slot* slot, uint32_t control);
// From here on puts wait, until `hamlyn_slot_release` has them land, in their order; fetches are refused.
HAMLYN_NODISCARD hamlyn_status hamlyn_slot_inhibit(hamlyn_slot* slot);
HAMLYN_NODISCARD hamlyn_status hamlyn_slot_release(hamlyn_slot* slot);
// The pages that these bytes touch: puts to them wait, gets and fetches are refused, until `hamlyn_slot_pin`.
HAMLYN_NODISCARD hamlyn_status hamlyn_slot_unpin(hamlyn_slot* slot, size_t offset, size_t length);
HAMLYN_NODISCARD hamlyn_status hamlyn_slot_pin(hamlyn_slot* slot, size_t offset, size_t length);
// Takes the oldest put that waits; its data goes to `into`. not_ready: none waits; too_long: `held` says how
// long it is, and it stays.
HAMLYN_NODISCARD hamlyn_status hamlyn_slot_take_held(hamlyn_slot* slot, hamlyn_held_put* held, void* into,
                                                     size_t room);
// From here on only these may open the slot. For slots without entries and fast mode; invalid: any other.
HAMLYN_NODISCARD hamlyn_status hamlyn_slot_protect(hamlyn_slot* slot, const hamlyn_protection* protection);

// --- segments of one's own (paper 4, sections 3.4 and 4.2)

// Memory of this process that others have imported, or may.
typedef struct hamlyn_segment hamlyn_segment;

typedef struct hamlyn_segment_options {
  size_t size;
  const char* name;                     // registered until it is freed; NULL: anonymous
  size_t bytes;                         // of zeroed memory, or of `memory`
  void* memory;                         // instead: whole pages that are there already and stay the caller's
  const hamlyn_protection* protection;  // NULL: 0600
  size_t records;                       // of all importers that may stand here unread; 1024
  uint32_t sharing;                     // enum hamlyn_sharing
  uint32_t control;                     // enum hamlyn_control
  uint32_t places;                      // notifications of one importer that may stand here unread; 16
  uint32_t hold;  // bytes of writes that may wait while a part of it is inhibited or not pinned; 65536
} hamlyn_segment_options;

// Kinds of record; frozen numbers.
enum hamlyn_segment_kind {
  HAMLYN_WRITTEN = 1,      // data has landed
  HAMLYN_HELD = 2,         // data waits
  HAMLYN_READ = 3,         // what a read of one's own has brought is here
  HAMLYN_READ_FAILED = 4,  // the same, but it was not done
  HAMLYN_GOT_HERE = 5,     // importers have read this
  HAMLYN_SWAPPED = 6       // importers have done fetch-and-ops or compare-and-swaps here
};

// One record for the exporter.
typedef struct hamlyn_segment_record {
  uint32_t kind;    // enum hamlyn_segment_kind
  uint32_t count;   // operations that it stands for; with HAMLYN_TOLD_ALWAYS their pieces
  uint64_t offset;  // of the first byte, from the segment's
  uint64_t length;  // from there to behind the last one
  uint64_t peer;    // the importer's interface; 0: several
} hamlyn_segment_record;

// Exports it.
HAMLYN_NODISCARD hamlyn_status hamlyn_segment_make(hamlyn_interface* interface,
                                                   const hamlyn_segment_options* options,
                                                   hamlyn_segment** made);
// Unexports it.
HAMLYN_NODISCARD hamlyn_status hamlyn_segment_free(hamlyn_segment* segment);
// Where it is, at the same address until it is freed, and how long.
HAMLYN_NODISCARD hamlyn_status hamlyn_segment_bytes(hamlyn_segment* segment, void** data, size_t* length);
// For those who are to import it without a name.
HAMLYN_NODISCARD hamlyn_status hamlyn_segment_ticket(const hamlyn_segment* segment, hamlyn_ticket* ticket);
// Takes it back from everybody. It may be imported anew.
HAMLYN_NODISCARD hamlyn_status hamlyn_segment_revoke(hamlyn_segment* segment);
// Other rights from here on. Those who have it mapped keep it until hamlyn_segment_revoke.
HAMLYN_NODISCARD hamlyn_status hamlyn_segment_protect(hamlyn_segment* segment,
                                                      const hamlyn_protection* protection);
// As hamlyn_slot_set_control; and so are hamlyn_segment_inhibit, hamlyn_segment_release,
// hamlyn_segment_unpin, hamlyn_segment_pin and hamlyn_segment_take_held as those of a slot.
HAMLYN_NODISCARD hamlyn_status hamlyn_segment_set_control(hamlyn_segment* segment, uint32_t control);
HAMLYN_NODISCARD hamlyn_status hamlyn_segment_inhibit(hamlyn_segment* segment);
HAMLYN_NODISCARD hamlyn_status hamlyn_segment_release(hamlyn_segment* segment);
HAMLYN_NODISCARD hamlyn_status hamlyn_segment_unpin(hamlyn_segment* segment, size_t offset, size_t length);
HAMLYN_NODISCARD hamlyn_status hamlyn_segment_pin(hamlyn_segment* segment, size_t offset, size_t length);
HAMLYN_NODISCARD hamlyn_status hamlyn_segment_take_held(hamlyn_segment* segment, hamlyn_held_put* held,
                                                        void* into, size_t room);
// The next record; a time of 0 looks once. ok, timed_out, cancelled, forked.
HAMLYN_NODISCARD hamlyn_status hamlyn_segment_wait(hamlyn_segment* segment, int64_t timeout,
                                                   hamlyn_segment_record* record);

// Compares a word with a value, both unsigned.
enum hamlyn_comparison {
  HAMLYN_EQUAL = 1,
  HAMLYN_NOT_EQUAL = 2,
  HAMLYN_LESS = 3,
  HAMLYN_AT_MOST = 4,
  HAMLYN_GREATER = 5,
  HAMLYN_AT_LEAST = 6
};
// Waits until the 8-byte word at `offset`, as an unsigned number, compares so with `value`; gives what it is
// then to `word`, which may be NULL. ok, timed_out, cancelled, forked; out_of_bounds; misaligned.
HAMLYN_NODISCARD hamlyn_status hamlyn_segment_wait_until(hamlyn_segment* segment, size_t offset,
                                                         uint32_t comparison, uint64_t value, int64_t timeout,
                                                         uint64_t* word);
// Waits until any of the words at the `count` offsets compares so; `which` is told the first of them. `peer`:
// 0, or the interface that is to change it: also link_ended, if there is no link with it.
HAMLYN_NODISCARD hamlyn_status hamlyn_segment_wait_until_any(hamlyn_segment* segment, const size_t* offsets,
                                                             size_t count, uint32_t comparison,
                                                             uint64_t value, uint64_t peer, int64_t timeout,
                                                             size_t* which, uint64_t* word);
// Has whoever waits for words of it look, threads here and importers: behind stores of this process.
HAMLYN_NODISCARD hamlyn_status hamlyn_segment_changed(hamlyn_segment* segment);
// For select, poll, epoll, read, and for children that inherit them: each read gives a
// hamlyn_segment_record, or EAGAIN; of `hamlyn_segment_data_descriptor` a rr_held (hamlyn/c/rr.h) and the
// data of a write that waits behind it. Records come here then, and not by hamlyn_segment_wait. Owned by the
// segment.
HAMLYN_NODISCARD hamlyn_status hamlyn_segment_control_descriptor(hamlyn_segment* segment, int* descriptor);
HAMLYN_NODISCARD hamlyn_status hamlyn_segment_data_descriptor(hamlyn_segment* segment, int* descriptor);

// --- segments of others

// Somebody else's segment, as it is used here.
typedef struct hamlyn_import hamlyn_import;

// Bits of hamlyn_import_options.flags.
#define HAMLYN_NO_MAP UINT32_C(1)  // by packets, also where it might be mapped

typedef struct hamlyn_import_options {
  size_t size;
  int64_t timeout;  // for the import; 5 s
  uint32_t access;  // enum hamlyn_access: what it will be used for
  uint32_t flags;   // HAMLYN_NO_MAP
} hamlyn_import_options;

typedef struct hamlyn_write_options {
  size_t size;
  const hamlyn_strides* strides;  // WRITEV: scattered; NULL: in one run
  uint64_t flags;                 // HAMLYN_NOTIFY, HAMLYN_ELEMENT_2, _4 or _8
} hamlyn_write_options;

typedef struct hamlyn_read_options {
  size_t size;
  const hamlyn_strides* strides;  // gathered; NULL: from one run
  // HAMLYN_TELL: the exporter is told; HAMLYN_NOTIFY: a record tells of it in the segment where it lands.
  uint64_t flags;
} hamlyn_read_options;

// A word that says of data that it has landed.
typedef struct hamlyn_signal_word {
  size_t size;
  size_t offset;      // in its segment, a multiple of `bytes`
  uint64_t value;     // of a word of 4 bytes the low half counts
  hamlyn_import* in;  // another segment of the same process, where the word stands; NULL: that of the data
  uint32_t how;       // enum hamlyn_signal
  uint32_t bytes;     // of the word, 4 or 8; 8
} hamlyn_signal_word;

// Imports the segment of that name, or, by `hamlyn_import_make_of`, that ticket. not_permitted,
// seed_wrong_kind (no segment), seed_stale (it has gone), peer_died, timed_out, name_unknown.
HAMLYN_NODISCARD hamlyn_status hamlyn_import_make(hamlyn_interface* interface, const char* name,
                                                  const hamlyn_import_options* options, hamlyn_import** made);
HAMLYN_NODISCARD hamlyn_status hamlyn_import_make_of(hamlyn_interface* interface, const hamlyn_ticket* ticket,
                                                     const hamlyn_import_options* options,
                                                     hamlyn_import** made);
// Begins to import the segment of that name, or, by `hamlyn_import_begin_of`, that ticket. Waits for nobody:
// for hamlyn_import_open, or an operation that waits. The name may be registered later. Until it is open its
// size is 0, and operations that do not wait are `connecting`. invalid_argument, seed_wrong_kind (the
// ticket).
HAMLYN_NODISCARD hamlyn_status hamlyn_import_begin(hamlyn_interface* interface, const char* name,
                                                   const hamlyn_import_options* options,
                                                   hamlyn_import** made);
HAMLYN_NODISCARD hamlyn_status hamlyn_import_begin_of(hamlyn_interface* interface,
                                                      const hamlyn_ticket* ticket,
                                                      const hamlyn_import_options* options,
                                                      hamlyn_import** made);
// Waits until it is open; 0: one look. As hamlyn_import_make. After timed_out and cancelled it goes on, and
// this may be called again.
HAMLYN_NODISCARD hamlyn_status hamlyn_import_open(hamlyn_import* import, int64_t timeout);
HAMLYN_NODISCARD hamlyn_status hamlyn_import_free(hamlyn_import* import);
// Bytes.
HAMLYN_NODISCARD hamlyn_status hamlyn_import_size(const hamlyn_import* import, size_t* size);
// The memory itself, if it is mapped, else NULL and 0; what was read is good if `hamlyn_import_current`
// says 1 afterwards.
HAMLYN_NODISCARD hamlyn_status hamlyn_import_mapped(const hamlyn_import* import, const void** data,
                                                    size_t* length);
HAMLYN_NODISCARD hamlyn_status hamlyn_import_current(const hamlyn_import* import, int* current);
// `why`: a hamlyn_not_mapped: why it is reached by packets, or none if it is mapped.
HAMLYN_NODISCARD hamlyn_status hamlyn_import_not_mapped(const hamlyn_import* import, uint32_t* why);

// All of these answer stale once the segment was revoked, unexported, or exported anew; link_ended if its
// process has gone; refused if its rights do not allow it; out_of_bounds.
//
// WRITE: `hamlyn_write` as hamlyn_put, `hamlyn_write_wait` as hamlyn_put_wait.
HAMLYN_NODISCARD hamlyn_status hamlyn_write(hamlyn_import* import, size_t offset, const void* data,
                                            size_t length, const hamlyn_write_options* options,
                                            hamlyn_send_handle* handle);
HAMLYN_NODISCARD hamlyn_status hamlyn_write_wait(hamlyn_import* import, size_t offset, const void* data,
                                                 size_t length, const hamlyn_write_options* options,
                                                 int64_t timeout);
// As hamlyn_send_state.
HAMLYN_NODISCARD hamlyn_status hamlyn_write_state(const hamlyn_import* import, hamlyn_send_handle handle);
// Waits until all that was written here has landed. refused: some was, and `cause` (enum hamlyn_refusal, may
// be NULL) is why. link_ended: hamlyn_write_why says why, as enum hamlyn_link_reason, as
// hamlyn_interface_why.
HAMLYN_NODISCARD hamlyn_status hamlyn_write_flush(hamlyn_import* import, int64_t timeout, uint32_t* cause);
HAMLYN_NODISCARD hamlyn_status hamlyn_write_why(const hamlyn_import* import, uint32_t* reason,
                                                uint32_t* told);
// Asks that, and does not wait: pending, and hamlyn_read_outcome(handle) or hamlyn_read_wait tells how it
// ends; ok: nothing is under way.
HAMLYN_NODISCARD hamlyn_status hamlyn_write_flush_begin(hamlyn_import* import, hamlyn_remote_handle* handle);
// Flushes `count` imports of one interface, all of which are asked at once. `each` may be NULL, or has room
// for so many answers. As hamlyn_write_flush, of the first that is not ok.
HAMLYN_NODISCARD hamlyn_status hamlyn_write_flush_all(hamlyn_import* const* imports, size_t count,
                                                      int64_t timeout, hamlyn_status* each);
// Put with signal: `data`, and when all of it and all before has landed, `value` is set or added to (enum
// hamlyn_signal) the 8-byte word at `signal`.
HAMLYN_NODISCARD hamlyn_status hamlyn_write_signal(hamlyn_import* import, size_t offset, const void* data,
                                                   size_t length, size_t signal, uint64_t value, uint32_t how,
                                                   int64_t timeout);
// Puts data that may be scattered, and signals by the word that `signal` names. As hamlyn_write_signal.
HAMLYN_NODISCARD hamlyn_status hamlyn_write_signal_word(hamlyn_import* import, size_t offset,
                                                        const void* data, size_t length,
                                                        const hamlyn_write_options* options,
                                                        const hamlyn_signal_word* signal, int64_t timeout);
// READ into memory, of any length.
HAMLYN_NODISCARD hamlyn_status hamlyn_read(hamlyn_import* import, size_t offset, void* into, size_t length,
                                           const hamlyn_read_options* options, int64_t timeout);
// READ into a segment of one's own, from its byte `at` on, up to 64 KiB: pending, and
// hamlyn_read_outcome(handle) tells how it ends; of a mapped one ok at once. `handle` may be NULL.
HAMLYN_NODISCARD hamlyn_status hamlyn_read_into(hamlyn_import* import, size_t offset, hamlyn_segment* into,
                                                size_t at, size_t length, const hamlyn_read_options* options,
                                                hamlyn_remote_handle* handle);
// READ into memory, up to 64 KiB, without a wait: pending, and `into` is in use until hamlyn_read_outcome
// says otherwise, or hamlyn_read_cancel was called; of a mapped one ok at once.
HAMLYN_NODISCARD hamlyn_status hamlyn_read_begin(hamlyn_import* import, size_t offset, void* into,
                                                 size_t length, const hamlyn_read_options* options,
                                                 hamlyn_remote_handle* handle);
HAMLYN_NODISCARD hamlyn_status hamlyn_read_cancel(hamlyn_import* import, hamlyn_remote_handle handle);
// `hamlyn_read_outcome` as hamlyn_remote_outcome, `hamlyn_read_wait` as hamlyn_remote_wait.
HAMLYN_NODISCARD hamlyn_status hamlyn_read_outcome(const hamlyn_import* import, hamlyn_remote_handle handle,
                                                   hamlyn_outcome* outcome);
HAMLYN_NODISCARD hamlyn_status hamlyn_read_wait(hamlyn_import* import, hamlyn_remote_handle handle,
                                                int64_t timeout, hamlyn_outcome* outcome);
// As hamlyn_segment_wait_until, of another's segment; also stale, link_ended, refused.
HAMLYN_NODISCARD hamlyn_status hamlyn_import_wait_until(hamlyn_import* import, size_t offset,
                                                        uint32_t comparison, uint64_t value, int64_t timeout,
                                                        uint64_t* word);
// Has whoever waits for words of it look: behind stores into a mapped segment. ok; forked; connecting, stale,
// refused: nobody can be told.
HAMLYN_NODISCARD hamlyn_status hamlyn_import_changed(hamlyn_import* import);
// Fetch-and-op on an aligned word of 4 or 8 bytes; `outcome->value` is what stood there before. `flags`: 0,
// or HAMLYN_TELL.
HAMLYN_NODISCARD hamlyn_status hamlyn_import_fetch(hamlyn_import* import, size_t offset,
                                                   const hamlyn_fetch_request* request, uint64_t flags,
                                                   int64_t timeout, hamlyn_outcome* outcome);
// Fetch without an answer: ok, it is on its way, and hamlyn_write_flush says whether it was done.
HAMLYN_NODISCARD hamlyn_status hamlyn_import_update(hamlyn_import* import, size_t offset,
                                                    const hamlyn_fetch_request* request, uint64_t flags,
                                                    int64_t timeout);
// CAS on one of 8 bytes.
HAMLYN_NODISCARD hamlyn_status hamlyn_compare_and_swap(hamlyn_import* import, size_t offset,
                                                       uint64_t expected, uint64_t desired, int64_t timeout,
                                                       hamlyn_outcome* outcome);

// --- swaps of which everybody finds out whether they were done

// One user of a word that lies so in a segment (hamlyn/segment/sure_swap.h): this many bytes at a multiple of
// 8, in which there are a value of 32 bits (as a word of 8 bytes) and zeros behind it before others come. It
// is of no import: after the end of a link it goes on with another. Threads: one at a time.
typedef struct hamlyn_sure_swap hamlyn_sure_swap;
// Bytes of the segment that a word of so many users needs.
#define HAMLYN_SURE_SWAP_BYTES(members) (8 * ((size_t)(members) + 1))

// `members`: at most 255. `who`: 1 to `members`, of its users each another; who comes after one that has died
// may have his.
HAMLYN_NODISCARD hamlyn_status hamlyn_sure_swap_make(size_t offset, uint32_t members, uint32_t who,
                                                     hamlyn_sure_swap** made);
HAMLYN_NODISCARD hamlyn_status hamlyn_sure_swap_free(hamlyn_sure_swap* swap);
// Swaps if the value is `expected`. ok: it has; not_ready: it has not; of both `found`, which may be NULL, is
// told the value. link_ended, timed_out, cancelled, stale: it may have, and hamlyn_sure_swap_settle tells;
// until then this is invalid. Others as hamlyn_import_fetch: it has not. `timeout` is for each round trip:
// one, or four and more where others swap.
HAMLYN_NODISCARD hamlyn_status hamlyn_sure_swap_swap(hamlyn_sure_swap* swap, hamlyn_import* import,
                                                     uint32_t expected, uint32_t desired, int64_t timeout,
                                                     uint32_t* found);
// How the last swap has ended, of which that was not known; through an import whose link is good. ok,
// not_ready: as above, and for good; not_ready also if none was begun. Others: still not known.
HAMLYN_NODISCARD hamlyn_status hamlyn_sure_swap_settle(hamlyn_sure_swap* swap, hamlyn_import* import,
                                                       int64_t timeout, uint32_t* found);
// 0: it is not known how the last one has ended.
HAMLYN_NODISCARD hamlyn_status hamlyn_sure_swap_settled(const hamlyn_sure_swap* swap, int* settled);
// The value now. As hamlyn_import_fetch.
HAMLYN_NODISCARD hamlyn_status hamlyn_sure_swap_load(hamlyn_sure_swap* swap, hamlyn_import* import,
                                                     int64_t timeout, uint32_t* value);

#ifdef __cplusplus
}
#endif
