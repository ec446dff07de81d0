/* Growth by continuation (src/fabric/shm/shm_link.cc). A sender makes another ring, shows it to the reader, and when the
 * reader has it mapped and says so, writes "continue" as the last cell of the old ring and goes on in the new one. The
 * reader changes rings at that cell and nowhere else. The sender does it twice here. Everything arrives once and in
 * order, nobody touches a ring that is not there, and a ring goes only when the reader has left it.
 *
 * A reader holds one ring that it has not moved to, so that a hostile sender cannot pile rings up; an honest one
 * shows the next only after the reader has moved. Cells are counted from the first ring on.
 */
#define PACKETS 4
#define CELLS 2 /* of each ring; "continue" takes one like any packet */
#define RINGS 3
#define THREADS 2
#define SENDER 0
#define READER 1

#define CELL(ring, number) ((ring) * CELLS + (number) % CELLS)
#define PUBLISHED 6 /* written by the sender */
#define CONSUMED 7  /* written by the reader, as is the next */
#define MAPPED 8    /* rings beyond the first */
#define PLACES 9

#define CONTINUE 99

#define FINALLY (arrived == PACKETS && left_behind == RINGS - 1)
byte arrived;
byte left_behind; /* rings that the sender has given back */
#include "tso.pml"

byte shown; /* rings beyond the first whose descriptor is on its way, or there */

/* What a thread waits for may be written as what it sees in memory: it has no stores of its own to those places. */
inline put(what) {
  written - (memory[CONSUMED] > base -> memory[CONSUMED] : base) < CELLS;
  store(SENDER, CELL(ring, written - base), what);
  written++;
  store(SENDER, PUBLISHED, written)
}

proctype sender() {
  byte sent, ring, written, base;
  do
#ifdef SHOWN_TOO_SOON
  :: shown == ring && shown < RINGS - 1 -> shown++
#else
  :: shown == ring && shown < RINGS - 1 && memory[CONSUMED] >= base -> shown++
#endif
  :: shown > ring ->
#ifndef NO_ACKNOWLEDGEMENT
     memory[MAPPED] == shown;
#endif
#ifndef NO_CONTINUE
     put(CONTINUE);
#endif
     base = written;
     ring++;
#ifdef FREED_EARLY
     left_behind = ring
#endif
  :: left_behind < ring && memory[CONSUMED] >= base -> left_behind = ring
  :: sent < PACKETS -> sent++; put(sent)
#ifdef OLD_AFTER_CONTINUE
  :: sent < PACKETS && ring == 1 ->
     sent++;
     store(SENDER, CELL(0, written), sent);
     written++;
     store(SENDER, PUBLISHED, written)
#endif
  od
}

proctype reader() {
  byte ring, taken, base, mapped, cell;
  do
  :: shown > mapped ->
     assert(mapped == ring);
     mapped++;
     store(READER, MAPPED, mapped)
#ifdef SWITCH_WHEN_MAPPED
     ;
     ring++;
     base = taken
#endif
  :: memory[PUBLISHED] != taken ->
     assert(left_behind <= ring);
     load(READER, CELL(ring, taken - base), cell);
     taken++;
     if
     :: cell == CONTINUE ->
        assert(mapped > ring);
        ring++;
        base = taken
     :: else ->
        arrived++;
        assert(cell == arrived)
     fi;
     cell = 0;
     store(READER, CONSUMED, taken)
  od
}

init {
  atomic { run sender(); run reader() }
}
