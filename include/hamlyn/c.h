#pragma once
// The C interface, for C99 or later and for whatever calls C (docs/c-interface.md). C programs get it by
// <hamlyn/hamlyn.h> and link libhamlyn; the C++ classes of the same names say more about each thing. Here:
// what holds for all of it, and a header for each thing; hamlyn/c/segment.h has puts and segments,
// hamlyn/c/protocols.h the protocols.
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
#include "hamlyn/c/interface.h"
#include "hamlyn/c/link_reason.h"
#include "hamlyn/c/mapped_slot.h"
#include "hamlyn/c/message_area.h"
#include "hamlyn/c/not_mapped.h"
#include "hamlyn/c/notification.h"
#include "hamlyn/c/notification_queue.h"
#include "hamlyn/c/posted_slot.h"
#include "hamlyn/c/remote.h"
#include "hamlyn/c/send_buffer_area.h"
#include "hamlyn/c/slot.h"
#include "hamlyn/c/status.h"
#include "hamlyn/c/terminus.h"
#include "hamlyn/c/ticket.h"

// Raised whenever something here changes or goes; what is only added leaves it. The shared library's name has
// the same number.
#define HAMLYN_ABI_VERSION 0
// A time that does not end.
#define HAMLYN_FOREVER (-1)

#ifdef __cplusplus
extern "C" {
#endif

// The version that the library was built with: compare it with HAMLYN_ABI_VERSION.
int hamlyn_abi_version(void);
// "0.1.0". Never NULL.
const char* hamlyn_version(void);

#ifdef __cplusplus
}
#endif
