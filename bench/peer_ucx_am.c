/* UCX: active messages, each filled by its sender and read whole by its handler.
 *
 * `peer_ucx_am CORE0 CORE1 oneway BYTES` prints "result NANOSECONDS", the median of half round trips.
 * `peer_ucx_am CORE0 CORE1 bandwidth BYTES WINDOW` prints "result GIGABYTES" per second, so many under way.
 */
#include "peer_timing.h"

#include <string.h>
#include <sys/socket.h>
#include <ucp/api/ucp.h>
#include <unistd.h>

#include "tool/perf/touch.h"

enum { kMost = 65536, kExchanges = 50000, kWarmUp = 5000, kMessages = 200000, kMessage = 1, kNews = 2 };

static ucp_context_h context;
static ucp_worker_h worker;
static ucp_ep_h endpoint;
static size_t bytes;
static char* out;
static uint64_t heard, told; /* messages handled; messages that the other side says it has handled */

static void check(const char* what, ucs_status_t status) {
  if (status == UCS_OK) return;
  fprintf(stderr, "peer_ucx_am: %s: %s\n", what, ucs_status_string(status));
  exit(1);
}

static ucs_status_t hear_message(void* arg, const void* header, size_t header_length, void* data,
                                 size_t length, const ucp_am_recv_param_t* param) {
  (void)arg, (void)header, (void)header_length, (void)param;
  if (length != bytes || hamlyn_read_all(data, length) != hamlyn_filled_sum(length, heard)) {
    fprintf(stderr, "peer_ucx_am: message %lu is not the one that was sent\n", (unsigned long)heard);
    exit(1);
  }
  ++heard;
  return UCS_OK;
}

static ucs_status_t hear_news(void* arg, const void* header, size_t header_length, void* data, size_t length,
                              const ucp_am_recv_param_t* param) {
  (void)arg, (void)data, (void)length, (void)param;
  if (header_length == sizeof told) memcpy(&told, header, sizeof told);
  return UCS_OK;
}

static void set_handler(unsigned id, ucp_am_recv_callback_t callback) {
  const ucp_am_handler_param_t handler = {
      .field_mask = UCP_AM_HANDLER_PARAM_FIELD_ID | UCP_AM_HANDLER_PARAM_FIELD_CB, .id = id, .cb = callback};
  check("ucp_worker_set_am_recv_handler", ucp_worker_set_am_recv_handler(worker, &handler));
}

static void open_worker(void) {
  const ucp_params_t features = {.field_mask = UCP_PARAM_FIELD_FEATURES, .features = UCP_FEATURE_AM};
  const ucp_worker_params_t threads = {.field_mask = UCP_WORKER_PARAM_FIELD_THREAD_MODE,
                                       .thread_mode = UCS_THREAD_MODE_SINGLE};
  ucp_config_t* config;
  check("ucp_config_read", ucp_config_read(NULL, NULL, &config));
  check("ucp_init", ucp_init(&features, config, &context));
  ucp_config_release(config);
  check("ucp_worker_create", ucp_worker_create(context, &threads, &worker));
  set_handler(kMessage, hear_message);
  set_handler(kNews, hear_news);
}

/* By a line to the other process, on which addresses of up to a page are sent. */
static void meet(int line) {
  char others[4096];
  ucp_address_t* own;
  size_t length;
  check("ucp_worker_get_address", ucp_worker_get_address(worker, &own, &length));
  if (write(line, own, length) != (ssize_t)length || read(line, others, sizeof others) <= 0) exit(1);
  const ucp_ep_params_t params = {.field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS,
                                  .address = (const ucp_address_t*)others};
  check("ucp_ep_create", ucp_ep_create(worker, &params, &endpoint));
  ucp_worker_release_address(worker, own);
}

/* Until it has left. */
static void send_am(unsigned id, const void* header, size_t header_length, const void* data, size_t length) {
  const ucp_request_param_t eager = {.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS,
                                     .flags = UCP_AM_SEND_FLAG_EAGER};
  ucs_status_ptr_t request = ucp_am_send_nbx(endpoint, id, header, header_length, data, length, &eager);
  if (request == NULL) return;
  if (UCS_PTR_IS_ERR(request)) check("ucp_am_send_nbx", UCS_PTR_STATUS(request));
  while (ucp_request_check_status(request) == UCS_INPROGRESS) ucp_worker_progress(worker);
  ucp_request_free(request);
}

static void send_message(uint64_t number) {
  hamlyn_fill(out, bytes, number);
  send_am(kMessage, NULL, 0, out, bytes);
}

static void await(const uint64_t* count, uint64_t least) {
  while (*count < least) ucp_worker_progress(worker);
}

static void in_turn(int asks) {
  static uint64_t moments[kExchanges + 1];
  double start = 0;
  for (uint64_t i = 0; i <= kWarmUp + kExchanges; ++i) {
    if (i == kWarmUp) start = seconds_now();
    if (i >= kWarmUp) moments[i - kWarmUp] = hamlyn_ticks();
    if (i == kWarmUp + kExchanges) break;
    if (asks) send_message(i);
    await(&heard, i + 1);
    if (!asks) send_message(i);
  }
  if (asks) print_result(median_half_ns(moments, kExchanges, seconds_now() - start));
}

/* The receiver says of each quarter of the window that it has been read. */
static void stream(int sends, uint64_t window) {
  double start = 0;
  const uint64_t all = kMessages + kMessages / 4;
  for (uint64_t i = 0; i != all; ++i) {
    if (sends) {
      if (i >= window) await(&told, i - window + 1);
      send_message(i);
      continue;
    }
    if (i == all - kMessages) start = seconds_now();
    await(&heard, i + 1);
    if ((i + 1) % (window / 4) == 0) send_am(kNews, &heard, sizeof heard, NULL, 0);
  }
  if (sends)
    await(&told, all);
  else
    print_result((double)kMessages * (double)bytes / (seconds_now() - start) * 1e-9);
}

int main(int argc, char** argv) {
  if (argc < 5) return 2;
  bytes = (size_t)atol(argv[4]);
  const uint64_t window = argc > 5 ? (uint64_t)atol(argv[5]) : 16;
  if (bytes == 0 || bytes % 128 != 0 || bytes > kMost || window < 4 || kMessages / 4 % (window / 4) != 0)
    return 2;
  int lines[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET, 0, lines) != 0) return 1;
  const int first = fork() != 0;
  pin_to(argv[first ? 1 : 2]);
  out = aligned_alloc(4096, kMost);
  open_worker();
  meet(lines[first]);
  if (strcmp(argv[3], "oneway") == 0)
    in_turn(first);
  else
    stream(!first, window);
  /* Both have all: the other side may still read what this one has sent. */
  char word = 0;
  if (write(lines[first], &word, 1) != 1) return 1;
  for (;;) {
    const ssize_t got = recv(lines[first], &word, 1, MSG_DONTWAIT);
    if (got == 1) break;
    if (got == 0) return 1; /* the other side has ended early */
    ucp_worker_progress(worker);
  }
  return 0;
}
