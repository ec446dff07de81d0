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
/* Also AM_ERR_BAD_ARG: HAMLYN_AM_CREDITS or HAMLYN_AM_RING is none, which is said on standard error. */
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

/* Any memory. NULL and 0: none. NULL and -1, the whole address space: AM_ERR_BAD_ARG. */
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

/* The same with their count in their names. */
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

#define AM_Request5(ep, index, handler, a0, a1, a2, a3, a4) \
  AM_Request(ep, index, handler, 5, AM_INT_(a0), AM_INT_(a1), AM_INT_(a2), AM_INT_(a3), AM_INT_(a4))
#define AM_Request6(ep, index, handler, a0, a1, a2, a3, a4, a5)                                      \
  AM_Request(ep, index, handler, 6, AM_INT_(a0), AM_INT_(a1), AM_INT_(a2), AM_INT_(a3), AM_INT_(a4), \
             AM_INT_(a5))
#define AM_Request7(ep, index, handler, a0, a1, a2, a3, a4, a5, a6)                                  \
  AM_Request(ep, index, handler, 7, AM_INT_(a0), AM_INT_(a1), AM_INT_(a2), AM_INT_(a3), AM_INT_(a4), \
             AM_INT_(a5), AM_INT_(a6))
#define AM_Request8(ep, index, handler, a0, a1, a2, a3, a4, a5, a6, a7)                              \
  AM_Request(ep, index, handler, 8, AM_INT_(a0), AM_INT_(a1), AM_INT_(a2), AM_INT_(a3), AM_INT_(a4), \
             AM_INT_(a5), AM_INT_(a6), AM_INT_(a7))
#define AM_Request9(ep, index, handler, a0, a1, a2, a3, a4, a5, a6, a7, a8)                          \
  AM_Request(ep, index, handler, 9, AM_INT_(a0), AM_INT_(a1), AM_INT_(a2), AM_INT_(a3), AM_INT_(a4), \
             AM_INT_(a5), AM_INT_(a6), AM_INT_(a7), AM_INT_(a8))
#define AM_Request10(ep, index, handler, a0, a1, a2, a3, a4, a5, a6, a7, a8, a9)                      \
  AM_Request(ep, index, handler, 10, AM_INT_(a0), AM_INT_(a1), AM_INT_(a2), AM_INT_(a3), AM_INT_(a4), \
             AM_INT_(a5), AM_INT_(a6), AM_INT_(a7), AM_INT_(a8), AM_INT_(a9))
#define AM_Request11(ep, index, handler, a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10)                 \
  AM_Request(ep, index, handler, 11, AM_INT_(a0), AM_INT_(a1), AM_INT_(a2), AM_INT_(a3), AM_INT_(a4), \
             AM_INT_(a5), AM_INT_(a6), AM_INT_(a7), AM_INT_(a8), AM_INT_(a9), AM_INT_(a10))
#define AM_Request12(ep, index, handler, a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11)            \
  AM_Request(ep, index, handler, 12, AM_INT_(a0), AM_INT_(a1), AM_INT_(a2), AM_INT_(a3), AM_INT_(a4), \
             AM_INT_(a5), AM_INT_(a6), AM_INT_(a7), AM_INT_(a8), AM_INT_(a9), AM_INT_(a10), AM_INT_(a11))
#define AM_Request13(ep, index, handler, a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12)           \
  AM_Request(ep, index, handler, 13, AM_INT_(a0), AM_INT_(a1), AM_INT_(a2), AM_INT_(a3), AM_INT_(a4),     \
             AM_INT_(a5), AM_INT_(a6), AM_INT_(a7), AM_INT_(a8), AM_INT_(a9), AM_INT_(a10), AM_INT_(a11), \
             AM_INT_(a12))
#define AM_Request14(ep, index, handler, a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13)      \
  AM_Request(ep, index, handler, 14, AM_INT_(a0), AM_INT_(a1), AM_INT_(a2), AM_INT_(a3), AM_INT_(a4),     \
             AM_INT_(a5), AM_INT_(a6), AM_INT_(a7), AM_INT_(a8), AM_INT_(a9), AM_INT_(a10), AM_INT_(a11), \
             AM_INT_(a12), AM_INT_(a13))
#define AM_Request15(ep, index, handler, a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, a14) \
  AM_Request(ep, index, handler, 15, AM_INT_(a0), AM_INT_(a1), AM_INT_(a2), AM_INT_(a3), AM_INT_(a4),     \
             AM_INT_(a5), AM_INT_(a6), AM_INT_(a7), AM_INT_(a8), AM_INT_(a9), AM_INT_(a10), AM_INT_(a11), \
             AM_INT_(a12), AM_INT_(a13), AM_INT_(a14))
#define AM_Request16(ep, index, handler, a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, a14, \
                     a15)                                                                                 \
  AM_Request(ep, index, handler, 16, AM_INT_(a0), AM_INT_(a1), AM_INT_(a2), AM_INT_(a3), AM_INT_(a4),     \
             AM_INT_(a5), AM_INT_(a6), AM_INT_(a7), AM_INT_(a8), AM_INT_(a9), AM_INT_(a10), AM_INT_(a11), \
             AM_INT_(a12), AM_INT_(a13), AM_INT_(a14), AM_INT_(a15))
#define AM_RequestI0(ep, index, handler, source, length) AM_RequestI(ep, index, handler, source, length, 0)
#define AM_RequestI1(ep, index, handler, source, length, a0) \
  AM_RequestI(ep, index, handler, source, length, 1, AM_INT_(a0))
#define AM_RequestI2(ep, index, handler, source, length, a0, a1) \
  AM_RequestI(ep, index, handler, source, length, 2, AM_INT_(a0), AM_INT_(a1))
#define AM_RequestI3(ep, index, handler, source, length, a0, a1, a2) \
  AM_RequestI(ep, index, handler, source, length, 3, AM_INT_(a0), AM_INT_(a1), AM_INT_(a2))
#define AM_RequestI4(ep, index, handler, source, length, a0, a1, a2, a3) \
  AM_RequestI(ep, index, handler, source, length, 4, AM_INT_(a0), AM_INT_(a1), AM_INT_(a2), AM_INT_(a3))
#define AM_RequestI5(ep, index, handler, source, length, a0, a1, a2, a3, a4)                             \
  AM_RequestI(ep, index, handler, source, length, 5, AM_INT_(a0), AM_INT_(a1), AM_INT_(a2), AM_INT_(a3), \
              AM_INT_(a4))
#define AM_RequestI6(ep, index, handler, source, length, a0, a1, a2, a3, a4, a5)                         \
  AM_RequestI(ep, index, handler, source, length, 6, AM_INT_(a0), AM_INT_(a1), AM_INT_(a2), AM_INT_(a3), \
              AM_INT_(a4), AM_INT_(a5))
#define AM_RequestI7(ep, index, handler, source, length, a0, a1, a2, a3, a4, a5, a6)                     \
  AM_RequestI(ep, index, handler, source, length, 7, AM_INT_(a0), AM_INT_(a1), AM_INT_(a2), AM_INT_(a3), \
              AM_INT_(a4), AM_INT_(a5), AM_INT_(a6))
#define AM_RequestI8(ep, index, handler, source, length, a0, a1, a2, a3, a4, a5, a6, a7)                 \
  AM_RequestI(ep, index, handler, source, length, 8, AM_INT_(a0), AM_INT_(a1), AM_INT_(a2), AM_INT_(a3), \
              AM_INT_(a4), AM_INT_(a5), AM_INT_(a6), AM_INT_(a7))
#define AM_RequestI9(ep, index, handler, source, length, a0, a1, a2, a3, a4, a5, a6, a7, a8)             \
  AM_RequestI(ep, index, handler, source, length, 9, AM_INT_(a0), AM_INT_(a1), AM_INT_(a2), AM_INT_(a3), \
              AM_INT_(a4), AM_INT_(a5), AM_INT_(a6), AM_INT_(a7), AM_INT_(a8))
#define AM_RequestI10(ep, index, handler, source, length, a0, a1, a2, a3, a4, a5, a6, a7, a8, a9)         \
  AM_RequestI(ep, index, handler, source, length, 10, AM_INT_(a0), AM_INT_(a1), AM_INT_(a2), AM_INT_(a3), \
              AM_INT_(a4), AM_INT_(a5), AM_INT_(a6), AM_INT_(a7), AM_INT_(a8), AM_INT_(a9))
#define AM_RequestI11(ep, index, handler, source, length, a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10)    \
  AM_RequestI(ep, index, handler, source, length, 11, AM_INT_(a0), AM_INT_(a1), AM_INT_(a2), AM_INT_(a3), \
              AM_INT_(a4), AM_INT_(a5), AM_INT_(a6), AM_INT_(a7), AM_INT_(a8), AM_INT_(a9), AM_INT_(a10))
#define AM_RequestI12(ep, index, handler, source, length, a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11) \
  AM_RequestI(ep, index, handler, source, length, 12, AM_INT_(a0), AM_INT_(a1), AM_INT_(a2), AM_INT_(a3),   \
              AM_INT_(a4), AM_INT_(a5), AM_INT_(a6), AM_INT_(a7), AM_INT_(a8), AM_INT_(a9), AM_INT_(a10),   \
              AM_INT_(a11))
#define AM_RequestI13(ep, index, handler, source, length, a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, \
                      a12)                                                                                  \
  AM_RequestI(ep, index, handler, source, length, 13, AM_INT_(a0), AM_INT_(a1), AM_INT_(a2), AM_INT_(a3),   \
              AM_INT_(a4), AM_INT_(a5), AM_INT_(a6), AM_INT_(a7), AM_INT_(a8), AM_INT_(a9), AM_INT_(a10),   \
              AM_INT_(a11), AM_INT_(a12))
#define AM_RequestI14(ep, index, handler, source, length, a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, \
                      a12, a13)                                                                             \
  AM_RequestI(ep, index, handler, source, length, 14, AM_INT_(a0), AM_INT_(a1), AM_INT_(a2), AM_INT_(a3),   \
              AM_INT_(a4), AM_INT_(a5), AM_INT_(a6), AM_INT_(a7), AM_INT_(a8), AM_INT_(a9), AM_INT_(a10),   \
              AM_INT_(a11), AM_INT_(a12), AM_INT_(a13))
#define AM_RequestI15(ep, index, handler, source, length, a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, \
                      a12, a13, a14)                                                                        \
  AM_RequestI(ep, index, handler, source, length, 15, AM_INT_(a0), AM_INT_(a1), AM_INT_(a2), AM_INT_(a3),   \
              AM_INT_(a4), AM_INT_(a5), AM_INT_(a6), AM_INT_(a7), AM_INT_(a8), AM_INT_(a9), AM_INT_(a10),   \
              AM_INT_(a11), AM_INT_(a12), AM_INT_(a13), AM_INT_(a14))
#define AM_RequestI16(ep, index, handler, source, length, a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, \
                      a12, a13, a14, a15)                                                                   \
  AM_RequestI(ep, index, handler, source, length, 16, AM_INT_(a0), AM_INT_(a1), AM_INT_(a2), AM_INT_(a3),   \
              AM_INT_(a4), AM_INT_(a5), AM_INT_(a6), AM_INT_(a7), AM_INT_(a8), AM_INT_(a9), AM_INT_(a10),   \
              AM_INT_(a11), AM_INT_(a12), AM_INT_(a13), AM_INT_(a14), AM_INT_(a15))
#define AM_RequestXfer0(ep, index, offset, handler, source, length) \
  AM_RequestXfer(ep, index, offset, handler, source, length, 0)
#define AM_RequestXfer1(ep, index, offset, handler, source, length, a0) \
  AM_RequestXfer(ep, index, offset, handler, source, length, 1, AM_INT_(a0))
#define AM_RequestXfer2(ep, index, offset, handler, source, length, a0, a1) \
  AM_RequestXfer(ep, index, offset, handler, source, length, 2, AM_INT_(a0), AM_INT_(a1))
#define AM_RequestXfer3(ep, index, offset, handler, source, length, a0, a1, a2) \
  AM_RequestXfer(ep, index, offset, handler, source, length, 3, AM_INT_(a0), AM_INT_(a1), AM_INT_(a2))
#define AM_RequestXfer4(ep, index, offset, handler, source, length, a0, a1, a2, a3)                    \
  AM_RequestXfer(ep, index, offset, handler, source, length, 4, AM_INT_(a0), AM_INT_(a1), AM_INT_(a2), \
                 AM_INT_(a3))
#define AM_RequestXfer5(ep, index, offset, handler, source, length, a0, a1, a2, a3, a4)                \
  AM_RequestXfer(ep, index, offset, handler, source, length, 5, AM_INT_(a0), AM_INT_(a1), AM_INT_(a2), \
                 AM_INT_(a3), AM_INT_(a4))
#define AM_RequestXfer6(ep, index, offset, handler, source, length, a0, a1, a2, a3, a4, a5)            \
  AM_RequestXfer(ep, index, offset, handler, source, length, 6, AM_INT_(a0), AM_INT_(a1), AM_INT_(a2), \
                 AM_INT_(a3), AM_INT_(a4), AM_INT_(a5))
#define AM_RequestXfer7(ep, index, offset, handler, source, length, a0, a1, a2, a3, a4, a5, a6)        \
  AM_RequestXfer(ep, index, offset, handler, source, length, 7, AM_INT_(a0), AM_INT_(a1), AM_INT_(a2), \
                 AM_INT_(a3), AM_INT_(a4), AM_INT_(a5), AM_INT_(a6))
#define AM_RequestXfer8(ep, index, offset, handler, source, length, a0, a1, a2, a3, a4, a5, a6, a7)    \
  AM_RequestXfer(ep, index, offset, handler, source, length, 8, AM_INT_(a0), AM_INT_(a1), AM_INT_(a2), \
                 AM_INT_(a3), AM_INT_(a4), AM_INT_(a5), AM_INT_(a6), AM_INT_(a7))
#define AM_RequestXfer9(ep, index, offset, handler, source, length, a0, a1, a2, a3, a4, a5, a6, a7, a8) \
  AM_RequestXfer(ep, index, offset, handler, source, length, 9, AM_INT_(a0), AM_INT_(a1), AM_INT_(a2),  \
                 AM_INT_(a3), AM_INT_(a4), AM_INT_(a5), AM_INT_(a6), AM_INT_(a7), AM_INT_(a8))
#define AM_RequestXfer10(ep, index, offset, handler, source, length, a0, a1, a2, a3, a4, a5, a6, a7, a8, a9) \
  AM_RequestXfer(ep, index, offset, handler, source, length, 10, AM_INT_(a0), AM_INT_(a1), AM_INT_(a2),      \
                 AM_INT_(a3), AM_INT_(a4), AM_INT_(a5), AM_INT_(a6), AM_INT_(a7), AM_INT_(a8), AM_INT_(a9))
#define AM_RequestXfer11(ep, index, offset, handler, source, length, a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, \
                         a10)                                                                                \
  AM_RequestXfer(ep, index, offset, handler, source, length, 11, AM_INT_(a0), AM_INT_(a1), AM_INT_(a2),      \
                 AM_INT_(a3), AM_INT_(a4), AM_INT_(a5), AM_INT_(a6), AM_INT_(a7), AM_INT_(a8), AM_INT_(a9),  \
                 AM_INT_(a10))
#define AM_RequestXfer12(ep, index, offset, handler, source, length, a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, \
                         a10, a11)                                                                           \
  AM_RequestXfer(ep, index, offset, handler, source, length, 12, AM_INT_(a0), AM_INT_(a1), AM_INT_(a2),      \
                 AM_INT_(a3), AM_INT_(a4), AM_INT_(a5), AM_INT_(a6), AM_INT_(a7), AM_INT_(a8), AM_INT_(a9),  \
                 AM_INT_(a10), AM_INT_(a11))
#define AM_RequestXfer13(ep, index, offset, handler, source, length, a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, \
                         a10, a11, a12)                                                                      \
  AM_RequestXfer(ep, index, offset, handler, source, length, 13, AM_INT_(a0), AM_INT_(a1), AM_INT_(a2),      \
                 AM_INT_(a3), AM_INT_(a4), AM_INT_(a5), AM_INT_(a6), AM_INT_(a7), AM_INT_(a8), AM_INT_(a9),  \
                 AM_INT_(a10), AM_INT_(a11), AM_INT_(a12))
#define AM_RequestXfer14(ep, index, offset, handler, source, length, a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, \
                         a10, a11, a12, a13)                                                                 \
  AM_RequestXfer(ep, index, offset, handler, source, length, 14, AM_INT_(a0), AM_INT_(a1), AM_INT_(a2),      \
                 AM_INT_(a3), AM_INT_(a4), AM_INT_(a5), AM_INT_(a6), AM_INT_(a7), AM_INT_(a8), AM_INT_(a9),  \
                 AM_INT_(a10), AM_INT_(a11), AM_INT_(a12), AM_INT_(a13))
#define AM_RequestXfer15(ep, index, offset, handler, source, length, a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, \
                         a10, a11, a12, a13, a14)                                                            \
  AM_RequestXfer(ep, index, offset, handler, source, length, 15, AM_INT_(a0), AM_INT_(a1), AM_INT_(a2),      \
                 AM_INT_(a3), AM_INT_(a4), AM_INT_(a5), AM_INT_(a6), AM_INT_(a7), AM_INT_(a8), AM_INT_(a9),  \
                 AM_INT_(a10), AM_INT_(a11), AM_INT_(a12), AM_INT_(a13), AM_INT_(a14))
#define AM_RequestXfer16(ep, index, offset, handler, source, length, a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, \
                         a10, a11, a12, a13, a14, a15)                                                       \
  AM_RequestXfer(ep, index, offset, handler, source, length, 16, AM_INT_(a0), AM_INT_(a1), AM_INT_(a2),      \
                 AM_INT_(a3), AM_INT_(a4), AM_INT_(a5), AM_INT_(a6), AM_INT_(a7), AM_INT_(a8), AM_INT_(a9),  \
                 AM_INT_(a10), AM_INT_(a11), AM_INT_(a12), AM_INT_(a13), AM_INT_(a14), AM_INT_(a15))
#define AM_RequestXferAsync0(ep, index, offset, handler, source, length) \
  AM_RequestXferAsync(ep, index, offset, handler, source, length, 0)
#define AM_RequestXferAsync1(ep, index, offset, handler, source, length, a0) \
  AM_RequestXferAsync(ep, index, offset, handler, source, length, 1, AM_INT_(a0))
#define AM_RequestXferAsync2(ep, index, offset, handler, source, length, a0, a1) \
  AM_RequestXferAsync(ep, index, offset, handler, source, length, 2, AM_INT_(a0), AM_INT_(a1))
#define AM_RequestXferAsync3(ep, index, offset, handler, source, length, a0, a1, a2) \
  AM_RequestXferAsync(ep, index, offset, handler, source, length, 3, AM_INT_(a0), AM_INT_(a1), AM_INT_(a2))
#define AM_RequestXferAsync4(ep, index, offset, handler, source, length, a0, a1, a2, a3)                    \
  AM_RequestXferAsync(ep, index, offset, handler, source, length, 4, AM_INT_(a0), AM_INT_(a1), AM_INT_(a2), \
                      AM_INT_(a3))
#define AM_RequestXferAsync5(ep, index, offset, handler, source, length, a0, a1, a2, a3, a4)                \
  AM_RequestXferAsync(ep, index, offset, handler, source, length, 5, AM_INT_(a0), AM_INT_(a1), AM_INT_(a2), \
                      AM_INT_(a3), AM_INT_(a4))
#define AM_RequestXferAsync6(ep, index, offset, handler, source, length, a0, a1, a2, a3, a4, a5)            \
  AM_RequestXferAsync(ep, index, offset, handler, source, length, 6, AM_INT_(a0), AM_INT_(a1), AM_INT_(a2), \
                      AM_INT_(a3), AM_INT_(a4), AM_INT_(a5))
#define AM_RequestXferAsync7(ep, index, offset, handler, source, length, a0, a1, a2, a3, a4, a5, a6)        \
  AM_RequestXferAsync(ep, index, offset, handler, source, length, 7, AM_INT_(a0), AM_INT_(a1), AM_INT_(a2), \
                      AM_INT_(a3), AM_INT_(a4), AM_INT_(a5), AM_INT_(a6))
#define AM_RequestXferAsync8(ep, index, offset, handler, source, length, a0, a1, a2, a3, a4, a5, a6, a7)    \
  AM_RequestXferAsync(ep, index, offset, handler, source, length, 8, AM_INT_(a0), AM_INT_(a1), AM_INT_(a2), \
                      AM_INT_(a3), AM_INT_(a4), AM_INT_(a5), AM_INT_(a6), AM_INT_(a7))
#define AM_RequestXferAsync9(ep, index, offset, handler, source, length, a0, a1, a2, a3, a4, a5, a6, a7, a8) \
  AM_RequestXferAsync(ep, index, offset, handler, source, length, 9, AM_INT_(a0), AM_INT_(a1), AM_INT_(a2),  \
                      AM_INT_(a3), AM_INT_(a4), AM_INT_(a5), AM_INT_(a6), AM_INT_(a7), AM_INT_(a8))
#define AM_RequestXferAsync10(ep, index, offset, handler, source, length, a0, a1, a2, a3, a4, a5, a6, a7,    \
                              a8, a9)                                                                        \
  AM_RequestXferAsync(ep, index, offset, handler, source, length, 10, AM_INT_(a0), AM_INT_(a1), AM_INT_(a2), \
                      AM_INT_(a3), AM_INT_(a4), AM_INT_(a5), AM_INT_(a6), AM_INT_(a7), AM_INT_(a8),          \
                      AM_INT_(a9))
#define AM_RequestXferAsync11(ep, index, offset, handler, source, length, a0, a1, a2, a3, a4, a5, a6, a7,    \
                              a8, a9, a10)                                                                   \
  AM_RequestXferAsync(ep, index, offset, handler, source, length, 11, AM_INT_(a0), AM_INT_(a1), AM_INT_(a2), \
                      AM_INT_(a3), AM_INT_(a4), AM_INT_(a5), AM_INT_(a6), AM_INT_(a7), AM_INT_(a8),          \
                      AM_INT_(a9), AM_INT_(a10))
#define AM_RequestXferAsync12(ep, index, offset, handler, source, length, a0, a1, a2, a3, a4, a5, a6, a7,    \
                              a8, a9, a10, a11)                                                              \
  AM_RequestXferAsync(ep, index, offset, handler, source, length, 12, AM_INT_(a0), AM_INT_(a1), AM_INT_(a2), \
                      AM_INT_(a3), AM_INT_(a4), AM_INT_(a5), AM_INT_(a6), AM_INT_(a7), AM_INT_(a8),          \
                      AM_INT_(a9), AM_INT_(a10), AM_INT_(a11))
#define AM_RequestXferAsync13(ep, index, offset, handler, source, length, a0, a1, a2, a3, a4, a5, a6, a7,    \
                              a8, a9, a10, a11, a12)                                                         \
  AM_RequestXferAsync(ep, index, offset, handler, source, length, 13, AM_INT_(a0), AM_INT_(a1), AM_INT_(a2), \
                      AM_INT_(a3), AM_INT_(a4), AM_INT_(a5), AM_INT_(a6), AM_INT_(a7), AM_INT_(a8),          \
                      AM_INT_(a9), AM_INT_(a10), AM_INT_(a11), AM_INT_(a12))
#define AM_RequestXferAsync14(ep, index, offset, handler, source, length, a0, a1, a2, a3, a4, a5, a6, a7,    \
                              a8, a9, a10, a11, a12, a13)                                                    \
  AM_RequestXferAsync(ep, index, offset, handler, source, length, 14, AM_INT_(a0), AM_INT_(a1), AM_INT_(a2), \
                      AM_INT_(a3), AM_INT_(a4), AM_INT_(a5), AM_INT_(a6), AM_INT_(a7), AM_INT_(a8),          \
                      AM_INT_(a9), AM_INT_(a10), AM_INT_(a11), AM_INT_(a12), AM_INT_(a13))
#define AM_RequestXferAsync15(ep, index, offset, handler, source, length, a0, a1, a2, a3, a4, a5, a6, a7,    \
                              a8, a9, a10, a11, a12, a13, a14)                                               \
  AM_RequestXferAsync(ep, index, offset, handler, source, length, 15, AM_INT_(a0), AM_INT_(a1), AM_INT_(a2), \
                      AM_INT_(a3), AM_INT_(a4), AM_INT_(a5), AM_INT_(a6), AM_INT_(a7), AM_INT_(a8),          \
                      AM_INT_(a9), AM_INT_(a10), AM_INT_(a11), AM_INT_(a12), AM_INT_(a13), AM_INT_(a14))
#define AM_RequestXferAsync16(ep, index, offset, handler, source, length, a0, a1, a2, a3, a4, a5, a6, a7,    \
                              a8, a9, a10, a11, a12, a13, a14, a15)                                          \
  AM_RequestXferAsync(ep, index, offset, handler, source, length, 16, AM_INT_(a0), AM_INT_(a1), AM_INT_(a2), \
                      AM_INT_(a3), AM_INT_(a4), AM_INT_(a5), AM_INT_(a6), AM_INT_(a7), AM_INT_(a8),          \
                      AM_INT_(a9), AM_INT_(a10), AM_INT_(a11), AM_INT_(a12), AM_INT_(a13), AM_INT_(a14),     \
                      AM_INT_(a15))
#define AM_GetXfer0(ep, index, source_offset, handler, length, offset) \
  AM_GetXfer(ep, index, source_offset, handler, length, offset, 0)
#define AM_GetXfer1(ep, index, source_offset, handler, length, offset, a0) \
  AM_GetXfer(ep, index, source_offset, handler, length, offset, 1, AM_INT_(a0))
#define AM_GetXfer2(ep, index, source_offset, handler, length, offset, a0, a1) \
  AM_GetXfer(ep, index, source_offset, handler, length, offset, 2, AM_INT_(a0), AM_INT_(a1))
#define AM_GetXfer3(ep, index, source_offset, handler, length, offset, a0, a1, a2) \
  AM_GetXfer(ep, index, source_offset, handler, length, offset, 3, AM_INT_(a0), AM_INT_(a1), AM_INT_(a2))
#define AM_GetXfer4(ep, index, source_offset, handler, length, offset, a0, a1, a2, a3)                    \
  AM_GetXfer(ep, index, source_offset, handler, length, offset, 4, AM_INT_(a0), AM_INT_(a1), AM_INT_(a2), \
             AM_INT_(a3))
#define AM_GetXfer5(ep, index, source_offset, handler, length, offset, a0, a1, a2, a3, a4)                \
  AM_GetXfer(ep, index, source_offset, handler, length, offset, 5, AM_INT_(a0), AM_INT_(a1), AM_INT_(a2), \
             AM_INT_(a3), AM_INT_(a4))
#define AM_GetXfer6(ep, index, source_offset, handler, length, offset, a0, a1, a2, a3, a4, a5)            \
  AM_GetXfer(ep, index, source_offset, handler, length, offset, 6, AM_INT_(a0), AM_INT_(a1), AM_INT_(a2), \
             AM_INT_(a3), AM_INT_(a4), AM_INT_(a5))
#define AM_GetXfer7(ep, index, source_offset, handler, length, offset, a0, a1, a2, a3, a4, a5, a6)        \
  AM_GetXfer(ep, index, source_offset, handler, length, offset, 7, AM_INT_(a0), AM_INT_(a1), AM_INT_(a2), \
             AM_INT_(a3), AM_INT_(a4), AM_INT_(a5), AM_INT_(a6))
#define AM_GetXfer8(ep, index, source_offset, handler, length, offset, a0, a1, a2, a3, a4, a5, a6, a7)    \
  AM_GetXfer(ep, index, source_offset, handler, length, offset, 8, AM_INT_(a0), AM_INT_(a1), AM_INT_(a2), \
             AM_INT_(a3), AM_INT_(a4), AM_INT_(a5), AM_INT_(a6), AM_INT_(a7))
#define AM_GetXfer9(ep, index, source_offset, handler, length, offset, a0, a1, a2, a3, a4, a5, a6, a7, a8) \
  AM_GetXfer(ep, index, source_offset, handler, length, offset, 9, AM_INT_(a0), AM_INT_(a1), AM_INT_(a2),  \
             AM_INT_(a3), AM_INT_(a4), AM_INT_(a5), AM_INT_(a6), AM_INT_(a7), AM_INT_(a8))
#define AM_GetXfer10(ep, index, source_offset, handler, length, offset, a0, a1, a2, a3, a4, a5, a6, a7, a8, \
                     a9)                                                                                    \
  AM_GetXfer(ep, index, source_offset, handler, length, offset, 10, AM_INT_(a0), AM_INT_(a1), AM_INT_(a2),  \
             AM_INT_(a3), AM_INT_(a4), AM_INT_(a5), AM_INT_(a6), AM_INT_(a7), AM_INT_(a8), AM_INT_(a9))
#define AM_GetXfer11(ep, index, source_offset, handler, length, offset, a0, a1, a2, a3, a4, a5, a6, a7, a8, \
                     a9, a10)                                                                               \
  AM_GetXfer(ep, index, source_offset, handler, length, offset, 11, AM_INT_(a0), AM_INT_(a1), AM_INT_(a2),  \
             AM_INT_(a3), AM_INT_(a4), AM_INT_(a5), AM_INT_(a6), AM_INT_(a7), AM_INT_(a8), AM_INT_(a9),     \
             AM_INT_(a10))
#define AM_GetXfer12(ep, index, source_offset, handler, length, offset, a0, a1, a2, a3, a4, a5, a6, a7, a8, \
                     a9, a10, a11)                                                                          \
  AM_GetXfer(ep, index, source_offset, handler, length, offset, 12, AM_INT_(a0), AM_INT_(a1), AM_INT_(a2),  \
             AM_INT_(a3), AM_INT_(a4), AM_INT_(a5), AM_INT_(a6), AM_INT_(a7), AM_INT_(a8), AM_INT_(a9),     \
             AM_INT_(a10), AM_INT_(a11))
#define AM_GetXfer13(ep, index, source_offset, handler, length, offset, a0, a1, a2, a3, a4, a5, a6, a7, a8, \
                     a9, a10, a11, a12)                                                                     \
  AM_GetXfer(ep, index, source_offset, handler, length, offset, 13, AM_INT_(a0), AM_INT_(a1), AM_INT_(a2),  \
             AM_INT_(a3), AM_INT_(a4), AM_INT_(a5), AM_INT_(a6), AM_INT_(a7), AM_INT_(a8), AM_INT_(a9),     \
             AM_INT_(a10), AM_INT_(a11), AM_INT_(a12))
#define AM_GetXfer14(ep, index, source_offset, handler, length, offset, a0, a1, a2, a3, a4, a5, a6, a7, a8, \
                     a9, a10, a11, a12, a13)                                                                \
  AM_GetXfer(ep, index, source_offset, handler, length, offset, 14, AM_INT_(a0), AM_INT_(a1), AM_INT_(a2),  \
             AM_INT_(a3), AM_INT_(a4), AM_INT_(a5), AM_INT_(a6), AM_INT_(a7), AM_INT_(a8), AM_INT_(a9),     \
             AM_INT_(a10), AM_INT_(a11), AM_INT_(a12), AM_INT_(a13))
#define AM_GetXfer15(ep, index, source_offset, handler, length, offset, a0, a1, a2, a3, a4, a5, a6, a7, a8, \
                     a9, a10, a11, a12, a13, a14)                                                           \
  AM_GetXfer(ep, index, source_offset, handler, length, offset, 15, AM_INT_(a0), AM_INT_(a1), AM_INT_(a2),  \
             AM_INT_(a3), AM_INT_(a4), AM_INT_(a5), AM_INT_(a6), AM_INT_(a7), AM_INT_(a8), AM_INT_(a9),     \
             AM_INT_(a10), AM_INT_(a11), AM_INT_(a12), AM_INT_(a13), AM_INT_(a14))
#define AM_GetXfer16(ep, index, source_offset, handler, length, offset, a0, a1, a2, a3, a4, a5, a6, a7, a8, \
                     a9, a10, a11, a12, a13, a14, a15)                                                      \
  AM_GetXfer(ep, index, source_offset, handler, length, offset, 16, AM_INT_(a0), AM_INT_(a1), AM_INT_(a2),  \
             AM_INT_(a3), AM_INT_(a4), AM_INT_(a5), AM_INT_(a6), AM_INT_(a7), AM_INT_(a8), AM_INT_(a9),     \
             AM_INT_(a10), AM_INT_(a11), AM_INT_(a12), AM_INT_(a13), AM_INT_(a14), AM_INT_(a15))
#define AM_Reply5(token, handler, a0, a1, a2, a3, a4) \
  AM_Reply(token, handler, 5, AM_INT_(a0), AM_INT_(a1), AM_INT_(a2), AM_INT_(a3), AM_INT_(a4))
#define AM_Reply6(token, handler, a0, a1, a2, a3, a4, a5) \
  AM_Reply(token, handler, 6, AM_INT_(a0), AM_INT_(a1), AM_INT_(a2), AM_INT_(a3), AM_INT_(a4), AM_INT_(a5))
#define AM_Reply7(token, handler, a0, a1, a2, a3, a4, a5, a6)                                               \
  AM_Reply(token, handler, 7, AM_INT_(a0), AM_INT_(a1), AM_INT_(a2), AM_INT_(a3), AM_INT_(a4), AM_INT_(a5), \
           AM_INT_(a6))
#define AM_Reply8(token, handler, a0, a1, a2, a3, a4, a5, a6, a7)                                           \
  AM_Reply(token, handler, 8, AM_INT_(a0), AM_INT_(a1), AM_INT_(a2), AM_INT_(a3), AM_INT_(a4), AM_INT_(a5), \
           AM_INT_(a6), AM_INT_(a7))
#define AM_Reply9(token, handler, a0, a1, a2, a3, a4, a5, a6, a7, a8)                                       \
  AM_Reply(token, handler, 9, AM_INT_(a0), AM_INT_(a1), AM_INT_(a2), AM_INT_(a3), AM_INT_(a4), AM_INT_(a5), \
           AM_INT_(a6), AM_INT_(a7), AM_INT_(a8))
#define AM_Reply10(token, handler, a0, a1, a2, a3, a4, a5, a6, a7, a8, a9)                                   \
  AM_Reply(token, handler, 10, AM_INT_(a0), AM_INT_(a1), AM_INT_(a2), AM_INT_(a3), AM_INT_(a4), AM_INT_(a5), \
           AM_INT_(a6), AM_INT_(a7), AM_INT_(a8), AM_INT_(a9))
#define AM_Reply11(token, handler, a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10)                              \
  AM_Reply(token, handler, 11, AM_INT_(a0), AM_INT_(a1), AM_INT_(a2), AM_INT_(a3), AM_INT_(a4), AM_INT_(a5), \
           AM_INT_(a6), AM_INT_(a7), AM_INT_(a8), AM_INT_(a9), AM_INT_(a10))
#define AM_Reply12(token, handler, a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11)                         \
  AM_Reply(token, handler, 12, AM_INT_(a0), AM_INT_(a1), AM_INT_(a2), AM_INT_(a3), AM_INT_(a4), AM_INT_(a5), \
           AM_INT_(a6), AM_INT_(a7), AM_INT_(a8), AM_INT_(a9), AM_INT_(a10), AM_INT_(a11))
#define AM_Reply13(token, handler, a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12)                    \
  AM_Reply(token, handler, 13, AM_INT_(a0), AM_INT_(a1), AM_INT_(a2), AM_INT_(a3), AM_INT_(a4), AM_INT_(a5), \
           AM_INT_(a6), AM_INT_(a7), AM_INT_(a8), AM_INT_(a9), AM_INT_(a10), AM_INT_(a11), AM_INT_(a12))
#define AM_Reply14(token, handler, a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13)               \
  AM_Reply(token, handler, 14, AM_INT_(a0), AM_INT_(a1), AM_INT_(a2), AM_INT_(a3), AM_INT_(a4), AM_INT_(a5), \
           AM_INT_(a6), AM_INT_(a7), AM_INT_(a8), AM_INT_(a9), AM_INT_(a10), AM_INT_(a11), AM_INT_(a12),     \
           AM_INT_(a13))
#define AM_Reply15(token, handler, a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, a14)          \
  AM_Reply(token, handler, 15, AM_INT_(a0), AM_INT_(a1), AM_INT_(a2), AM_INT_(a3), AM_INT_(a4), AM_INT_(a5), \
           AM_INT_(a6), AM_INT_(a7), AM_INT_(a8), AM_INT_(a9), AM_INT_(a10), AM_INT_(a11), AM_INT_(a12),     \
           AM_INT_(a13), AM_INT_(a14))
#define AM_Reply16(token, handler, a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, a14, a15)     \
  AM_Reply(token, handler, 16, AM_INT_(a0), AM_INT_(a1), AM_INT_(a2), AM_INT_(a3), AM_INT_(a4), AM_INT_(a5), \
           AM_INT_(a6), AM_INT_(a7), AM_INT_(a8), AM_INT_(a9), AM_INT_(a10), AM_INT_(a11), AM_INT_(a12),     \
           AM_INT_(a13), AM_INT_(a14), AM_INT_(a15))
#define AM_ReplyI0(token, handler, source, length) AM_ReplyI(token, handler, source, length, 0)
#define AM_ReplyI1(token, handler, source, length, a0) \
  AM_ReplyI(token, handler, source, length, 1, AM_INT_(a0))
#define AM_ReplyI2(token, handler, source, length, a0, a1) \
  AM_ReplyI(token, handler, source, length, 2, AM_INT_(a0), AM_INT_(a1))
#define AM_ReplyI3(token, handler, source, length, a0, a1, a2) \
  AM_ReplyI(token, handler, source, length, 3, AM_INT_(a0), AM_INT_(a1), AM_INT_(a2))
#define AM_ReplyI4(token, handler, source, length, a0, a1, a2, a3) \
  AM_ReplyI(token, handler, source, length, 4, AM_INT_(a0), AM_INT_(a1), AM_INT_(a2), AM_INT_(a3))
#define AM_ReplyI5(token, handler, source, length, a0, a1, a2, a3, a4)                             \
  AM_ReplyI(token, handler, source, length, 5, AM_INT_(a0), AM_INT_(a1), AM_INT_(a2), AM_INT_(a3), \
            AM_INT_(a4))
#define AM_ReplyI6(token, handler, source, length, a0, a1, a2, a3, a4, a5)                         \
  AM_ReplyI(token, handler, source, length, 6, AM_INT_(a0), AM_INT_(a1), AM_INT_(a2), AM_INT_(a3), \
            AM_INT_(a4), AM_INT_(a5))
#define AM_ReplyI7(token, handler, source, length, a0, a1, a2, a3, a4, a5, a6)                     \
  AM_ReplyI(token, handler, source, length, 7, AM_INT_(a0), AM_INT_(a1), AM_INT_(a2), AM_INT_(a3), \
            AM_INT_(a4), AM_INT_(a5), AM_INT_(a6))
#define AM_ReplyI8(token, handler, source, length, a0, a1, a2, a3, a4, a5, a6, a7)                 \
  AM_ReplyI(token, handler, source, length, 8, AM_INT_(a0), AM_INT_(a1), AM_INT_(a2), AM_INT_(a3), \
            AM_INT_(a4), AM_INT_(a5), AM_INT_(a6), AM_INT_(a7))
#define AM_ReplyI9(token, handler, source, length, a0, a1, a2, a3, a4, a5, a6, a7, a8)             \
  AM_ReplyI(token, handler, source, length, 9, AM_INT_(a0), AM_INT_(a1), AM_INT_(a2), AM_INT_(a3), \
            AM_INT_(a4), AM_INT_(a5), AM_INT_(a6), AM_INT_(a7), AM_INT_(a8))
#define AM_ReplyI10(token, handler, source, length, a0, a1, a2, a3, a4, a5, a6, a7, a8, a9)         \
  AM_ReplyI(token, handler, source, length, 10, AM_INT_(a0), AM_INT_(a1), AM_INT_(a2), AM_INT_(a3), \
            AM_INT_(a4), AM_INT_(a5), AM_INT_(a6), AM_INT_(a7), AM_INT_(a8), AM_INT_(a9))
#define AM_ReplyI11(token, handler, source, length, a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10)    \
  AM_ReplyI(token, handler, source, length, 11, AM_INT_(a0), AM_INT_(a1), AM_INT_(a2), AM_INT_(a3), \
            AM_INT_(a4), AM_INT_(a5), AM_INT_(a6), AM_INT_(a7), AM_INT_(a8), AM_INT_(a9), AM_INT_(a10))
#define AM_ReplyI12(token, handler, source, length, a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11)   \
  AM_ReplyI(token, handler, source, length, 12, AM_INT_(a0), AM_INT_(a1), AM_INT_(a2), AM_INT_(a3),     \
            AM_INT_(a4), AM_INT_(a5), AM_INT_(a6), AM_INT_(a7), AM_INT_(a8), AM_INT_(a9), AM_INT_(a10), \
            AM_INT_(a11))
#define AM_ReplyI13(token, handler, source, length, a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12) \
  AM_ReplyI(token, handler, source, length, 13, AM_INT_(a0), AM_INT_(a1), AM_INT_(a2), AM_INT_(a3),        \
            AM_INT_(a4), AM_INT_(a5), AM_INT_(a6), AM_INT_(a7), AM_INT_(a8), AM_INT_(a9), AM_INT_(a10),    \
            AM_INT_(a11), AM_INT_(a12))
#define AM_ReplyI14(token, handler, source, length, a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, \
                    a13)                                                                                   \
  AM_ReplyI(token, handler, source, length, 14, AM_INT_(a0), AM_INT_(a1), AM_INT_(a2), AM_INT_(a3),        \
            AM_INT_(a4), AM_INT_(a5), AM_INT_(a6), AM_INT_(a7), AM_INT_(a8), AM_INT_(a9), AM_INT_(a10),    \
            AM_INT_(a11), AM_INT_(a12), AM_INT_(a13))
#define AM_ReplyI15(token, handler, source, length, a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, \
                    a13, a14)                                                                              \
  AM_ReplyI(token, handler, source, length, 15, AM_INT_(a0), AM_INT_(a1), AM_INT_(a2), AM_INT_(a3),        \
            AM_INT_(a4), AM_INT_(a5), AM_INT_(a6), AM_INT_(a7), AM_INT_(a8), AM_INT_(a9), AM_INT_(a10),    \
            AM_INT_(a11), AM_INT_(a12), AM_INT_(a13), AM_INT_(a14))
#define AM_ReplyI16(token, handler, source, length, a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, \
                    a13, a14, a15)                                                                         \
  AM_ReplyI(token, handler, source, length, 16, AM_INT_(a0), AM_INT_(a1), AM_INT_(a2), AM_INT_(a3),        \
            AM_INT_(a4), AM_INT_(a5), AM_INT_(a6), AM_INT_(a7), AM_INT_(a8), AM_INT_(a9), AM_INT_(a10),    \
            AM_INT_(a11), AM_INT_(a12), AM_INT_(a13), AM_INT_(a14), AM_INT_(a15))
#define AM_ReplyXfer0(token, offset, handler, source, length) \
  AM_ReplyXfer(token, offset, handler, source, length, 0)
#define AM_ReplyXfer1(token, offset, handler, source, length, a0) \
  AM_ReplyXfer(token, offset, handler, source, length, 1, AM_INT_(a0))
#define AM_ReplyXfer2(token, offset, handler, source, length, a0, a1) \
  AM_ReplyXfer(token, offset, handler, source, length, 2, AM_INT_(a0), AM_INT_(a1))
#define AM_ReplyXfer3(token, offset, handler, source, length, a0, a1, a2) \
  AM_ReplyXfer(token, offset, handler, source, length, 3, AM_INT_(a0), AM_INT_(a1), AM_INT_(a2))
#define AM_ReplyXfer4(token, offset, handler, source, length, a0, a1, a2, a3) \
  AM_ReplyXfer(token, offset, handler, source, length, 4, AM_INT_(a0), AM_INT_(a1), AM_INT_(a2), AM_INT_(a3))
#define AM_ReplyXfer5(token, offset, handler, source, length, a0, a1, a2, a3, a4)                \
  AM_ReplyXfer(token, offset, handler, source, length, 5, AM_INT_(a0), AM_INT_(a1), AM_INT_(a2), \
               AM_INT_(a3), AM_INT_(a4))
#define AM_ReplyXfer6(token, offset, handler, source, length, a0, a1, a2, a3, a4, a5)            \
  AM_ReplyXfer(token, offset, handler, source, length, 6, AM_INT_(a0), AM_INT_(a1), AM_INT_(a2), \
               AM_INT_(a3), AM_INT_(a4), AM_INT_(a5))
#define AM_ReplyXfer7(token, offset, handler, source, length, a0, a1, a2, a3, a4, a5, a6)        \
  AM_ReplyXfer(token, offset, handler, source, length, 7, AM_INT_(a0), AM_INT_(a1), AM_INT_(a2), \
               AM_INT_(a3), AM_INT_(a4), AM_INT_(a5), AM_INT_(a6))
#define AM_ReplyXfer8(token, offset, handler, source, length, a0, a1, a2, a3, a4, a5, a6, a7)    \
  AM_ReplyXfer(token, offset, handler, source, length, 8, AM_INT_(a0), AM_INT_(a1), AM_INT_(a2), \
               AM_INT_(a3), AM_INT_(a4), AM_INT_(a5), AM_INT_(a6), AM_INT_(a7))
#define AM_ReplyXfer9(token, offset, handler, source, length, a0, a1, a2, a3, a4, a5, a6, a7, a8) \
  AM_ReplyXfer(token, offset, handler, source, length, 9, AM_INT_(a0), AM_INT_(a1), AM_INT_(a2),  \
               AM_INT_(a3), AM_INT_(a4), AM_INT_(a5), AM_INT_(a6), AM_INT_(a7), AM_INT_(a8))
#define AM_ReplyXfer10(token, offset, handler, source, length, a0, a1, a2, a3, a4, a5, a6, a7, a8, a9) \
  AM_ReplyXfer(token, offset, handler, source, length, 10, AM_INT_(a0), AM_INT_(a1), AM_INT_(a2),      \
               AM_INT_(a3), AM_INT_(a4), AM_INT_(a5), AM_INT_(a6), AM_INT_(a7), AM_INT_(a8), AM_INT_(a9))
#define AM_ReplyXfer11(token, offset, handler, source, length, a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10) \
  AM_ReplyXfer(token, offset, handler, source, length, 11, AM_INT_(a0), AM_INT_(a1), AM_INT_(a2),           \
               AM_INT_(a3), AM_INT_(a4), AM_INT_(a5), AM_INT_(a6), AM_INT_(a7), AM_INT_(a8), AM_INT_(a9),   \
               AM_INT_(a10))
#define AM_ReplyXfer12(token, offset, handler, source, length, a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, \
                       a11)                                                                                 \
  AM_ReplyXfer(token, offset, handler, source, length, 12, AM_INT_(a0), AM_INT_(a1), AM_INT_(a2),           \
               AM_INT_(a3), AM_INT_(a4), AM_INT_(a5), AM_INT_(a6), AM_INT_(a7), AM_INT_(a8), AM_INT_(a9),   \
               AM_INT_(a10), AM_INT_(a11))
#define AM_ReplyXfer13(token, offset, handler, source, length, a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, \
                       a11, a12)                                                                            \
  AM_ReplyXfer(token, offset, handler, source, length, 13, AM_INT_(a0), AM_INT_(a1), AM_INT_(a2),           \
               AM_INT_(a3), AM_INT_(a4), AM_INT_(a5), AM_INT_(a6), AM_INT_(a7), AM_INT_(a8), AM_INT_(a9),   \
               AM_INT_(a10), AM_INT_(a11), AM_INT_(a12))
#define AM_ReplyXfer14(token, offset, handler, source, length, a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, \
                       a11, a12, a13)                                                                       \
  AM_ReplyXfer(token, offset, handler, source, length, 14, AM_INT_(a0), AM_INT_(a1), AM_INT_(a2),           \
               AM_INT_(a3), AM_INT_(a4), AM_INT_(a5), AM_INT_(a6), AM_INT_(a7), AM_INT_(a8), AM_INT_(a9),   \
               AM_INT_(a10), AM_INT_(a11), AM_INT_(a12), AM_INT_(a13))
#define AM_ReplyXfer15(token, offset, handler, source, length, a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, \
                       a11, a12, a13, a14)                                                                  \
  AM_ReplyXfer(token, offset, handler, source, length, 15, AM_INT_(a0), AM_INT_(a1), AM_INT_(a2),           \
               AM_INT_(a3), AM_INT_(a4), AM_INT_(a5), AM_INT_(a6), AM_INT_(a7), AM_INT_(a8), AM_INT_(a9),   \
               AM_INT_(a10), AM_INT_(a11), AM_INT_(a12), AM_INT_(a13), AM_INT_(a14))
#define AM_ReplyXfer16(token, offset, handler, source, length, a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, \
                       a11, a12, a13, a14, a15)                                                             \
  AM_ReplyXfer(token, offset, handler, source, length, 16, AM_INT_(a0), AM_INT_(a1), AM_INT_(a2),           \
               AM_INT_(a3), AM_INT_(a4), AM_INT_(a5), AM_INT_(a6), AM_INT_(a7), AM_INT_(a8), AM_INT_(a9),   \
               AM_INT_(a10), AM_INT_(a11), AM_INT_(a12), AM_INT_(a13), AM_INT_(a14), AM_INT_(a15))

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

#endif
