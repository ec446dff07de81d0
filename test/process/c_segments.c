#include "test/process/c_segments.h"

#include <hamlyn/c/rr.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CHECK(what) \
  if (!(what)) return __LINE__
#define OK(call) CHECK((call) == HAMLYN_OK)

enum { BYTES = 65536, PAGE = 4096 };
static const int64_t LONG = INT64_C(20000000000);

// A plane of 3 rows of 4 chunks, whose numbers are 0, 1, 2 ...
static const hamlyn_strides plane = {
    .chunk = 8, .x_chunks = 4, .y_chunks = 3, .x_stride = 24, .y_stride = 1000};
enum { NUMBERS = 12 };

static void count_up(uint64_t* numbers) {
  for (uint64_t i = 0; i < NUMBERS; ++i) numbers[i] = i;
}
static int is_plane(const char* at) {
  for (uint64_t i = 0; i < NUMBERS; ++i) {
    uint64_t number;
    memcpy(&number, at + i / 4 * 1000 + i % 4 * 24, sizeof number);
    if (number != i) return 0;
  }
  return 1;
}

// --- puts

struct puts {
  hamlyn_area* area;
  hamlyn_queue* queue;
  hamlyn_slot* slot;
  hamlyn_terminus* terminus;
  hamlyn_ticket ticket;
  char* bytes;
};

static int make(struct puts* all, hamlyn_interface* owner, hamlyn_interface* sender) {
  const hamlyn_slot_options options = {.size = sizeof options,
                                       .gets = BYTES,
                                       .flags = HAMLYN_NO_FAST | HAMLYN_FETCHES | HAMLYN_PUTS,
                                       .hold = 200};
  size_t length = 0;
  void* bytes = NULL;
  OK(hamlyn_area_make(owner, BYTES, HAMLYN_GUARDED, &all->area));
  OK(hamlyn_queue_make(owner, 0, &all->queue));
  OK(hamlyn_slot_make(all->area, all->queue, &options, &all->slot));
  OK(hamlyn_slot_bytes(all->slot, &bytes, &length));
  all->bytes = bytes;
  OK(hamlyn_slot_ticket(all->slot, &all->ticket));
  OK(hamlyn_terminus_make(sender, NULL, &all->terminus));
  OK(hamlyn_connect(all->terminus, &all->ticket, LONG));
  return 0;
}
static int give_back(struct puts* all) {
  OK(hamlyn_terminus_free(all->terminus));
  OK(hamlyn_slot_free(all->slot));
  OK(hamlyn_queue_free(all->queue));
  OK(hamlyn_area_free(all->area));
  return 0;
}

int c_puts(hamlyn_interface* owner, hamlyn_interface* sender) {
  struct puts all;
  CHECK(make(&all, owner, sender) == 0);
  hamlyn_outcome outcome;
  const hamlyn_put_options at = {.size = sizeof at, .offset = 100};
  OK(hamlyn_put(all.terminus, &all.ticket, "hello", 6, &at, NULL));
  OK(hamlyn_flush(all.terminus, &all.ticket, LONG, &outcome));
  CHECK(strcmp(all.bytes + 100, "hello") == 0);

  uint64_t numbers[NUMBERS];
  count_up(numbers);
  const hamlyn_put_options scattered = {
      .size = sizeof scattered, .offset = 200, .strides = &plane, .flags = HAMLYN_NOTIFY};
  OK(hamlyn_put_wait(all.terminus, &all.ticket, numbers, sizeof numbers, &scattered, LONG));
  hamlyn_notification told;
  OK(hamlyn_receive(all.queue, LONG, &told));
  CHECK(told.kind == HAMLYN_PUT && told.offset == 200 && told.length == 2080 && told.word == 1);
  CHECK(is_plane(all.bytes + 200));

  // Gathered into a slot of the sender's own, and a signal behind all of it.
  struct puts back;
  CHECK(make(&back, sender, owner) == 0);
  const hamlyn_remote_options gathered = {.size = sizeof gathered, .offset = 200, .strides = &plane};
  hamlyn_remote_handle handle;
  CHECK(hamlyn_get(all.terminus, &all.ticket, back.slot, 8, sizeof numbers, &gathered, &handle) ==
        HAMLYN_PENDING);
  OK(hamlyn_remote_wait(all.terminus, handle, LONG, &outcome));
  CHECK(memcmp(back.bytes + 8, numbers, sizeof numbers) == 0);
  const hamlyn_put_options signal = {.size = sizeof signal, .offset = 8, .signal = HAMLYN_SIGNAL_ADD};
  const uint64_t two = 2;
  OK(hamlyn_put_wait(all.terminus, &all.ticket, &two, sizeof two, &signal, LONG));
  OK(hamlyn_put_wait(all.terminus, &all.ticket, &two, sizeof two, &signal, LONG));
  hamlyn_status asked;  // between hosts it may say that some is on its way
  while ((asked = hamlyn_fence(all.terminus, &all.ticket, NULL, &handle)) == HAMLYN_QUEUE_FULL)
    OK(hamlyn_interface_run(sender));
  CHECK(asked == HAMLYN_PENDING);
  OK(hamlyn_remote_wait(all.terminus, handle, LONG, &outcome));
  CHECK(memcmp(all.bytes + 8, (uint64_t[]){4}, 8) == 0);

  const hamlyn_strides endless = {.chunk = 48, .x_chunks = 2, .y_chunks = 1, .x_stride = UINT64_MAX};
  const hamlyn_put_options beyond = {.size = sizeof beyond, .strides = &endless};
  CHECK(hamlyn_put(all.terminus, &all.ticket, numbers, 96, &beyond, NULL) == HAMLYN_OUT_OF_BOUNDS);
  const hamlyn_remote_options from_beyond = {.size = sizeof from_beyond, .strides = &endless};
  CHECK(hamlyn_get(all.terminus, &all.ticket, back.slot, 0, 96, &from_beyond, NULL) == HAMLYN_OUT_OF_BOUNDS);
  CHECK(hamlyn_put(all.terminus, &all.ticket, numbers, 8, &beyond, NULL) == HAMLYN_INVALID);
  CHECK(give_back(&back) == 0);
  return give_back(&all);
}

int c_puts_that_wait(hamlyn_interface* owner, hamlyn_interface* sender) {
  struct puts all;
  CHECK(make(&all, owner, sender) == 0);
  hamlyn_outcome outcome;
  hamlyn_held_put held = {0};
  char room[64];
  CHECK(hamlyn_slot_take_held(all.slot, &held, room, sizeof room) == HAMLYN_NOT_READY);
  OK(hamlyn_slot_inhibit(all.slot));
  OK(hamlyn_put(all.terminus, &all.ticket, "first", 6, NULL, NULL));
  const hamlyn_put_options later = {.size = sizeof later, .offset = 10};
  OK(hamlyn_put(all.terminus, &all.ticket, "second", 7, &later, NULL));
  OK(hamlyn_flush(all.terminus, &all.ticket, LONG, &outcome));
  CHECK(all.bytes[0] == 0);
  CHECK(hamlyn_slot_take_held(all.slot, &held, room, 3) == HAMLYN_TOO_LONG && held.length == 6);
  OK(hamlyn_slot_take_held(all.slot, &held, room, sizeof room));
  CHECK(held.offset == 0 && held.notify == 0 && strcmp(room, "first") == 0);
  const char much[300] = {0};
  OK(hamlyn_put_wait(all.terminus, &all.ticket, much, sizeof much, NULL, LONG));
  CHECK(hamlyn_flush(all.terminus, &all.ticket, LONG, &outcome) == HAMLYN_REFUSED);
  CHECK(outcome.cause == HAMLYN_REFUSAL_HOLD_FULL);
  OK(hamlyn_slot_release(all.slot));
  CHECK(all.bytes[0] == 0 && strcmp(all.bytes + 10, "second") == 0);

  OK(hamlyn_slot_unpin(all.slot, PAGE, 1));
  const hamlyn_remote_options there = {.size = sizeof there, .offset = PAGE};
  const hamlyn_fetch_request add = {HAMLYN_ADD, 8, 1, 0};
  hamlyn_remote_handle handle;
  CHECK(hamlyn_fetch(all.terminus, &all.ticket, &add, &there, &handle) == HAMLYN_PENDING);
  CHECK(hamlyn_remote_wait(all.terminus, handle, LONG, &outcome) == HAMLYN_REFUSED);
  CHECK(outcome.cause == HAMLYN_REFUSAL_NOT_PINNED);
  OK(hamlyn_slot_pin(all.slot, PAGE, 1));
  CHECK(hamlyn_slot_pin(all.slot, BYTES, 1) == HAMLYN_OUT_OF_BOUNDS);

  OK(hamlyn_slot_set_control(all.slot, HAMLYN_TOLD_NEVER));
  CHECK(hamlyn_slot_set_control(all.slot, 3) == HAMLYN_INVALID_ARGUMENT);
  const hamlyn_grant nobody = {.uid = 12345, .access = 8};
  hamlyn_protection protection = {.mode = 0600, .users = 1, .grants = &nobody};
  CHECK(hamlyn_slot_protect(all.slot, &protection) == HAMLYN_INVALID_ARGUMENT);
  protection.users = 0;
  OK(hamlyn_slot_protect(all.slot, &protection));
  protection.mode = 01000;
  CHECK(hamlyn_slot_protect(all.slot, &protection) == HAMLYN_INVALID_ARGUMENT);
  return give_back(&all);
}

// --- segments

int c_segment(hamlyn_interface* exporter, hamlyn_interface* importer, uint32_t sharing) {
  const hamlyn_segment_options options = {
      .size = sizeof options, .name = "c.segment", .bytes = BYTES, .sharing = sharing};
  hamlyn_segment* segment;
  hamlyn_import* import;
  OK(hamlyn_segment_make(exporter, &options, &segment));
  OK(hamlyn_import_make(importer, "c.segment", NULL, &import));
  size_t size = 0;
  void* memory = NULL;
  OK(hamlyn_import_size(import, &size));
  CHECK(size == BYTES);
  OK(hamlyn_segment_bytes(segment, &memory, &size));
  CHECK(size == BYTES);
  char* const bytes = memory;

  uint64_t numbers[NUMBERS], back[NUMBERS] = {0};
  count_up(numbers);
  const hamlyn_write_options scattered = {
      .size = sizeof scattered, .strides = &plane, .flags = HAMLYN_NOTIFY};
  OK(hamlyn_write_wait(import, 16, numbers, sizeof numbers, &scattered, LONG));
  hamlyn_segment_record record;
  OK(hamlyn_segment_wait(segment, LONG, &record));
  CHECK(record.kind == HAMLYN_WRITTEN && record.offset == 16 && record.length == 2080 && record.count == 1);
  CHECK(is_plane(bytes + 16));
  const hamlyn_read_options told = {.size = sizeof told, .strides = &plane, .flags = HAMLYN_TELL};
  OK(hamlyn_read(import, 16, back, sizeof back, &told, LONG));
  OK(hamlyn_segment_wait(segment, LONG, &record));
  CHECK(record.kind == HAMLYN_GOT_HERE && record.offset == 16 && record.length == 2080 && record.count == 1);
  CHECK(memcmp(back, numbers, sizeof back) == 0);

  const hamlyn_segment_options anonymous = {.size = sizeof anonymous, .bytes = PAGE};
  hamlyn_segment* own;
  OK(hamlyn_segment_make(importer, &anonymous, &own));
  OK(hamlyn_segment_bytes(own, &memory, &size));
  const hamlyn_read_options gathered = {.size = sizeof gathered, .strides = &plane};
  hamlyn_remote_handle handle;
  hamlyn_outcome outcome;
  const hamlyn_status asked = hamlyn_read_into(import, 16, own, 8, sizeof numbers, &gathered, &handle);
  if (sharing == HAMLYN_GUARDED) {
    CHECK(asked == HAMLYN_PENDING);
    OK(hamlyn_read_wait(import, handle, LONG, &outcome));
    OK(hamlyn_read_outcome(import, handle, &outcome));
  } else {
    CHECK(asked == HAMLYN_OK);
  }
  CHECK(memcmp((char*)memory + 8, numbers, sizeof numbers) == 0);
  OK(hamlyn_segment_free(own));

  OK(hamlyn_write_signal(import, 5000, "signalled", 10, 0, 3, HAMLYN_SIGNAL_SET, LONG));
  OK(hamlyn_write_signal(import, 5100, "again", 6, 0, 4, HAMLYN_SIGNAL_ADD, LONG));
  uint64_t word = 0;
  OK(hamlyn_segment_wait_until(segment, 0, HAMLYN_AT_LEAST, 7, LONG, &word));
  CHECK(word == 7 && strcmp(bytes + 5000, "signalled") == 0 && strcmp(bytes + 5100, "again") == 0);
  OK(hamlyn_segment_wait_until(segment, 0, HAMLYN_EQUAL, 7, 0, NULL));
  OK(hamlyn_segment_wait_until(segment, 0, HAMLYN_AT_MOST, 7, 0, NULL));
  OK(hamlyn_segment_wait_until(segment, 0, HAMLYN_LESS, 8, 0, NULL));
  OK(hamlyn_segment_wait_until(segment, 0, HAMLYN_GREATER, 6, 0, NULL));
  CHECK(hamlyn_segment_wait_until(segment, 0, HAMLYN_NOT_EQUAL, 7, 1000, NULL) == HAMLYN_TIMED_OUT);
  const size_t words[2] = {8, 0};
  size_t which = 0;
  OK(hamlyn_segment_wait_until_any(segment, words, 2, HAMLYN_EQUAL, 7, 0, LONG, &which, &word));
  CHECK(which == 1 && word == 7);
  CHECK(hamlyn_segment_wait_until_any(segment, words, 0, HAMLYN_EQUAL, 7, 0, LONG, &which, &word) ==
        HAMLYN_INVALID);
  OK(hamlyn_segment_changed(segment));
  OK(hamlyn_import_wait_until(import, 0, HAMLYN_AT_LEAST, 7, LONG, &word));
  CHECK(word == 7 && hamlyn_import_wait_until(import, 0, HAMLYN_LESS, 7, 1000, NULL) == HAMLYN_TIMED_OUT);
  OK(hamlyn_import_changed(import));

  OK(hamlyn_compare_and_swap(import, 0, 7, 9, LONG, &outcome));
  CHECK(outcome.value == 7);
  const hamlyn_fetch_request add = {HAMLYN_ADD, 8, 1, 0};
  OK(hamlyn_import_fetch(import, 0, &add, HAMLYN_TELL, LONG, &outcome));
  CHECK(outcome.value == 9);
  OK(hamlyn_segment_wait(segment, LONG, &record));
  CHECK(record.kind == HAMLYN_SWAPPED && record.offset == 0 && record.length == 8 && record.peer != 0);

  const void* mapped = NULL;
  int current = 0;
  OK(hamlyn_import_mapped(import, &mapped, &size));
  CHECK((mapped != NULL) == (sharing != HAMLYN_GUARDED));
  uint32_t why = HAMLYN_NOT_MAPPED_OPENING;
  OK(hamlyn_import_not_mapped(import, &why));
  const char* const far = getenv("HAMLYN_TEST_FAR");
  const uint32_t unmapped = far != NULL ? HAMLYN_NOT_MAPPED_OTHER_HOST : HAMLYN_NOT_MAPPED_NOT_SHOWN;
  CHECK(why == (mapped != NULL ? HAMLYN_NOT_MAPPED_NONE : unmapped));
  CHECK(mapped == NULL || strcmp((const char*)mapped + 5000, "signalled") == 0);
  OK(hamlyn_import_current(import, &current));
  CHECK(current == 1);
  OK(hamlyn_segment_revoke(segment));
  OK(hamlyn_import_current(import, &current));
  CHECK(current == (mapped == NULL));
  CHECK(hamlyn_read(import, 0, back, 8, NULL, LONG) == HAMLYN_STALE);
  CHECK(hamlyn_compare_and_swap(import, 0, 1, 2, LONG, &outcome) == HAMLYN_STALE);
  hamlyn_ticket ticket;
  OK(hamlyn_segment_ticket(segment, &ticket));
  OK(hamlyn_import_free(import));
  const hamlyn_import_options by_packets = {
      .size = sizeof by_packets, .access = HAMLYN_READ_ONLY, .flags = HAMLYN_NO_MAP};
  OK(hamlyn_import_make_of(importer, &ticket, &by_packets, &import));
  OK(hamlyn_read(import, 0, back, 8, NULL, LONG));
  CHECK(back[0] == 10);
  CHECK(hamlyn_write(import, 0, "x", 1, NULL, NULL) == HAMLYN_REFUSED);
  OK(hamlyn_import_mapped(import, &mapped, &size));
  CHECK(mapped == NULL && size == 0);
  OK(hamlyn_import_not_mapped(import, &why));
  CHECK(why == HAMLYN_NOT_MAPPED_NOT_ASKED);
  OK(hamlyn_import_free(import));
  return hamlyn_segment_free(segment) == HAMLYN_OK ? 0 : __LINE__;
}

int c_sure_swap(hamlyn_interface* exporter, hamlyn_interface* importer, uint32_t sharing) {
  const hamlyn_segment_options options = {
      .size = sizeof options, .name = "c.swap", .bytes = 64, .sharing = sharing};
  hamlyn_segment* segment = NULL;
  hamlyn_import* import = NULL;
  hamlyn_sure_swap *one = NULL, *other = NULL;
  void* memory = NULL;
  size_t size = 0;
  CHECK(HAMLYN_SURE_SWAP_BYTES(3) == 32);
  OK(hamlyn_segment_make(exporter, &options, &segment));
  OK(hamlyn_segment_bytes(segment, &memory, &size));
  ((uint64_t*)memory)[1] = 40;
  OK(hamlyn_import_make(importer, "c.swap", NULL, &import));
  OK(hamlyn_sure_swap_make(8, 3, 1, &one));
  OK(hamlyn_sure_swap_make(8, 3, 3, &other));

  uint32_t found = 0;
  OK(hamlyn_sure_swap_load(one, import, LONG, &found));
  CHECK(found == 40);
  OK(hamlyn_sure_swap_swap(one, import, 40, 41, LONG, &found));
  CHECK(found == 41);
  CHECK(hamlyn_sure_swap_swap(other, import, 40, 42, LONG, &found) == HAMLYN_NOT_READY && found == 41);
  OK(hamlyn_sure_swap_swap(other, import, 41, 42, LONG, NULL));
  CHECK(hamlyn_sure_swap_swap(one, import, 41, 43, LONG, NULL) == HAMLYN_NOT_READY);
  CHECK(hamlyn_sure_swap_settle(one, import, LONG, &found) == HAMLYN_NOT_READY);

  // No time for an answer: where packets bring it, it is asked for afterwards.
  OK(hamlyn_sure_swap_swap(one, import, 42, 43, LONG, NULL));
  int settled = 0;
  const hamlyn_status in_doubt = hamlyn_sure_swap_swap(one, import, 43, 44, 0, &found);
  CHECK(in_doubt == HAMLYN_OK || (sharing != HAMLYN_MAPPED_READ_WRITE && in_doubt == HAMLYN_TIMED_OUT));
  OK(hamlyn_sure_swap_settled(one, &settled));
  CHECK(settled == (in_doubt == HAMLYN_OK));
  if (!settled) {
    CHECK(hamlyn_sure_swap_swap(one, import, 44, 45, LONG, NULL) == HAMLYN_INVALID);
    found = 0;
    OK(hamlyn_sure_swap_settle(one, import, LONG, &found));
    CHECK(found == 44);
    OK(hamlyn_sure_swap_settled(one, &settled));
  }
  CHECK(settled == 1 && (uint32_t)((uint64_t*)memory)[1] == 44);

  OK(hamlyn_sure_swap_free(one));
  OK(hamlyn_sure_swap_free(other));
  OK(hamlyn_import_free(import));
  return hamlyn_segment_free(segment) == HAMLYN_OK ? 0 : __LINE__;
}

int c_segment_control(hamlyn_interface* exporter, hamlyn_interface* importer) {
  const hamlyn_segment_options options = {
      .size = sizeof options, .name = "c.control", .bytes = BYTES, .control = HAMLYN_TOLD_ALWAYS};
  hamlyn_segment* segment;
  hamlyn_import* import;
  OK(hamlyn_segment_make(exporter, &options, &segment));
  OK(hamlyn_import_make(importer, "c.control", NULL, &import));
  hamlyn_segment_record record;
  hamlyn_send_handle handle;
  CHECK(hamlyn_segment_wait(segment, 0, &record) == HAMLYN_TIMED_OUT);
  OK(hamlyn_write(import, 64, "told", 5, NULL, &handle));
  OK(hamlyn_write_state(import, handle));
  OK(hamlyn_segment_wait(segment, LONG, &record));
  CHECK(record.kind == HAMLYN_WRITTEN && record.offset == 64 && record.length == 5);
  OK(hamlyn_segment_set_control(segment, HAMLYN_TOLD_IF_ASKED));

  OK(hamlyn_segment_inhibit(segment));
  OK(hamlyn_write(import, 0, "waits", 6, NULL, NULL));
  OK(hamlyn_write_flush(import, LONG, NULL));
  OK(hamlyn_segment_wait(segment, LONG, &record));
  CHECK(record.kind == HAMLYN_HELD && record.count == 1);
  hamlyn_held_put held;
  char room[64];
  OK(hamlyn_segment_take_held(segment, &held, room, sizeof room));
  CHECK(held.length == 6 && strcmp(room, "waits") == 0);
  OK(hamlyn_segment_release(segment));

  // The same by descriptors.
  int control, data;
  OK(hamlyn_segment_control_descriptor(segment, &control));
  OK(hamlyn_segment_data_descriptor(segment, &data));
  OK(hamlyn_segment_unpin(segment, PAGE, 1));
  OK(hamlyn_write(import, PAGE, "by data", 8, NULL, NULL));
  struct pollfd ready[] = {{.fd = control, .events = POLLIN}};
  CHECK(poll(ready, 1, (int)(LONG / 1000000)) == 1);
  CHECK(read(control, &record, sizeof record) == sizeof record && record.kind == HAMLYN_HELD);
  ready[0].fd = data;
  CHECK(poll(ready, 1, (int)(LONG / 1000000)) == 1);
  struct {
    rr_held held;
    char data[64];
  } waits;
  CHECK(read(data, &waits, sizeof waits) == (ssize_t)(sizeof waits.held + 8));
  CHECK(waits.held.offset == PAGE && waits.held.length == 8 && strcmp(waits.data, "by data") == 0);
  OK(hamlyn_segment_pin(segment, PAGE, 1));
  OK(hamlyn_import_free(import));
  OK(hamlyn_segment_free(segment));
  return 0;
}

int c_run_time(hamlyn_interface* exporter, hamlyn_interface* importer, uint32_t sharing) {
  hamlyn_segment_options options = {
      .size = sizeof options, .name = "c.data", .bytes = BYTES, .sharing = sharing};
  hamlyn_segment *data = NULL, *words = NULL;
  hamlyn_import *to_data = NULL, *to_words = NULL;
  OK(hamlyn_segment_make(exporter, &options, &data));
  options.name = "c.words";
  options.sharing = HAMLYN_GUARDED;
  OK(hamlyn_segment_make(exporter, &options, &words));
  OK(hamlyn_import_make(importer, "c.data", NULL, &to_data));
  OK(hamlyn_import_make(importer, "c.words", NULL, &to_words));
  size_t length = 0;
  void *at = NULL, *of_words = NULL;
  OK(hamlyn_segment_bytes(data, &at, &length));
  OK(hamlyn_segment_bytes(words, &of_words, &length));
  const char* const bytes = at;

  // Scattered data, and a signal of each size, here and there.
  uint64_t numbers[NUMBERS], word = 0;
  count_up(numbers);
  const hamlyn_write_options scattered = {.size = sizeof scattered, .strides = &plane};
  hamlyn_signal_word signal = {
      .size = sizeof signal, .offset = 8, .value = 3, .in = to_words, .how = HAMLYN_SIGNAL_ADD};
  OK(hamlyn_write_signal_word(to_data, 200, numbers, sizeof numbers, &scattered, &signal, LONG));
  OK(hamlyn_segment_wait_until(words, 8, HAMLYN_EQUAL, 3, LONG, &word));
  CHECK(word == 3 && is_plane(bytes + 200));
  signal.offset = 20;
  signal.bytes = 4;
  OK(hamlyn_write_signal_word(to_data, 0, NULL, 0, NULL, &signal, LONG));
  signal.in = NULL;
  signal.how = HAMLYN_SIGNAL_SET;
  OK(hamlyn_write_signal_word(to_data, 0, "hello", 6, NULL, &signal, LONG));

  // Changes without an answer, and what answers for them.
  const hamlyn_fetch_request seven = {HAMLYN_ADD, 8, 7, 0}, odd = {HAMLYN_ADD, 8, 7, 0}, none = {0, 8, 7, 0};
  OK(hamlyn_import_update(to_words, 32, &seven, 0, LONG));
  OK(hamlyn_import_update(to_data, 32, &seven, 0, LONG));
  hamlyn_import* const both[] = {to_data, to_words};
  hamlyn_status each[2] = {HAMLYN_PENDING, HAMLYN_PENDING};
  OK(hamlyn_write_flush_all(both, 2, LONG, each));
  CHECK(each[0] == HAMLYN_OK && each[1] == HAMLYN_OK);
  OK(hamlyn_write_flush_all(both, 2, LONG, NULL));
  CHECK(memcmp((char*)of_words + 20, (uint32_t[]){3}, 4) == 0);
  CHECK(memcmp((char*)of_words + 32, (uint64_t[]){7}, 8) == 0);
  CHECK(memcmp(bytes, "hello", 6) == 0 && memcmp(bytes + 32, (uint64_t[]){7}, 8) == 0);
  hamlyn_remote_handle handle;
  hamlyn_outcome outcome;
  hamlyn_status asked;
  while ((asked = hamlyn_write_flush_begin(to_words, &handle)) == HAMLYN_QUEUE_FULL)
    OK(hamlyn_interface_run(importer));
  CHECK(asked == HAMLYN_PENDING);
  OK(hamlyn_read_wait(to_words, handle, LONG, &outcome));

  // Reads under way together.
  char room[8][64];
  hamlyn_remote_handle handles[8];
  for (int i = 0; i < 8; ++i) {
    while ((asked = hamlyn_read_begin(to_data, 200, room[i], 64, NULL, &handles[i])) == HAMLYN_QUEUE_FULL)
      OK(hamlyn_interface_run(importer));
    CHECK(asked == HAMLYN_PENDING || asked == HAMLYN_OK);
  }
  for (int i = 0; i < 8; ++i) {
    if (handles[i].sequence != 0) OK(hamlyn_read_wait(to_data, handles[i], LONG, &outcome));
    CHECK(memcmp(room[i], bytes + 200, 64) == 0);
  }
  if (asked == HAMLYN_PENDING) OK(hamlyn_read_cancel(to_data, handles[7]));

  CHECK(hamlyn_import_update(to_data, 0, &none, 0, LONG) == HAMLYN_INVALID_ARGUMENT);
  CHECK(hamlyn_import_update(to_data, 4, &odd, 0, LONG) == HAMLYN_MISALIGNED);
  CHECK(hamlyn_import_update(to_data, 0, &odd, 1, LONG) == HAMLYN_INVALID_ARGUMENT);
  signal.how = HAMLYN_NO_SIGNAL;
  CHECK(hamlyn_write_signal_word(to_data, 0, "x", 1, NULL, &signal, LONG) == HAMLYN_INVALID_ARGUMENT);
  signal.how = HAMLYN_SIGNAL_SET;
  signal.bytes = 3;
  CHECK(hamlyn_write_signal_word(to_data, 0, "x", 1, NULL, &signal, LONG) == HAMLYN_INVALID);
  hamlyn_import* const absent[] = {to_data, NULL};
  CHECK(hamlyn_write_flush_all(absent, 2, LONG, NULL) == HAMLYN_INVALID);
  OK(hamlyn_import_free(to_words));
  OK(hamlyn_import_free(to_data));
  OK(hamlyn_segment_free(words));
  OK(hamlyn_segment_free(data));
  return 0;
}

int c_segment_refusals(hamlyn_interface* exporter, hamlyn_interface* importer) {
  hamlyn_segment_options options = {.size = sizeof options, .name = "c.refuses", .bytes = BYTES};
  hamlyn_segment* segment = NULL;
  hamlyn_segment* other = NULL;
  hamlyn_import* import = NULL;
  options.sharing = 3;
  CHECK(hamlyn_segment_make(exporter, &options, &segment) == HAMLYN_INVALID_ARGUMENT);
  options.sharing = HAMLYN_GUARDED;
  options.control = 3;
  CHECK(hamlyn_segment_make(exporter, &options, &segment) == HAMLYN_INVALID_ARGUMENT);
  options.control = 0;
  const hamlyn_protection absent = {.mode = 0600, .users = 2, .grants = NULL};
  options.protection = &absent;
  CHECK(hamlyn_segment_make(exporter, &options, &segment) == HAMLYN_INVALID_ARGUMENT);
  options.protection = NULL;
  char crooked[16];
  options.memory = crooked + 1;
  CHECK(hamlyn_segment_make(exporter, &options, &segment) == HAMLYN_INVALID_ARGUMENT);
  options.memory = NULL;
  CHECK(hamlyn_segment_make(exporter, NULL, &segment) == HAMLYN_INVALID_ARGUMENT);
  CHECK(segment == NULL);
  OK(hamlyn_segment_make(exporter, &options, &segment));
  CHECK(hamlyn_segment_make(exporter, &options, &other) == HAMLYN_NAME_TAKEN);

  hamlyn_import_options how = {.size = sizeof how, .timeout = 20000000};
  const hamlyn_status nobody = hamlyn_import_make(importer, "c.nobody", &how, &import);
  CHECK(nobody == HAMLYN_NAME_UNKNOWN || nobody == HAMLYN_TIMED_OUT);
  /* one's own is as good as another's */
  OK(hamlyn_import_make(exporter, "c.refuses", NULL, &import));
  OK(hamlyn_import_free(import));
  import = NULL;
  how.access = 3;
  CHECK(hamlyn_import_make(importer, "c.refuses", &how, &import) == HAMLYN_INVALID_ARGUMENT);
  how.access = 0;
  how.flags = 2;
  CHECK(hamlyn_import_make(importer, "c.refuses", &how, &import) == HAMLYN_INVALID_ARGUMENT);
  CHECK(import == NULL);
  OK(hamlyn_import_make(importer, "c.refuses", NULL, &import));
  CHECK(hamlyn_interface_free(importer) == HAMLYN_INVALID_ARGUMENT);

  uint64_t word = 1;
  hamlyn_outcome outcome;
  const hamlyn_strides reserved = {.chunk = 8, .x_chunks = 1, .y_chunks = 1, .reserved = 1};
  hamlyn_read_options read = {.size = sizeof read, .strides = &reserved};
  CHECK(hamlyn_read(import, 0, &word, 8, &read, LONG) == HAMLYN_INVALID_ARGUMENT);
  read.strides = NULL;
  read.flags = 2;
  CHECK(hamlyn_read(import, 0, &word, 8, &read, LONG) == HAMLYN_INVALID_ARGUMENT);
  CHECK(hamlyn_read(import, BYTES - 7, &word, 8, NULL, LONG) == HAMLYN_OUT_OF_BOUNDS);
  CHECK(hamlyn_write(import, BYTES - 7, &word, 8, NULL, NULL) == HAMLYN_OUT_OF_BOUNDS);
  const hamlyn_write_options flags = {.size = sizeof flags, .flags = 16};
  CHECK(hamlyn_write(import, 0, &word, 8, &flags, NULL) == HAMLYN_INVALID_ARGUMENT);
  CHECK(hamlyn_write_signal(import, 0, &word, 8, 8, 1, HAMLYN_NO_SIGNAL, LONG) == HAMLYN_INVALID_ARGUMENT);
  CHECK(hamlyn_write_signal(import, 0, &word, 8, 9, 1, HAMLYN_SIGNAL_SET, LONG) == HAMLYN_MISALIGNED);
  const hamlyn_fetch_request none = {0, 8, 1, 0}, odd = {HAMLYN_ADD, 8, 1, 0};
  CHECK(hamlyn_import_fetch(import, 0, &none, 0, LONG, &outcome) == HAMLYN_INVALID_ARGUMENT);
  CHECK(hamlyn_import_fetch(import, 4, &odd, 0, LONG, &outcome) == HAMLYN_MISALIGNED);
  CHECK(hamlyn_import_fetch(import, 0, &odd, 1, LONG, &outcome) == HAMLYN_INVALID_ARGUMENT);
  CHECK(hamlyn_segment_wait_until(segment, 0, 0, 1, 0, NULL) == HAMLYN_INVALID_ARGUMENT);
  CHECK(hamlyn_segment_wait_until(segment, 0, 7, 1, 0, NULL) == HAMLYN_INVALID_ARGUMENT);
  CHECK(hamlyn_segment_wait_until(segment, BYTES, HAMLYN_EQUAL, 1, 0, NULL) == HAMLYN_OUT_OF_BOUNDS);
  CHECK(hamlyn_segment_wait_until(segment, 4, HAMLYN_EQUAL, 1, 0, NULL) == HAMLYN_MISALIGNED);

  const hamlyn_protection read_only = {.mode = 0400};
  OK(hamlyn_segment_protect(segment, &read_only));
  uint32_t cause = 0;
  // Once the importer has heard of the change it asks for its places anew.
  hamlyn_status written = HAMLYN_CONNECTING;
  while (written == HAMLYN_CONNECTING) {
    OK(hamlyn_interface_run(importer));
    written = hamlyn_write(import, 0, &word, 8, NULL, NULL);
  }
  CHECK(written == HAMLYN_OK || written == HAMLYN_PENDING || (written == HAMLYN_REFUSED && geteuid() != 0));
  const hamlyn_status flushed = hamlyn_write_flush(import, LONG, &cause);
  // The superuser may always, but what was on its way may be lost.
  const int lost = flushed == HAMLYN_REFUSED && cause == HAMLYN_REFUSAL_STALE_GENERATION;
  CHECK(geteuid() == 0 ? flushed == HAMLYN_OK || lost
                       : written == HAMLYN_REFUSED ||
                             (flushed == HAMLYN_REFUSED && cause == HAMLYN_REFUSAL_NOT_PERMITTED));
  OK(hamlyn_segment_free(segment));
  CHECK(hamlyn_write(import, 0, &word, 8, NULL, NULL) != HAMLYN_OUT_OF_BOUNDS);
  CHECK(hamlyn_write_flush(import, LONG, NULL) == HAMLYN_STALE);
  OK(hamlyn_import_free(import));
  return 0;
}
