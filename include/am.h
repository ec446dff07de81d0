/* Active Messages II (Mainwaring and Culler) on Hamlyn (docs/am.md). Programs written for it compile and run:
 * its calls, constants and their values.
 *
 * Every call answers AM_OK or an AM_ERR code, unless it says otherwise. Any thread may call, whatever the
 * type of the bundle. A null and a handle that was freed answer AM_ERR_BAD_ARG; before AM_Init all answer
 * AM_ERR_NOT_INIT. Handlers may reply. They do nothing else that sends or waits, and make, move and free
 * nothing: that answers AM_ERR_IN_USE.
 * Link with `pkg-config --libs am`.
 *
 * C89 and later, and C++. */
#ifndef AM_H
#define AM_H

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define AM_API_ __attribute__((visibility("default")))
#define AM_FORMAT_ __attribute__((format(printf, 1, 2)))
#else
#define AM_API_
#define AM_FORMAT_
#endif

/* --- types */

typedef struct am_bundle_* eb_t;   /* a bundle: endpoints that are polled together */
typedef struct am_endpoint_* ep_t; /* an endpoint */
typedef struct {
  uint64_t am_words[9];
} en_t; /* an endpoint's name: a value, which can be sent to others */
typedef uint64_t tag_t;
typedef uint8_t handler_t;
typedef int op_t;

/* What a handler is called as. A short message's: (void* token, int, ...), with as many ints as were sent; a
 * medium or long one's: (void* token, void* data, size_t length, int, ...). */
typedef void (*am_handler_fn_t)(void);

/* A function as a handler, and an argument as an int. */
#ifdef __cplusplus
extern "C++" {
inline am_handler_fn_t AM_FUNCTION_(am_handler_fn_t function) { return function; }
template <class Function>
am_handler_fn_t AM_FUNCTION_(Function* function) {
  return reinterpret_cast<am_handler_fn_t>(function);
}
}
#define AM_INT_(argument) static_cast<int>(argument)
#else
#define AM_FUNCTION_(function) ((am_handler_fn_t)(function))
#define AM_INT_(argument) ((int)(argument))
#endif

/* --- constants */

#define AM_OK 0
#define AM_ERR_NOT_INIT 1 /* no AM_Init, or a forked child */
#define AM_ERR_BAD_ARG 2
#define AM_ERR_RESOURCE 3 /* no memory, or as many as there may be */
#define AM_ERR_NOT_SENT 4 /* an asynchronous message would have had to wait */
#define AM_ERR_IN_USE 5   /* a translation that is used, or a handler runs */

#define AM_SEQ 0 /* one thread at a time */
#define AM_PAR 1 /* threads poll and send at the same time */

#define AM_NOEVENTS 0
#define AM_NOTEMPTY 1

#define AM_NONE 0 /* tags: of an endpoint to which nobody may send */
#define AM_ALL 1  /* and everybody */

/* Statuses for handler 0. */
#define EBADARGS 1
#define EBADENTRY 2
#define EBADTAG 3
#define EBADHANDLER 4
#define EBADSEGOFF 5
#define EBADLENGTH 6
#define EBADENDPOINT 7
#define ECONGESTION 8
#define EUNREACHABLE 9
#define EREPLYREJECTED 10

/* Operations for handler 0. */
#define AM_REQUEST_M 1
#define AM_REQUEST_IM 2
#define AM_REQUEST_XFER_M 3
#define AM_REPLY_M 4
#define AM_REPLY_IM 5
#define AM_REPLY_XFER_M 6
#define AM_GET_XFER_M 7

/* What handler 0, (int status, op_t opcode, void* argblock), is given: `argblock` points to one of these,
 * good until it returns. */
typedef struct {
  ep_t request_endpoint; /* that had sent it */
  int index;             /* of the translation; -1: a reply */
  handler_t handler;
  int numargs;
  int args[16];
  size_t offset; /* of a long one, or of a get at its source */
  size_t nbytes; /* beside the arguments */
  en_t to;       /* whom it was sent to, as far as that is known */
} am_argblock_t;

/* What an endpoint has done. Numbers of messages. Fits in a medium message. */
typedef struct {
  uint64_t requests, replies;             /* sent */
  uint64_t requests_heard, replies_heard; /* for which a handler was called */
  uint64_t returned, rejected;            /* that came back, and that were sent back from here */
  uint64_t bytes, bytes_heard;            /* of medium and long ones */
  uint64_t waits;                         /* times that a request had no credit or no room at first */
  uint64_t kept, bare, refused;           /* docs/am.md */
} am_statistics_t;

/* --- the process */

AM_API_ int AM_Init(void);      /* as often as one likes: as many AM_Terminate end it */
AM_API_ int AM_Terminate(void); /* the last one frees all endpoints and bundles */

/* --- bundles and endpoints */

AM_API_ int AM_AllocateBundle(int type, eb_t* bundle); /* AM_SEQ or AM_PAR */
/* Also AM_ERR_BAD_ARG: HAMLYN_AM_CREDITS, HAMLYN_AM_RING or HAMLYN_AM_WAY says nothing sensible. Standard
 * error is told. */
AM_API_ int AM_AllocateEndpoint(eb_t bundle, ep_t* endpoint, en_t* name);
AM_API_ int AM_FreeBundle(eb_t bundle); /* with its endpoints */
AM_API_ int AM_FreeEndpoint(ep_t endpoint);
/* Keeps its table, tag, segment and what is under way. */
AM_API_ int AM_MoveEndpoint(ep_t endpoint, eb_t from, eb_t to);

AM_API_ int AM_Map(ep_t endpoint, int index, en_t name, tag_t tag);
AM_API_ int AM_MapAny(ep_t endpoint, int* index, en_t name, tag_t tag); /* the table grows */
AM_API_ int AM_UnMap(ep_t endpoint, int index);
AM_API_ int AM_GetTranslationInuse(ep_t endpoint, int index); /* AM_OK: it is used */
AM_API_ int AM_GetTranslationTag(ep_t endpoint, int index, tag_t* tag);
AM_API_ int AM_GetTranslationName(ep_t endpoint, int index, en_t* name);
AM_API_ int AM_GetNumTranslations(ep_t endpoint, int* count);
AM_API_ int AM_SetNumTranslations(ep_t endpoint, int count);
AM_API_ int AM_MaxNumTranslations(int* count);
/* A hint. AM_ERR_BAD_ARG: less than 1 of either. */
AM_API_ int AM_SetExpectedResources(ep_t endpoint, int endpoints, int outstanding_requests);

AM_API_ int AM_GetTag(ep_t endpoint, tag_t* tag);
AM_API_ int AM_SetTag(ep_t endpoint, tag_t tag); /* at any moment; AM_NONE at first */

/* Any memory. NULL and 0: none. NULL and -1: the whole address space, for ranks of this job (docs/am.md);
 * AM_ERR_BAD_ARG in a process of no job, or that is not dumpable. */
AM_API_ int AM_GetSeg(ep_t endpoint, void** address, size_t* length);
AM_API_ int AM_SetSeg(ep_t endpoint, void* address, size_t length);
AM_API_ int AM_MaxSegLength(size_t* length);

/* Handler 0 hears of what comes back. The default passes over replies; of a request it says so on standard
 * error, and ends the process without atexit functions. NULL: there is no handler, or for 0 the default. */
#define AM_SetHandler(endpoint, handler, function) _AM_SetHandler(endpoint, handler, AM_FUNCTION_(function))
#define AM_SetHandlerAny(endpoint, handler, function) \
  _AM_SetHandlerAny(endpoint, handler, AM_FUNCTION_(function))
AM_API_ int _AM_SetHandler(ep_t endpoint, handler_t handler, am_handler_fn_t function);
AM_API_ int _AM_SetHandlerAny(ep_t endpoint, handler_t* handler, am_handler_fn_t function);
AM_API_ int AM_GetNumHandlers(ep_t endpoint, int* count);
AM_API_ int AM_SetNumHandlers(ep_t endpoint, int count);
AM_API_ int AM_MaxNumHandlers(void); /* how many: 256 */
/* Called before and after each handler, with its token. NULL: nothing is. */
AM_API_ int AM_SetCallbacks(ep_t endpoint, void (*before)(void* token), void (*after)(void* token));

/* --- what comes */

AM_API_ int AM_Poll(eb_t bundle);
AM_API_ int AM_GetEventMask(eb_t bundle, int* mask);
AM_API_ int AM_SetEventMask(eb_t bundle, int mask);
/* Sleeps until AM_Poll would call a handler. AM_ERR_BAD_ARG: the mask is AM_NOEVENTS. */
AM_API_ int AM_WaitSema(eb_t bundle);

/* In a handler: who sent the message, to which endpoint, mapped with which tag. */
AM_API_ int AM_GetSourceEndpoint(void* token, en_t* name);
AM_API_ int AM_GetDestEndpoint(void* token, ep_t* endpoint);
AM_API_ int AM_GetMsgTag(void* token, tag_t* tag);

/* The most arguments, and bytes. */
AM_API_ int AM_MaxShort(void);
AM_API_ int AM_MaxMedium(void);
AM_API_ int AM_MaxLong(void);

/* --- messages, with up to 16 arguments, each an int */

AM_API_ int AM_Request(ep_t ep, int index, handler_t handler, int numargs, ...);
AM_API_ int AM_RequestI(ep_t ep, int index, handler_t handler, const void* source, size_t length, int numargs,
                        ...);
AM_API_ int AM_RequestXfer(ep_t ep, int index, size_t offset, handler_t handler, const void* source,
                           size_t length, int numargs, ...);
AM_API_ int AM_RequestXferAsync(ep_t ep, int index, size_t offset, handler_t handler, const void* source,
                                size_t length, int numargs, ...);
/* Brings bytes from the other's segment to the own one, and then calls the handler here. */
AM_API_ int AM_GetXfer(ep_t ep, int index, size_t source_offset, handler_t handler, size_t length,
                       size_t offset, int numargs, ...);
AM_API_ int AM_Reply(void* token, handler_t handler, int numargs, ...);
AM_API_ int AM_ReplyI(void* token, handler_t handler, const void* source, size_t length, int numargs, ...);
AM_API_ int AM_ReplyXfer(void* token, size_t offset, handler_t handler, const void* source, size_t length,
                         int numargs, ...);

/* The same with a list. */
AM_API_ int AM_RequestVA(ep_t ep, int index, handler_t handler, int numargs, va_list arguments);
AM_API_ int AM_RequestIVA(ep_t ep, int index, handler_t handler, const void* source, size_t length,
                          int numargs, va_list arguments);
AM_API_ int AM_RequestXferVA(ep_t ep, int index, size_t offset, handler_t handler, const void* source,
                             size_t length, int numargs, va_list arguments);
AM_API_ int AM_RequestXferAsyncVA(ep_t ep, int index, size_t offset, handler_t handler, const void* source,
                                  size_t length, int numargs, va_list arguments);
AM_API_ int AM_GetXferVA(ep_t ep, int index, size_t source_offset, handler_t handler, size_t length,
                         size_t offset, int numargs, va_list arguments);
AM_API_ int AM_ReplyVA(void* token, handler_t handler, int numargs, va_list arguments);
AM_API_ int AM_ReplyIVA(void* token, handler_t handler, const void* source, size_t length, int numargs,
                        va_list arguments);
AM_API_ int AM_ReplyXferVA(void* token, size_t offset, handler_t handler, const void* source, size_t length,
                           int numargs, va_list arguments);

/* The same with their count in their names. More arguments and the other kinds are macros (am_counted.h). */
AM_API_ int AM_Request0(ep_t ep, int index, handler_t handler);
AM_API_ int AM_Request1(ep_t ep, int index, handler_t handler, int a0);
AM_API_ int AM_Request2(ep_t ep, int index, handler_t handler, int a0, int a1);
AM_API_ int AM_Request3(ep_t ep, int index, handler_t handler, int a0, int a1, int a2);
AM_API_ int AM_Request4(ep_t ep, int index, handler_t handler, int a0, int a1, int a2, int a3);
AM_API_ int AM_Reply0(void* token, handler_t handler);
AM_API_ int AM_Reply1(void* token, handler_t handler, int a0);
AM_API_ int AM_Reply2(void* token, handler_t handler, int a0, int a1);
AM_API_ int AM_Reply3(void* token, handler_t handler, int a0, int a1, int a2);
AM_API_ int AM_Reply4(void* token, handler_t handler, int a0, int a1, int a2, int a3);

/* --- programs of several processes, which `hamlyn run` starts (docs/run.md) */

/* Makes a bundle and an endpoint whose table has every rank's, index = rank, under tags that nobody else has.
 * Calls AM_Init. A program that was started alone is a job of one. */
AM_API_ int AM_SPMDStartup(int type, eb_t* bundle, ep_t* endpoint);
AM_API_ int AM_SPMDNumProcs(void); /* 0: not started */
AM_API_ int AM_SPMDMyProc(void);
AM_API_ int AM_SPMDBarrier(void); /* polls meanwhile; AM_ERR_RESOURCE: a rank has ended */
/* `length` bytes of each, up to 8000, in the order of ranks. */
AM_API_ int AM_SPMDAllGather(const void* source, void* destination, size_t length);
AM_API_ int AM_SPMDBroadcast(void* data, size_t length, int from);
AM_API_ int AM_SPMDSetExitCallback(void (*callback)(int status)); /* called by AM_SPMDExit */
AM_API_ int AM_SPMDSetKillHook(
    void (*hook)(int status));        /* called to end the process, in the place of exit */
AM_API_ int AM_SPMDIsThreaded(void);  /* whether the bundle is AM_PAR */
AM_API_ void AM_SPMDExit(int status); /* ends this process, and with a status other than 0 the job */

/* Says it on standard error, with the rank, and ends the process. */
AM_API_ AM_FORMAT_ void AM_FatalErr(const char* format, ...);
AM_API_ int AM_enEqual(en_t one, en_t other); /* whether two names are the same */
AM_API_ int AM_GetStatistics(ep_t endpoint, am_statistics_t* statistics);
AM_API_ int AM_SPMDSumStatistics(am_statistics_t* statistics); /* over all ranks; all call it */

#ifdef __cplusplus
}
#endif

#include "am_counted.h"

#endif
