/* The control thread rests (docs/architecture.md, section 7): it looks at nothing by the clock while somebody of its
 * process sleeps who notices arrivals, and nothing is pending with the peer. It must look again when somebody wakes,
 * who may poll for ever, and when something is sent, which the peer may never take.
 *
 * An application thread sleeps, wakes, and in the end polls for ever or leaves without a word; the interface thread
 * sleeps in its place when it does neither. Whoever wakes moves the word on which the interface thread sleeps, and
 * that calls the control thread. A second thread sends without having slept: it finds no room, for that was withheld,
 * and calls by itself.
 *
 * The run lock's release is a plain store, and so are those of RESTS by the control thread. What is read and written
 * under the lock alone has left the store buffer before the lock is free, and needs none here; nor do the words that
 * locked instructions alone move.
 */
#define APPLICATION 0
#define SENDER 1
#define INTERFACE 2
#define CONTROL 3
#define THREADS 4
#define DEPTH 2
/* How often the application sleeps, something arrives while the interface thread does, and something is sent. */
#define SLEEPS 1
#define ARRIVALS 1
#define SENDS 2

#define LOCK 0
#define RESTS 1 /* the control thread does; cleared by the interface thread as well */
#define PLACES 2

/* Who sleeps without an end has nothing to look for. */
#define FINALLY (!asleep || (sent == taken && role != 0))
bool asleep; /* the control thread, without an end */
/* Under the run lock. */
byte role;      /* who sleeps: 0, or 1 more than the thread */
byte epoch;     /* of all sleeps, which */
bool unwatched; /* the link's room is withheld */
byte sent;
byte taken;     /* of that, by the peer */
#include "tso.pml"

byte word;    /* on which the interface thread sleeps */
bool queued;  /* it does, in the kernel's queue */
bool called; /* the control thread was called, and has not heard yet */
bool knock;   /* there is something to read at its descriptor */
bool polls;   /* the application, for ever */

inline lock(thread) {
  atomic { memory[LOCK] == 0 && buffer[thread].used == 0 -> memory[LOCK] = 1 }
}
inline unlock(thread) { store(thread, LOCK, 0) }

inline move_word(thread) {
  fence(thread);
  d_step {
    word++;
    queued = false
  }
}

/* An exchange, and a write to the descriptor. */
inline call(thread) {
  fence(thread);
  d_step { was = called; called = true };
  if
  :: !was -> knock = true
  :: else
  fi;
  was = false
}

/* Runs the interface, which relieves the interface thread of its role, and stays under the lock. */
inline run_polled() {
  lock(APPLICATION);
  if
  :: role == INTERFACE + 1 -> role = 0; move_word(APPLICATION)
  :: else
  fi
}

proctype application() {
  byte sleeps;
  do
  :: sleeps < SLEEPS ->
     sleeps++;
     run_polled();
     d_step { epoch++; role = APPLICATION + 1 };
     unlock(APPLICATION);
     fence(APPLICATION); /* futex wait, until something arrives or its time is over; or for ever */
     if
     :: skip
     :: goto sleeps_for_ever
     fi;
     lock(APPLICATION);
     role = 0;
     unlock(APPLICATION);
#ifndef NO_WORD_ON_WAKING
     move_word(APPLICATION)
#endif
  :: run_polled();
     polls = true;
     unlock(APPLICATION);
     break
  :: break /* leaves without a word */
  od;
sleeps_for_ever:
  skip
}

proctype sender() {
  byte sends;
  bool was;
  do
  :: sends < SENDS ->
     sends++;
     lock(SENDER);
#ifndef NO_WITHHELD_ROOM
     if
     :: unwatched -> unwatched = false; call(SENDER)
     :: else
     fi;
#endif
#ifdef PUBLISHED_AFTER_RELEASE
     unlock(SENDER);
     sent++
#else
     sent++;
     unlock(SENDER)
#endif
  :: else -> break
  od
}

proctype peer() {
  do
  :: d_step { taken < sent -> taken++ }
  :: break /* stops */
  od
}

/* What is called whenever the interface thread has read its word. */
inline end_rest_of_control() {
  load(INTERFACE, RESTS, rests);
  if
  :: rests != 0 ->
     fence(INTERFACE);
     d_step {
       rests = memory[RESTS];
       memory[RESTS] = 0
     };
     if
     :: rests != 0 -> call(INTERFACE)
     :: else
     fi
  :: else
  fi;
  rests = 0
}

/* FUTEX_WAIT on WORD. */
inline sleep_on_word() {
  fence(INTERFACE);
  d_step { queued = word == heard };
  if
  :: !queued
  :: mine && arrivals < ARRIVALS -> /* the doorbell of a link */
     arrivals++;
     queued = false
  fi
}

proctype interface_thread() {
  byte heard, rests, arrivals;
  bool was, mine;
  do
  :: true ->
#ifdef FLAG_BEFORE_WORD
     end_rest_of_control();
     heard = word;
#else
     heard = word;
     end_rest_of_control();
#endif
     if
     :: !polls && role == 0 ->
        lock(INTERFACE);
        d_step {
          mine = role == 0;
          if
          :: mine -> epoch++; role = INTERFACE + 1
          :: else
          fi
        };
        unlock(INTERFACE)
     :: else
     fi;
     sleep_on_word();
     if
     :: mine ->
        lock(INTERFACE);
        d_step {
          if
          :: role == INTERFACE + 1 -> role = 0
          :: else
          fi
        };
        unlock(INTERFACE)
     :: else
     fi;
     d_step { mine = false; heard = 0 }
  od
}

/* The sleep that goes on now, and 0 if nobody sleeps. */
#define SLEEP (role != 0 -> epoch : 0)
#define QUIET (SLEEP != 0 && SLEEP == last && sent == taken && taken == seen)

inline look() {
  d_step {
    quiet = QUIET;
    last = SLEEP;
    seen = taken
  };
#ifdef REST_AFTER_RELEASE
  unlock(CONTROL);
#endif
  if
  :: quiet ->
     store(CONTROL, RESTS, 1);
     unwatched = true
  :: else
  fi;
#ifndef REST_AFTER_RELEASE
  unlock(CONTROL)
#endif
}

proctype control() {
  byte last, seen;
  bool quiet;
  do
  :: knock || quiet ->
     if
     :: quiet -> /* rests */
        fence(CONTROL);
        asleep = true;
        knock;
        asleep = false;
        lock(CONTROL);
        store(CONTROL, RESTS, 0);
        unwatched = false;
        unlock(CONTROL);
        quiet = false
     :: else
     fi;
     knock = false;
#ifdef KNOCKED_CLEARED_LATE
     lock(CONTROL);
     look();
#endif
     fence(CONTROL);
     called = false
  :: atomic { /* by the clock. A look that would change nothing is left out, so that who only looks stands still */
       !quiet && memory[LOCK] == 0 && buffer[CONTROL].used == 0 &&
         (SLEEP != last || taken != seen || QUIET) ->
       memory[LOCK] = 1
     };
     look()
  od
}

init {
  atomic { run application(); run sender(); run peer(); run interface_thread(); run control() }
}
