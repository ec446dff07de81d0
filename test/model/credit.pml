/* Waiting for room (docs/architecture.md, waiting). A ring of two cells: the receiver says in its own memory how many
 * it has consumed, in batches, and a sender that finds no room sleeps on that by the same protocol as a receiver
 * sleeps on cells, in the other direction. A receiver may sleep on a batch that is not full, for what it
 * keeps back leaves room for a packet. Nobody sleeps for ever, and no cell is overwritten before it was read.
 */
#define CELLS 2
#ifdef LARGE_BATCH
#define BATCH 3
#else
#define BATCH 2
#endif
#define PACKETS 4
#define THREADS 2
#define SENDER 0
#define RECEIVER 1
#define DEPTH 3

#define CELL(number) ((number) % CELLS)
/* Of each of the two: how far it has come (packets published, packets consumed), the doorbell it rings, its watch. */
#define COUNT(thread) (2 + (thread))
#define DOORBELL(thread) (4 + (thread))
#define WATCH(thread) (6 + (thread))
#define PLACES 8

#define FINALLY (consumed == PACKETS)
byte consumed; /* read out of their cells */
#include "tso.pml"

bool queued[THREADS];
bool woken[THREADS];

/* After a publication: wakes the other if it sleeps. */
inline wake(me, other) {
  load(me, WATCH(other), watch);
  if
  :: watch != 0 && watch != last ->
     last = watch;
     rung++;
     store(me, DOORBELL(me), rung);
     fence(me);
     d_step { if :: queued[other] -> woken[other] = true :: else fi }
  :: else
  fi;
  watch = 0
}

/* Sleeps until the count of the other is no longer `known`. */
inline sleep(me, other, known) {
  load(me, DOORBELL(other), heard);
  epoch++;
  store(me, WATCH(me), epoch);
#ifdef NO_SENDER_FENCE
  if
  :: me == RECEIVER -> fence(me)
  :: else
  fi;
#else
  fence(me);
#endif
  load(me, COUNT(other), count);
  if
  :: count == (known) ->
     fence(me);
     woken[me] = false;
     d_step {
       if
       :: memory[DOORBELL(other)] == heard -> queued[me] = true
       :: else -> woken[me] = true
       fi
     };
     woken[me];
     d_step { queued[me] = false; woken[me] = false }
  :: else
  fi;
  store(me, WATCH(me), 0);
  d_step { heard = 0; count = 0 }
}

proctype sender() {
  byte sent, freed, watch, last, rung, epoch, heard, count;
  do
  :: sent < PACKETS && sent - freed < CELLS ->
     store(SENDER, CELL(sent), sent + 1);
     sent++;
     store(SENDER, COUNT(SENDER), sent);
     fence(SENDER);
     wake(SENDER, RECEIVER)
  :: sent < PACKETS && sent - freed == CELLS ->
     load(SENDER, COUNT(RECEIVER), count);
     if
     :: count != freed -> freed = count; count = 0
     :: else -> count = 0; sleep(SENDER, RECEIVER, freed)
     fi
  :: sent == PACKETS -> break
  od
}

/* Publishes what it has consumed since it last did. */
inline give_back() {
  store(RECEIVER, COUNT(RECEIVER), consumed);
  given = consumed;
#ifndef NO_RECEIVER_FENCE
  fence(RECEIVER);
#endif
  wake(RECEIVER, SENDER)
}

proctype receiver() {
  byte given, seen, watch, last, rung, epoch, heard, count, value;
  do
  :: consumed < seen ->
#ifdef GIVE_BACK_UNREAD
     store(RECEIVER, COUNT(RECEIVER), consumed + 1);
#endif
     load(RECEIVER, CELL(consumed), value);
     assert(value == consumed + 1);
     value = 0;
     consumed++;
     if
     :: consumed - given == BATCH -> give_back()
     :: else
     fi
  :: consumed == seen ->
     load(RECEIVER, COUNT(SENDER), count);
     if
     :: count != seen -> seen = count; count = 0
     :: else -> count = 0; sleep(RECEIVER, SENDER, seen)
     fi
  od
}

init {
  atomic { run sender(); run receiver() }
}
