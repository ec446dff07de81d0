/* The programming interface of the VI Architecture, VIPL 1.0, on Hamlyn (docs/vi.md). Programs written for it
 * compile and run: its calls, types, constants and their values, and the field names of both families of
 * headers that there were.
 *
 * Every call may be made from any thread. A null, a closed handle and a handle of another kind answer
 * VIP_INVALID_PARAMETER. Handles are numbers: they point at nothing. Link with `pkg-config --libs vipl`.
 *
 * C89 and later, and C++. */
#ifndef VIPL_H
#define VIPL_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define VIP_ANONYMOUS_ __extension__
#define VIP_ALIGNED_ __attribute__((aligned(64)))
#define VIP_API_ __attribute__((visibility("default")))
#else
#define VIP_ANONYMOUS_
#define VIP_ALIGNED_
#define VIP_API_
#endif

/* Marks of parameters, which programs use in declarations of their own. */
#ifndef IN
#define IN
#endif
#ifndef OUT
#define OUT
#endif

/* --- plain types */

typedef void* VIP_PVOID;
typedef int8_t VIP_INT8;
typedef uint8_t VIP_UINT8;
typedef int16_t VIP_INT16;
typedef uint16_t VIP_UINT16;
typedef int32_t VIP_INT32;
typedef uint32_t VIP_UINT32;
typedef uint64_t VIP_UINT64;
typedef char VIP_CHAR;
typedef unsigned char VIP_UCHAR;
typedef short VIP_SHORT;
typedef unsigned short VIP_USHORT;
typedef long VIP_LONG;
typedef unsigned long VIP_ULONG;
typedef int VIP_BOOLEAN;

#define VIP_TRUE 1
#define VIP_FALSE 0
#define VIP_INFINITE (~0UL)

/* A pointer that takes 8 bytes everywhere. */
typedef union {
  VIP_UINT64 AddressBits;
  VIP_PVOID Address;
  struct _VIP_DESCRIPTOR* Descriptor;
} VIP_PVOID64;

/* --- handles */

typedef VIP_PVOID VIP_NIC_HANDLE;
typedef VIP_PVOID VIP_VI_HANDLE;
typedef VIP_PVOID VIP_CQ_HANDLE;
typedef VIP_PVOID VIP_CONN_HANDLE;
typedef VIP_PVOID VIP_PROTECTION_HANDLE;
typedef VIP_UINT32 VIP_MEM_HANDLE; /* also goes to other processes, for RDMA */
typedef VIP_PVOID VIP_QOS;         /* compared, and nothing else */
typedef VIP_UINT16 VIP_RELIABILITY_LEVEL;

/* --- answers */

typedef enum {
  VIP_SUCCESS = 0,
  VIP_NOT_DONE = 1, /* nothing has been completed yet */
  VIP_INVALID_PARAMETER = 2,
  VIP_ERROR_RESOURCE = 3,
  VIP_TIMEOUT = 4,
  VIP_REJECT = 5, /* the other side has refused the connection */
  VIP_INVALID_RELIABILITY_LEVEL = 6,
  VIP_INVALID_MTU = 7,
  VIP_INVALID_QOS = 8,
  VIP_INVALID_PTAG = 9,
  VIP_INVALID_RDMAREAD = 10,
  VIP_DESCRIPTOR_ERROR = 11, /* the descriptor has an error status; null: nothing is posted */
  VIP_INVALID_STATE = 12,
  VIP_ERROR_NAMESERVICE = 13,
  VIP_NO_MATCH = 14, /* nobody waits at that address */
  VIP_NOT_REACHABLE = 15,
  VIP_ERROR_NOT_SUPPORTED = 16
} VIP_RETURN;

/* --- descriptors */

#define VIP_DESCRIPTOR_ALIGNMENT 64

#define VIP_CONTROL_OP_SENDRECV 0x0
#define VIP_CONTROL_OP_RDMAWRITE 0x1
#define VIP_CONTROL_OP_RDMAREAD 0x2
#define VIP_CONTROL_OP_RESERVED 0x3
#define VIP_CONTROL_OP_MASK 0x3
#define VIP_CONTROL_IMMEDIATE 0x4
#define VIP_CONTROL_QFENCE 0x8
#define VIP_CONTROL_RESERVED 0xFFF0

#define VIP_STATUS_DONE 0x1
#define VIP_STATUS_FORMAT_ERROR 0x2
#define VIP_STATUS_PROTECTION_ERROR 0x4
#define VIP_STATUS_LENGTH_ERROR 0x8
#define VIP_STATUS_PARTIAL_ERROR 0x10
#define VIP_STATUS_DESC_FLUSHED_ERROR 0x20
#define VIP_STATUS_TRANSPORT_ERROR 0x40
#define VIP_STATUS_RDMA_PROT_ERROR 0x80
#define VIP_STATUS_REMOTE_DESC_ERROR 0x100
#define VIP_STATUS_ERROR_MASK 0x1FE
#define VIP_STATUS_OP_SEND 0x0
#define VIP_STATUS_OP_RECEIVE 0x10000
#define VIP_STATUS_OP_RDMA_WRITE 0x20000
#define VIP_STATUS_OP_REMOTE_RDMA_WRITE 0x30000
#define VIP_STATUS_OP_RDMA_READ 0x40000
#define VIP_STATUS_OP_MASK 0x70000
#define VIP_STATUS_IMMEDIATE 0x80000
#define VIP_STATUS_RESERVED 0xFFF0FE00

typedef struct {
  VIP_PVOID64 Next; /* the application's own */
  VIP_MEM_HANDLE NextHandle;
  VIP_UINT16 SegCount; /* of all segments behind this one, an address segment among them */
  VIP_UINT16 Control;
  VIP_UINT32 Reserved;
  VIP_UINT32 ImmediateData;
  VIP_UINT32 Length; /* in: the sum of the data segments; out: bytes that were moved */
  VIP_UINT32 Status; /* out */
} VIP_CONTROL_SEGMENT;

typedef struct {
  VIP_PVOID64 Data;
  VIP_MEM_HANDLE Handle;
  VIP_UINT32 Reserved;
} VIP_ADDRESS_SEGMENT;

typedef struct {
  VIP_PVOID64 Data;
  VIP_MEM_HANDLE Handle;
  VIP_UINT32 Length;
} VIP_DATA_SEGMENT;

typedef union {
  VIP_ADDRESS_SEGMENT Remote; /* of RDMA, the first one */
  VIP_DATA_SEGMENT Local;
} VIP_DESCRIPTOR_SEGMENT;

/* More segments may follow, up to 252 of them. Where there is `Data`, an address segment is a cast of it. */
VIP_ANONYMOUS_ typedef struct VIP_ALIGNED_ _VIP_DESCRIPTOR {
  VIP_ANONYMOUS_ union {
    VIP_CONTROL_SEGMENT CS;
    VIP_CONTROL_SEGMENT Control;
  };
  VIP_ANONYMOUS_ union {
    VIP_DESCRIPTOR_SEGMENT DS[2];
    VIP_DATA_SEGMENT Data[2];
  };
} VIP_DESCRIPTOR;

/* --- addresses */

/* The host's address and behind it the discriminator. */
typedef struct _VIP_NET_ADDRESS {
  VIP_UINT16 HostAddressLen;
  VIP_UINT16 DiscriminatorLen;
  VIP_UINT8 HostAddress[1];
} VIP_NET_ADDRESS;

/* --- attributes */

#define VIP_SERVICE_UNRELIABLE 0x1
#define VIP_SERVICE_RELIABLE_DELIVERY 0x2
#define VIP_SERVICE_RELIABLE_RECEPTION 0x4

typedef enum {
  VIP_STATE_IDLE = 0,
  VIP_STATE_CONNECTED = 1,
  VIP_STATE_CONNECT_PENDING = 2,
  VIP_STATE_ERROR = 3
} VIP_VI_STATE;

typedef struct _VIP_VI_ATTRIBUTES {
  VIP_RELIABILITY_LEVEL ReliabilityLevel;
  VIP_ULONG MaxTransferSize;
  VIP_QOS QoS;
  VIP_PROTECTION_HANDLE Ptag;
  VIP_BOOLEAN EnableRdmaWrite;
  VIP_BOOLEAN EnableRdmaRead;
} VIP_VI_ATTRIBUTES;

typedef struct _VIP_MEM_ATTRIBUTES {
  VIP_PROTECTION_HANDLE Ptag;
  VIP_BOOLEAN EnableRdmaWrite;
  VIP_BOOLEAN EnableRdmaRead;
} VIP_MEM_ATTRIBUTES;

typedef struct _VIP_NIC_ATTRIBUTES {
  VIP_CHAR Name[64];
  VIP_ULONG HardwareVersion;
  VIP_ULONG ProviderVersion;
  VIP_UINT16 NicAddressLen;
  const VIP_UINT8* LocalNicAddress; /* valid until the NIC is closed */
  VIP_BOOLEAN ThreadSafe;
  VIP_UINT16 MaxDiscriminatorLen;
  VIP_ULONG MaxRegisterBytes;
  VIP_ULONG MaxRegisterRegions;
  VIP_ULONG MaxRegisterBlockBytes;
  VIP_ULONG MaxVI;
  VIP_ULONG MaxDescriptorsPerQueue;
  VIP_ULONG MaxSegmentsPerDesc;
  VIP_ULONG MaxCQ;
  VIP_ULONG MaxCQEntries;
  VIP_ULONG MaxTransferSize;
  VIP_ULONG NativeMTU;
  VIP_ULONG MaxPtags;
  VIP_RELIABILITY_LEVEL ReliabilityLevelSupport;
  VIP_RELIABILITY_LEVEL RDMAReadSupport;
} VIP_NIC_ATTRIBUTES;

/* --- errors that no call answers */

typedef enum _VIP_RESOURCE_CODE {
  VIP_RESOURCE_NIC = 0,
  VIP_RESOURCE_VI = 1,
  VIP_RESOURCE_CQ = 2,
  VIP_RESOURCE_DESCRIPTOR = 3
} VIP_RESOURCE_CODE;

typedef enum _VIP_ERROR_CODE {
  VIP_ERROR_POST_DESC = 0,
  VIP_ERROR_CONN_LOST = 1,
  VIP_ERROR_RECVQ_EMPTY = 2,
  VIP_ERROR_VI_OVERRUN = 3,
  VIP_ERROR_RDMAW_PROT = 4,
  VIP_ERROR_RDMAW_DATA = 5,
  VIP_ERROR_RDMAW_ABORT = 6,
  VIP_ERROR_RDMAR_PROT = 7,
  VIP_ERROR_COMP_PROT = 8,
  VIP_ERROR_RDMA_TRANSPORT = 9,
  VIP_ERROR_CATASTROPHIC = 10
} VIP_ERROR_CODE;

typedef struct _VIP_ERROR_DESCRIPTOR {
  VIP_NIC_HANDLE NicHandle;
  VIP_VI_HANDLE ViHandle;
  VIP_CQ_HANDLE CQHandle;
  VIP_DESCRIPTOR* DescriptorPtr;
  VIP_ULONG OpCode;
  VIP_RESOURCE_CODE ResourceCode;
  VIP_ERROR_CODE ErrorCode;
} VIP_ERROR_DESCRIPTOR;

/* --- handlers, which run in a thread of the library's own */

typedef void (*VIP_ERROR_HANDLER)(VIP_PVOID Context, VIP_ERROR_DESCRIPTOR* ErrorDesc);
typedef void (*VIP_VI_CALLBACK)(VIP_PVOID Context, VIP_NIC_HANDLE NicHandle, VIP_VI_HANDLE ViHandle,
                                VIP_DESCRIPTOR* DescriptorPtr);
typedef void (*VIP_CQ_CALLBACK)(VIP_PVOID Context, VIP_NIC_HANDLE NicHandle, VIP_VI_HANDLE ViHandle,
                                VIP_BOOLEAN RecvQueue);

/* --- the NIC */

VIP_API_ VIP_RETURN VipOpenNic(const VIP_CHAR* DeviceName, VIP_NIC_HANDLE* NicHandle);
VIP_API_ VIP_RETURN VipCloseNic(VIP_NIC_HANDLE NicHandle);
VIP_API_ VIP_RETURN VipQueryNic(VIP_NIC_HANDLE NicHandle, VIP_NIC_ATTRIBUTES* Attributes);
/* A null handler: none. */
VIP_API_ VIP_RETURN VipErrorCallback(VIP_NIC_HANDLE NicHandle, VIP_PVOID Context, VIP_ERROR_HANDLER Handler);

/* Hosts whose NICs can be asked for: this one, and with one hop or more the others of the cluster. The caller
 * gives places, each with room for a host's address. */
#define VIP_SMI_AUTODISCOVERY 1UL
typedef struct {
  VIP_ULONG NumberOfHops;
  VIP_NET_ADDRESS** ADAddrArray;
  VIP_ULONG NumAdAddrs; /* in: places; out: hosts that there are */
} VIP_AUTODISCOVERY_LIST;
/* Writes as many addresses as there are places; if there are more hosts, it answers VIP_ERROR_RESOURCE. */
VIP_API_ VIP_RETURN VipQuerySystemManagementInfo(VIP_NIC_HANDLE NicHandle, VIP_ULONG InfoType,
                                                 VIP_PVOID SysManInfo);

/* --- memory */

VIP_API_ VIP_RETURN VipCreatePtag(VIP_NIC_HANDLE NicHandle, VIP_PROTECTION_HANDLE* Ptag);
VIP_API_ VIP_RETURN VipDestroyPtag(VIP_NIC_HANDLE NicHandle, VIP_PROTECTION_HANDLE Ptag);
VIP_API_ VIP_RETURN VipRegisterMem(VIP_NIC_HANDLE NicHandle, VIP_PVOID VirtualAddress, VIP_ULONG Length,
                                   VIP_MEM_ATTRIBUTES* MemAttributes, VIP_MEM_HANDLE* MemHandle);
VIP_API_ VIP_RETURN VipDeregisterMem(VIP_NIC_HANDLE NicHandle, VIP_PVOID VirtualAddress,
                                     VIP_MEM_HANDLE MemHandle);
VIP_API_ VIP_RETURN VipQueryMem(VIP_NIC_HANDLE NicHandle, VIP_PVOID VirtualAddress, VIP_MEM_HANDLE MemHandle,
                                VIP_MEM_ATTRIBUTES* MemAttributes);
VIP_API_ VIP_RETURN VipSetMemAttributes(VIP_NIC_HANDLE NicHandle, VIP_PVOID VirtualAddress,
                                        VIP_MEM_HANDLE MemHandle, VIP_MEM_ATTRIBUTES* MemAttributes);

/* --- VIs */

VIP_API_ VIP_RETURN VipCreateVi(VIP_NIC_HANDLE NicHandle, VIP_VI_ATTRIBUTES* ViAttributes,
                                VIP_CQ_HANDLE SendCQHandle, VIP_CQ_HANDLE RecvCQHandle,
                                VIP_VI_HANDLE* ViHandle);
VIP_API_ VIP_RETURN VipDestroyVi(VIP_VI_HANDLE ViHandle);
VIP_API_ VIP_RETURN VipQueryVi(VIP_VI_HANDLE ViHandle, VIP_VI_STATE* State, VIP_VI_ATTRIBUTES* Attributes,
                               VIP_BOOLEAN* ViSendQEmpty, VIP_BOOLEAN* ViRecvQEmpty);
VIP_API_ VIP_RETURN VipSetViAttributes(VIP_VI_HANDLE ViHandle, VIP_VI_ATTRIBUTES* Attributes);

/* --- connections: times in milliseconds */

VIP_API_ VIP_RETURN VipConnectWait(VIP_NIC_HANDLE NicHandle, VIP_NET_ADDRESS* LocalAddr, VIP_ULONG Timeout,
                                   VIP_NET_ADDRESS* RemoteAddr, VIP_VI_ATTRIBUTES* RemoteViAttributes,
                                   VIP_CONN_HANDLE* ConnHandle);
VIP_API_ VIP_RETURN VipConnectAccept(VIP_CONN_HANDLE ConnHandle, VIP_VI_HANDLE ViHandle);
VIP_API_ VIP_RETURN VipConnectReject(VIP_CONN_HANDLE ConnHandle);
VIP_API_ VIP_RETURN VipConnectRequest(VIP_VI_HANDLE ViHandle, VIP_NET_ADDRESS* LocalAddr,
                                      VIP_NET_ADDRESS* RemoteAddr, VIP_ULONG Timeout,
                                      VIP_VI_ATTRIBUTES* RemoteViAttributes);
VIP_API_ VIP_RETURN VipConnectPeerRequest(VIP_VI_HANDLE ViHandle, VIP_NET_ADDRESS* LocalAddr,
                                          VIP_NET_ADDRESS* RemoteAddr, VIP_ULONG Timeout);
VIP_API_ VIP_RETURN VipConnectPeerDone(VIP_VI_HANDLE ViHandle, VIP_VI_ATTRIBUTES* RemoteViAttributes);
VIP_API_ VIP_RETURN VipConnectPeerWait(VIP_VI_HANDLE ViHandle, VIP_VI_ATTRIBUTES* RemoteViAttributes);
VIP_API_ VIP_RETURN VipDisconnect(VIP_VI_HANDLE ViHandle);

/* --- work */

VIP_API_ VIP_RETURN VipPostSend(VIP_VI_HANDLE ViHandle, VIP_DESCRIPTOR* DescriptorPtr,
                                VIP_MEM_HANDLE MemoryHandle);
VIP_API_ VIP_RETURN VipPostRecv(VIP_VI_HANDLE ViHandle, VIP_DESCRIPTOR* DescriptorPtr,
                                VIP_MEM_HANDLE MemoryHandle);
VIP_API_ VIP_RETURN VipSendDone(VIP_VI_HANDLE ViHandle, VIP_DESCRIPTOR** DescriptorPtr);
VIP_API_ VIP_RETURN VipRecvDone(VIP_VI_HANDLE ViHandle, VIP_DESCRIPTOR** DescriptorPtr);
VIP_API_ VIP_RETURN VipSendWait(VIP_VI_HANDLE ViHandle, VIP_ULONG TimeOut, VIP_DESCRIPTOR** DescriptorPtr);
VIP_API_ VIP_RETURN VipRecvWait(VIP_VI_HANDLE ViHandle, VIP_ULONG TimeOut, VIP_DESCRIPTOR** DescriptorPtr);
/* Handlers of the Notify calls are called once. */
VIP_API_ VIP_RETURN VipSendNotify(VIP_VI_HANDLE ViHandle, VIP_PVOID Context, VIP_VI_CALLBACK Handler);
VIP_API_ VIP_RETURN VipRecvNotify(VIP_VI_HANDLE ViHandle, VIP_PVOID Context, VIP_VI_CALLBACK Handler);

/* --- completion queues */

VIP_API_ VIP_RETURN VipCreateCQ(VIP_NIC_HANDLE NicHandle, VIP_ULONG EntryCount, VIP_CQ_HANDLE* CQHandle);
VIP_API_ VIP_RETURN VipDestroyCQ(VIP_CQ_HANDLE CQHandle);
VIP_API_ VIP_RETURN VipResizeCQ(VIP_CQ_HANDLE CQHandle, VIP_ULONG EntryCount);
VIP_API_ VIP_RETURN VipCQDone(VIP_CQ_HANDLE CQHandle, VIP_VI_HANDLE* ViHandle, VIP_BOOLEAN* RecvQueue);
VIP_API_ VIP_RETURN VipCQWait(VIP_CQ_HANDLE CQHandle, VIP_ULONG Timeout, VIP_VI_HANDLE* ViHandle,
                              VIP_BOOLEAN* RecvQueue);
VIP_API_ VIP_RETURN VipCQNotify(VIP_CQ_HANDLE CQHandle, VIP_PVOID Context, VIP_CQ_CALLBACK Handler);
/* An extension of Hamlyn's: VipCQDone, and VipSendDone or VipRecvDone of what it found, in one call. */
VIP_API_ VIP_RETURN VipCQTake(VIP_CQ_HANDLE CQHandle, VIP_VI_HANDLE* ViHandle, VIP_BOOLEAN* RecvQueue,
                              VIP_DESCRIPTOR** DescriptorPtr);

/* --- names */

VIP_API_ VIP_RETURN VipNSInit(VIP_NIC_HANDLE NicHandle, VIP_PVOID NSInitInfo);
VIP_API_ VIP_RETURN VipNSGetHostByName(VIP_NIC_HANDLE NicHandle, VIP_CHAR* Name, VIP_NET_ADDRESS* Address,
                                       VIP_ULONG NameIndex);
/* `NameLen` says in how many bytes there are, and out how many the name takes, with its zero. */
VIP_API_ VIP_RETURN VipNSGetHostByAddr(VIP_NIC_HANDLE NicHandle, VIP_NET_ADDRESS* Address, VIP_CHAR* Name,
                                       VIP_ULONG* NameLen);
VIP_API_ VIP_RETURN VipNSShutdown(VIP_NIC_HANDLE NicHandle);

#ifdef __cplusplus
}
#endif

#endif
