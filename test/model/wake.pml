/* Sleep and wake (docs/architecture.md, waiting). Two senders, each with its own link, and a process that sleeps on
 * the doorbells of both at once (futex_waitv). No wake-up is lost.
 *
 *   sender:   publish cell; fence; w = watch; if w != 0 and w != last: last = w; ring this link's own doorbell
 *   sleeper:  v = doorbell; watch = ++epoch; fence; look at every link; nothing? wait(doorbell == v); watch = 0
 */
#define SENDERS 2
/* The second link only has to be another one, so one packet on it is enough. */
#define PACKETS(link) (2 - (link))
#define THREADS (SENDERS + 1)
#define SLEEPER SENDERS

/* Places: of each link, written by its sender: cell (packets published) and doorbell; by the sleeper: watch. */
#define CELL(link) (link)
#define DOORBELL(link) (SENDERS + (link))
#define WATCH(link) (2 * SENDERS + (link))
#define PLACES (3 * SENDERS)

#define FINALLY (handled == PACKETS(0) + PACKETS(1))
byte handled;
#include "tso.pml"

bool queued[SENDERS]; /* the sleeper is in the kernel's queue of that doorbell */
bool woken;

proctype sender(byte link) {
  byte sent, watch, last, rung;
  do
  :: sent < PACKETS(link) ->
     sent++;
     store(link, CELL(link), sent);
#ifndef NO_SENDER_FENCE
     fence(link);
#endif
     load(link, WATCH(link), watch);
     if
     :: watch != 0 && watch != last ->
        last = watch;
        rung++;
        store(link, DOORBELL(link), rung);
        fence(link); /* futex wake: takes the kernel's lock of the queue */
        d_step {
          if
          :: queued[link] -> woken = true
          :: else
          fi
        }
     :: else
     fi;
     watch = 0
  :: else -> break
  od
}

byte seen[SENDERS];
bool found;

inline look(link) {
  load(SLEEPER, CELL(link), cell);
  d_step {
    if
    :: cell != seen[link] -> handled = handled + cell - seen[link]; seen[link] = cell; found = true
    :: else
    fi;
    cell = 0
  }
}

inline sample(link) { load(SLEEPER, DOORBELL(link), heard[link]) }

inline queue(link) {
  d_step {
    if
    :: memory[DOORBELL(link)] == heard[link] -> queued[link] = true
    :: else -> woken = true
    fi
  }
}

proctype sleeper() {
  byte cell, epoch, watching;
  byte heard[SENDERS];
  do
  :: memory[CELL(0)] != seen[0] -> look(0) /* polls; a look that finds nothing changes nothing */
  :: memory[CELL(1)] != seen[1] -> look(1)
  :: epoch++; found = false;
#ifdef FLAG_NOT_EPOCH
     watching = 1;
#else
     watching = epoch;
#endif
#ifndef SAMPLE_LATE
     sample(0); sample(1);
#endif
     store(SLEEPER, WATCH(0), watching); store(SLEEPER, WATCH(1), watching);
#ifndef NO_SLEEPER_FENCE
     fence(SLEEPER);
#endif
     look(0); look(1);
#ifdef SAMPLE_LATE
     sample(0); sample(1);
#endif
     if
     :: !found ->
        fence(SLEEPER); /* futex wait */
        woken = false;
        queue(0); queue(1);
        woken;
        d_step { queued[0] = false; queued[1] = false; woken = false }
     :: else
     fi;
     store(SLEEPER, WATCH(0), 0); store(SLEEPER, WATCH(1), 0);
     d_step { heard[0] = 0; heard[1] = 0; watching = 0 }
  od
}

init {
  atomic { run sender(0); run sender(1); run sleeper() }
}
