/* A predicate's state is changed by another thread (docs/architecture.md, "Where a thread sleeps and what wakes it").
 * Two threads wait, each for state of its own, which stands under a lock that is taken before the run lock: they look at
 * it without the run lock. A third thread makes both changes, and says after each that something has changed. A fourth
 * polls once and leaves for good, which takes the role from who sleeps. Both waiters get what they wait for.
 *
 * Arrivals, doorbells and the peer are left out: roles.pml, wake.pml and beside.pml have them. A waiter may be the
 * interface thread, which tries for others what found no room: it does the same before a sleep without an end.
 */
#define WAITERS 2
#define NOBODY 255

#define FINALLY (done == WAITERS)
byte done;

bool own_locked;
bool state[WAITERS]; /* under the own lock */

/* Under the run lock. */
bool run_locked;
byte sleeper = NOBODY; /* who notices arrivals */
byte waiting;          /* threads that sleep beside the sleeper, or look for the last time before they sleep */

/* The word is a count in the code; here it says to each thread whether it has moved since that thread has read it. */
bool word_moved[WAITERS];
bool queued[WAITERS]; /* in the kernel's queue of the word */
bool woken[WAITERS];

inline lock_run() { atomic { !run_locked -> run_locked = true } }
inline unlock_run() { run_locked = false }
inline lock_own() { atomic { !own_locked -> own_locked = true } }
inline unlock_own() { own_locked = false }

inline move_for(who) {
  word_moved[who] = true;
  if :: queued[who] -> woken[who] = true :: else fi
}
inline move_word() { d_step { move_for(0); move_for(1) } }

/* Under the run lock: those who wait look again. */
inline wake_everybody() {
  if :: sleeper != NOBODY -> sleeper = NOBODY; move_word() :: else fi;
  if :: waiting != 0 -> move_word() :: else fi
}
inline changed() {
#ifndef NOT_TOLD
  lock_run();
  wake_everybody();
  unlock_run()
#else
  skip
#endif
}

inline change(what) {
#ifdef TOLD_BEFORE
  changed();
#endif
  lock_own();
  state[what] = true;
  unlock_own();
#ifndef TOLD_BEFORE
  changed()
#endif
}

proctype changer() {
  if
  :: change(0); change(1)
  :: change(1); change(0)
  fi
}

proctype poller() {
  lock_run();
  if :: sleeper != NOBODY -> sleeper = NOBODY; move_word() :: else fi;
  unlock_run()
}

inline sleep() {
  d_step { woken[me] = word_moved[me]; queued[me] = true };
  woken[me];
  d_step { queued[me] = false; woken[me] = false }
}

proctype waiter(byte me) {
  bool found;
again:
  lock_run();
  word_moved[me] = false; /* it is read */
#ifndef NOT_COUNTED
  waiting++;
#endif
  unlock_run();

  lock_own();
  found = state[me];
  unlock_own();

  lock_run();
#ifndef NOT_COUNTED
  waiting--;
#endif
#ifdef WORD_READ_LATE
  word_moved[me] = false;
#endif
  if
  :: found -> unlock_run(); goto leave
  :: else
  fi;
#ifdef LEFT_BEFORE_SLEEP
  unlock_run();
  lock_run();
  word_moved[me] = false;
#endif
  if
  :: sleeper != NOBODY ->
     waiting++;
     unlock_run();
     sleep();
     lock_run();
     waiting--
  :: else ->
     sleeper = me;
     unlock_run();
     sleep();
     lock_run();
     if :: sleeper == me -> sleeper = NOBODY :: else fi;
     if :: waiting != 0 -> move_word() :: else fi
  fi;
  unlock_run();
  goto again;

leave:
  done++
}

init {
  atomic { run changer(); run poller(); run waiter(0); run waiter(1) }
}

active proctype finally() {
  timeout;
  assert(FINALLY)
}
