#include "test/threads/c_threads.h"

#include <pthread.h>
#include <string.h>

#define CHECK(what) \
  if (!(what)) return __LINE__
#define OK(call) CHECK((call) == HAMLYN_OK)

// An outcome that nobody waits for yet is kept until 63 later operations were started, so the other threads
// of a thread that rests between asking and waiting must not start so many.
enum { SENDERS = 3, RECEIVERS = 2, EACH = 400, ADDS = 30, BYTES = 4096 };
static const int64_t LONG = INT64_C(20000000000);

// What all threads have, and what one of them finds out.
struct shared {
  hamlyn_interface* sender;
  hamlyn_terminus* terminus;
  hamlyn_queue* queue;
  hamlyn_ticket ticket;
};
struct one {
  const struct shared* shared;
  uint64_t number;
  uint64_t sum;
  int line;
};

// Each message's word is a number that no other has.
static int send_messages(struct one* self) {
  const struct shared* s = self->shared;
  for (uint64_t i = 0; i < EACH; ++i) {
    const uint64_t word = self->number * EACH + i;
    hamlyn_status status;
    while ((status = hamlyn_send_fast(s->terminus, &s->ticket, &word, sizeof word, word, 64)) != HAMLYN_OK) {
      CHECK(status == HAMLYN_NO_PLACE || status == HAMLYN_QUEUE_FULL);
      if (status == HAMLYN_NO_PLACE) OK(hamlyn_wait_for_place(s->terminus, &s->ticket, LONG));
      OK(hamlyn_interface_run(s->sender));
    }
  }
  return 0;
}
// All add to one word at the receiver; `sum` is of what each found there.
static int add_to_a_word(struct one* self) {
  const hamlyn_fetch_request add = {.op = HAMLYN_ADD, .bytes = 8, .operand = 1};
  for (int i = 0; i < ADDS; ++i) {
    hamlyn_remote_handle handle;
    hamlyn_outcome outcome;
    CHECK(hamlyn_fetch(self->shared->terminus, &self->shared->ticket, &add, NULL, &handle) == HAMLYN_PENDING);
    OK(hamlyn_remote_wait(self->shared->terminus, handle, LONG, &outcome));
    self->sum += outcome.value;
  }
  return 0;
}
static int receive_messages(struct one* self) {
  for (int i = 0; i < SENDERS * EACH / RECEIVERS; ++i) {
    hamlyn_notification arrival;
    OK(hamlyn_receive(self->shared->queue, LONG, &arrival));
    CHECK(arrival.kind == HAMLYN_MESSAGE && arrival.fast == 1 && arrival.length == sizeof(uint64_t));
    self->sum += arrival.word;
  }
  return 0;
}

static void* run_sender(void* self) {
  struct one* one = self;
  one->line = send_messages(one);
  if (one->line == 0) one->line = add_to_a_word(one);
  return NULL;
}
static void* run_receiver(void* self) {
  struct one* one = self;
  one->line = receive_messages(one);
  return NULL;
}

static uint64_t sum_below(uint64_t n) { return n * (n - 1) / 2; }

static int run(const struct shared* shared) {
  pthread_t threads[SENDERS + RECEIVERS];
  struct one each[SENDERS + RECEIVERS];
  memset(each, 0, sizeof each);
  for (int i = 0; i < SENDERS + RECEIVERS; ++i) {
    each[i].shared = shared;
    each[i].number = (uint64_t)i;
    CHECK(pthread_create(&threads[i], NULL, i < SENDERS ? run_sender : run_receiver, &each[i]) == 0);
  }
  uint64_t found = 0, received = 0;
  for (int i = 0; i < SENDERS + RECEIVERS; ++i) {
    CHECK(pthread_join(threads[i], NULL) == 0);
    *(i < SENDERS ? &found : &received) += each[i].sum;
  }
  for (int i = 0; i < SENDERS + RECEIVERS; ++i) {
    if (each[i].line != 0) return each[i].line;
  }
  CHECK(found == sum_below(SENDERS * ADDS));
  CHECK(received == sum_below(SENDERS * EACH));
  return 0;
}

int c_threads_share_a_terminus_and_a_queue(hamlyn_interface* receiver, hamlyn_interface* sender) {
  // Few places, so that senders wait for them.
  const hamlyn_slot_options options = {.size = sizeof options, .places = 16, .flags = HAMLYN_FETCHES};
  struct shared shared = {.sender = sender};
  hamlyn_area* area;
  hamlyn_slot* slot;
  OK(hamlyn_area_make(receiver, BYTES, HAMLYN_GUARDED, &area));
  OK(hamlyn_queue_make(receiver, 0, &shared.queue));
  OK(hamlyn_slot_make(area, shared.queue, &options, &slot));
  OK(hamlyn_slot_ticket(slot, &shared.ticket));
  OK(hamlyn_terminus_make(sender, NULL, &shared.terminus));
  OK(hamlyn_connect(shared.terminus, &shared.ticket, LONG));
  const int line = run(&shared);
  if (line != 0) return line;
  OK(hamlyn_terminus_free(shared.terminus));
  OK(hamlyn_slot_free(slot));
  OK(hamlyn_queue_free(shared.queue));
  OK(hamlyn_area_free(area));
  return 0;
}
