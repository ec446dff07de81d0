/* Calls on a plain byte stream of TCP on loopback, with stubs by hand: the frame's length, a procedure's
 * number, the arguments; back its length and the result. Both sides poll.
 *
 *   peer_tcp_calls CPU CPU null|minus|maxarg   prints "result NANOSECONDS": the median of round trips
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench/peer_timing.h"

enum { kWarmUp = 1000, kTimed = 20000, kLongest = 1500 };
enum { kNull, kMinus, kMaxarg };
struct frame {
  uint32_t length, procedure;
  char data[kLongest];
};

static void die(const char* what) {
  perror(what);
  exit(1);
}

static void send_all(int stream, const void* data, size_t bytes) {
  for (const char* at = data; bytes != 0;) {
    const ssize_t gone = send(stream, at, bytes, 0);
    if (gone < 0 && errno != EAGAIN) die("send");
    if (gone < 0) continue;
    at += gone;
    bytes -= (size_t)gone;
  }
}

/* 0: the other side has gone. */
static int receive_all(int stream, void* data, size_t bytes) {
  for (char* at = data; bytes != 0;) {
    const ssize_t came = recv(stream, at, bytes, 0);
    if (came == 0) return 0;
    if (came < 0 && errno != EAGAIN) die("recv");
    if (came < 0) continue;
    at += came;
    bytes -= (size_t)came;
  }
  return 1;
}

static void serve(int stream) {
  struct frame call, result = {.length = 4};
  while (receive_all(stream, &call, 8)) {
    if (call.length > kLongest || !receive_all(stream, call.data, call.length)) exit(1);
    int32_t numbers[2] = {0, 0}, out = (int32_t)call.length;
    if (call.procedure == kMinus) {
      memcpy(numbers, call.data, sizeof numbers);
      out = numbers[0] - numbers[1];
    }
    memcpy(result.data, &out, sizeof out);
    result.length = call.procedure == kNull ? 0 : 4;
    send_all(stream, &result, 8 + result.length);
  }
}

static void call_all(int stream, uint32_t procedure) {
  static uint64_t moments[kTimed + 1];
  static struct frame call, result;
  call.procedure = procedure;
  call.length = procedure == kNull ? 0 : procedure == kMinus ? 8 : kLongest;
  double start = 0;
  for (int32_t i = 1; i <= kWarmUp + kTimed; ++i) {
    if (procedure == kMinus) memcpy(call.data, (int32_t[]){i, 1}, 8);
    send_all(stream, &call, 8 + call.length);
    if (!receive_all(stream, &result, 8) || result.length > kLongest ||
        !receive_all(stream, result.data, result.length))
      exit(1);
    if (procedure == kMinus && memcmp(result.data, &(int32_t){i - 1}, 4) != 0) exit(1);
    if (i == kWarmUp) start = seconds_now();
    if (i >= kWarmUp) moments[i - kWarmUp] = hamlyn_ticks();
  }
  print_result(2 * median_half_ns(moments, kTimed, seconds_now() - start));
}

static void make_quick(int stream) {
  const int on = 1;
  if (setsockopt(stream, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on) != 0) die("TCP_NODELAY");
  if (fcntl(stream, F_SETFL, O_NONBLOCK) != 0) die("fcntl");
}

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  const uint32_t procedure = strcmp(argv[3], "null") == 0    ? kNull
                             : strcmp(argv[3], "minus") == 0 ? kMinus
                                                             : kMaxarg;
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
  socklen_t length = sizeof address;
  const int listening = socket(AF_INET, SOCK_STREAM, 0);
  if (bind(listening, (struct sockaddr*)&address, length) != 0 || listen(listening, 1) != 0) die("listen");
  getsockname(listening, (struct sockaddr*)&address, &length);
  const pid_t server = fork();
  if (server == 0) {
    pin_to(argv[2]);
    const int stream = accept(listening, NULL, NULL);
    make_quick(stream);
    serve(stream);
    return 0;
  }
  pin_to(argv[1]);
  const int stream = socket(AF_INET, SOCK_STREAM, 0);
  if (connect(stream, (struct sockaddr*)&address, length) != 0) die("connect");
  make_quick(stream);
  call_all(stream, procedure);
  close(stream);
  waitpid(server, NULL, 0);
  return 0;
}
