/* Memory as x86 processors have it (total store order): each thread's stores wait in a buffer of its own, in order,
 * until the memory takes them; its own loads see them, nobody else's do. A locked instruction waits until the buffer
 * is empty.
 *
 * A model defines THREADS, PLACES and, if three stores under way are too few, DEPTH, then includes this file. It names
 * its property FINALLY: what must hold when nothing can move any more. A lost wake-up is then a state in which
 * everybody sleeps and FINALLY does not hold.
 */
#ifndef DEPTH
#define DEPTH 3
#endif

typedef Buffer {
  byte used;
  byte place[DEPTH];
  byte value[DEPTH];
};
Buffer buffer[THREADS];
byte memory[PLACES];
hidden byte at;

inline store(thread, where, what) {
  d_step {
    buffer[thread].used < DEPTH ->
    buffer[thread].place[buffer[thread].used] = where;
    buffer[thread].value[buffer[thread].used] = what;
    buffer[thread].used++
  }
}

inline load(thread, where, into) {
  d_step {
    into = memory[where];
    at = 0;
    do
    :: at < buffer[thread].used ->
       if
       :: buffer[thread].place[at] == (where) -> into = buffer[thread].value[at]
       :: else
       fi;
       at++
    :: else -> break
    od
  }
}

/* `lock or` on the own stack, or any entry into the kernel that takes a lock. */
#define fence(thread) buffer[thread].used == 0

/* The memory takes the oldest store. What falls free is zeroed, so that equal states look equal. */
#define TAKE(thread)                                       \
  ::d_step {                                               \
    buffer[thread].used > 0 ->                             \
    memory[buffer[thread].place[0]] = buffer[thread].value[0]; \
    at = 1;                                                \
    do                                                     \
    :: at < DEPTH ->                                       \
       buffer[thread].place[at - 1] = buffer[thread].place[at]; \
       buffer[thread].value[at - 1] = buffer[thread].value[at]; \
       at++                                                \
    :: else -> break                                       \
    od;                                                    \
    buffer[thread].place[DEPTH - 1] = 0;                   \
    buffer[thread].value[DEPTH - 1] = 0;                   \
    buffer[thread].used--                                  \
  }

active proctype memory_takes() {
  do
  TAKE(0)
  TAKE(1)
#if THREADS > 2
  TAKE(2)
#endif
#if THREADS > 3
  TAKE(3)
#endif
  od
}

active proctype finally() {
  timeout;
  assert(FINALLY)
}
