#pragma once
// The interface, and names (paper 0, section 2), in C (hamlyn/c.h).
#include <stddef.h>
#include <stdint.h>

#include "hamlyn/c/link_reason.h"
#include "hamlyn/c/status.h"
#include "hamlyn/c/ticket.h"

#ifdef __cplusplus
extern "C" {
#endif

// Attaches this process to its host's node; everything else is made from it. `_free` refuses while something
// made from it is left.
typedef struct hamlyn_interface hamlyn_interface;

// Bits of hamlyn_interface_options.flags.
#define HAMLYN_NO_START UINT32_C(1)  // do not start this user's own node daemon when there is none
// Links with this interface are opened by its own user, root, and the users and groups that the options name.
#define HAMLYN_NAMED_ONLY UINT32_C(2)

typedef struct hamlyn_interface_options {
  size_t size;
  const char* node;  // the daemon's socket; NULL: the service's, else this user's own
  int64_t timeout;   // for attaching; 5 s
  int64_t stall;     // work pending that long without progress ends a link; 10 s; HAMLYN_FOREVER: never
  size_t mtu;        // bytes of payload per packet, a multiple of 64 up to 32768; 32768
  uint32_t links;    // at most so many links at a time; 1024
  uint32_t flags;    // HAMLYN_NO_START, HAMLYN_NAMED_ONLY
  int64_t dead;      // a process of another host that is not heard for so long is dead; 1 s, at most 30 days
  const uint32_t*
      users;  // with HAMLYN_NAMED_ONLY: users who may open links with it, besides its own and root
  const uint32_t* groups;  // the same of primary groups
  uint32_t user_count;     // users that are named
  uint32_t group_count;    // groups that are named; with the users at most 16
  // Gets, fetch-ops and fences under way by one link, of each level and direction, 16 to 64; 16.
  uint64_t requests;
  int64_t spin;  // a thread that waits spins so long before it sleeps, while that pays, up to 1 s; 8 us
} hamlyn_interface_options;

// Attaches this process to its host's node.
HAMLYN_NODISCARD hamlyn_status hamlyn_interface_make(const hamlyn_interface_options* options,
                                                     hamlyn_interface** made);
// Ends all links.
HAMLYN_NODISCARD hamlyn_status hamlyn_interface_free(hamlyn_interface* interface);
// The node's number of this interface, as peers see it in hamlyn_notification.peer.
HAMLYN_NODISCARD hamlyn_status hamlyn_interface_id(const hamlyn_interface* interface, uint64_t* id);
// Runs the interface once: arrivals, then departures. Polling and waiting do it, too.
HAMLYN_NODISCARD hamlyn_status hamlyn_interface_run(hamlyn_interface* interface);
// Why there is no link with the interface `peer` (hamlyn_ticket.interface, hamlyn_notification.peer), or why
// the last one was refused, as enum hamlyn_link_reason; `told` becomes 1 if the process at the other side has
// said so. `peer` 0: what this process had too little of to have the last link that others wanted.
HAMLYN_NODISCARD hamlyn_status hamlyn_interface_why(const hamlyn_interface* interface, uint64_t peer,
                                                    uint32_t* reason, uint32_t* told);
// Whether that for which a call of hamlyn_interface_wait_any waits is there: not 0. Called under no lock, in
// the thread that waits; it may receive, poll and send without waiting (a time-out of 0).
typedef int (*hamlyn_ready)(void* context);
// Waits until `ready(context)` is not 0: for any of several queues, receivers, senders and segments of this
// interface, or for the program's own state. It is called at once, then whenever something may have changed.
// ok, timed_out (0: one look), cancelled, forked.
HAMLYN_NODISCARD hamlyn_status hamlyn_interface_wait_any(hamlyn_interface* interface, hamlyn_ready ready,
                                                         void* context, int64_t timeout);
// Has all that wait look again: called by a thread that has changed a state at which a `ready` looks.
HAMLYN_NODISCARD hamlyn_status hamlyn_interface_changed(hamlyn_interface* interface);
// For poll and epoll: readable when something may have changed since hamlyn_interface_wait_any has answered
// timed_out. Call it with a time of 0 until it does before going back to epoll. Owned by the interface.
HAMLYN_NODISCARD hamlyn_status hamlyn_interface_descriptor(hamlyn_interface* interface, int* descriptor);
// Ends every wait that is going on in other threads with HAMLYN_CANCELLED.
HAMLYN_NODISCARD hamlyn_status hamlyn_interface_cancel(hamlyn_interface* interface);

// Whether this process is attached to its node's daemon. `reason` (may be NULL): HAMLYN_OK, or why not;
// hamlyn_last_error has the sentence then.
HAMLYN_NODISCARD hamlyn_status hamlyn_interface_attached(hamlyn_interface* interface, int* attached,
                                                         hamlyn_status* reason);
// Waits until it is (1), or is not (0).
HAMLYN_NODISCARD hamlyn_status hamlyn_interface_wait_attached(hamlyn_interface* interface, int attached,
                                                              int64_t timeout);

// Readers of a name, besides its owner and root.
#define HAMLYN_FOR_GROUP UINT32_C(1)     // processes whose primary group is the owner's
#define HAMLYN_FOR_EVERYONE UINT32_C(2)  // all users of this host, through the service

// Registers a ticket under a name ([A-Za-z0-9._-], 1 to 64 characters) until withdrawn or this process ends.
HAMLYN_NODISCARD hamlyn_status hamlyn_publish(hamlyn_interface* interface, const char* name,
                                              const hamlyn_ticket* ticket, uint32_t rights);
// Takes back a name that this interface has registered. name_unknown: it has not.
HAMLYN_NODISCARD hamlyn_status hamlyn_withdraw(hamlyn_interface* interface, const char* name);
// The ticket registered under `name`; waits for somebody to register it.
HAMLYN_NODISCARD hamlyn_status hamlyn_lookup(hamlyn_interface* interface, const char* name, int64_t timeout,
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
HAMLYN_NODISCARD hamlyn_status hamlyn_lookup_registrant(hamlyn_interface* interface, const char* name,
                                                        int64_t timeout, hamlyn_ticket* ticket,
                                                        hamlyn_registrant* registrant);

#ifdef __cplusplus
}
#endif
