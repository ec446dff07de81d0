/* The biased run lock (src/base/run_lock.h). Its owner takes it without a locked instruction, because it is nearly
 * always alone; the others make it visible when they come. When they come often, the bias is given up: from then on the
 * mutex is the lock. At most one is inside, and each sees what those before it wrote.
 *
 *   owner:  if owner == self: inside = 1; if not revoked: ...; inside = 0
 *           otherwise: inside = 0, take the mutex as the others do, but without the wait
 *   other:  take the mutex; revoked = 1; membarrier; wait for inside == 0; ...; revoked = 0; release the mutex
 *   drop:   inside, an other sets owner = nobody, and leaves revoked at 1 for ever
 */
#define THREADS 3
#define OWNER 0
#define ROUNDS 2
#define DEPTH 4

#define INSIDE 0
#define REVOKED 1
#define MUTEX 2
#define TOTAL 3 /* what the lock protects: how many have been inside */
#define BIASED 4 /* the owner is still the owner */
#define PLACES 5

#define FINALLY (finished == THREADS && memory[TOTAL] == THREADS * ROUNDS)
byte finished;
byte within;
#include "tso.pml"

inline take_mutex(me) {
  atomic { memory[MUTEX] == 0 && buffer[me].used == 0 -> memory[MUTEX] = 1 }
}

inline leave_by_mutex(me) {
  load(me, BIASED, biased);
#ifdef UNREVOKE_WHEN_DROPPED
  biased = 1;
#endif
#ifdef RELEASE_BEFORE_UNREVOKE
  store(me, MUTEX, 0);
  if :: biased -> store(me, REVOKED, 0) :: else fi;
#else
  if :: biased -> store(me, REVOKED, 0) :: else fi;
  store(me, MUTEX, 0);
#endif
  biased = 0
}

inline work(me) {
  within++;
  assert(within == 1);
  load(me, TOTAL, total);
  store(me, TOTAL, total + 1);
  total = 0;
  within--
}

proctype owner() {
  byte round, revoked, biased, total;
  do
  :: round < ROUNDS ->
     round++;
     load(OWNER, BIASED, biased);
     revoked = 1;
     if
     :: biased -> store(OWNER, INSIDE, 1); load(OWNER, REVOKED, revoked)
     :: else
     fi;
     if
     :: revoked ->
        load(OWNER, BIASED, biased);
        if :: biased -> store(OWNER, INSIDE, 0) :: else fi;
        take_mutex(OWNER);
        work(OWNER);
        leave_by_mutex(OWNER)
     :: else ->
        work(OWNER);
        store(OWNER, INSIDE, 0)
     fi;
     revoked = 0; biased = 0
  :: else -> break
  od;
  finished++
}

proctype other(byte me) {
  byte round, biased, total;
  do
  :: round < ROUNDS ->
     round++;
     take_mutex(me);
     load(me, BIASED, biased);
     if
     :: biased ->
        store(me, REVOKED, 1);
#ifndef NO_MEMBARRIER
        /* Empties the caller's buffer and interrupts the owner, which empties the owner's. */
        fence(me);
        fence(OWNER);
#endif
        memory[INSIDE] == 0;
        if
        :: store(me, BIASED, 0)
        :: skip
        fi
     :: else
     fi;
     work(me);
     leave_by_mutex(me)
  :: else -> break
  od;
  finished++
}

init {
  atomic { memory[BIASED] = 1; run owner(); run other(1); run other(2) }
}
