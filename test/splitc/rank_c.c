/* A rank of a Split-C program, in C, for tests. */
#include <hamlyn/c/splitc.h>
#include <stdio.h>
#include <string.h>

static int failures = 0;

static void expect(int kept, const char* otherwise) {
  if (kept) return;
  fprintf(stderr, "rank %u: %s: %s\n", (unsigned)hamlyn_splitc_rank(), otherwise, hamlyn_last_error());
  ++failures;
}
static void ok(hamlyn_status status, const char* what) { expect(status == HAMLYN_OK, what); }
static void refused(hamlyn_status status, const char* text) {
  expect(status == HAMLYN_INVALID_ARGUMENT && strstr(hamlyn_last_error(), text) != NULL, text);
}

static void each_type(hamlyn_global next) {
  char c = 0;
  short s = 0;
  int i = 0;
  long l = 0;
  float f = 0;
  double d = 0;
  ok(hamlyn_splitc_write_char(next, 'a'), "write_char");
  ok(hamlyn_splitc_write_short(hamlyn_splitc_moved(next, 2), -2), "write_short");
  ok(hamlyn_splitc_put_int(hamlyn_splitc_moved(next, 4), -4), "put_int");
  ok(hamlyn_splitc_put_long(hamlyn_splitc_moved(next, 8), -8), "put_long");
  ok(hamlyn_splitc_store_float(hamlyn_splitc_moved(next, 16), 0.5f), "store_float");
  ok(hamlyn_splitc_store_double(hamlyn_splitc_moved(next, 24), 0.25), "store_double");
  ok(hamlyn_splitc_sync(), "sync");
  ok(hamlyn_splitc_store_sync(sizeof f + sizeof d), "store_sync");
  ok(hamlyn_splitc_barrier(), "barrier");
  ok(hamlyn_splitc_read_char(next, &c), "read_char");
  ok(hamlyn_splitc_read_short(hamlyn_splitc_moved(next, 2), &s), "read_short");
  ok(hamlyn_splitc_get_int(hamlyn_splitc_moved(next, 4), &i), "get_int");
  ok(hamlyn_splitc_get_long(hamlyn_splitc_moved(next, 8), &l), "get_long");
  ok(hamlyn_splitc_get_float(hamlyn_splitc_moved(next, 16), &f), "get_float");
  ok(hamlyn_splitc_read_double(hamlyn_splitc_moved(next, 24), &d), "read_double");
  ok(hamlyn_splitc_sync(), "sync");
  expect(c == 'a' && s == -2 && i == -4 && l == -8 && f == 0.5f && d == 0.25, "another value was read");
  ok(hamlyn_splitc_barrier(), "barrier");
}

static void whole_arrays(hamlyn_global next, hamlyn_global mine) {
  unsigned char bytes[300], back[300];
  const hamlyn_fetch_request add = {.op = HAMLYN_ADD, .bytes = 8, .operand = 3};
  uint64_t before = 9;
  memset(bytes, 7, sizeof bytes);
  memset(back, 0, sizeof back);
  ok(hamlyn_splitc_write_bytes(hamlyn_splitc_moved(next, 64), bytes, 100), "write_bytes");
  ok(hamlyn_splitc_put_bytes(hamlyn_splitc_moved(next, 164), bytes, 100), "put_bytes");
  ok(hamlyn_splitc_sync(), "sync");
  ok(hamlyn_splitc_store_counted(hamlyn_splitc_moved(next, 264), bytes, 100, hamlyn_splitc_moved(next, 32)),
     "store_counted");
  ok(hamlyn_splitc_wait_for((const uint64_t*)hamlyn_splitc_local(hamlyn_splitc_moved(mine, 32), 8), 1),
     "wait_for");
  ok(hamlyn_splitc_store_bytes(hamlyn_splitc_moved(next, 264), bytes, 100), "store_bytes");
  ok(hamlyn_splitc_all_store_sync(), "all_store_sync");
  ok(hamlyn_splitc_get_bytes(hamlyn_splitc_moved(next, 64), back, 300), "get_bytes");
  ok(hamlyn_splitc_sync(), "sync");
  expect(memcmp(bytes, back, sizeof bytes) == 0, "other bytes came");
  ok(hamlyn_splitc_read_bytes(hamlyn_splitc_moved(next, 64), back, 8), "read_bytes");
  ok(hamlyn_splitc_fetch(hamlyn_splitc_moved(next, 40), &add, &before), "fetch");
  expect(before == 0, "a word was another");
  ok(hamlyn_splitc_poll(), "poll");
  ok(hamlyn_splitc_barrier(), "barrier");
}

static void together(void) {
  const uint32_t ranks = hamlyn_splitc_ranks(), rank = hamlyn_splitc_rank();
  uint32_t root = rank, all[64], i = 0;
  long sum = 0;
  double halves = 0;
  ok(hamlyn_splitc_broadcast(&root, sizeof root, ranks - 1), "broadcast");
  expect(root == ranks - 1, "another value was broadcast");
  ok(hamlyn_splitc_gather(&rank, sizeof rank, all), "gather");
  for (i = 0; i != ranks; ++i) expect(all[i] == i, "another value was gathered");
  ok(hamlyn_splitc_sum_long(2, &sum), "sum_long");
  ok(hamlyn_splitc_sum_double(0.5, &halves), "sum_double");
  expect(sum == 2 * (long)ranks && halves == 0.5 * ranks, "a sum is wrong");
}

static void refusals(hamlyn_global next) {
  int value = 0;
  uint64_t before = 0;
  const hamlyn_fetch_request other = {.op = HAMLYN_AND, .bytes = 8, .operand = 1};
  const hamlyn_fetch_request narrow = {.op = HAMLYN_ADD, .bytes = 2, .operand = 1};
  hamlyn_splitc_options options = {sizeof options, 0, 2, 0, 0};
  refused(hamlyn_splitc_read_int(0, &value), "a null global pointer");
  refused(hamlyn_splitc_read_int(next, NULL), "NULL");
  refused(hamlyn_splitc_write_bytes(next, NULL, 4), "NULL");
  refused(hamlyn_splitc_fetch(next, &narrow, &before), "4 or 8 bytes");
  refused(hamlyn_splitc_fetch(next, &other, &before), "operation");
  refused(hamlyn_splitc_store_counted(next, &value, sizeof value, 0), "counter");
  refused(hamlyn_splitc_deallocate(next), "not allocated");
  refused(hamlyn_splitc_begin(NULL, NULL, &options), "guarded");
  options.guarded = 0;
  options.over = 3;
  refused(hamlyn_splitc_begin(NULL, NULL, &options), "over is 0, 1 or 2");
  refused(hamlyn_splitc_begin(NULL, NULL, NULL), "already");
}

int main(int count, char** words) {
  hamlyn_global mine = 0, all = 0;
  hamlyn_status status = hamlyn_splitc_begin(&count, words, NULL);
  if (status != HAMLYN_OK) {
    fprintf(stderr, "begin: %s\n", hamlyn_last_error());
    return 1;
  }
  ok(hamlyn_splitc_allocate(100, &mine), "allocate");
  expect(hamlyn_splitc_owner(mine) == hamlyn_splitc_rank(), "it is another's");
  ok(hamlyn_splitc_deallocate(mine), "deallocate");
  ok(hamlyn_splitc_allocate_everywhere(400, &all), "allocate_everywhere");
  mine = hamlyn_splitc_at(all, (hamlyn_splitc_rank() + 1) % hamlyn_splitc_ranks());
  refusals(mine);
  each_type(mine);
  whole_arrays(mine, all);
  together();
  ok(hamlyn_splitc_deallocate_everywhere(all), "deallocate_everywhere");
  if (hamlyn_splitc_rank() == 0) printf("%u ranks have done it\n", (unsigned)hamlyn_splitc_ranks());
  ok(hamlyn_splitc_end(), "end");
  return failures != 0;
}
