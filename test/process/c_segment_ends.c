// How sends, flushes and openings end, for a program in C.
#include "test/process/c_segments.h"

#define CHECK(what) \
  if (!(what)) return __LINE__
#define OK(call) CHECK((call) == HAMLYN_OK)

enum { BYTES = 65536 };
static const int64_t LONG = INT64_C(20000000000);

int c_ends_of_sends(hamlyn_interface* receiver, hamlyn_interface* sender) {
  hamlyn_area* area = NULL;
  hamlyn_queue *queue = NULL, *ends = NULL;
  hamlyn_slot* slot = NULL;
  hamlyn_terminus* terminus = NULL;
  hamlyn_ticket ticket;
  const hamlyn_slot_options options = {.size = sizeof options, .entries = 1};
  OK(hamlyn_area_make(receiver, BYTES, HAMLYN_GUARDED, &area));
  OK(hamlyn_queue_make(receiver, 0, &queue));
  OK(hamlyn_queue_make(sender, 0, &ends));
  OK(hamlyn_slot_make(area, queue, &options, &slot));
  OK(hamlyn_slot_entry_ticket(slot, 0, &ticket));
  OK(hamlyn_terminus_make(sender, NULL, &terminus));
  uint64_t landed = 1;
  OK(hamlyn_slot_landed(slot, &landed));
  CHECK(landed == 0);
  CHECK(hamlyn_slot_wait_landed(slot, 1, 0) == HAMLYN_TIMED_OUT);
  const hamlyn_send_options told = {
      .size = sizeof told, .flags = HAMLYN_ACKNOWLEDGED, .queue = ends, .word = 9};
  CHECK(hamlyn_send(terminus, &ticket, "hello", 6, &told, NULL) == HAMLYN_PENDING);
  hamlyn_notification end;
  OK(hamlyn_receive(ends, LONG, &end));
  CHECK(end.kind == HAMLYN_SENT && end.word == 9 && end.length == 6);
  OK(hamlyn_slot_wait_landed(slot, 6, LONG));
  OK(hamlyn_slot_change_key(slot));
  CHECK(hamlyn_send(terminus, &ticket, "hello", 6, &told, NULL) == HAMLYN_PENDING);
  OK(hamlyn_receive(ends, LONG, &end));
  CHECK(end.kind == HAMLYN_SEND_FAILED && end.cause == HAMLYN_REFUSAL_BAD_KEY);
  OK(hamlyn_terminus_free(terminus));
  OK(hamlyn_queue_free(ends));
  OK(hamlyn_slot_free(slot));
  OK(hamlyn_queue_free(queue));
  OK(hamlyn_area_free(area));
  return 0;
}

int c_reason_of_flush(hamlyn_interface* exporter, hamlyn_interface* importer) {
  hamlyn_segment_options options = {.size = sizeof options, .name = "reasons", .bytes = BYTES};
  hamlyn_segment* segment = NULL;
  hamlyn_import* import = NULL;
  hamlyn_terminus* terminus = NULL;
  hamlyn_ticket ticket;
  OK(hamlyn_segment_make(exporter, &options, &segment));
  OK(hamlyn_segment_ticket(segment, &ticket));
  OK(hamlyn_import_make(importer, "reasons", NULL, &import));
  OK(hamlyn_terminus_make(importer, NULL, &terminus));
  OK(hamlyn_write_wait(import, 0, "x", 1, NULL, LONG));
  OK(hamlyn_put_wait(terminus, &ticket, "x", 1, NULL, LONG));
  uint32_t reason = 1, told = 1;
  OK(hamlyn_write_flush(import, LONG, NULL));
  OK(hamlyn_write_why(import, &reason, &told));
  CHECK(reason == HAMLYN_REASON_NONE && told == 0);
  OK(hamlyn_write_wait(import, 0, "y", 1, NULL, LONG));
  OK(hamlyn_segment_free(segment));
  OK(hamlyn_interface_free(exporter));
  // (stale: it is not known yet that its process has gone as well.)
  hamlyn_status status;
  do {
    status = hamlyn_write_flush(import, LONG, NULL);
  } while (status == HAMLYN_STALE || status == HAMLYN_OK);
  CHECK(status == HAMLYN_LINK_ENDED);
  OK(hamlyn_write_why(import, &reason, &told));
  // (ended: between nodes a link may have been made with it anew while it was leaving.)
  CHECK(reason == HAMLYN_REASON_LEFT || reason == HAMLYN_REASON_ENDED);
  reason = 0;
  hamlyn_outcome outcome;
  CHECK(hamlyn_flush(terminus, &ticket, LONG, &outcome) == HAMLYN_LINK_ENDED);
  OK(hamlyn_outcome_why(&outcome, &reason, &told));
  CHECK(reason == HAMLYN_REASON_LEFT || reason == HAMLYN_REASON_ENDED || reason == HAMLYN_REASON_NO_PROCESS);
  outcome.status = HAMLYN_OK;
  OK(hamlyn_outcome_why(&outcome, &reason, &told));
  CHECK(reason == HAMLYN_REASON_NONE && told == 0);
  OK(hamlyn_terminus_free(terminus));
  OK(hamlyn_import_free(import));
  return 0;
}

int c_openings(hamlyn_interface* exporter, hamlyn_interface* importer) {
  const hamlyn_segment_options options = {
      .size = sizeof options, .name = "c.opens", .bytes = BYTES, .sharing = HAMLYN_MAPPED_READ_WRITE};
  hamlyn_segment* segment = NULL;
  hamlyn_import *by_name = NULL, *by_ticket = NULL, *never = NULL;
  hamlyn_mapped_slot* slot = NULL;
  hamlyn_ticket ticket;
  size_t size = 1;
  uint64_t word = 0;
  OK(hamlyn_import_begin(importer, "c.never", NULL, &never));
  OK(hamlyn_import_begin(importer, "c.opens", NULL, &by_name));
  CHECK(hamlyn_import_open(by_name, 0) == HAMLYN_TIMED_OUT);
  OK(hamlyn_import_size(by_name, &size));
  CHECK(size == 0);
  CHECK(hamlyn_write(by_name, 0, &word, 8, NULL, NULL) == HAMLYN_CONNECTING);
  CHECK(hamlyn_read(by_name, 0, &word, 8, NULL, 1) == HAMLYN_CONNECTING);
  OK(hamlyn_segment_make(exporter, &options, &segment));
  OK(hamlyn_segment_ticket(segment, &ticket));
  OK(hamlyn_import_begin_of(importer, &ticket, NULL, &by_ticket));
  OK(hamlyn_mapped_slot_begin(importer, &ticket, &slot));
  OK(hamlyn_read(by_ticket, 0, &word, 8, NULL, LONG));
  OK(hamlyn_import_open(by_ticket, 0));
  OK(hamlyn_import_open(by_name, LONG));
  OK(hamlyn_import_size(by_name, &size));
  CHECK(size == BYTES);
  const void* mapped = NULL;
  size_t length = 0;
  OK(hamlyn_import_mapped(by_name, &mapped, &length));
  const hamlyn_status mapping = hamlyn_mapped_slot_open(slot, LONG);
  CHECK(mapping == (mapped != NULL ? HAMLYN_OK : HAMLYN_NOT_PERMITTED));
  uint32_t by_import = 0, by_slot = HAMLYN_NOT_MAPPED_OPENING;
  OK(hamlyn_import_not_mapped(by_name, &by_import));
  OK(hamlyn_mapped_slot_not_mapped(slot, &by_slot));
  CHECK((by_import == HAMLYN_NOT_MAPPED_NONE) == (mapped != NULL));
  CHECK(by_slot == by_import);
  OK(hamlyn_mapped_slot_bytes(slot, &mapped, &length));
  CHECK(length == (mapping == HAMLYN_OK ? BYTES : 0));
  CHECK(hamlyn_import_open(never, 1) == HAMLYN_TIMED_OUT);
  OK(hamlyn_mapped_slot_free(slot));
  OK(hamlyn_import_free(never));
  OK(hamlyn_import_free(by_ticket));
  OK(hamlyn_import_free(by_name));
  ticket.key ^= 1;
  OK(hamlyn_import_begin_of(importer, &ticket, NULL, &by_ticket));
  CHECK(hamlyn_import_open(by_ticket, LONG) == HAMLYN_SEED_STALE);
  OK(hamlyn_import_free(by_ticket));
  OK(hamlyn_segment_free(segment));
  return 0;
}
