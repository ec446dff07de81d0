/* The whole address space as a segment: ranks write each other's variables by their addresses, fetch them,
 * and hear of addresses where nothing can be written. With a word, "undumpable" or "alone": it may not be
 * given.
 *
 *   hamlyn run -n 3 am_space */
#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>

#include "test/am/am_check.h"

#define WORDS 40000

enum { HERE = 1, WRITTEN, FETCHED };

static uint64_t table[WORDS], copy[WORDS]; /* of each rank's own, at the same place or another */
static const uint64_t constant = 7;
static uint64_t theirs[64]; /* where the others' tables are */
static int heard, written, fetched, come_back;

static void here(void* token, int from, int high, int low) {
  (void)token;
  theirs[from] = (uint64_t)(uint32_t)high << 32 | (uint32_t)low;
  ++heard;
}
static void is_written(void* token, void* data, size_t length, int from) {
  size_t i;
  const uint64_t* words = data;
  (void)token;
  CHECK(words >= table && words + length / 8 <= table + WORDS);
  for (i = 0; i != length / 8; ++i) CHECK(words[i] == (uint64_t)from * 1000000 + i);
  ++written;
}
static void is_fetched(void* token, void* data, size_t length, int from) {
  (void)token;
  CHECK(data == (void*)copy && length == sizeof copy && from >= 0);
  ++fetched;
}
static void returned(int status, op_t operation, void* block) {
  const am_argblock_t* of = block;
  (void)operation;
  CHECK(status == EBADSEGOFF && of->index >= 0);
  ++come_back;
}

static void write_everywhere(void) {
  int rank;
  size_t i;
  for (rank = 0; rank != ranks; ++rank) {
    /* Each writes a part of its own: of some hundred KiB, of 8 bytes, and of none. */
    const size_t part = WORDS / (size_t)ranks, first = (size_t)self * part;
    uint64_t* mine = malloc(part * 8);
    CHECK(mine != NULL);
    for (i = 0; i != part; ++i) mine[i] = (uint64_t)self * 1000000 + i;
    GOOD(AM_RequestXfer1(endpoint, rank, theirs[rank] + first * 8, WRITTEN, mine, part * 8, self));
    GOOD(AM_RequestXfer1(endpoint, rank, theirs[rank] + first * 8, WRITTEN, mine, 8, self));
    GOOD(AM_RequestXfer1(endpoint, rank, theirs[rank], WRITTEN, mine, 0, self));
    memset(mine, 0, part * 8); /* it is ours again */
    free(mine);
  }
  wait_for(&written, 3 * ranks);
}

static void read_everywhere(void) {
  int rank, of;
  size_t i;
  const size_t part = WORDS / (size_t)ranks;
  for (rank = 0; rank != ranks; ++rank) {
    memset(copy, 0, sizeof copy);
    GOOD(AM_GetXfer1(endpoint, rank, theirs[rank], FETCHED, sizeof copy, (uintptr_t)copy, rank));
    wait_for(&fetched, rank + 1);
    for (of = 0; of != ranks; ++of)
      for (i = 0; i != part; ++i) CHECK(copy[(size_t)of * part + i] == (uint64_t)of * 1000000 + i);
  }
}

/* Nothing there, a constant, and a page that may not be touched. */
static void miss(void) {
  static const char data[64] = "missed";
  void* page = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  int rank;
  CHECK(page != MAP_FAILED);
  for (rank = 0; rank != ranks; ++rank) {
    GOOD(AM_RequestXfer1(endpoint, rank, 64, WRITTEN, (void*)data, sizeof data, self));
    GOOD(AM_GetXfer1(endpoint, rank, 64, FETCHED, 64, (uintptr_t)copy, rank));
  }
  GOOD(AM_RequestXfer1(endpoint, self, (uintptr_t)&constant, WRITTEN, (void*)data, 8, self));
  GOOD(AM_RequestXfer1(endpoint, self, (uintptr_t)page, WRITTEN, (void*)data, sizeof data, self));
  GOOD(AM_GetXfer1(endpoint, self, (uintptr_t)page, FETCHED, 64, (uintptr_t)copy, self));
  wait_for(&come_back, 2 * ranks + 3);
  CHECK(constant == 7 && fetched == ranks && written == 3 * ranks);
}

/* One that has given nothing loses nothing. */
static void stay_whole(void) {
  static const char data[8] = "nothing";
  int rank;
  memset(table, 0x11, sizeof table);
  GOOD(AM_SetSeg(endpoint, NULL, 0));
  GOOD(AM_SPMDBarrier());
  come_back = 0;
  for (rank = 0; rank != ranks; ++rank)
    GOOD(AM_RequestXfer1(endpoint, rank, theirs[rank], WRITTEN, (void*)data, sizeof data, self));
  wait_for(&come_back, ranks);
  GOOD(AM_SPMDBarrier());
  CHECK(table[0] == 0x1111111111111111 && memcmp(table, table + 1, sizeof table - 8) == 0);
}

int main(int argc, char** argv) {
  int rank;
  void* address;
  size_t length;
  if (AM_SPMDStartup(AM_SEQ, &bundle, &endpoint) != AM_OK) return 1;
  self = AM_SPMDMyProc();
  ranks = AM_SPMDNumProcs();
  if (argc > 1 && strcmp(argv[1], "undumpable") == 0) CHECK(prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) == 0);
  if (argc > 1) {
    CHECK(AM_SetSeg(endpoint, NULL, (size_t)-1) == AM_ERR_BAD_ARG);
    printf("refused\n");
    AM_SPMDExit(0);
  }
  GOOD(AM_SetSeg(endpoint, NULL, (size_t)-1));
  GOOD(AM_GetSeg(endpoint, &address, &length));
  CHECK(address == NULL && length == (size_t)-1);
  GOOD(AM_SetHandler(endpoint, 0, returned));
  GOOD(AM_SetHandler(endpoint, HERE, here));
  GOOD(AM_SetHandler(endpoint, WRITTEN, is_written));
  GOOD(AM_SetHandler(endpoint, FETCHED, is_fetched));
  GOOD(AM_SPMDBarrier());
  for (rank = 0; rank != ranks; ++rank)
    GOOD(AM_Request3(endpoint, rank, HERE, self, (int)((uintptr_t)table >> 32), (int)(uintptr_t)table));
  wait_for(&heard, ranks);
  write_everywhere();
  GOOD(AM_SPMDBarrier());
  read_everywhere();
  GOOD(AM_SPMDBarrier());
  miss();
  GOOD(AM_SPMDBarrier());
  stay_whole();
  if (self == 0) printf("%d ranks have passed\n", ranks);
  AM_SPMDExit(0);
  return 0;
}
