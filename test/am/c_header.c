/* am.h by itself, as C of several ages and as C++: names, and values of Active Messages II. */
#include "am.h"

#define IS(name, condition) typedef char name[(condition) ? 1 : -1]

IS(answers, AM_OK == 0 && AM_ERR_NOT_INIT == 1 && AM_ERR_BAD_ARG == 2 && AM_ERR_RESOURCE == 3 &&
                AM_ERR_NOT_SENT == 4 && AM_ERR_IN_USE == 5);
IS(types, AM_SEQ == 0 && AM_PAR == 1 && AM_NOEVENTS == 0 && AM_NOTEMPTY == 1 && AM_ALL == 1 && AM_NONE == 0);
IS(statuses, EBADARGS == 1 && EBADENTRY == 2 && EBADTAG == 3 && EBADHANDLER == 4 && EBADSEGOFF == 5 &&
                 EBADLENGTH == 6 && EBADENDPOINT == 7 && ECONGESTION == 8 && EUNREACHABLE == 9 &&
                 EREPLYREJECTED == 10);
IS(operations, AM_REQUEST_M == 1 && AM_REQUEST_IM == 2 && AM_REQUEST_XFER_M == 3 && AM_REPLY_M == 4 &&
                   AM_REPLY_IM == 5 && AM_REPLY_XFER_M == 6);
IS(sizes, sizeof(tag_t) == 8 && sizeof(handler_t) == 1 && sizeof(en_t) == 72);
IS(statistics_fit, sizeof(am_statistics_t) <= 512);

int of_each_kind(ep_t ep, void* token, void (*function)(void*, int));
int of_each_kind(ep_t ep, void* token, void (*function)(void*, int)) {
  handler_t any;
  return AM_SetHandler(ep, 1, function) + AM_SetHandlerAny(ep, &any, function) + AM_Request0(ep, 0, 1) +
         AM_Request5(ep, 0, 1, 1, 2, 3, 4, 5) + AM_RequestI1(ep, 0, 1, "", 1, 2) +
         AM_RequestXfer0(ep, 0, 0, 1, "", 1) + AM_RequestXferAsync2(ep, 0, 0, 1, "", 1, 2, 3) +
         AM_GetXfer1(ep, 0, 0, 1, 8, 0, 1) + AM_Reply2(token, 1, 1, 2) + AM_ReplyI0(token, 1, "", 1) +
         AM_ReplyXfer3(token, 0, 1, "", 1, 1, 2, 3) +
         AM_Request16(ep, 0, 1, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16);
}
