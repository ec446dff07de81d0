/* libfabric as it is: half a round trip of BYTES bytes between two processes on loopback, over reliable
 * datagrams of `net`, each with one completion queue that it polls.
 *
 *   peer_fi_net CPU CPU BYTES     prints "result NANOSECONDS": the median
 */
#define _GNU_SOURCE
#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_eq.h>
#include <rdma/fi_errno.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { kWarmUp = 5000, kExchanges = 50000, kBuffers = 8, kMost = 65536, kAddress = 64 };

static struct fid_ep* endpoint;
static struct fid_cq* completions;
static struct fid_av* addresses;
static fi_addr_t peer;
static char out[kMost], in[kBuffers][kMost];
static struct fi_context sent, received[kBuffers];
static size_t bytes;

static void check(const char* what, long error) {
  if (error >= 0) return;
  fprintf(stderr, "peer_fi_net: %s: %s\n", what, fi_strerror((int)-error));
  exit(1);
}

static void open_endpoint(void) {
  struct fi_info *hints = fi_allocinfo(), *info;
  hints->ep_attr->type = FI_EP_RDM;
  hints->caps = FI_MSG;
  hints->mode = FI_CONTEXT;
  hints->domain_attr->threading = FI_THREAD_DOMAIN;
  hints->domain_attr->av_type = FI_AV_TABLE;
  hints->fabric_attr->prov_name = strdup("net");
  check("fi_getinfo", fi_getinfo(FI_VERSION(1, 17), "127.0.0.1", NULL, FI_SOURCE, hints, &info));
  struct fid_fabric* fabric;
  struct fid_domain* domain;
  struct fi_cq_attr queue = {.format = FI_CQ_FORMAT_CONTEXT, .wait_obj = FI_WAIT_FD};
  struct fi_av_attr table = {.type = FI_AV_TABLE};
  check("fi_fabric", fi_fabric(info->fabric_attr, &fabric, NULL));
  check("fi_domain", fi_domain(fabric, info, &domain, NULL));
  check("fi_cq_open", fi_cq_open(domain, &queue, &completions, NULL));
  check("fi_av_open", fi_av_open(domain, &table, &addresses, NULL));
  check("fi_endpoint", fi_endpoint(domain, info, &endpoint, NULL));
  check("fi_ep_bind", fi_ep_bind(endpoint, &completions->fid, FI_TRANSMIT | FI_RECV));
  check("fi_ep_bind", fi_ep_bind(endpoint, &addresses->fid, 0));
  check("fi_enable", fi_enable(endpoint));
}

static void meet(int line) {
  char own[kAddress] = {0}, others[kAddress];
  size_t length = sizeof own;
  check("fi_getname", fi_getname(&endpoint->fid, own, &length));
  if (write(line, own, sizeof own) != sizeof own || read(line, others, sizeof others) != sizeof others)
    exit(1);
  check("fi_av_insert", fi_av_insert(addresses, others, 1, &peer, 0, NULL) == 1 ? 0 : -FI_EINVAL);
}

static int sending;
static void send_one(void) {
  long error;
  while ((error = fi_send(endpoint, out, bytes, NULL, peer, &sent)) == -FI_EAGAIN) {
    struct fi_cq_entry entry;
    (void)fi_cq_read(completions, &entry, 0);
  }
  check("fi_send", error);
  ++sending;
}

/* Until something has come, and what was sent is off. */
static void receive_one(void) {
  int came = 0;
  while (!came || sending != 0) {
    struct fi_cq_entry entry;
    const long count = fi_cq_read(completions, &entry, 1);
    if (count == -FI_EAGAIN) continue;
    check("fi_cq_read", count);
    if (entry.op_context == &sent) {
      --sending;
      continue;
    }
    const long i = (struct fi_context*)entry.op_context - received;
    came = 1;
    check("fi_recv", fi_recv(endpoint, in[i], kMost, NULL, FI_ADDR_UNSPEC, &received[i]));
  }
}

static double now_ns(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

static int by_size(const void* a, const void* b) {
  const double x = *(const double*)a, y = *(const double*)b;
  return x < y ? -1 : x > y;
}

int main(int count, char** words) {
  if (count != 4 || (bytes = (size_t)atol(words[3])) == 0 || bytes > kMost) return 2;
  int line[2];
  if (socketpair(AF_UNIX, SOCK_STREAM, 0, line) != 0) return 1;
  const pid_t child = fork();
  const int first = child != 0;
  cpu_set_t cpu;
  CPU_ZERO(&cpu);
  CPU_SET(atoi(words[first ? 1 : 2]), &cpu);
  sched_setaffinity(0, sizeof cpu, &cpu);
  open_endpoint();
  meet(line[first]);
  for (int i = 0; i < kBuffers; ++i)
    check("fi_recv", fi_recv(endpoint, in[i], kMost, NULL, FI_ADDR_UNSPEC, &received[i]));
  static double times[kExchanges];
  if (write(line[first], "!", 1) != 1 || read(line[first], out, 1) != 1) return 1;
  for (int i = 0; i < kWarmUp + kExchanges; ++i) {
    const double start = now_ns();
    if (first) send_one();
    receive_one();
    if (!first) send_one();
    if (i >= kWarmUp) times[i - kWarmUp] = (now_ns() - start) / 2;
  }
  if (!first) {
    char end;
    (void)!read(line[0], &end, 1);
    _exit(0);
  }
  qsort(times, kExchanges, sizeof times[0], by_size);
  printf("result %.1f\n", times[kExchanges / 2]);
  fflush(stdout);
  close(line[1]);
  kill(child, 9);
  waitpid(child, NULL, 0);
  _exit(0);
}
