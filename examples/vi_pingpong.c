/* The VI Architecture, by VIPL 1.0: a message goes to and fro between two processes.
 *
 *   vi_pingpong          waits for a connection; starts itself a second time as the other side
 *   vi_pingpong NAME     asks whoever waits at NAME
 *
 * cc vi_pingpong.c $(pkg-config --cflags --libs vipl) */
#define _POSIX_C_SOURCE 200809L
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <vipl.h>

extern char** environ;

enum { kRounds = 1000, kBytes = 64, kPatience = 30000 /* milliseconds */ };

/* Each side's own: a NIC, a VI, and registered memory with two descriptors and a buffer for each. */
struct side {
  VIP_NIC_HANDLE nic;
  VIP_PROTECTION_HANDLE tag;
  VIP_VI_HANDLE vi;
  VIP_MEM_HANDLE memory;
  struct {
    VIP_DESCRIPTOR send, receive;
    char sent[kBytes], received[kBytes];
  } * shared;
};

static int failed(const char* what, VIP_RETURN result) {
  fprintf(stderr, "vi_pingpong: %s answers %d: see whether the node daemon hamlynd can be started\n", what,
          (int)result);
  return 1;
}

static int open_side(struct side* side) {
  VIP_RETURN result = VipOpenNic("nic0", &side->nic);
  if (result != VIP_SUCCESS) return failed("VipOpenNic", result);
  result = VipCreatePtag(side->nic, &side->tag);
  if (result != VIP_SUCCESS) return failed("VipCreatePtag", result);
  void* memory = NULL;
  if (posix_memalign(&memory, VIP_DESCRIPTOR_ALIGNMENT, sizeof *side->shared) != 0) return 1;
  side->shared = memory;
  VIP_MEM_ATTRIBUTES of_memory = {side->tag, VIP_FALSE, VIP_FALSE};
  result = VipRegisterMem(side->nic, memory, sizeof *side->shared, &of_memory, &side->memory);
  if (result != VIP_SUCCESS) return failed("VipRegisterMem", result);
  VIP_VI_ATTRIBUTES of_vi = {VIP_SERVICE_RELIABLE_DELIVERY, kBytes, 0, side->tag, VIP_FALSE, VIP_FALSE};
  result = VipCreateVi(side->nic, &of_vi, NULL, NULL, &side->vi);
  return result == VIP_SUCCESS ? 0 : failed("VipCreateVi", result);
}

static void describe(struct side* side, VIP_DESCRIPTOR* descriptor, char* bytes) {
  memset(descriptor, 0, sizeof *descriptor);
  descriptor->CS.SegCount = 1;
  descriptor->CS.Length = kBytes;
  descriptor->DS[0].Local.Data.Address = bytes;
  descriptor->DS[0].Local.Handle = side->memory;
  descriptor->DS[0].Local.Length = kBytes;
}

/* A receive must be there before the other side sends. */
static int post_receive(struct side* side) {
  describe(side, &side->shared->receive, side->shared->received);
  return VipPostRecv(side->vi, &side->shared->receive, side->memory) == VIP_SUCCESS ? 0 : 1;
}

static int say(struct side* side, int number) {
  VIP_DESCRIPTOR* done = NULL;
  snprintf(side->shared->sent, kBytes, "%d", number);
  describe(side, &side->shared->send, side->shared->sent);
  VIP_RETURN result = VipPostSend(side->vi, &side->shared->send, side->memory);
  if (result == VIP_SUCCESS) result = VipSendWait(side->vi, kPatience, &done);
  return result == VIP_SUCCESS ? 0 : failed("VipPostSend", result);
}

/* The number that comes, or -1. */
static int hear(struct side* side) {
  VIP_DESCRIPTOR* done = NULL;
  const VIP_RETURN result = VipRecvWait(side->vi, kPatience, &done);
  if (result != VIP_SUCCESS) return -1;
  const int number = atoi(side->shared->received);
  return post_receive(side) == 0 ? number : -1;
}

/* An address: the host's, which is here our own, and a discriminator. */
static VIP_NET_ADDRESS* address(struct side* side, const char* name, unsigned char room[64]) {
  VIP_NET_ADDRESS* const out = (VIP_NET_ADDRESS*)room;
  VIP_NIC_ATTRIBUTES attributes;
  if (VipQueryNic(side->nic, &attributes) != VIP_SUCCESS) return NULL;
  out->HostAddressLen = attributes.NicAddressLen;
  out->DiscriminatorLen = (VIP_UINT16)strlen(name);
  memcpy(out->HostAddress, attributes.LocalNicAddress, attributes.NicAddressLen);
  memcpy(out->HostAddress + attributes.NicAddressLen, name, strlen(name));
  return out;
}

static int ask(struct side* side, const char* name) {
  _Alignas(8) unsigned char own[64], asked[64];
  VIP_VI_ATTRIBUTES other;
  VIP_RETURN result = VIP_NO_MATCH;
  /* Nobody may wait there yet: then the answer comes at once. */
  for (int tries = 0; result == VIP_NO_MATCH && tries != kPatience; ++tries) {
    const struct timespec a_millisecond = {0, 1000000};
    if (tries != 0) nanosleep(&a_millisecond, NULL);
    result =
        VipConnectRequest(side->vi, address(side, "", own), address(side, name, asked), kPatience, &other);
  }
  if (result != VIP_SUCCESS) return failed("VipConnectRequest", result);
  for (int round = 1; round < 2 * kRounds; round += 2) {
    if (say(side, round) != 0 || hear(side) != round + 1) return failed("a round", VIP_TIMEOUT);
  }
  return VipDisconnect(side->vi) == VIP_SUCCESS ? 0 : 1;
}

static int answer(struct side* side) {
  for (int round = 1; round < 2 * kRounds; round += 2) {
    if (hear(side) != round || say(side, round + 1) != 0) return failed("a round", VIP_TIMEOUT);
  }
  printf("%d times to and fro\n", kRounds);
  if (fflush(stdout) == 0 && !ferror(stdout)) return 0;
  fputs("vi_pingpong: the output could not be written: see whether the disk is full, and who reads it\n",
        stderr);
  return 1;
}

static pid_t start_other(char* name) {
  char self[] = "/proc/self/exe";
  char* words[] = {self, name, NULL};
  pid_t other = -1;
  return posix_spawn(&other, self, NULL, NULL, words, environ) == 0 ? other : -1;
}

static int wait_and_answer(struct side* side) {
  _Alignas(8) unsigned char local[64], remote[64];
  char name[32];
  snprintf(name, sizeof name, "ping.%ld", (long)getpid());
  const pid_t other = start_other(name);
  VIP_VI_ATTRIBUTES attributes;
  VIP_CONN_HANDLE request = NULL;
  VIP_RETURN result = VipConnectWait(side->nic, address(side, name, local), kPatience,
                                     (VIP_NET_ADDRESS*)remote, &attributes, &request);
  if (result == VIP_SUCCESS) result = VipConnectAccept(request, side->vi);
  int out = result == VIP_SUCCESS ? answer(side) : failed("VipConnectWait", result);
  int status = 1;
  if (other > 0) waitpid(other, &status, 0);
  return out != 0 || status != 0;
}

int main(int count, char** words) {
  struct side side = {0};
  if (open_side(&side) != 0 || post_receive(&side) != 0) return 1;
  const int out = count > 1 ? ask(&side, words[1]) : wait_and_answer(&side);
  VipCloseNic(side.nic);
  free(side.shared);
  return out;
}
