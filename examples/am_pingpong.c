/* Active Messages II: a request goes to and fro between ranks 0 and 1, and then everybody greets everybody.
 *
 *   hamlyn run -n 2 am_pingpong
 *
 * Started alone it is a job of one, which sends to itself.
 *
 * cc am_pingpong.c $(pkg-config --cflags --libs am) */
#define _POSIX_C_SOURCE 200809L
#include <am.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

enum { kRounds = 1000, kAsk = 1, kAnswer = 2, kGreeting = 3 };

static int answered, greeted;

static void ask(void* token, int round) { AM_Reply1(token, kAnswer, round + 1); }
static void answer(void* token, int round) {
  (void)token;
  answered = round;
}
static void greeting(void* token, void* text, size_t length, int from) {
  (void)token;
  greeted += strlen(text) + 1 == length && from >= 0;
}

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec * 1e6 + (double)time.tv_nsec / 1e3;
}

static int failed(const char* what, int result) {
  fprintf(stderr, "am_pingpong: %s answers %d: see whether the node daemon hamlynd can be started\n", what,
          result);
  return 1;
}

/* What it ends with: a failure if some of the output could not be written. */
static int written(int result) {
  if (fflush(stdout) == 0 && !ferror(stdout)) return result;
  fputs("am_pingpong: the output could not be written: see whether the disk is full, and who reads it\n",
        stderr);
  return result != 0 ? result : 1;
}

int main(void) {
  eb_t bundle;
  ep_t endpoint;
  char text[64];
  const int started = AM_SPMDStartup(AM_SEQ, &bundle, &endpoint);
  if (started != AM_OK) return failed("AM_SPMDStartup", started);
  const int rank = AM_SPMDMyProc(), ranks = AM_SPMDNumProcs();
  AM_SetHandler(endpoint, kAsk, ask);
  AM_SetHandler(endpoint, kAnswer, answer);
  AM_SetHandler(endpoint, kGreeting, greeting);
  AM_SPMDBarrier();

  if (rank == 0) {
    const int other = ranks > 1 ? 1 : 0;
    const double start = now();
    for (int round = 0; round != kRounds; ++round) {
      const int sent = AM_Request1(endpoint, other, kAsk, round);
      if (sent != AM_OK) return failed("AM_Request1", sent);
      while (answered != round + 1) AM_Poll(bundle);
    }
    printf("%d rounds, %.2f us each\n", kRounds, (now() - start) / kRounds);
  }
  const int length = snprintf(text, sizeof text, "rank %d greets", rank) + 1;
  for (int other = 0; other != ranks; ++other) {
    const int sent = AM_RequestI1(endpoint, other, kGreeting, text, (size_t)length, rank);
    if (sent != AM_OK) return failed("AM_RequestI1", sent);
  }
  while (greeted != ranks) AM_Poll(bundle);
  AM_SPMDBarrier();
  if (rank == 0) printf("%d of %d have greeted\n", greeted, ranks);
  AM_SPMDExit(written(0));
  return 0;
}
