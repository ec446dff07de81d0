/* vipl.h by itself, as C of several ages and as C++: names, sizes and values of VIPL 1.0. */
#include "vipl.h"

#include <stddef.h>

#define IS(name, condition) typedef char name[(condition) ? 1 : -1]

IS(descriptor_is_a_cache_line, sizeof(VIP_DESCRIPTOR) == 64);
IS(control_segment, sizeof(VIP_CONTROL_SEGMENT) == 32);
IS(segments_follow, offsetof(VIP_DESCRIPTOR, DS) == 32 && sizeof(VIP_DESCRIPTOR_SEGMENT) == 16);
IS(immediate, offsetof(VIP_CONTROL_SEGMENT, ImmediateData) == 20);
IS(length, offsetof(VIP_CONTROL_SEGMENT, Length) == 24);
IS(status, offsetof(VIP_CONTROL_SEGMENT, Status) == 28);
IS(counts, offsetof(VIP_CONTROL_SEGMENT, SegCount) == 12 && offsetof(VIP_CONTROL_SEGMENT, Control) == 14);
IS(handle, sizeof(VIP_MEM_HANDLE) == 4 && sizeof(VIP_PVOID64) == 8);
IS(address, offsetof(VIP_NET_ADDRESS, HostAddress) == 4);
IS(quality, sizeof(VIP_QOS) == sizeof(void*));
IS(name, sizeof(((VIP_NIC_ATTRIBUTES*)0)->Name) == 64);
IS(operations, VIP_CONTROL_OP_SENDRECV == 0 && VIP_CONTROL_OP_RDMAWRITE == 1 && VIP_CONTROL_OP_RDMAREAD == 2);
IS(control, VIP_CONTROL_IMMEDIATE == 4 && VIP_CONTROL_QFENCE == 8);
IS(statuses, VIP_STATUS_DONE == 1 && VIP_STATUS_FORMAT_ERROR == 2 && VIP_STATUS_PROTECTION_ERROR == 4 &&
                 VIP_STATUS_LENGTH_ERROR == 8 && VIP_STATUS_PARTIAL_ERROR == 0x10 &&
                 VIP_STATUS_DESC_FLUSHED_ERROR == 0x20 && VIP_STATUS_TRANSPORT_ERROR == 0x40 &&
                 VIP_STATUS_RDMA_PROT_ERROR == 0x80 && VIP_STATUS_REMOTE_DESC_ERROR == 0x100 &&
                 VIP_STATUS_ERROR_MASK == 0x1FE);
IS(of_operations, VIP_STATUS_OP_SEND == 0 && VIP_STATUS_OP_RECEIVE == 0x10000 &&
                      VIP_STATUS_OP_RDMA_WRITE == 0x20000 && VIP_STATUS_OP_REMOTE_RDMA_WRITE == 0x30000 &&
                      VIP_STATUS_OP_RDMA_READ == 0x40000 && VIP_STATUS_IMMEDIATE == 0x80000);
IS(services,
   VIP_SERVICE_UNRELIABLE == 1 && VIP_SERVICE_RELIABLE_DELIVERY == 2 && VIP_SERVICE_RELIABLE_RECEPTION == 4);
IS(states,
   VIP_STATE_IDLE == 0 && VIP_STATE_CONNECTED == 1 && VIP_STATE_CONNECT_PENDING == 2 && VIP_STATE_ERROR == 3);
IS(answers, VIP_SUCCESS == 0 && VIP_NOT_DONE == 1 && VIP_INVALID_PARAMETER == 2 && VIP_ERROR_RESOURCE == 3 &&
                VIP_TIMEOUT == 4 && VIP_REJECT == 5 && VIP_INVALID_RELIABILITY_LEVEL == 6 &&
                VIP_INVALID_MTU == 7 && VIP_INVALID_QOS == 8 && VIP_INVALID_PTAG == 9 &&
                VIP_INVALID_RDMAREAD == 10 && VIP_DESCRIPTOR_ERROR == 11 && VIP_INVALID_STATE == 12 &&
                VIP_ERROR_NAMESERVICE == 13 && VIP_NO_MATCH == 14 && VIP_NOT_REACHABLE == 15);
IS(errors, VIP_ERROR_POST_DESC == 0 && VIP_ERROR_CONN_LOST == 1 && VIP_ERROR_RECVQ_EMPTY == 2 &&
               VIP_ERROR_VI_OVERRUN == 3 && VIP_ERROR_RDMAW_PROT == 4 && VIP_ERROR_CATASTROPHIC == 10);

/* Both families of names mean the same bytes. */
IS(both_names, offsetof(VIP_DESCRIPTOR, CS) == offsetof(VIP_DESCRIPTOR, Control) &&
                   offsetof(VIP_DESCRIPTOR, DS) == offsetof(VIP_DESCRIPTOR, Data));

/* Names of types and marks that programs declare their own functions with. */
struct _VIP_DESCRIPTOR* tagged(IN struct _VIP_NET_ADDRESS* address, OUT struct _VIP_ERROR_DESCRIPTOR* error);
extern VIP_ERROR_HANDLER an_error_handler;
extern VIP_VI_CALLBACK a_vi_callback;
extern VIP_CQ_CALLBACK a_cq_callback;

VIP_RETURN of_both_families(VIP_VI_HANDLE vi, VIP_DESCRIPTOR* descriptor, VIP_MEM_HANDLE handle);
VIP_RETURN of_both_families(VIP_VI_HANDLE vi, VIP_DESCRIPTOR* descriptor, VIP_MEM_HANDLE handle) {
  descriptor->Control.SegCount = 1;
  descriptor->CS.Length = descriptor->Data[0].Length = 4;
  descriptor->DS[0].Local.Handle = descriptor->Data[1].Handle = handle;
  descriptor->Control.Next.Descriptor = descriptor;
  return VipPostSend(vi, descriptor, handle);
}
