/* A predicate's state is changed by another thread (docs/architecture.md, "Where a thread sleeps and what wakes it").
 * Two threads wait, each for state of its own, which stands under a lock that is taken before the run lock: they look at
 * it without the run lock, for however long. A third thread changes both, and says after each that something has
 * changed; the second wait may be cancelled instead. A fourth polls once and leaves for good, which takes the role from
 * who sleeps. Both waiters get what they wait for.
 *
 * Meanwhile something arrives. The interface thread ticks, and takes the sleeper's role when nobody has run the
 * interface since its last tick: what has arrived is taken in, though all others may have left. A waiter may be the
 * interface thread as well, which tries for others what found no room: it does the same before a sleep without an end.
 *
 * What stands in `atomic` is done under the run lock. In what order stores reach the memory, and the doorbell's sender
 * and sleeper, are the business of wake.pml, roles.pml and beside.pml.
 */
#define WAITERS 2
#define INTERFACE 2
#define THREADS 3
#define NOBODY 255

#define FINALLY (done == WAITERS && taken_in)
byte done;

bool state[WAITERS]; /* under the own lock */
bool cancelled;      /* the second wait */
bool there;          /* at the peer */

/* Under the run lock. */
byte sleeper = NOBODY; /* who notices arrivals: the watch is armed for its sleep */
byte waiting;          /* threads that sleep beside the sleeper, or look for the last time before they sleep */
bool deep;             /* a waiter that is the sleeper sleeps without an end: the interface thread need not tick */
bool taken_in;
bool activity; /* somebody has run the interface since the interface thread's last tick */

/* Words are counts in the code; here they say to each thread whether they have moved since it has read them. The waiters
 * sleep on one, the interface thread on another; the sleeper sleeps on the doorbell, too. */
bool word_moved[THREADS];
bool queued[THREADS]; /* in the kernel's queue of the word; of the doorbell, which the sleeper reads under the run lock */
bool queued_bell[THREADS];
bool woken[THREADS];

inline move_for(who) {
  if :: queued[who] -> woken[who] = true :: else -> word_moved[who] = true fi
}
inline move_word() { move_for(0); move_for(1) }

inline ring_for(who) { if :: queued_bell[who] -> woken[who] = true :: else fi }

/* The peer rings if the watch says that somebody sleeps. */
proctype peer() {
  atomic {
    there = true;
    if
    :: sleeper != NOBODY -> ring_for(0); ring_for(1); ring_for(INTERFACE)
    :: else
    fi
  }
}

/* Disarms the watch. Who has slept by it hears so. */
inline relieve() {
  if
  :: sleeper == INTERFACE -> sleeper = NOBODY; move_for(INTERFACE)
  :: sleeper < WAITERS -> sleeper = NOBODY; move_word()
  :: else
  fi
}

inline change(what) {
#ifdef TOLD_BEFORE
  changed();
#endif
  state[what] = true;
#ifndef TOLD_BEFORE
  changed()
#endif
}
inline changed() {
#ifndef NOT_TOLD
  atomic {
    relieve();
    if :: waiting != 0 -> move_word() :: else fi
  }
#else
  skip
#endif
}

/* Without the run lock. */
inline cancel() {
  cancelled = true;
  atomic { move_word() }
}

proctype changer() {
  if
  :: skip; change(0);
     if :: skip; change(1) :: cancel() fi
  :: skip;
     if :: skip; change(1) :: cancel() fi;
     change(0)
  fi
}

/* Others who wait may wait for what has come. */
inline take_in() {
  if
  :: there && !taken_in ->
     taken_in = true;
     if :: waiting != 0 -> move_word() :: else fi
  :: else
  fi
}

/* A thread that polls relieves the one that sleeps. */
inline poll() {
  activity = true;
  relieve();
  take_in()
}

proctype poller() { atomic { poll() } }

inline queue_up(who, armed) {
  woken[who] = word_moved[who];
  word_moved[who] = false;
  queued[who] = true;
  queued_bell[who] = armed
}
inline leave_queue(who) {
  queued[who] = false;
  queued_bell[who] = false;
  woken[who] = false
}

proctype waiter(byte me) {
  bool found, has_slept, sleeps_deep;
again:
  atomic {
    if
    :: sleeper < WAITERS && there && !taken_in -> taken_in = true; relieve()
    :: sleeper < WAITERS && !(there && !taken_in) /* goes on beside it */
    :: else -> poll()
    fi;
#ifdef CANCEL_SEEN_EARLY
    found = cancelled && me == 1
#endif
  };
  atomic {
    word_moved[me] = false; /* it is read */
#ifndef NOT_COUNTED
    waiting++
#endif
  };

  found = found || state[me];

  atomic {
#ifndef NOT_COUNTED
    waiting--;
#endif
#ifndef CANCEL_SEEN_EARLY
    found = found || (cancelled && me == 1);
#endif
#ifdef WORD_READ_LATE
    word_moved[me] = false;
#endif
    if
    :: found -> goto leave
    :: else
    fi;
#ifdef LEFT_BEFORE_SLEEP
  };
  atomic {
    word_moved[me] = false;
#endif
    if
    :: sleeper < WAITERS ->
       waiting++;
       queue_up(me, false);
       goto beside
    :: else
    fi;
#ifndef NOT_RELIEVED
    /* The interface thread, which has taken the role during the look. */
    relieve();
#endif
    if
    :: there && !taken_in -> has_slept = false; goto again
    :: else
    fi;
    sleeper = me;
    sleeps_deep = has_slept;
    deep = deep || sleeps_deep;
    queue_up(me, true)
  };
  atomic {
    /* A sleep that is not deep ends by itself. */
    if
    :: woken[me] -> has_slept = false
    :: !sleeps_deep -> has_slept = true
    fi;
    leave_queue(me)
  };
  atomic {
    if :: sleeper == me -> sleeper = NOBODY :: else fi;
    if
    :: sleeps_deep -> deep = false; move_for(INTERFACE); sleeps_deep = false
    :: else
    fi;
    if :: waiting != 0 -> move_word() :: else fi;
    goto again
  };

beside:
  atomic { woken[me]; leave_queue(me); has_slept = false };
  atomic { waiting--; goto again };

leave:
  done++
}

/* A tick that would change nothing is left out, so that a process that only ticks counts as one that stands still. */
proctype interface_thread() {
again:
  word_moved[INTERFACE] = false; /* it is read */
  if
  :: atomic { sleeper < WAITERS && deep -> queue_up(INTERFACE, false) }
  :: atomic { sleeper >= WAITERS && activity -> activity = false; goto again }
  :: atomic {
       sleeper >= WAITERS && !activity ->
       if
       :: there && !taken_in -> take_in(); goto again
       :: else
       fi;
       sleeper = INTERFACE;
       queue_up(INTERFACE, true)
     }
  fi;
  atomic { woken[INTERFACE]; leave_queue(INTERFACE) };
  atomic {
    if :: sleeper == INTERFACE -> sleeper = NOBODY :: else fi;
    goto again
  }
}

init {
  atomic { run peer(); run changer(); run poller(); run waiter(0); run waiter(1); run interface_thread() }
}

active proctype finally() {
  timeout;
  assert(FINALLY)
}
