/* A ring of processes, written from VIPL 1.0's calls alone, as programs of its time were: peers that ask for
 * each other, a token by sends, RDMA writes with immediate data, RDMA reads with a fence, completion queues
 * with a notification, an error handler, and the other hosts that there are.
 *
 *   vi_stranger_ring PROCESSES */
#define _XOPEN_SOURCE 500

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vipl.h>

#define LAPS 3
#define RECEIVES 8
#define BYTES 1024
#define PATIENCE 30000

#define CHECK(condition)                                                              \
  do {                                                                                \
    if (!(condition)) {                                                               \
      fprintf(stderr, "%s:%d, process %d: %s\n", __FILE__, __LINE__, me, #condition); \
      exit(1);                                                                        \
    }                                                                                 \
  } while (0)
#define GOOD(call) CHECK((call) == VIP_SUCCESS)

/* A descriptor and the bytes that it moves. */
typedef struct {
  VIP_DESCRIPTOR descriptor;
  char bytes[BYTES];
} buffer_t;

/* What a neighbour is told of memory. */
typedef struct {
  VIP_UINT64 address;
  VIP_MEM_HANDLE handle;
} window_t;

/* One side of a process. */
typedef struct {
  VIP_VI_HANDLE vi;
  VIP_CQ_HANDLE arrivals;
  window_t there;
} side_t;

static int me, processes, base;
static VIP_NIC_HANDLE nic;
static VIP_NIC_ATTRIBUTES nic_attributes;
static VIP_PROTECTION_HANDLE tag;
static VIP_MEM_HANDLE memory;
static char* arena;
static size_t arena_bytes;
static buffer_t*
    buffers;          /* RECEIVES of the left side, RECEIVES of the right one, one to send from, one more */
static char* landing; /* BYTES that neighbours write to, and BYTES that they read */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int lost, notified;

static void on_error(VIP_PVOID context, VIP_ERROR_DESCRIPTOR* error) {
  CHECK(context == &lost && error->NicHandle == nic);
  pthread_mutex_lock(&lock);
  if (error->ErrorCode == VIP_ERROR_CONN_LOST) ++lost;
  pthread_cond_broadcast(&changed);
  pthread_mutex_unlock(&lock);
}

static void on_arrival(VIP_PVOID context, VIP_NIC_HANDLE of, VIP_VI_HANDLE vi, VIP_BOOLEAN receive) {
  CHECK(context == &notified && of == nic && vi != NULL && receive == VIP_TRUE);
  pthread_mutex_lock(&lock);
  ++notified;
  pthread_cond_broadcast(&changed);
  pthread_mutex_unlock(&lock);
}

static void wait_until(const int* count, int wanted) {
  pthread_mutex_lock(&lock);
  while (*count < wanted) pthread_cond_wait(&changed, &lock);
  pthread_mutex_unlock(&lock);
}

static void make(buffer_t* buffer, VIP_UINT32 length) {
  memset(&buffer->descriptor, 0, sizeof buffer->descriptor);
  buffer->descriptor.CS.Control = VIP_CONTROL_OP_SENDRECV;
  buffer->descriptor.CS.SegCount = 1;
  buffer->descriptor.CS.Length = length;
  buffer->descriptor.DS[0].Local.Data.Address = buffer->bytes;
  buffer->descriptor.DS[0].Local.Handle = memory;
  buffer->descriptor.DS[0].Local.Length = length;
}

static void make_remote(buffer_t* buffer, VIP_UINT16 control, const window_t* there, VIP_UINT64 offset,
                        VIP_UINT32 length) {
  make(buffer, length);
  buffer->descriptor.DS[1] = buffer->descriptor.DS[0];
  buffer->descriptor.CS.SegCount = 2;
  buffer->descriptor.CS.Control = control;
  buffer->descriptor.DS[0].Remote.Data.AddressBits = there->address + offset;
  buffer->descriptor.DS[0].Remote.Handle = there->handle;
  buffer->descriptor.DS[0].Remote.Reserved = 0;
}

static void post_receive(side_t* side, buffer_t* buffer) {
  make(buffer, BYTES);
  GOOD(VipPostRecv(side->vi, &buffer->descriptor, memory));
}

static void send_and_wait(side_t* side, buffer_t* buffer, VIP_UINT32 status) {
  VIP_DESCRIPTOR* done = NULL;
  GOOD(VipPostSend(side->vi, &buffer->descriptor, memory));
  GOOD(VipSendWait(side->vi, PATIENCE, &done));
  CHECK(done == &buffer->descriptor);
  CHECK((done->CS.Status & (VIP_STATUS_DONE | VIP_STATUS_ERROR_MASK)) == VIP_STATUS_DONE);
  CHECK((done->CS.Status & VIP_STATUS_OP_MASK) == status);
}

/* The next message of that side, whose buffer is posted again when its bytes were copied. */
static VIP_UINT32 receive(side_t* side, void* to, size_t length, VIP_UINT32 status) {
  VIP_VI_HANDLE vi = NULL;
  VIP_BOOLEAN of_receive = VIP_FALSE;
  VIP_DESCRIPTOR* done = NULL;
  VIP_UINT32 immediate;
  GOOD(VipCQWait(side->arrivals, PATIENCE, &vi, &of_receive));
  CHECK(vi == side->vi && of_receive == VIP_TRUE);
  GOOD(VipRecvDone(vi, &done));
  CHECK((done->CS.Status & ~(VIP_UINT32)VIP_STATUS_RESERVED) == (VIP_STATUS_DONE | status));
  if (to != NULL) {
    CHECK(done->CS.Length == length);
    memcpy(to, done->DS[0].Local.Data.Address, length);
  }
  immediate = done->CS.ImmediateData;
  post_receive(side, (buffer_t*)done);
  return immediate;
}

static void open_nic(void) {
  VIP_MEM_ATTRIBUTES attributes;
  GOOD(VipOpenNic("/dev/nic0", &nic));
  GOOD(VipErrorCallback(nic, &lost, on_error));
  GOOD(VipQueryNic(nic, &nic_attributes));
  CHECK(nic_attributes.NicAddressLen + 3 * sizeof(int) + sizeof(VIP_NET_ADDRESS) <= 40);
  CHECK(nic_attributes.MaxDiscriminatorLen >= 3 * sizeof(int));
  CHECK((nic_attributes.RDMAReadSupport & VIP_SERVICE_RELIABLE_DELIVERY) != 0);
  GOOD(VipNSInit(nic, NULL));
  GOOD(VipCreatePtag(nic, &tag));
  arena_bytes = (2 * RECEIVES + 2) * sizeof(buffer_t) + 2 * BYTES + VIP_DESCRIPTOR_ALIGNMENT;
  arena = malloc(arena_bytes + 3);
  CHECK(arena != NULL);
  buffers = (buffer_t*)(((size_t)arena + 3 + VIP_DESCRIPTOR_ALIGNMENT - 1) / VIP_DESCRIPTOR_ALIGNMENT *
                        VIP_DESCRIPTOR_ALIGNMENT);
  landing = (char*)(buffers + 2 * RECEIVES + 2);
  attributes.Ptag = tag;
  attributes.EnableRdmaWrite = VIP_TRUE;
  attributes.EnableRdmaRead = VIP_TRUE;
  GOOD(VipRegisterMem(nic, arena + 3, arena_bytes, &attributes, &memory));
}

/* The address of `from`, where it asks for `to`. */
static void put_address(char* to_bytes, int from, int to, int side) {
  VIP_NET_ADDRESS* address = (VIP_NET_ADDRESS*)(void*)to_bytes;
  int discriminator[3];
  char host[] = "localhost";
  GOOD(VipNSGetHostByName(nic, host, address, 0));
  CHECK(address->HostAddressLen == nic_attributes.NicAddressLen);
  address->DiscriminatorLen = sizeof discriminator;
  discriminator[0] = base;
  discriminator[1] = from * 2 + side;
  discriminator[2] = to;
  memcpy(address->HostAddress + address->HostAddressLen, discriminator, sizeof discriminator);
}

static void ask(side_t* side, int other, int is_right) {
  VIP_VI_ATTRIBUTES attributes;
  char own[40], asked[40];
  int i;
  memset(&attributes, 0, sizeof attributes);
  attributes.ReliabilityLevel = VIP_SERVICE_RELIABLE_DELIVERY;
  attributes.MaxTransferSize = nic_attributes.MaxTransferSize;
  attributes.QoS = NULL;
  attributes.Ptag = tag;
  attributes.EnableRdmaWrite = VIP_TRUE;
  attributes.EnableRdmaRead = VIP_TRUE;
  GOOD(VipCreateCQ(nic, 2 * RECEIVES, &side->arrivals));
  GOOD(VipCreateVi(nic, &attributes, NULL, side->arrivals, &side->vi));
  for (i = 0; i != RECEIVES; ++i) post_receive(side, &buffers[is_right * RECEIVES + i]);
  put_address(own, me, other, is_right);
  put_address(asked, other, me, !is_right);
  GOOD(VipConnectPeerRequest(side->vi, (VIP_NET_ADDRESS*)(void*)own, (VIP_NET_ADDRESS*)(void*)asked,
                             PATIENCE));
}

static void answered(side_t* side) {
  VIP_VI_ATTRIBUTES there;
  GOOD(VipConnectPeerWait(side->vi, &there));
  CHECK(there.ReliabilityLevel == VIP_SERVICE_RELIABLE_DELIVERY && there.EnableRdmaRead == VIP_TRUE);
}

/* Each tells both neighbours where they may write and read. */
static void exchange(side_t* left, side_t* right) {
  buffer_t* out = &buffers[2 * RECEIVES];
  window_t window;
  side_t* sides[2];
  int i;
  sides[0] = left;
  sides[1] = right;
  memset(&window, 0, sizeof window);
  window.address = (VIP_UINT64)(size_t)landing;
  window.handle = memory;
  for (i = 0; i != 2; ++i) {
    make(out, sizeof window);
    memcpy(out->bytes, &window, sizeof window);
    send_and_wait(sides[i], out, VIP_STATUS_OP_SEND);
  }
  for (i = 0; i != 2; ++i) receive(sides[i], &sides[i]->there, sizeof(window_t), VIP_STATUS_OP_RECEIVE);
}

static void pass_token(side_t* left, side_t* right) {
  buffer_t* out = &buffers[2 * RECEIVES];
  int token = 0, lap;
  for (lap = 0; lap != LAPS; ++lap) {
    if (me != 0) receive(left, &token, sizeof token, VIP_STATUS_OP_RECEIVE);
    token += me + 1;
    make(out, sizeof token);
    memcpy(out->bytes, &token, sizeof token);
    send_and_wait(right, out, VIP_STATUS_OP_SEND);
    if (me == 0) receive(left, &token, sizeof token, VIP_STATUS_OP_RECEIVE);
  }
  if (me == 0) CHECK(token == LAPS * processes * (processes + 1) / 2);
}

/* Each writes to its right neighbour, and is told by its left one. */
static void write_to_the_right(side_t* left, side_t* right) {
  buffer_t* out = &buffers[2 * RECEIVES];
  const int left_one = (me + processes - 1) % processes;
  int i;
  make_remote(out, VIP_CONTROL_OP_RDMAWRITE | VIP_CONTROL_IMMEDIATE, &right->there, 0, BYTES);
  out->descriptor.CS.ImmediateData = (VIP_UINT32)(1000 + me);
  memset(out->bytes, 'a' + me, BYTES);
  send_and_wait(right, out, VIP_STATUS_OP_RDMA_WRITE);
  CHECK(receive(left, NULL, 0, VIP_STATUS_OP_REMOTE_RDMA_WRITE | VIP_STATUS_IMMEDIATE) ==
        (VIP_UINT32)(1000 + left_one));
  for (i = 0; i != BYTES; ++i) CHECK(landing[i] == (char)('a' + left_one));
}

/* Each reads from its left neighbour, and tells it behind a fence that it has. */
static void read_from_the_left(side_t* left, side_t* right) {
  buffer_t* in = &buffers[2 * RECEIVES];
  buffer_t* out = &buffers[2 * RECEIVES + 1];
  const int left_one = (me + processes - 1) % processes;
  VIP_DESCRIPTOR* done = NULL;
  char told = 0;
  int i;
  make_remote(in, VIP_CONTROL_OP_RDMAREAD, &left->there, BYTES, BYTES);
  memset(in->bytes, 0, BYTES);
  GOOD(VipPostSend(left->vi, &in->descriptor, memory));
  make(out, 1);
  out->bytes[0] = 'r';
  out->descriptor.CS.Control = VIP_CONTROL_OP_SENDRECV | VIP_CONTROL_QFENCE;
  GOOD(VipPostSend(left->vi, &out->descriptor, memory));
  GOOD(VipSendWait(left->vi, PATIENCE, &done));
  CHECK(done == &in->descriptor && done->CS.Length == BYTES);
  CHECK((done->CS.Status & VIP_STATUS_OP_MASK) == VIP_STATUS_OP_RDMA_READ);
  for (i = 0; i != BYTES; ++i) CHECK(in->bytes[i] == (char)('A' + left_one));
  GOOD(VipSendWait(left->vi, PATIENCE, &done));
  CHECK(done == &out->descriptor);
  receive(right, &told, 1, VIP_STATUS_OP_RECEIVE);
  CHECK(told == 'r');
}

/* The next message is told by a handler of the completion queue, which takes its entry. */
static void be_notified(side_t* left, side_t* right) {
  buffer_t* out = &buffers[2 * RECEIVES];
  VIP_DESCRIPTOR* done = NULL;
  GOOD(VipCQNotify(left->arrivals, &notified, on_arrival));
  make(out, 0);
  out->descriptor.CS.SegCount = 0; /* no bytes at all, and immediate data */
  out->descriptor.CS.Control = VIP_CONTROL_OP_SENDRECV | VIP_CONTROL_IMMEDIATE;
  out->descriptor.CS.ImmediateData = 77;
  send_and_wait(right, out, VIP_STATUS_OP_SEND);
  wait_until(&notified, 1);
  GOOD(VipRecvDone(left->vi, &done));
  CHECK(done->CS.Length == 0 && done->CS.ImmediateData == 77);
  CHECK(done->CS.Status == (VIP_STATUS_DONE | VIP_STATUS_OP_RECEIVE | VIP_STATUS_IMMEDIATE));
  post_receive(left, (buffer_t*)done);
}

/* Everything that is posted comes back, and then the VI can go. */
static void close_side(side_t* side) {
  VIP_DESCRIPTOR* done = NULL;
  VIP_VI_STATE state;
  VIP_VI_ATTRIBUTES attributes;
  VIP_BOOLEAN sends_empty, receives_empty;
  int count = 0;
  GOOD(VipDisconnect(side->vi));
  while (VipRecvDone(side->vi, &done) == VIP_DESCRIPTOR_ERROR && done != NULL) {
    CHECK((done->CS.Status & VIP_STATUS_ERROR_MASK) == VIP_STATUS_DESC_FLUSHED_ERROR);
    ++count;
  }
  CHECK(count == RECEIVES && done == NULL);
  GOOD(VipQueryVi(side->vi, &state, &attributes, &sends_empty, &receives_empty));
  CHECK(state == VIP_STATE_IDLE && sends_empty == VIP_TRUE && receives_empty == VIP_TRUE);
  GOOD(VipDestroyVi(side->vi));
  GOOD(VipDestroyCQ(side->arrivals));
}

/* Those who can be asked: with this host there is one at least. */
static void discover(void) {
  VIP_AUTODISCOVERY_LIST list;
  VIP_NET_ADDRESS* places[16];
  char addresses[16][40];
  int i, own = 0;
  for (i = 0; i != 16; ++i) places[i] = (VIP_NET_ADDRESS*)(void*)addresses[i];
  list.NumberOfHops = 1;
  list.ADAddrArray = places;
  list.NumAdAddrs = 16;
  GOOD(VipQuerySystemManagementInfo(nic, VIP_SMI_AUTODISCOVERY, &list));
  CHECK(list.NumAdAddrs >= 1 && list.NumAdAddrs <= 16);
  for (i = 0; i != (int)list.NumAdAddrs; ++i)
    own += memcmp(places[i]->HostAddress, nic_attributes.LocalNicAddress, nic_attributes.NicAddressLen) == 0;
  CHECK(own == 1);
}

static int run(void) {
  side_t left, right;
  open_nic();
  discover();
  memset(landing + BYTES, 'A' + me, BYTES);
  ask(&right, (me + 1) % processes, 1);
  ask(&left, (me + processes - 1) % processes, 0);
  answered(&right);
  answered(&left);
  exchange(&left, &right);
  pass_token(&left, &right);
  write_to_the_right(&left, &right);
  pass_token(&left, &right); /* nobody is ahead by more than a lap */
  read_from_the_left(&left, &right);
  pass_token(&left, &right);
  be_notified(&left, &right);
  pass_token(&left, &right);
  if (me == 0) { /* goes first: both neighbours hear of it */
    close_side(&left);
    close_side(&right);
  } else {
    wait_until(&lost, 1);
    close_side(&left);
    close_side(&right);
  }
  GOOD(VipDeregisterMem(nic, arena + 3, memory));
  GOOD(VipDestroyPtag(nic, tag));
  GOOD(VipNSShutdown(nic));
  GOOD(VipCloseNic(nic));
  free(arena);
  return 0;
}

int main(int argc, char** argv) {
  int i, status, bad = 0;
  processes = argc > 1 ? atoi(argv[1]) : 4;
  base = (int)getpid();
  for (i = 0; i != processes; ++i) {
    const pid_t child = fork();
    if (child < 0) return 1;
    if (child == 0) {
      me = i;
      exit(run());
    }
  }
  while (wait(&status) > 0) bad |= status;
  return bad != 0;
}
