/* The biased run lock (docs/architecture.md, who runs the interface). Its owner takes it without a locked instruction,
 * because it is nearly always alone; the others make it visible when they come. At most one is inside, and each sees
 * what those before it wrote.
 *
 *   owner:  inside = 1; if revoked: inside = 0, take the mutex instead; ...; inside = 0
 *   other:  take the mutex; revoked = 1; membarrier; wait for inside == 0; ...; revoked = 0; release the mutex
 */
#define THREADS 3
#define OWNER 0
#define ROUNDS(thread) (thread == OWNER -> 3 : 2)
#define DEPTH 4

#define INSIDE 0
#define REVOKED 1
#define MUTEX 2
#define TOTAL 3 /* what the lock protects: how many have been inside */
#define PLACES 4

#define FINALLY (finished == THREADS && memory[TOTAL] == 7)
byte finished;
byte within;
#include "tso.pml"

inline take_mutex(me) {
  atomic { memory[MUTEX] == 0 && buffer[me].used == 0 -> memory[MUTEX] = 1 }
}
inline release_mutex(me) { store(me, MUTEX, 0) }

inline work(me) {
  within++;
  assert(within == 1);
  load(me, TOTAL, total);
  store(me, TOTAL, total + 1);
  total = 0;
  within--
}

proctype owner() {
  byte round, revoked, total;
  do
  :: round < ROUNDS(OWNER) ->
     round++;
     store(OWNER, INSIDE, 1);
     load(OWNER, REVOKED, revoked);
     if
     :: revoked ->
        store(OWNER, INSIDE, 0);
        take_mutex(OWNER);
        work(OWNER);
        release_mutex(OWNER)
     :: else ->
        work(OWNER);
        store(OWNER, INSIDE, 0)
     fi;
     revoked = 0
  :: else -> break
  od;
  finished++
}

proctype other(byte me) {
  byte round, inside, total;
  do
  :: round < ROUNDS(me) ->
     round++;
     take_mutex(me);
     store(me, REVOKED, 1);
#ifndef NO_MEMBARRIER
     /* Empties the caller's buffer and interrupts the owner, which empties the owner's. */
     fence(me);
     fence(OWNER);
#endif
     do
     :: memory[INSIDE] == 0 -> break
     od;
     work(me);
#ifdef RELEASE_BEFORE_UNREVOKE
     release_mutex(me);
     store(me, REVOKED, 0)
#else
     store(me, REVOKED, 0);
     release_mutex(me)
#endif
  :: else -> break
  od;
  finished++
}

init {
  atomic { run owner(); run other(1); run other(2) }
}
