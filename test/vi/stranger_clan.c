/* A server and its clients, written with the other family's field names: lists of descriptors by `Next`, a
 * server whose thread sleeps on one completion queue for all clients, remote memory by an address segment,
 * System V shared memory, immediate data, clients that ask until somebody waits.
 *
 *   vi_stranger_clan CLIENTS */
#define _XOPEN_SOURCE 500

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ipc.h>
#include <sys/shm.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vipl.h>

#define FRAME 512 /* bytes of a message */
#define POSTED 16 /* receives of each connection */
#define CALLS 100
#define MOST 16
#define ADDRESS_BYTES 40

#define CHECK(condition)                                                        \
  do {                                                                          \
    if (!(condition)) {                                                         \
      fprintf(stderr, "%s:%d, %s: %s\n", __FILE__, __LINE__, name, #condition); \
      exit(1);                                                                  \
    }                                                                           \
  } while (0)
#define GOOD(call) CHECK((call) == VIP_SUCCESS)

struct request {
  VIP_UINT64 where; /* of the client's, for the answer */
  VIP_MEM_HANDLE handle;
  VIP_UINT32 number;
};

static const char* name = "server";
static VIP_NIC_HANDLE nic;
static VIP_NIC_ATTRIBUTES nic_attributes;
static VIP_PROTECTION_HANDLE ptag;
static VIP_MEM_HANDLE handle;
static char* memory;
static VIP_DESCRIPTOR* unused; /* linked by Next */
static int clients;

static void on_error(VIP_PVOID context, VIP_ERROR_DESCRIPTOR* error) {
  (void)context;
  CHECK(error->ErrorCode == VIP_ERROR_CONN_LOST && error->ResourceCode == VIP_RESOURCE_VI);
}

/* Descriptors, each with its frame behind it, in shared memory. */
static void make_descriptors(size_t count) {
  VIP_MEM_ATTRIBUTES attributes;
  const size_t each = sizeof(VIP_DESCRIPTOR) + FRAME;
  const int segment = shmget(IPC_PRIVATE, each * count + FRAME, IPC_CREAT | 0600);
  size_t i;
  CHECK(segment >= 0);
  memory = shmat(segment, NULL, 0);
  CHECK(memory != (char*)-1);
  shmctl(segment, IPC_RMID, NULL);
  attributes.Ptag = ptag;
  attributes.EnableRdmaWrite = VIP_TRUE;
  attributes.EnableRdmaRead = VIP_FALSE;
  GOOD(VipRegisterMem(nic, memory, each * count + FRAME, &attributes, &handle));
  for (i = 0; i != count; ++i) {
    VIP_DESCRIPTOR* const d = (VIP_DESCRIPTOR*)(void*)(memory + FRAME + each * i);
    d->Control.Next.Descriptor = unused;
    d->Control.NextHandle = handle;
    d->Control.Reserved = 0;
    d->Data[0].Handle = handle;
    d->Data[0].Data.Address = d + 1;
    unused = d;
  }
}

static VIP_DESCRIPTOR* take(VIP_UINT32 length) {
  VIP_DESCRIPTOR* const d = unused;
  CHECK(d != NULL);
  unused = d->Control.Next.Descriptor;
  d->Control.SegCount = 1;
  d->Control.Control = VIP_CONTROL_OP_SENDRECV;
  d->Control.Length = length;
  d->Control.Status = 0;
  d->Data[0].Length = length;
  return d;
}

static void give(VIP_DESCRIPTOR* d) {
  d->Control.Next.Descriptor = unused;
  unused = d;
}

static void open_all(size_t descriptors) {
  GOOD(VipOpenNic("clanvi0", &nic));
  GOOD(VipQueryNic(nic, &nic_attributes));
  GOOD(VipErrorCallback(nic, NULL, on_error));
  GOOD(VipCreatePtag(nic, &ptag));
  make_descriptors(descriptors);
}

static VIP_VI_HANDLE make_vi(VIP_CQ_HANDLE queue) {
  VIP_VI_ATTRIBUTES attributes;
  VIP_VI_HANDLE vi;
  int i;
  memset(&attributes, 0, sizeof attributes);
  attributes.ReliabilityLevel = VIP_SERVICE_RELIABLE_DELIVERY;
  attributes.MaxTransferSize = FRAME;
  attributes.Ptag = ptag;
  attributes.EnableRdmaWrite = VIP_TRUE;
  GOOD(VipCreateVi(nic, &attributes, queue, queue, &vi));
  for (i = 0; i != POSTED; ++i) GOOD(VipPostRecv(vi, take(FRAME), handle));
  return vi;
}

static void put_address(VIP_NET_ADDRESS* address, const char* discriminator) {
  memset(address, 0, ADDRESS_BYTES);
  address->HostAddressLen = nic_attributes.NicAddressLen;
  memcpy(address->HostAddress, nic_attributes.LocalNicAddress, nic_attributes.NicAddressLen);
  address->DiscriminatorLen = (VIP_UINT16)strlen(discriminator);
  memcpy(address->HostAddress + address->HostAddressLen, discriminator, strlen(discriminator));
}

/* The answer is written to where the client wants it, with its number as immediate data. */
static void answer(VIP_VI_HANDLE vi, const struct request* asked) {
  VIP_DESCRIPTOR* const d = take(FRAME);
  VIP_ADDRESS_SEGMENT* const there = (VIP_ADDRESS_SEGMENT*)(void*)&d->Data[0];
  memset(d + 1, (int)(asked->number & 0xFF), FRAME);
  there->Data.AddressBits = asked->where;
  there->Handle = asked->handle;
  there->Reserved = 0;
  d->Data[1].Data.Address = d + 1;
  d->Data[1].Handle = handle;
  d->Data[1].Length = FRAME;
  d->Control.SegCount = 2;
  d->Control.Control = VIP_CONTROL_OP_RDMAWRITE | VIP_CONTROL_IMMEDIATE;
  d->Control.ImmediateData = asked->number;
  GOOD(VipPostSend(vi, d, handle));
}

/* One completion queue has everything of all clients. */
static void* serve(void* queue) {
  int answered = 0, sent = 0;
  while (sent != clients * CALLS) {
    VIP_VI_HANDLE vi;
    VIP_BOOLEAN received;
    VIP_DESCRIPTOR* d;
    VIP_RETURN result;
    GOOD(VipCQWait(queue, VIP_INFINITE, &vi, &received));
    result = received ? VipRecvDone(vi, &d) : VipSendDone(vi, &d);
    if (result == VIP_DESCRIPTOR_ERROR) { /* of a client that has gone */
      CHECK((d->Control.Status & VIP_STATUS_ERROR_MASK) == VIP_STATUS_DESC_FLUSHED_ERROR);
      give(d);
      continue;
    }
    CHECK(result == VIP_SUCCESS && (d->Control.Status & VIP_STATUS_DONE) != 0);
    if (received) {
      const struct request asked = *(struct request*)d->Data[0].Data.Address;
      CHECK(d->Control.Length == sizeof asked);
      d->Control.Length = d->Data[0].Length = FRAME;
      GOOD(VipPostRecv(vi, d, handle));
      answer(vi, &asked);
      ++answered;
    } else {
      d->Data[0].Handle = handle;
      d->Data[0].Data.Address = d + 1;
      give(d);
      ++sent;
    }
  }
  CHECK(answered == sent);
  return NULL;
}

static void run_server(const char* discriminator) {
  char own_bytes[ADDRESS_BYTES], other_bytes[ADDRESS_BYTES];
  VIP_NET_ADDRESS *const own = (VIP_NET_ADDRESS*)(void*)own_bytes, *const other =
                                                                       (VIP_NET_ADDRESS*)(void*)other_bytes;
  VIP_VI_HANDLE vis[MOST];
  VIP_CQ_HANDLE queue;
  VIP_DESCRIPTOR* d;
  pthread_t server;
  int i;
  open_all(MOST * 2 * POSTED);
  GOOD(VipCreateCQ(nic, MOST * 2 * POSTED, &queue));
  for (i = 0; i != clients; ++i) vis[i] = make_vi(queue);
  put_address(own, discriminator);
  CHECK(pthread_create(&server, NULL, serve, queue) == 0);
  for (i = 0; i != clients; ++i) {
    VIP_VI_ATTRIBUTES there;
    VIP_CONN_HANDLE connection;
    GOOD(VipConnectWait(nic, own, VIP_INFINITE, other, &there, &connection));
    CHECK(other->HostAddressLen == nic_attributes.NicAddressLen && there.MaxTransferSize == FRAME);
    GOOD(VipConnectAccept(connection, vis[i]));
  }
  CHECK(pthread_join(server, NULL) == 0);
  for (i = 0; i != clients; ++i) {
    GOOD(VipDisconnect(vis[i]));
    while (VipRecvDone(vis[i], &d), d != NULL)
      CHECK((d->Control.Status & VIP_STATUS_DESC_FLUSHED_ERROR) != 0);
    CHECK(VipSendDone(vis[i], &d) == VIP_DESCRIPTOR_ERROR && d == NULL);
    GOOD(VipDestroyVi(vis[i]));
  }
  GOOD(VipDestroyCQ(queue));
  GOOD(VipDeregisterMem(nic, memory, handle));
  GOOD(VipDestroyPtag(nic, ptag));
  GOOD(VipCloseNic(nic));
}

static void call_server(VIP_VI_HANDLE vi, int number) {
  VIP_DESCRIPTOR* const d = take(sizeof(struct request));
  struct request* const asks = d->Data[0].Data.Address;
  VIP_DESCRIPTOR* done;
  int i;
  memset(memory, 0, FRAME);
  asks->where = (VIP_UINT64)(size_t)memory;
  asks->handle = handle;
  asks->number = (VIP_UINT32)number;
  GOOD(VipPostSend(vi, d, handle));
  while (VipSendDone(vi, &done) == VIP_NOT_DONE) continue;
  CHECK(done == d && (done->Control.Status & VIP_STATUS_ERROR_MASK) == 0);
  give(done);
  GOOD(VipRecvWait(vi, VIP_INFINITE, &done));
  CHECK((done->Control.Status & VIP_STATUS_OP_MASK) == VIP_STATUS_OP_REMOTE_RDMA_WRITE);
  CHECK((done->Control.Status & VIP_STATUS_IMMEDIATE) != 0);
  CHECK(done->Control.ImmediateData == (VIP_UINT32)number);
  for (i = 0; i != FRAME; ++i) CHECK((unsigned char)memory[i] == (number & 0xFF));
  done->Control.Length = done->Data[0].Length = FRAME;
  GOOD(VipPostRecv(vi, done, handle));
}

static void run_client(const char* discriminator) {
  char own_bytes[ADDRESS_BYTES], other_bytes[ADDRESS_BYTES];
  VIP_NET_ADDRESS *const own = (VIP_NET_ADDRESS*)(void*)own_bytes, *const other =
                                                                       (VIP_NET_ADDRESS*)(void*)other_bytes;
  VIP_VI_ATTRIBUTES there;
  VIP_VI_HANDLE vi;
  VIP_RETURN result;
  int i;
  name = "client";
  open_all(2 * POSTED);
  vi = make_vi(NULL);
  put_address(own, "client");
  put_address(other, discriminator);
  CHECK(VipConnectRequest(vi, own, other, 0, &there) == VIP_INVALID_PARAMETER);
  do {
    result = VipConnectRequest(vi, own, other, VIP_INFINITE, &there);
  } while (result == VIP_NO_MATCH);
  CHECK(result == VIP_SUCCESS && there.EnableRdmaWrite == VIP_TRUE);
  for (i = 0; i != CALLS; ++i) call_server(vi, i);
  GOOD(VipDisconnect(vi));
  GOOD(VipCloseNic(nic)); /* with everything that is left */
}

int main(int argc, char** argv) {
  char discriminator[16];
  int i, status, bad = 0;
  clients = argc > 1 ? atoi(argv[1]) : 3;
  if (clients < 1 || clients > MOST) return 2;
  sprintf(discriminator, "clan%d", (int)getpid());
  for (i = 0; i != clients + 1; ++i) {
    const pid_t child = fork();
    if (child < 0) return 1;
    if (child == 0) {
      if (i == 0)
        run_server(discriminator);
      else
        run_client(discriminator);
      exit(0);
    }
  }
  while (wait(&status) > 0) bad |= status;
  return bad != 0;
}
