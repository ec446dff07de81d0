#pragma once
// The C interface, for C99 or later and for whatever calls C (docs/c-interface.md). C programs get it by
// <hamlyn/hamlyn.h> and link libhamlyn; the C++ classes of the same names say more about each thing. Here:
// what holds for all of it, and the interface; hamlyn/c_segment.h has puts and segments, hamlyn/c_protocols.h
// the protocols.
//
// Handles are made by `..._make` and given back by `..._free`, which takes NULL, and refuses
// (invalid_argument) what something is still made from. A handle that was freed is not to be used. Calls of
// other threads that wait on a queue, a terminus or an end of a protocol end with HAMLYN_CANCELLED when it is
// freed, and have left it when that is done.
//
// Every function that can fail returns a status, and none lets an exception out. What is NULL and must not be
// answers invalid_argument. Results go to the last parameters, left as they were unless it says ok or
// pending; counts and outcomes are always told. Threads: as the C++ classes; where nothing is said, any.
//
// Options: a NULL pointer gives the defaults. Otherwise `size` is the size of the structure, and each member
// that is 0 has its default, so that `hamlyn_slot_options options = {.size = sizeof options, .entries = 1};`
// stays right when members are added.
//
// Times are nanoseconds: 0 looks once, HAMLYN_FOREVER waits without end.
//
// In a forked child the parent's handles answer HAMLYN_FORKED; it makes its own. Memory that is shared with
// other processes is not there.
#include <stddef.h>
#include <stdint.h>

// Raised whenever something here changes or goes; what is only added leaves it. The shared library's name has
// the same number.
#define HAMLYN_ABI_VERSION 0
// A time that does not end.
#define HAMLYN_FOREVER (-1)

#ifdef __cplusplus
extern "C" {
#endif

// --- what calls answer

// One of enum hamlyn_status_code. An int, so that its size does not depend on the compiler.
typedef int hamlyn_status;

// The numbers are frozen. Below 100: answers of the data path, which leave everything able to go on. From 100
// on: errors of set-up; hamlyn_last_error says more about them.
enum hamlyn_status_code {
  HAMLYN_OK = 0,
  HAMLYN_PENDING = 1,           // accepted, not finished: ask again with the handle, or wait
  HAMLYN_QUEUE_FULL = 2,        // no free entry in the work queue: poll, then try again
  HAMLYN_NO_PLACE = 3,          // no free notification place at the receiver: poll, then try again
  HAMLYN_CONNECTING = 4,        // the link is being made: poll, then try again
  HAMLYN_TIMED_OUT = 5,         // the time given has passed; nothing was changed
  HAMLYN_CANCELLED = 6,         // another thread cancelled the wait, or somebody the message
  HAMLYN_LINK_ENDED = 7,        // the other side died, left, stalled or broke the protocol
  HAMLYN_REFUSED = 8,           // the other side, or the node, does not allow it
  HAMLYN_TOO_LONG = 9,          // larger than one packet carries, or than metadata may be
  HAMLYN_OUT_OF_BOUNDS = 10,    // outside the bounds named in the ticket
  HAMLYN_INVALID = 11,          // the ticket or handle is no such thing
  HAMLYN_SHARE_TOO_SMALL = 12,  // a share counts fewer than the packets of such a message
  HAMLYN_NOT_DURABLE = 13,      // it has landed, but the receiver's file could not be written
  HAMLYN_FORKED = 14,           // this process is a forked child: it has no interface until it makes its own
  HAMLYN_NOT_READY = 15,        // the receiver takes no message there now
  HAMLYN_CLOSED = 16,           // one side has closed the stream in good order
  HAMLYN_ABANDONED = 17,        // the other side gave the stream up without closing it
  HAMLYN_BROKEN = 18,           // the other side of the stream has said what no honest one says
  HAMLYN_NO_BUFFER = 19,        // there is no memory for what is read to land in
  HAMLYN_MISALIGNED = 20,  // the size of an element does not divide the length, or the offset in the slot
  HAMLYN_STALE = 21,       // what the ticket was for has gone, or has another key

  HAMLYN_NODE_UNREACHABLE = 101,  // no node daemon answers, and none could be started
  HAMLYN_NODE_NOT_TRUSTED = 102,  // the daemon's socket belongs to somebody else
  HAMLYN_VERSION_MISMATCH = 103,  // the other side speaks another version of the structures
  HAMLYN_QUOTA_INTERFACES = 104,  // this user has attached as many interfaces as it may
  HAMLYN_QUOTA_LINKS = 105,       // this user has as many links as it may
  HAMLYN_QUOTA_BYTES = 106,       // this user's links and areas hold as many bytes as they may
  HAMLYN_QUOTA_NAMES = 107,       // this user has registered as many names as it may
  HAMLYN_NAME_TAKEN = 108,        // another process holds that name
  HAMLYN_NAME_UNKNOWN = 109,      // nobody has registered that name, or not for you
  HAMLYN_NAME_INVALID = 110,      // empty, too long, or with characters outside [A-Za-z0-9._-]
  HAMLYN_NOT_PERMITTED = 111,     // rights do not allow it
  HAMLYN_INVALID_ARGUMENT = 114,  // NULL, or a size, mode or combination that cannot be; the text says which
  HAMLYN_OUT_OF_MEMORY = 115,     // memory or a limit of the system is used up; the text says which
  HAMLYN_SYSTEM = 116,            // a system call failed; the text says which and how
  HAMLYN_DISK_FULL = 118,         // there is no space for a file, or no quota, or its size is limited
  HAMLYN_SEED_INVALID = 119,      // the bytes are no seed
  HAMLYN_SEED_WRONG_KIND = 120,   // a seed of another protocol, or a plain ticket
  HAMLYN_SEED_USED = 121,         // somebody has used it: a stream's seed grows one sender
  HAMLYN_SEED_STALE = 122,        // its receiver has gone
  HAMLYN_SEED_FORGED = 123,       // its key opens nothing, or nothing any more
  HAMLYN_PEER_REFUSED = 124,      // the receiver does not want this sender
  HAMLYN_PEER_DIED = 125,         // the process at the other side has ended, or its link has
  HAMLYN_NODE_FULL = 126          // all users together have as much as the node holds for them
};

// The version that the library was built with: compare it with HAMLYN_ABI_VERSION.
int hamlyn_abi_version(void);
// "0.1.0". Never NULL.
const char* hamlyn_version(void);
// The status's name, as "no_place", and, by `hamlyn_status_advice`, a sentence on what to do about it.
// Never NULL.
const char* hamlyn_status_name(hamlyn_status status);
const char* hamlyn_status_advice(hamlyn_status status);
// What exactly was wrong when a call of this thread last answered 100 or more; empty if none has. Belongs to
// the thread: good until its next such call.
const char* hamlyn_last_error(void);

// --- values

// Says where a message may land; whoever holds its 64 bytes may send there (paper 0, section 3.2). Copy it,
// store it, send it. For users its members are only to look at.
typedef struct hamlyn_ticket {
  uint64_t host;         // 0: this host
  uint64_t interface;    // the node's number of the receiving interface
  uint32_t slot;         // the slot's place at that interface
  uint32_t generation;   // of the slot
  uint64_t key;          // of the slot, or of the entry
  uint32_t entry;        // metadata entry, or a number that says that there is none
  uint32_t incarnation;  // of the entry
  uint64_t base;         // first byte that may be written, from the slot's base
  uint64_t bound;        // bytes, from there on
  uint32_t version;      // of this structure
  uint32_t purpose;      // 0: any; otherwise the protocol that it opens
} hamlyn_ticket;

// What grows a sender at the other side (paper 0, section 3.3): 64 bytes to send, store or publish.
typedef struct hamlyn_seed {
  hamlyn_ticket ticket;  // where the receiver hears of those who come with it
} hamlyn_seed;

// One sender's part of a group of messages (paper 0, section 2.5).
typedef struct hamlyn_share {
  hamlyn_ticket ticket;  // its bounds are this share's part of the buffer
  uint32_t count;        // how much its packets count
  uint32_t version;      // of this structure
} hamlyn_share;

// NULL if it is well formed, otherwise what is wrong with it; `hamlyn_seed_fault` says it of seeds. Worth
// anything it may still not be.
const char* hamlyn_ticket_fault(const hamlyn_ticket* ticket);
const char* hamlyn_seed_fault(const hamlyn_seed* seed);

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
  HAMLYN_REFUSAL_NOT_PERMITTED = 23
};
// Never NULL.
const char* hamlyn_refusal_name(uint32_t refusal);

// What a notification tells of; frozen numbers.
enum hamlyn_notification_kind {
  HAMLYN_MESSAGE = 0,            // a message is complete
  HAMLYN_FAILED = 1,             // the entry will not complete; `word` is an enum hamlyn_failure
  HAMLYN_PROTOCOL_ERROR = 2,     // `word` packets of one link were refused for one `cause`
  HAMLYN_LINK_ENDED_NOTICE = 3,  // links to `peer` (0: any) that had used this queue ended; `word`: how many
  HAMLYN_REMOTE_DONE = 4,        // a remote operation of this interface is over; `word` is its own
  HAMLYN_REMOTE_FAILED = 5,      // the same, but not done; `cause` says why it was refused
  HAMLYN_PUT = 6,                // puts have landed; `word` says how many
  HAMLYN_PUT_HELD = 7,           // the same, of puts that wait
  HAMLYN_GOT = 8,                // the same, of gets that were answered here
  HAMLYN_FETCHED = 9             // the same, of fetch-and-ops that were done here
};

// Why an entry will not complete; frozen numbers.
enum hamlyn_failure {
  HAMLYN_FAILURE_NONE = 0,
  HAMLYN_FAILURE_LINK_ENDED = 1,  // of a link that was filling it, or that it was said to wait for
  HAMLYN_FAILURE_TIMED_OUT = 2,   // the time given to it has passed
  HAMLYN_FAILURE_ABANDONED = 3,   // its sender says that the rest will not come
  HAMLYN_FAILURE_MISCOUNTED = 4   // a group: its members' packets add more than the group has left
};

// What a notification queue gives (paper 0, table 3).
typedef struct hamlyn_notification {
  uint8_t kind;         // enum hamlyn_notification_kind
  uint8_t wrap;         // 1: the first of a new turn of the queue
  uint8_t fast;         // 1: fast mode, without a metadata entry
  uint8_t cause;        // enum hamlyn_refusal
  uint32_t slot;        // hamlyn_slot_number of the slot
  uint32_t entry;       // metadata entry; of nothing in fast mode
  uint32_t message_id;  // the sender's number of the message
  uint64_t offset;      // of the first byte, from the slot's base
  uint64_t length;      // bytes that landed
  uint64_t word;        // fast mode: the sender's word of metadata
  uint64_t peer;        // the interface that sent it, as the node attests; 0: several did, or nobody
  uint64_t reserved[2];
} hamlyn_notification;

// --- the interface (paper 0, section 2)

// This process's attachment to its host's node; everything else is made from it. `_free` refuses while
// something is.
typedef struct hamlyn_interface hamlyn_interface;

// Bits of hamlyn_interface_options.flags.
#define HAMLYN_NO_START UINT32_C(1)  // do not start this user's own node daemon when there is none

typedef struct hamlyn_interface_options {
  size_t size;
  const char* node;  // the daemon's socket; NULL: the service's, else this user's own
  int64_t timeout;   // for attaching; 5 s
  int64_t stall;     // work pending that long without progress ends a link; 10 s; HAMLYN_FOREVER: never
  size_t mtu;        // bytes of payload per packet, a multiple of 64 up to 32768; 32768
  uint32_t links;    // at most so many links at a time; 1024
  uint32_t flags;    // HAMLYN_NO_START
  int64_t dead;      // a process of another host that is not heard for so long is dead; 1 s, at most 30 days
} hamlyn_interface_options;

// Attaches this process to its host's node.
hamlyn_status hamlyn_interface_make(const hamlyn_interface_options* options, hamlyn_interface** made);
// Ends all links.
hamlyn_status hamlyn_interface_free(hamlyn_interface* interface);
// The node's number of this interface, as peers see it in hamlyn_notification.peer.
hamlyn_status hamlyn_interface_id(const hamlyn_interface* interface, uint64_t* id);
// Runs the interface once: arrivals, then departures. Polling and waiting do it, too.
hamlyn_status hamlyn_interface_run(hamlyn_interface* interface);
// Ends every wait that is going on in other threads with HAMLYN_CANCELLED.
hamlyn_status hamlyn_interface_cancel(hamlyn_interface* interface);

// Who may look a name up, besides its owner and root.
#define HAMLYN_FOR_GROUP UINT32_C(1)     // processes whose primary group is the owner's
#define HAMLYN_FOR_EVERYONE UINT32_C(2)  // all users of this host, through the service

// Registers a ticket under a name ([A-Za-z0-9._-], 1 to 64 characters) until withdrawn or this process ends.
hamlyn_status hamlyn_publish(hamlyn_interface* interface, const char* name, const hamlyn_ticket* ticket,
                             uint32_t rights);
// Takes back a name that this interface has registered. name_unknown: it has not.
hamlyn_status hamlyn_withdraw(hamlyn_interface* interface, const char* name);
// The ticket registered under `name`; waits for somebody to register it.
hamlyn_status hamlyn_lookup(hamlyn_interface* interface, const char* name, int64_t timeout,
                            hamlyn_ticket* ticket);

// Whose a registered name is, as the daemon of its node attests it. Anybody may register a name that is free:
// who cares which user it leads to looks here before sending anything there.
typedef struct hamlyn_registrant {
  uint64_t interface;  // its number
  uint32_t uid;        // the user's, on its own host
  uint32_t gid;        // the group's there
  uint32_t pid;        // the process's there
  uint32_t reserved;   // 0
} hamlyn_registrant;

// As hamlyn_lookup, and says whose it is.
hamlyn_status hamlyn_lookup_registrant(hamlyn_interface* interface, const char* name, int64_t timeout,
                                       hamlyn_ticket* ticket, hamlyn_registrant* registrant);

// --- areas: memory that messages land in, and that long ones are sent out of

// Memory of this process that messages land in. It is freed after its slots.
typedef struct hamlyn_area hamlyn_area;

// Who gets at the memory without the interface of its owner.
enum hamlyn_sharing {
  HAMLYN_GUARDED = 0,            // private: every byte comes through the interface
  HAMLYN_MAPPED_READ_ONLY = 1,   // any holder of a ticket may map and read it
  HAMLYN_MAPPED_READ_WRITE = 2,  // holders of a ticket who run as this process's user may read and write it
};

// A message area of `bytes` zeroed bytes (paper 0, section 2.2); `sharing`: enum hamlyn_sharing.
hamlyn_status hamlyn_area_make(hamlyn_interface* interface, size_t bytes, uint32_t sharing,
                               hamlyn_area** made);
// The same over memory that stays the caller's: whole pages of 4096, writable, until the area is freed.
hamlyn_status hamlyn_area_make_over(hamlyn_interface* interface, void* memory, size_t bytes,
                                    hamlyn_area** made);
// A durable area, kept in the file `path`, or, if that is NULL, in `descriptor` (paper 1, section 3.5.1).
hamlyn_status hamlyn_area_make_durable(hamlyn_interface* interface, const char* path, int descriptor,
                                       size_t bytes, hamlyn_area** made);
hamlyn_status hamlyn_area_free(hamlyn_area* area);
// Where it is, until it is freed, and how long.
hamlyn_status hamlyn_area_bytes(hamlyn_area* area, void** data, size_t* length);
// Mapped kinds: moves the area to fresh memory at the same address; who had it mapped keeps the old pages.
hamlyn_status hamlyn_area_revoke(hamlyn_area* area);
// Durable areas: puts these bytes into the file and waits until they are safe.
hamlyn_status hamlyn_area_sync(hamlyn_area* area, size_t offset, size_t length, int64_t timeout);

// A send buffer area (paper 0, section 2.3): what is sent out of it is copied once, by the receiver's
// interface. The whole of it is shown, read-only, to each process that a long piece of it is sent to.
typedef struct hamlyn_send_area hamlyn_send_area;

// `bytes`, rounded up to whole pages of 4096, zeroed. At most 64 areas per interface.
hamlyn_status hamlyn_send_area_make(hamlyn_interface* interface, size_t bytes, hamlyn_send_area** made);
hamlyn_status hamlyn_send_area_free(hamlyn_send_area* area);
// Where it is, until it is freed, and how long.
hamlyn_status hamlyn_send_area_bytes(hamlyn_send_area* area, void** data, size_t* length);

// Another process's slot, mapped here; reads are loads.
typedef struct hamlyn_mapped_slot hamlyn_mapped_slot;

// Makes the link if there is none. not_permitted: no mapped slot, a ticket that is not good, or another
// user's.
hamlyn_status hamlyn_mapped_slot_make(hamlyn_interface* interface, const hamlyn_ticket* ticket,
                                      int64_t timeout, hamlyn_mapped_slot** made);
hamlyn_status hamlyn_mapped_slot_free(hamlyn_mapped_slot* slot);
// For reading; until it is freed. The bytes may change at any time.
hamlyn_status hamlyn_mapped_slot_bytes(hamlyn_mapped_slot* slot, const void** data, size_t* length);
// `data` is NULL if it may only be read.
hamlyn_status hamlyn_mapped_slot_writable(hamlyn_mapped_slot* slot, void** data, size_t* length);
// `current`: 1 while the owner still uses this memory.
hamlyn_status hamlyn_mapped_slot_current(const hamlyn_mapped_slot* slot, int* current);

// --- notification queues (paper 0, section 2.6)

// Tells of what has landed, in this process's own memory. It is freed after its slots.
typedef struct hamlyn_queue hamlyn_queue;

// `places`: from 16 to 2^20, rounded up to a power of two; 0: 4096.
hamlyn_status hamlyn_queue_make(hamlyn_interface* interface, size_t places, hamlyn_queue** made);
hamlyn_status hamlyn_queue_free(hamlyn_queue* queue);
// The papers' h_rcv: up to `most` notifications that are there; `count` may be 0. Never waits.
hamlyn_status hamlyn_poll(hamlyn_queue* queue, hamlyn_notification* notifications, size_t most,
                          size_t* count);
// The papers' h_rcv_block: waits for the next one. ok, timed_out, cancelled, forked.
hamlyn_status hamlyn_receive(hamlyn_queue* queue, int64_t timeout, hamlyn_notification* notification);
// For poll and epoll: readable when the queue may hold something. Poll the queue until it is empty before
// going back to epoll. Owned by the queue.
hamlyn_status hamlyn_queue_descriptor(hamlyn_queue* queue, int* descriptor);

// --- slots (paper 0, section 2.2)

// The unit of protection: a part of an area, a key, and metadata entries.
typedef struct hamlyn_slot hamlyn_slot;

// How a slot checks what arrives (paper 0, section 2.7).
enum hamlyn_mode {
  HAMLYN_MODE_GUARDED = 0,           // the slot's key and bounds hold for every entry
  HAMLYN_MODE_PARANOID = 1,          // each entry has a key and bounds of its own
  HAMLYN_MODE_PARANOID_ONE_SHOT = 2  // the same, and the entry takes one message per arming
};

// What peers may do at a slot (paper 1, section 3.5.2).
enum hamlyn_access { HAMLYN_READ_WRITE = 0, HAMLYN_READ_ONLY = 1, HAMLYN_WRITE_ONLY = 2 };

// Bits of hamlyn_slot_options.flags.
#define HAMLYN_NO_FAST UINT32_C(1)  // takes no fast-mode packets
#define HAMLYN_FETCHES UINT32_C(2)  // takes fetch-and-ops
#define HAMLYN_PUTS UINT32_C(4)     // takes puts (hamlyn/c_segment.h)

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
hamlyn_status hamlyn_slot_make(hamlyn_area* area, hamlyn_queue* queue, const hamlyn_slot_options* options,
                               hamlyn_slot** made);
// Its tickets are refused from here on.
hamlyn_status hamlyn_slot_free(hamlyn_slot* slot);
// What its notifications have in `slot`: another number than the slots that had its place before.
hamlyn_status hamlyn_slot_number(const hamlyn_slot* slot, uint32_t* number);
// A ticket for fast mode, remote operations and mapping, whichever the slot takes.
hamlyn_status hamlyn_slot_ticket(const hamlyn_slot* slot, hamlyn_ticket* ticket);
// A ticket for a metadata entry.
hamlyn_status hamlyn_slot_entry_ticket(const hamlyn_slot* slot, uint32_t entry, hamlyn_ticket* ticket);
// Takes the next message in `entry`: when its notification was read, or after disarm.
hamlyn_status hamlyn_slot_arm(hamlyn_slot* slot, uint32_t entry);
// Paranoid modes: the same with a new key and new bounds, `bound` bytes from `base` on.
hamlyn_status hamlyn_slot_arm_within(hamlyn_slot* slot, uint32_t entry, uint64_t base, uint64_t bound);
// Takes a group of messages in `entry`, with one notification when all have come (paper 0, section 2.5), and
// fills `shares`, one for each of `members` (1 to 65536): for `part` bytes each, side by side; or, if `part`
// is 0, for the same bytes, all of the slot's.
hamlyn_status hamlyn_slot_arm_group(hamlyn_slot* slot, uint32_t entry, uint32_t members, uint64_t part,
                                    hamlyn_share* shares);
// Takes nothing more in `entry`; what was under way is forgotten.
hamlyn_status hamlyn_slot_disarm(hamlyn_slot* slot, uint32_t entry);
// Paranoid modes: takes back the right of whoever has the ticket of `entry`, at any moment.
hamlyn_status hamlyn_slot_revoke(hamlyn_slot* slot, uint32_t entry);
// An armed entry fails if it is not complete within `time`; HAMLYN_FOREVER takes that back.
hamlyn_status hamlyn_slot_fail_after(hamlyn_slot* slot, uint32_t entry, int64_t time);
// An armed entry fails also if the link with interface `peer` ends before `peer` has sent anything.
hamlyn_status hamlyn_slot_expect(hamlyn_slot* slot, uint32_t entry, uint64_t peer);
// One notification for the next `messages` messages together; 0: each has its own.
hamlyn_status hamlyn_slot_notify_after(hamlyn_slot* slot, uint32_t messages);
// Tickets given out before are refused.
hamlyn_status hamlyn_slot_change_key(hamlyn_slot* slot);
// Where it is, in its area, and how long.
hamlyn_status hamlyn_slot_bytes(hamlyn_slot* slot, void** data, size_t* length);
// The bytes of the message that `notification` tells of, in place. out_of_bounds: it is not of this slot.
hamlyn_status hamlyn_slot_message(hamlyn_slot* slot, const hamlyn_notification* notification, void** data,
                                  size_t* length);
// Out-of-band metadata of the entry's message, up to 60 bytes; until the entry is armed again.
hamlyn_status hamlyn_slot_metadata(const hamlyn_slot* slot, uint32_t entry, const void** data,
                                   size_t* length);

// --- termini: where messages leave (paper 0, section 2.3)

// A work queue, private to this process.
typedef struct hamlyn_terminus hamlyn_terminus;

// Levels of urgency, end to end (docs/priorities.md).
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
} hamlyn_send_options;

// `length` bytes from `offset` on of the send buffer area that is bound to `tag`.
typedef struct hamlyn_piece {
  uint64_t tag;
  uint64_t offset;
  uint64_t length;
} hamlyn_piece;

// As many as wanted, per process and per thread.
hamlyn_status hamlyn_terminus_make(hamlyn_interface* interface, const hamlyn_terminus_options* options,
                                   hamlyn_terminus** made);
// Cancels what was not sent whole.
hamlyn_status hamlyn_terminus_free(hamlyn_terminus* terminus);
// Makes the link to the ticket's interface and, for a fast-mode ticket, gets places there.
hamlyn_status hamlyn_connect(hamlyn_terminus* terminus, const hamlyn_ticket* ticket, int64_t timeout);
// The papers' h_send_msg: any number of bytes into the ticket's metadata entry. Returns at once: ok, the
// buffer is free; pending, it must stay until hamlyn_send_state(handle) no longer says so; anything else,
// nothing was taken. `handle` may be NULL.
hamlyn_status hamlyn_send(hamlyn_terminus* terminus, const hamlyn_ticket* ticket, const void* data,
                          size_t length, const hamlyn_send_options* options, hamlyn_send_handle* handle);
// The same as a member of a group; uses the share up.
hamlyn_status hamlyn_send_share(hamlyn_terminus* terminus, const hamlyn_share* share, const void* data,
                                size_t length, const hamlyn_send_options* options,
                                hamlyn_send_handle* handle);
// Names an area by a tag of this terminus, 0 to 7; `area` NULL: takes the name back.
hamlyn_status hamlyn_bind(hamlyn_terminus* terminus, uint32_t tag, hamlyn_send_area* area);
// Up to 16 pieces of bound areas as one message. The areas' bytes stay in use until it is no longer pending.
hamlyn_status hamlyn_send_gathered(hamlyn_terminus* terminus, const hamlyn_ticket* ticket,
                                   const hamlyn_piece* pieces, size_t count,
                                   const hamlyn_send_options* options, hamlyn_send_handle* handle);
// Fast mode (paper 0, section 2.7): one packet, up to the MTU, and one word of metadata.
hamlyn_status hamlyn_send_fast(hamlyn_terminus* terminus, const hamlyn_ticket* ticket, const void* data,
                               size_t length, uint64_t word, uint64_t offset);
// Waits until a fast-mode send to `ticket` has a place, or the link has ended: also just before, said once.
hamlyn_status hamlyn_wait_for_place(hamlyn_terminus* terminus, const hamlyn_ticket* ticket, int64_t timeout);
// How it stands with a send: pending, ok, refused, link_ended, cancelled. Runs nothing.
hamlyn_status hamlyn_send_state(const hamlyn_terminus* terminus, hamlyn_send_handle handle);
// Waits until it is no longer pending.
hamlyn_status hamlyn_send_wait(hamlyn_terminus* terminus, hamlyn_send_handle handle, int64_t timeout);
// Of an acknowledged message that was refused: why (enum hamlyn_refusal).
hamlyn_status hamlyn_send_refusal(const hamlyn_terminus* terminus, hamlyn_send_handle handle,
                                  uint32_t* cause);
// Forgets the rest of a message that is pending. HAMLYN_PENDING: all of it has left, and the receiver still
// reads its areas.
hamlyn_status hamlyn_send_cancel(hamlyn_terminus* terminus, hamlyn_send_handle handle);
// The sequence word: every send up to that number is over.
hamlyn_status hamlyn_sequence(const hamlyn_terminus* terminus, uint64_t* sequence);
// Takes the first `bytes` of a share's buffer off as `piece`, for a helper or for another message.
hamlyn_status hamlyn_share_split(hamlyn_share* share, uint64_t bytes, hamlyn_share* piece);

// --- remote operations (paper 1, sections 3.1 and 3.3)

// What is done to the word, at one moment; frozen numbers. HAMLYN_SWAP puts the operand there.
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
#define HAMLYN_TELL UINT64_C(16)      // the owner is told when it is done, if it wants to be; as of puts

typedef struct hamlyn_remote_options {
  size_t size;
  uint64_t offset;      // from the ticket's base
  hamlyn_queue* queue;  // hears when it is over, with `word`; must outlive it
  uint64_t word;
  uint64_t flags;                 // HAMLYN_NO_ANSWER, HAMLYN_TELL, HAMLYN_ELEMENT_2, _4 or _8
  const hamlyn_strides* strides;  // a get gathers these chunks; NULL: from one run
} hamlyn_remote_options;

// Of a remote operation of one terminus. A value.
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
hamlyn_status hamlyn_fetch(hamlyn_terminus* terminus, const hamlyn_ticket* ticket,
                           const hamlyn_fetch_request* request, const hamlyn_remote_options* options,
                           hamlyn_remote_handle* handle);
// Asks for `length` bytes, which land in `into`, a slot of this interface, from its byte `at` on.
hamlyn_status hamlyn_get(hamlyn_terminus* terminus, const hamlyn_ticket* ticket, hamlyn_slot* into,
                         uint64_t at, size_t length, const hamlyn_remote_options* options,
                         hamlyn_remote_handle* handle);
// How it stands. The answer is `outcome->status`, too.
hamlyn_status hamlyn_remote_outcome(const hamlyn_terminus* terminus, hamlyn_remote_handle handle,
                                    hamlyn_outcome* outcome);
// Waits until it is over; also timed_out, cancelled.
hamlyn_status hamlyn_remote_wait(hamlyn_terminus* terminus, hamlyn_remote_handle handle, int64_t timeout,
                                 hamlyn_outcome* outcome);

#ifdef __cplusplus
}
#endif
