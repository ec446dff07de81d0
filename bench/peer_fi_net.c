/* libfabric as it is: messages of BYTES bytes between two processes on loopback, over reliable datagrams of
 * `net`, each with one completion queue.
 *
 *   peer_fi_net CPU CPU oneway BYTES      prints "result NANOSECONDS": the median of half round trips, both
 * polling peer_fi_net CPU CPU blocked BYTES     the same, both asleep on the queue's descriptor when a
 * message comes peer_fi_net CPU CPU bandwidth BYTES   prints "result GIGABYTES" per second, eight messages
 * under way
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
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { kMostExchanges = 50000, kBuffers = 8, kMost = 1048576, kAddress = 64 };
static const double kPauseNs = 50000; /* before a message, so that its receiver sleeps */

static struct fid_fabric* fabric;
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

static bool asleep; /* wait on the descriptor */
static int arrived; /* an epoll of it, edge-triggered: once readable it stays so (libfabric issue 8947) */
static long sending;

static void watch_completions(void) {
  struct epoll_event event = {.events = EPOLLIN | EPOLLET};
  int descriptor;
  check("fi_control", fi_control(&completions->fid, FI_GETWAIT, &descriptor));
  arrived = epoll_create1(0);
  if (epoll_ctl(arrived, EPOLL_CTL_ADD, descriptor, &event) != 0) exit(1);
}

/* As fi_cq_read, of one, but waits for it. */
static long read_completion(struct fi_cq_entry* entry) {
  struct fid* queue = &completions->fid;
  struct epoll_event event;
  for (;;) {
    long count = fi_cq_read(completions, entry, 1);
    if (count != -FI_EAGAIN) return count;
    if (!asleep) continue;
    (void)epoll_wait(arrived, &event, 1, 0); /* what came until now is seen by the look that follows */
    if (fi_trywait(fabric, &queue, 1) != 0) continue;
    count = fi_cq_read(completions, entry, 1);
    if (count != -FI_EAGAIN) return count;
    (void)epoll_wait(arrived, &event, 1, -1);
  }
}

/* One completion: a message that has come is taken and its buffer posted again. Returns whether it was one.
 */
static bool complete_one(void) {
  struct fi_cq_entry entry;
  check("fi_cq_read", read_completion(&entry));
  if (entry.op_context == &sent) {
    --sending;
    return false;
  }
  const long i = (struct fi_context*)entry.op_context - received;
  check("fi_recv", fi_recv(endpoint, in[i], kMost, NULL, FI_ADDR_UNSPEC, &received[i]));
  return true;
}

static void send_one(void) {
  long error;
  while ((error = fi_send(endpoint, out, bytes, NULL, peer, &sent)) == -FI_EAGAIN) {
    struct fi_cq_entry entry;
    if (fi_cq_read(completions, &entry, 1) == 1) --sending; /* nothing else comes before an answer */
  }
  check("fi_send", error);
  ++sending;
}

/* Until something has come, and what was sent is off. */
static void receive_one(void) {
  for (bool came = false; !came || sending != 0;) came |= complete_one();
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

static void pause_before_message(void) {
  const double end = now_ns() + kPauseNs;
  while (now_ns() < end) {
  }
}

static double oneway(bool first) {
  static double times[kMostExchanges];
  const int exchanges = asleep ? 1000 : kMostExchanges, warm_up = exchanges / 10;
  for (int i = 0; i < warm_up + exchanges; ++i) {
    if (first && asleep) pause_before_message();
    const double start = now_ns();
    if (first) send_one();
    receive_one();
    if (!first && asleep) pause_before_message();
    if (!first) send_one();
    if (i >= warm_up) times[i - warm_up] = (now_ns() - start - (asleep ? kPauseNs : 0)) / 2;
  }
  if (!first) {
    while (sending != 0) (void)complete_one();
    return 0;
  }
  qsort(times, (size_t)exchanges, sizeof times[0], by_size);
  return times[exchanges / 2];
}

/* The first receives. */
static double bandwidth(bool first) {
  const long timed = (1l << 30) / (long)bytes, warm_up = 4 * kBuffers;
  double start = 0;
  for (long i = 0; i < warm_up + timed; ++i) {
    if (first) {
      if (i == warm_up) start = now_ns();
      while (!complete_one()) {
      }
    } else {
      send_one();
      while (sending == kBuffers) (void)complete_one();
    }
  }
  while (sending != 0) (void)complete_one();
  return (double)timed * (double)bytes / (now_ns() - start);
}

int main(int count, char** words) {
  if (count != 5 || (bytes = (size_t)atol(words[4])) == 0 || bytes > kMost) return 2;
  asleep = strcmp(words[3], "blocked") == 0;
  int line[2];
  if (socketpair(AF_UNIX, SOCK_STREAM, 0, line) != 0) return 1;
  const pid_t child = fork();
  const bool first = child != 0;
  cpu_set_t cpu;
  CPU_ZERO(&cpu);
  CPU_SET(atoi(words[first ? 1 : 2]), &cpu);
  sched_setaffinity(0, sizeof cpu, &cpu);
  open_endpoint();
  meet(line[first]);
  watch_completions();
  for (int i = 0; i < kBuffers; ++i)
    check("fi_recv", fi_recv(endpoint, in[i], kMost, NULL, FI_ADDR_UNSPEC, &received[i]));
  if (write(line[first], "!", 1) != 1 || read(line[first], out, 1) != 1) return 1;
  const double result = strcmp(words[3], "bandwidth") == 0 ? bandwidth(first) : oneway(first);
  if (!first) { /* what it sent last may still be on its way */
    char end;
    (void)!read(line[0], &end, 1);
    _exit(0);
  }
  printf("result %.3f\n", result);
  fflush(stdout);
  close(line[1]);
  kill(child, 9);
  waitpid(child, NULL, 0);
  _exit(0);
}
