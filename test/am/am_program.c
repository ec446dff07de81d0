/* A program of Active Messages II, as existing ones are written: ranks that sum over a ring, broadcast down a
 * tree by medium messages, exchange rows of a matrix by long ones, and fetch them by gets.
 *
 *   hamlyn run -n 3 am_program */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "test/am/am_check.h"

#define ROW 1000

enum { RING = 1, RING_DONE, TREE, ROW_HERE, ROW_OK, FETCHED, MANY, MANY_BACK };

static int ring_sum, ring_over, tree_value, rows_here, rows_ok, fetched, many, many_back;
static double* matrix; /* the segment: a row for each rank, and one to fetch into */

static void ring(void* token, int sum, int hops) {
  en_t from, mapped;
  ep_t here;
  tag_t tag, own;
  GOOD(AM_GetSourceEndpoint(token, &from));
  GOOD(AM_GetTranslationName(endpoint, (self + ranks - 1) % ranks, &mapped));
  CHECK(AM_enEqual(from, mapped));
  GOOD(AM_GetDestEndpoint(token, &here));
  CHECK(here == endpoint);
  GOOD(AM_GetMsgTag(token, &tag));
  GOOD(AM_GetTag(endpoint, &own));
  CHECK(tag == own);
  ring_sum = sum + self;
  ring_over = hops;
}

static void tree(void* token, void* data, size_t length, int value) {
  const char* text = data;
  (void)token;
  CHECK(length == 5 && memcmp(text, "tree", 5) == 0);
  tree_value = value;
}

static void row_here(void* token, void* data, size_t length, int from, int a, int b, int c) {
  const double* row = data;
  int i;
  CHECK(data == (void*)(matrix + (size_t)from * ROW) && length == ROW * sizeof(double));
  for (i = 0; i != ROW; ++i) CHECK(row[i] == from * 1000.0 + i);
  CHECK(a == 1 && b == 2 && c == 3);
  ++rows_here;
  GOOD(AM_ReplyI1(token, ROW_OK, "ok", 3, from));
}
static void row_ok(void* token, void* data, size_t length, int from) {
  (void)token;
  CHECK(length == 3 && strcmp(data, "ok") == 0 && from == self);
  ++rows_ok;
}
static void row_fetched(void* token, void* data, size_t length, int of) {
  const double* row = data;
  (void)token;
  CHECK(length == ROW * sizeof(double) && row[ROW - 1] == self * 1000.0 + ROW - 1 && of >= 0);
  ++fetched;
}
static void many_asked(void* token, int a0, int a1, int a2, int a3, int a4, int a5, int a6, int a7, int a8,
                       int a9, int a10, int a11, int a12, int a13, int a14, int a15) {
  CHECK(a0 == many % 1000 || ranks > 1);
  CHECK(a1 + a2 + a3 + a4 + a5 + a6 + a7 + a8 + a9 + a10 + a11 + a12 + a13 + a14 + a15 == 120);
  ++many;
  GOOD(AM_Reply1(token, MANY_BACK, a0));
}
static void many_answered(void* token, int number) {
  (void)token;
  CHECK(number >= 0);
  ++many_back;
}

static void set_up(void) {
  tag_t tag;
  int count;
  size_t length;
  void* at;
  matrix = calloc((size_t)(ranks + 1) * ROW, sizeof(double));
  CHECK(matrix != NULL);
  GOOD(AM_SetSeg(endpoint, matrix, (size_t)(ranks + 1) * ROW * sizeof(double)));
  GOOD(AM_GetSeg(endpoint, &at, &length));
  CHECK(at == (void*)matrix && length == (size_t)(ranks + 1) * ROW * sizeof(double));
  GOOD(AM_SetHandler(endpoint, RING, ring));
  GOOD(AM_SetHandler(endpoint, TREE, tree));
  GOOD(AM_SetHandler(endpoint, ROW_HERE, row_here));
  GOOD(AM_SetHandler(endpoint, ROW_OK, row_ok));
  GOOD(AM_SetHandler(endpoint, FETCHED, row_fetched));
  GOOD(AM_SetHandler(endpoint, MANY, many_asked));
  GOOD(AM_SetHandler(endpoint, MANY_BACK, many_answered));
  GOOD(AM_GetNumTranslations(endpoint, &count));
  CHECK(count >= 256 && AM_MaxNumHandlers() >= 256 && AM_MaxShort() >= 16 && AM_MaxMedium() >= 512 &&
        AM_MaxLong() >= 8192);
  GOOD(AM_GetTranslationInuse(endpoint, self));
  GOOD(AM_GetTranslationTag(endpoint, self, &tag));
  CHECK(tag != AM_NONE && tag != AM_ALL);
}

int main(int argc, char** argv) {
  int i, rank;
  am_statistics_t statistics;
  const int repeats = argc > 1 ? atoi(argv[1]) : 300;
  double* own;
  if (AM_SPMDStartup(AM_SEQ, &bundle, &endpoint) != AM_OK) return 1;
  self = AM_SPMDMyProc();
  ranks = AM_SPMDNumProcs();
  set_up();
  GOOD(AM_SPMDBarrier());

  /* A sum over the ring. */
  if (self != 0) wait_for(&ring_over, self);
  GOOD(AM_Request2(endpoint, (self + 1) % ranks, RING, ring_sum, self + 1));
  wait_for(&ring_over, self == 0 ? ranks : self);
  if (self == 0) CHECK(ring_sum == ranks * (ranks - 1) / 2);

  /* A value down a tree. */
  if (self == 0) tree_value = 77;
  wait_for(&tree_value, 77);
  for (i = 2 * self + 1; i <= 2 * self + 2; ++i)
    if (i < ranks) GOOD(AM_RequestI1(endpoint, i, TREE, "tree", 5, 77));

  /* Rows to everybody, and back. */
  own = malloc(ROW * sizeof(double));
  CHECK(own != NULL);
  for (i = 0; i != ROW; ++i) own[i] = self * 1000.0 + i;
  for (rank = 0; rank != ranks; ++rank)
    GOOD(AM_RequestXfer4(endpoint, rank, (size_t)self * ROW * sizeof(double), ROW_HERE, own,
                         ROW * sizeof(double), self, 1, 2, 3));
  memset(own, 0, ROW * sizeof(double)); /* it is ours again */
  wait_for(&rows_here, ranks);
  wait_for(&rows_ok, ranks);
  for (rank = 0; rank != ranks; ++rank) {
    GOOD(AM_GetXfer1(endpoint, rank, (size_t)self * ROW * sizeof(double), FETCHED, ROW * sizeof(double),
                     (size_t)ranks * ROW * sizeof(double), rank));
    wait_for(&fetched, rank + 1);
  }

  /* Many of 16 arguments, to everybody at once. */
  for (i = 0; i != repeats; ++i)
    for (rank = 0; rank != ranks; ++rank)
      GOOD(AM_Request16(endpoint, rank, MANY, i % 1000, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15));
  wait_for(&many_back, repeats * ranks);
  wait_for(&many, repeats * ranks);

  GOOD(AM_SPMDBarrier());
  GOOD(AM_SPMDSumStatistics(&statistics));
  CHECK(statistics.requests != 0 && statistics.returned == 0 && statistics.refused == 0);
  i = self == 0 ? 5 : 0;
  GOOD(AM_SPMDBroadcast(&i, sizeof i, 0));
  CHECK(i == 5);
  if (self == 0) printf("%d ranks have passed\n", ranks);
  AM_SPMDExit(0);
  return 0;
}
