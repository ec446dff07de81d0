#pragma once
// Answers of calls of the C interface (hamlyn/c.h).

#if defined(__cplusplus) && __cplusplus >= 201703L
// Stands before each function that answers a status: compilers warn a caller that ignores it.
#define HAMLYN_NODISCARD [[nodiscard]]
#elif defined(__GNUC__)
#define HAMLYN_NODISCARD __attribute__((warn_unused_result))
#else
#define HAMLYN_NODISCARD
#endif

#ifdef __cplusplus
extern "C" {
#endif

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
  HAMLYN_REFUSED = 8,           // the other side, or the node, does not allow it or has no room for it
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
  HAMLYN_NAME_TAKEN = 108,        // another interface holds that name
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
  HAMLYN_PEER_REFUSED = 124,      // the receiver does not want this sender, or cannot have it
  HAMLYN_PEER_DIED = 125,         // the process at the other side has ended, or its link has
  HAMLYN_NODE_FULL = 126          // all users together have as much as the node holds for them
};

// The status's name, as "no_place", and, by `hamlyn_status_advice`, a sentence on what to do about it.
// Never NULL.
const char* hamlyn_status_name(hamlyn_status status);
const char* hamlyn_status_advice(hamlyn_status status);
// Says what was wrong with this thread's last call that answered 100 or more, or that set something up
// and answered 5, 6 or 14. Empty if none has. Belongs to the thread: good until its next such call.
const char* hamlyn_last_error(void);

#ifdef __cplusplus
}
#endif
