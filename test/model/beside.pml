/* Waiting beside a sleeper (docs/architecture.md, waiting). Threads of one process wait, each for something of its own.
 * The first that finds nothing arms the watch and sleeps on the doorbell, as the one who notices arrivals; those that
 * find a sleeper leave it its role, and sleep on a word of the process that moves when they should look. Any of them
 * may be the one who takes in what the others wait for, and then leaves for good; one more thread polls once, which
 * takes the role from the sleeper, and leaves as well. Everybody gets what he waits for.
 *
 * The first waits no longer than it likes. The second waits for an answer to what the last sends, who waits for room for
 * that: the peer rings for room only if the watch says so.
 *
 * In what order stores reach the memory is the business of wake.pml and roles.pml; here they do at once. What is of the
 * process is touched under the run lock, or moved by locked instructions. The interface thread is left out: it would
 * make good at its next tick what is lost here.
 */
#define WAITERS 3
#define HASTY 0
#define ANSWER 1
#define ROOM 2
#define NOBODY 255

#define FINALLY (done == WAITERS)
byte done;
bool sent; /* by the last */

/* The peer's. */
bool there[WAITERS];
bool rung; /* for this sleep */

/* Under the run lock. */
bool locked;
bool arrived[WAITERS];
byte sleeper = NOBODY; /* whose sleep it is that the watch was armed for */
byte waiting;          /* those beside him */
bool room_wanted;
bool watch; /* the peer reads it */
bool watch_room;

/* Words are counts in the code; here they say to each thread whether they have moved since it has read them. */
bool word_moved[WAITERS];
bool bell_moved[WAITERS];
bool queued_word[WAITERS]; /* in the kernel's queue of the word; of the doorbell */
bool queued_bell[WAITERS];
bool woken[WAITERS];

inline lock() { atomic { !locked -> locked = true } }
inline unlock() { locked = false }

inline move_for(who) {
  word_moved[who] = true;
  if :: queued_word[who] -> woken[who] = true :: else fi
}
inline move_word() {
#ifdef WAKE_ONE
  atomic {
    word_moved[0] = true; word_moved[1] = true; word_moved[2] = true;
    if
    :: queued_word[0] && !woken[0] -> woken[0] = true
    :: queued_word[1] && !woken[1] -> woken[1] = true
    :: queued_word[2] && !woken[2] -> woken[2] = true
    :: else
    fi
  }
#else
  d_step { move_for(0); move_for(1); move_for(2) }
#endif
}

inline ring_for(who) {
  bell_moved[who] = true;
  if :: queued_bell[who] -> woken[who] = true :: else fi
}

proctype peer() {
  bool rings;
  byte what;
  do
  :: !(there[HASTY] && there[ANSWER] && there[ROOM]) ->
     atomic {
       if
       :: !there[HASTY] -> what = HASTY
       :: !there[ANSWER] && sent -> what = ANSWER
       :: !there[ROOM] -> what = ROOM
       fi;
       there[what] = true
     };
     rings = watch && !rung && (what != ROOM || watch_room);
     if
     :: rings ->
        d_step { rung = true; ring_for(0); ring_for(1); ring_for(2) }
     :: else
     fi;
     d_step { rings = false; what = 0 }
  :: else -> break
  od
}

/* Who polls while somebody sleeps takes the role from him. */
inline wake_up() {
  d_step { watch = false; sleeper = NOBODY };
#ifdef NO_WORD_ON_TAKING
  skip
#else
  move_word()
#endif
}

inline take_in(what) {
  if
  :: there[what] && !arrived[what] -> arrived[what] = true; moved = true
  :: else
  fi
}
inline run_interface() {
  d_step {
    moved = false;
    take_in(0);
    take_in(1);
    take_in(ROOM)
  }
}

/* Looks at what has come, without waiting for it. */
proctype poller() {
  bool moved;
  lock();
  if :: sleeper != NOBODY -> wake_up() :: else fi;
  run_interface();
  if :: waiting != 0 && moved -> move_word() :: else fi;
  unlock()
}

/* Sleeps until the word moves, and, `armed`, until the doorbell rings. */
inline sleep(armed) {
  d_step {
    woken[me] = word_moved[me] || (armed && bell_moved[me]);
    queued_word[me] = true;
    queued_bell[me] = armed
  };
  if
  :: woken[me]
  :: me == HASTY -> given_up = true
  fi;
  d_step { queued_word[me] = false; queued_bell[me] = false; woken[me] = false }
}

proctype waiter(byte me) {
  bool moved, found, given_up;
again:
  atomic { lock(); word_moved[me] = false }; /* it is read */
  run_interface();
  if
  :: sleeper != NOBODY && moved -> wake_up()
  :: sleeper == NOBODY && waiting != 0 && moved -> move_word()
  :: else
  fi;
  if
  :: arrived[me] || given_up -> unlock(); goto leave
  :: else
  fi;
  if :: me == ROOM -> room_wanted = true :: else fi;
  if
  :: moved -> moved = false; unlock(); goto again
  :: else
  fi;
  if
  :: sleeper != NOBODY -> goto beside
  :: else
  fi;

  d_step {
    sleeper = me;
    bell_moved[me] = false; /* it is read */
    rung = false;
    watch_room = room_wanted;
    watch = true
  };
  found = there[0] != arrived[0] || there[1] != arrived[1] || there[ROOM] != arrived[ROOM];
  if
  :: !found ->
     unlock();
     sleep(true);
     lock()
  :: else
  fi;
  found = false;
#ifdef ANY_SLEEP
  if
  :: sleeper != NOBODY -> watch = false; sleeper = NOBODY
#else
  if
  :: sleeper == me -> watch = false; sleeper = NOBODY
#endif
  :: else
  fi;
#ifndef NO_WORD_ON_WAKING
  if :: waiting != 0 -> move_word() :: else fi;
#endif
  unlock();
  goto again;

beside:
#ifndef NO_ARMING_ANEW
  if
  :: room_wanted && !watch_room -> wake_up(); unlock(); goto again
  :: else
  fi;
#endif
#ifdef COUNTED_LATE
  unlock();
  waiting++;
#else
  waiting++;
  unlock();
#endif
#ifdef WORD_READ_LATE
  word_moved[me] = false;
#endif
  sleep(false);
  lock();
  waiting--;
  unlock();
  goto again;

leave:
  skip;
  d_step { done++; sent = sent || me == ROOM }
}

init {
  atomic { run peer(); run poller(); run waiter(0); run waiter(1); run waiter(ROOM) }
}

active proctype finally() {
  timeout;
  assert(FINALLY)
}
