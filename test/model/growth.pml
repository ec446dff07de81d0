/* Growth by continuation (docs/architecture.md, shm). A sender makes a larger ring, shows it to the reader, and when
 * the reader has it mapped and says so, writes "continue" as the last cell of the old ring and goes on in the new
 * one. The reader changes rings at that cell and nowhere else. Everything arrives once and in order, nobody touches a
 * ring that is not there, and the old ring goes only when the reader has left it.
 *
 * The sender writes cells and what it has published of each ring; the reader writes what it has mapped, and what it has
 * consumed of the old ring. Old cells are used again, so room in the old ring matters: two cells, and "continue" takes
 * one like any packet.
 */
#define PACKETS 5
#define CELLS 2
#define THREADS 2
#define SENDER 0
#define READER 1

#define OLD(number) ((number) % CELLS)
#define NEW(number) (CELLS + (number)) /* as large as it needs to be */
#define OLD_PUBLISHED 7
#define NEW_PUBLISHED 8
#define CONSUMED 9 /* of the old ring; written by the reader */
#define MAPPED 10  /* written by the reader */
#define PLACES 11

#define CONTINUE 99

#define FINALLY (arrived == PACKETS && !old_there)
byte arrived;
bool old_there = true; /* the sender has not given the old ring back */
#include "tso.pml"

bool shown; /* the descriptor of the new ring is on its way, or there */

/* What a thread waits for may be written as what it sees in memory: it has no stores of its own to those places. */
inline put_old(what) {
  old - memory[CONSUMED] < CELLS;
  store(SENDER, OLD(old), what);
  old++;
  store(SENDER, OLD_PUBLISHED, old)
}

proctype sender() {
  byte sent, old, new;
  bool moved;
  do
  :: !shown -> shown = true /* at any time; packets go on meanwhile */
  :: shown && !moved ->
#ifndef NO_ACKNOWLEDGEMENT
     memory[MAPPED] == 1;
#endif
#ifndef NO_CONTINUE
     put_old(CONTINUE);
#endif
     moved = true
  :: sent < PACKETS && !moved -> sent++; put_old(sent)
  :: sent < PACKETS && moved ->
     sent++;
     store(SENDER, NEW(new), sent);
     new++;
     store(SENDER, NEW_PUBLISHED, new)
#ifdef OLD_AFTER_CONTINUE
  :: sent < PACKETS && moved -> sent++; put_old(sent)
#endif
  :: sent == PACKETS && moved -> break
  od;
#ifndef FREED_EARLY
  memory[CONSUMED] == old;
#endif
  old_there = false
}

proctype reader() {
  byte old, new, published, cell;
  bool mapped, moved;
  do
  :: shown && !mapped ->
     mapped = true;
     store(READER, MAPPED, 1)
#ifdef SWITCH_WHEN_MAPPED
     ;
     moved = true
#endif
  :: !moved && memory[OLD_PUBLISHED] != old ->
     assert(old_there);
     load(READER, OLD(old), cell);
     old++;
     store(READER, CONSUMED, old);
     if
     :: cell == CONTINUE -> assert(mapped); moved = true
     :: else -> arrived++; assert(cell == arrived)
     fi;
     cell = 0
  :: moved && memory[NEW_PUBLISHED] != new ->
     assert(mapped);
     load(READER, NEW(new), cell);
     new++;
     arrived++;
     assert(cell == arrived);
     cell = 0
  od
}

init {
  atomic { run sender(); run reader() }
}
