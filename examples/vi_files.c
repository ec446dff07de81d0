/* A file server by RDMA write, with VIPL 1.0: a client shows a buffer, and the server writes parts of a file
 * straight into it. Each write tells by its immediate data how much there is.
 *
 *   vi_files                     serves a file of its own, and starts itself a second time to fetch it
 *   vi_files serve NAME FOLDER   serves the files of a folder to one client after another
 *   vi_files fetch NAME FILE     writes a file to the standard output
 *
 * Clients of other users are let in if the environment of the server says HAMLYN_VI_OPEN=everyone.
 *
 * cc vi_files.c $(pkg-config --cflags --libs vipl) */
#define _POSIX_C_SOURCE 200809L
#include <fcntl.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <vipl.h>

extern char** environ;

enum { kRoom = 1 << 18, kNameBytes = 64, kPatience = 30000 /* milliseconds */, kMostTries = 20000 };
enum { kNoFile = 0x7FFFFFFF }; /* in the place of a number of bytes */

/* What a client asks for: bytes of a file, and where they are to be written. */
struct wish {
  uint64_t offset;
  uint64_t address;
  VIP_MEM_HANDLE handle;
  uint32_t room;
  char file[kNameBytes];
};

/* Each side's own: a NIC, a VI, and registered memory. */
struct side {
  VIP_NIC_HANDLE nic;
  VIP_PROTECTION_HANDLE tag;
  VIP_VI_HANDLE vi;
  VIP_MEM_HANDLE memory;
  struct {
    VIP_DESCRIPTOR send, receive;
    struct wish wish;
    char bytes[kRoom];
  } * shared;
};

static int failed(const char* what, VIP_RETURN result) {
  fprintf(stderr, "vi_files: %s answers %d: see whether the node daemon hamlynd can be started\n", what,
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
  VIP_MEM_ATTRIBUTES of_memory = {side->tag, VIP_TRUE, VIP_FALSE};
  result = VipRegisterMem(side->nic, memory, sizeof *side->shared, &of_memory, &side->memory);
  if (result != VIP_SUCCESS) return failed("VipRegisterMem", result);
  VIP_VI_ATTRIBUTES of_vi = {VIP_SERVICE_RELIABLE_DELIVERY, kRoom, 0, side->tag, VIP_TRUE, VIP_FALSE};
  result = VipCreateVi(side->nic, &of_vi, NULL, NULL, &side->vi);
  return result == VIP_SUCCESS ? 0 : failed("VipCreateVi", result);
}

/* An address: the host's, which is here our own, and a discriminator. */
static VIP_NET_ADDRESS* address(struct side* side, const char* name, unsigned char room[64]) {
  VIP_NET_ADDRESS* const out = (VIP_NET_ADDRESS*)room;
  VIP_NIC_ATTRIBUTES attributes;
  if (strlen(name) > 32 || VipQueryNic(side->nic, &attributes) != VIP_SUCCESS) return NULL;
  out->HostAddressLen = attributes.NicAddressLen;
  out->DiscriminatorLen = (VIP_UINT16)strlen(name);
  memcpy(out->HostAddress, attributes.LocalNicAddress, attributes.NicAddressLen);
  memcpy(out->HostAddress + attributes.NicAddressLen, name, strlen(name));
  return out;
}

static void describe(struct side* side, VIP_DESCRIPTOR* descriptor, void* bytes, uint32_t length) {
  memset(descriptor, 0, sizeof *descriptor);
  descriptor->CS.SegCount = 1;
  descriptor->CS.Length = length;
  descriptor->DS[0].Local.Data.Address = bytes;
  descriptor->DS[0].Local.Handle = side->memory;
  descriptor->DS[0].Local.Length = length;
}

static int post_receive(struct side* side) {
  describe(side, &side->shared->receive, &side->shared->wish, sizeof side->shared->wish);
  return VipPostRecv(side->vi, &side->shared->receive, side->memory) == VIP_SUCCESS ? 0 : 1;
}

static int send_it(struct side* side) {
  VIP_DESCRIPTOR* done = NULL;
  VIP_RETURN result = VipPostSend(side->vi, &side->shared->send, side->memory);
  if (result == VIP_SUCCESS) result = VipSendWait(side->vi, kPatience, &done);
  return result == VIP_SUCCESS ? 0 : 1;
}

/* --- the server */

/* Reads what is wished into our own buffer. Names with a slash are not of this folder. */
static uint32_t read_part(const char* folder, const struct wish* wish, char* into) {
  char path[4096];
  if (memchr(wish->file, 0, kNameBytes) == NULL || strchr(wish->file, '/') != NULL || wish->room > kRoom)
    return kNoFile;
  if (snprintf(path, sizeof path, "%s/%s", folder, wish->file) >= (int)sizeof path) return kNoFile;
  const int file = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
  if (file < 0) return kNoFile;
  const ssize_t count = pread(file, into, wish->room, (off_t)wish->offset);
  close(file);
  return count < 0 ? (uint32_t)kNoFile : (uint32_t)count;
}

/* Writes it to where the client has said, which the NIC allows only in memory that the client has opened. */
static int write_part(struct side* side, const struct wish* wish, uint32_t count) {
  VIP_DESCRIPTOR* const write = &side->shared->send;
  const uint32_t length = count == kNoFile ? 0 : count;
  describe(side, write, side->shared->bytes, length);
  write->DS[1] = write->DS[0];
  memset(&write->DS[0], 0, sizeof write->DS[0]);
  write->DS[0].Remote.Data.AddressBits = wish->address;
  write->DS[0].Remote.Handle = wish->handle;
  write->CS.SegCount = 2;
  write->CS.Control = VIP_CONTROL_OP_RDMAWRITE | VIP_CONTROL_IMMEDIATE;
  write->CS.ImmediateData = count;
  return send_it(side);
}

/* Serves a client until it goes. What was posted comes back then. */
static void serve_one(struct side* side, VIP_CONN_HANDLE request, const char* folder) {
  VIP_DESCRIPTOR* done = NULL;
  const int accepted = VipConnectAccept(request, side->vi) == VIP_SUCCESS;
  if (!accepted) VipConnectReject(request);
  while (accepted && VipRecvWait(side->vi, kPatience, &done) == VIP_SUCCESS &&
         done->CS.Length == sizeof(struct wish)) {
    const struct wish wish = side->shared->wish;
    if (post_receive(side) != 0) break;
    if (write_part(side, &wish, read_part(folder, &wish, side->shared->bytes)) != 0) break;
  }
  VipDisconnect(side->vi);
  while (VipRecvDone(side->vi, &done), done != NULL) {
  }
}

static int serve(struct side* side, const char* name, const char* folder, int clients) {
  for (; clients != 0; clients -= clients > 0) {
    _Alignas(8) unsigned char local[64], remote[64];
    VIP_VI_ATTRIBUTES attributes;
    VIP_CONN_HANDLE request = NULL;
    if (post_receive(side) != 0) return 1;
    VIP_RETURN result = VipConnectWait(side->nic, address(side, name, local),
                                       clients > 0 ? (VIP_ULONG)kPatience : VIP_INFINITE,
                                       (VIP_NET_ADDRESS*)remote, &attributes, &request);
    if (result != VIP_SUCCESS) return failed("VipConnectWait", result);
    serve_one(side, request, folder);
  }
  return 0;
}

/* --- the client */

static int ask(struct side* side, const char* name) {
  _Alignas(8) unsigned char own[64], asked[64];
  VIP_VI_ATTRIBUTES other;
  VIP_RETURN result = VIP_NO_MATCH;
  /* Nobody may wait there yet: then the answer comes at once. */
  for (int tries = 0; result == VIP_NO_MATCH && tries != kMostTries; ++tries) {
    const struct timespec a_millisecond = {0, 1000000};
    if (tries != 0) nanosleep(&a_millisecond, NULL);
    result =
        VipConnectRequest(side->vi, address(side, "", own), address(side, name, asked), kPatience, &other);
  }
  return result == VIP_SUCCESS ? 0 : failed("VipConnectRequest", result);
}

/* The number of bytes that stand in our buffer then. */
static uint32_t fetch_part(struct side* side, const char* file, uint64_t offset) {
  struct wish* const wish = &side->shared->wish;
  VIP_DESCRIPTOR* done = NULL;
  memset(wish, 0, sizeof *wish);
  wish->offset = offset;
  wish->address = (uintptr_t)side->shared->bytes;
  wish->handle = side->memory;
  wish->room = kRoom;
  strncpy(wish->file, file, kNameBytes - 1);
  /* For the immediate data, which take a receive and no room. */
  memset(&side->shared->receive, 0, sizeof side->shared->receive);
  if (VipPostRecv(side->vi, &side->shared->receive, side->memory) != VIP_SUCCESS) return kNoFile;
  describe(side, &side->shared->send, wish, sizeof *wish);
  if (send_it(side) != 0 || VipRecvWait(side->vi, kPatience, &done) != VIP_SUCCESS) return kNoFile;
  return done->CS.ImmediateData;
}

static int fetch(struct side* side, const char* name, const char* file) {
  uint64_t offset = 0;
  uint32_t count = kRoom;
  if (ask(side, name) != 0) return 1;
  for (; count == kRoom; offset += count) {
    count = fetch_part(side, file, offset);
    if (count > kRoom) {
      fprintf(stderr, "vi_files: the server has no file '%s', or has gone\n", file);
      return 1;
    }
    fwrite(side->shared->bytes, 1, count, stdout);
  }
  VipDisconnect(side->vi);
  if (fflush(stdout) == 0 && !ferror(stdout)) return 0;
  fputs("vi_files: the output could not be written: see whether the disk is full, and who reads it\n",
        stderr);
  return 1;
}

/* --- both */

/* Serves a file of its own to a second process, which writes it out. */
static int show(struct side* side) {
  char folder[] = "/tmp/vi_files.XXXXXX", path[64], name[32], self[] = "/proc/self/exe";
  if (mkdtemp(folder) == NULL) return 1;
  snprintf(path, sizeof path, "%s/poem", folder);
  snprintf(name, sizeof name, "files.%ld", (long)getpid());
  FILE* const file = fopen(path, "w");
  if (file == NULL || fputs("A file came by RDMA write\n", file) < 0 || fclose(file) != 0) return 1;
  char* words[] = {self, "fetch", name, "poem", NULL};
  pid_t other = -1;
  int out = posix_spawn(&other, self, NULL, NULL, words, environ) == 0 ? serve(side, name, folder, 1) : 1;
  int status = 1;
  if (other > 0) waitpid(other, &status, 0);
  unlink(path);
  rmdir(folder);
  return out != 0 || status != 0;
}

int main(int count, char** words) {
  struct side side = {0};
  const int serves = count == 4 && strcmp(words[1], "serve") == 0;
  const int fetches = count == 4 && strcmp(words[1], "fetch") == 0;
  if (count != 1 && !serves && !fetches) {
    fputs("vi_files [serve NAME FOLDER | fetch NAME FILE]\n", stderr);
    return 2;
  }
  if (open_side(&side) != 0) return 1;
  const int out = serves    ? serve(&side, words[2], words[3], -1)
                  : fetches ? fetch(&side, words[2], words[3])
                            : show(&side);
  VipCloseNic(side.nic);
  free(side.shared);
  return out;
}
