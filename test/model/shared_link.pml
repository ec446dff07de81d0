/* Two application threads that send over one link (docs/architecture.md, waiting). What the link keeps of itself, how
 * many it has published and which sleep it has rung for, is theirs in turn, under the run lock, whose release is a
 * plain store: the next thread has the lock as soon as the memory has taken that, and with it all that was stored
 * before. The receiver sleeps on the link's doorbell as in wake.pml. Every packet is handled.
 */
#define SENDERS 2
#define PACKETS 2 /* of each of them */
/* How often the receiver sleeps; after that it only polls. */
#define SLEEPS 3
#define THREADS (SENDERS + 1)
#define SLEEPER SENDERS

/* CELL: packets published; the link's LAST: the sleep that it has rung for. */
#define CELL 0
#define DOORBELL 1
#define WATCH 2
#define LOCK 3
#define LAST 4
#define PLACES 5

#define FINALLY (handled == SENDERS * PACKETS)
byte handled;
#include "tso.pml"

bool queued; /* the sleeper is in the kernel's queue of the doorbell */
bool woken;

inline acquire(me) {
#ifdef NO_LOCK
  skip
#else
  atomic { fence(me) && memory[LOCK] == 0 -> memory[LOCK] = 1 }
#endif
}

inline release(me) {
#ifdef NO_LOCK
  skip
#else
  store(me, LOCK, 0)
#endif
}

proctype sender(byte me) {
  byte sent, published, watch, last, rung;
  do
  :: sent < PACKETS ->
     sent++;
     acquire(me);
     load(me, CELL, published);
#ifdef RELEASE_BEFORE_PUBLISHING
     release(me);
#endif
     store(me, CELL, published + 1);
#ifndef NO_SENDER_FENCE
     fence(me);
#endif
     load(me, WATCH, watch);
     load(me, LAST, last);
     if
     :: watch != 0 && watch != last ->
        store(me, LAST, watch);
        load(me, DOORBELL, rung);
        store(me, DOORBELL, rung + 1);
        fence(me); /* futex wake: takes the kernel's lock of the queue */
#ifndef NO_WAKE
        d_step {
          if
          :: queued -> woken = true
          :: else
          fi
        }
#endif
     :: else
     fi;
#ifndef RELEASE_BEFORE_PUBLISHING
     release(me);
#endif
     d_step { published = 0; watch = 0; last = 0; rung = 0 }
  :: else -> break
  od
}

byte seen;

proctype sleeper() {
  byte cell, epoch, heard;
  do
  :: memory[CELL] != seen -> /* polls; a look that finds nothing changes nothing */
     d_step { handled = handled + memory[CELL] - seen; seen = memory[CELL] }
  :: epoch < SLEEPS ->
     epoch++;
     load(SLEEPER, DOORBELL, heard);
     store(SLEEPER, WATCH, epoch);
#ifndef NO_SLEEPER_FENCE
     fence(SLEEPER);
#endif
     load(SLEEPER, CELL, cell);
     if
     :: cell == seen ->
        fence(SLEEPER); /* futex wait */
        woken = false;
        d_step {
          if
          :: memory[DOORBELL] == heard -> queued = true
          :: else -> woken = true
          fi
        };
        woken;
        d_step { queued = false; woken = false }
     :: else
     fi;
     store(SLEEPER, WATCH, 0);
     d_step { heard = 0; cell = 0 }
  od
}

init {
  atomic { run sender(0); run sender(1); run sleeper() }
}
