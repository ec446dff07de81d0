/* Who sleeps (docs/architecture.md, waiting). A process has an application thread, which polls, sleeps as the sleeper
 * itself, or leaves without a word, and an interface thread, which ticks (a timer) and takes the sleeper's role when it
 * sees that nobody has run the interface since its last tick. However the two meet, a packet that was published
 * is handled in the end.
 *
 * Both threads have the same watch word to write, so their store buffers matter as well as the sender's. They
 * change roles under the run lock, whose release is a plain store.
 */
#define PACKETS 2
/* How often the application comes back before it leaves for good. */
#define VISITS 2
#define THREADS 3
#define SENDER 0
#define APPLICATION 1
#define INTERFACE 2
#define DEPTH 4

#define CELL 0     /* packets published; written by the sender */
#define DOORBELL 1 /* written by the sender */
#define WATCH 2
#define LOCK 3
#define ROLE 4     /* who sleeps, or is about to: 0 (the interface thread ticks), APPLICATION, INTERFACE */
#define ACTIVITY 5 /* counts the application's visits */
#define KICK 6     /* the process's own doorbell, for its interface thread */
#define PLACES 7

#define FINALLY (handled == PACKETS)
byte handled;
byte epoch;       /* of the watch word; under the run lock */
byte activity;    /* the application's own copy */
byte kicks;       /* the same of KICK */
#include "tso.pml"

bool queued[THREADS]; /* in the kernel's queue of DOORBELL */
bool queued_kick;
bool woken[THREADS];

inline lock(thread) {
  atomic { memory[LOCK] == 0 && buffer[thread].used == 0 -> memory[LOCK] = 1 }
}
inline unlock(thread) { store(thread, LOCK, 0) }

inline handle(thread) {
  load(thread, CELL, cell);
  d_step { handled = cell; cell = 0 }
}

/* Under the run lock. Says in `found` whether something had come. */
inline arm(thread) {
  load(thread, DOORBELL, heard);
  epoch++;
  store(thread, WATCH, epoch);
  fence(thread);
#ifdef NO_LOOK_AFTER_ARMING
  if
  :: thread == INTERFACE -> found = false
  :: else -> load(thread, CELL, cell); d_step { found = cell != handled; handled = cell; cell = 0 }
  fi
#else
  load(thread, CELL, cell);
  d_step { found = cell != handled; handled = cell; cell = 0 }
#endif
}

inline queue(thread) {
  d_step {
    if
    :: memory[DOORBELL] == heard -> queued[thread] = true
    :: else -> woken[thread] = true
    fi
  }
}

proctype sender() {
  byte sent, watch, last, rung;
  do
  :: sent < PACKETS ->
     sent++;
     store(SENDER, CELL, sent);
     fence(SENDER);
     load(SENDER, WATCH, watch);
     if
     :: watch != 0 && watch != last ->
        last = watch;
        rung++;
        store(SENDER, DOORBELL, rung);
        fence(SENDER);
#ifdef WAKE_ONE
        /* A thread that was woken by another doorbell may still stand in this one's queue and use the wake up. */
        atomic {
          if
          :: queued[APPLICATION] -> queued[APPLICATION] = false; woken[APPLICATION] = true
          :: queued[INTERFACE] -> queued[INTERFACE] = false; woken[INTERFACE] = true
          :: else
          fi
        }
#else
        d_step {
          if :: queued[APPLICATION] -> woken[APPLICATION] = true :: else fi;
          if :: queued[INTERFACE] -> woken[INTERFACE] = true :: else fi
        }
#endif
     :: else
     fi;
     watch = 0
  :: else -> break
  od
}

/* The application comes back: under the run lock, it takes the sleeper's role from whoever has it. */
inline come_back() {
  lock(APPLICATION);
  activity++;
  store(APPLICATION, ACTIVITY, activity);
  load(APPLICATION, ROLE, role);
  if
  :: role == INTERFACE ->
     store(APPLICATION, ROLE, 0);
#ifndef DISARM_AFTER_RELEASE
     store(APPLICATION, WATCH, 0);
#endif
     kicks++;
     store(APPLICATION, KICK, kicks);
     kick = true
  :: else
  fi;
  role = 0;
  handle(APPLICATION)
}

/* Wakes the interface thread, so that it ticks again. Outside the run lock, for it is a system call. */
inline kick_if_taken() {
#ifdef DISARM_AFTER_RELEASE
  if
  :: kick -> store(APPLICATION, WATCH, 0)
  :: else
  fi;
#endif
  if
  :: kick ->
#ifndef NO_KICK
     fence(APPLICATION);
     d_step {
       if :: queued_kick -> woken[INTERFACE] = true :: else fi
     };
#endif
     kick = false
  :: else
  fi
}

proctype application() {
  byte visits, cell, heard, role;
  bool found, kick, for_ever;
  do
  :: visits < VISITS -> /* polls once */
     visits++;
     come_back();
     unlock(APPLICATION);
     kick_if_taken()
  :: visits < VISITS -> /* sleeps, with a time-out or without one */
     visits++;
     come_back();
     store(APPLICATION, ROLE, APPLICATION);
     arm(APPLICATION);
     unlock(APPLICATION);
     kick_if_taken();
     if
     :: !found ->
        if :: for_ever = true :: for_ever = false fi;
        fence(APPLICATION);
        woken[APPLICATION] = false;
        queue(APPLICATION);
        if
        :: woken[APPLICATION]
        :: !for_ever
        fi;
        d_step { queued[APPLICATION] = false; woken[APPLICATION] = false }
     :: else
     fi;
     lock(APPLICATION);
     handle(APPLICATION);
     store(APPLICATION, ROLE, 0);
     store(APPLICATION, WATCH, 0);
     unlock(APPLICATION);
     d_step { heard = 0; found = false; for_ever = false }
  :: break /* leaves without a word */
  od
}

proctype interface_thread() {
  byte seen_activity, now, cell, heard, heard_kick, role;
  bool found;

ticking:
  /* A tick that would change nothing is left out, so that a process that only ticks counts as one that stands still. */
  atomic {
    memory[ROLE] == 0 && memory[LOCK] == 0 && buffer[INTERFACE].used == 0 -> memory[LOCK] = 1
  };
  load(INTERFACE, ACTIVITY, now);
  if
  :: now != seen_activity -> seen_activity = now; unlock(INTERFACE); goto ticking
  :: else
  fi;
  store(INTERFACE, ROLE, INTERFACE);
sleeping: /* under the run lock */
  load(INTERFACE, KICK, heard_kick);
  handle(INTERFACE);
  arm(INTERFACE);
  unlock(INTERFACE);
  if
  :: !found ->
     fence(INTERFACE);
     woken[INTERFACE] = false;
     queue(INTERFACE);
     d_step {
       if
       :: memory[KICK] == heard_kick -> queued_kick = true
       :: else -> woken[INTERFACE] = true
       fi
     };
     woken[INTERFACE];
     d_step { queued[INTERFACE] = false; queued_kick = false; woken[INTERFACE] = false }
  :: else
  fi;
  d_step { heard = 0; heard_kick = 0; found = false };
  lock(INTERFACE);
  load(INTERFACE, ROLE, role);
  if
  :: role == INTERFACE -> goto sleeping
  :: else -> unlock(INTERFACE); goto ticking
  fi
}

init {
  atomic { run sender(); run application(); run interface_thread() }
}
