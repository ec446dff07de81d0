#pragma once
// Split-C (docs/splitc.md) for C: global pointers to plain types and to bytes. The rules of all functions
// stand at the top of hamlyn/c.h. One thread; of a process's programs one is there at a time.
// hamlyn_last_error names the rank that a failure is about.
#include "hamlyn/c.h"

#ifdef __cplusplus
extern "C" {
#endif

// A global pointer, as hamlyn::splitc::global_ptr. 0: null.
typedef uint64_t hamlyn_global;

// As hamlyn::splitc::ProgramOptions. NULL: all defaults.
typedef struct hamlyn_splitc_options {
  size_t size;       // of this struct
  size_t heap;       // bytes of each rank; 0: 16 MiB
  uint32_t guarded;  // 1: puts and gets also where heaps could be mapped
  uint32_t over;     // 1: segments; 2: VI; 0: as HAMLYN_SPLITC_OVER says, otherwise segments
  uint32_t credits;  // over VI: 1 to 32; 0: as HAMLYN_SPLITC_CREDITS says, otherwise 8
} hamlyn_splitc_options;

// Joins the program, and waits for all other ranks. `count` and `words` are those of `main`, or both NULL:
// `--heap SIZE`, `--guarded`, `--over WAY` and `--credits N` are taken off. As hamlyn::splitc::Program.
HAMLYN_NODISCARD hamlyn_status hamlyn_splitc_begin(int* count, char** words,
                                                   const hamlyn_splitc_options* options);
// Waits until all ranks are here, and leaves.
HAMLYN_NODISCARD hamlyn_status hamlyn_splitc_end(void);
// Tells which rank this is.
uint32_t hamlyn_splitc_rank(void);
// Tells how many there are.
uint32_t hamlyn_splitc_ranks(void);
// Runs what others have called here, and lets stores leave.
HAMLYN_NODISCARD hamlyn_status hamlyn_splitc_poll(void);

// Takes room in this rank's heap, zeroed.
HAMLYN_NODISCARD hamlyn_status hamlyn_splitc_allocate(size_t bytes, hamlyn_global* made);
// Gives it back.
HAMLYN_NODISCARD hamlyn_status hamlyn_splitc_deallocate(hamlyn_global mine);
// Takes room at the same place in all heaps, of which this rank's is told: all ranks do so together.
HAMLYN_NODISCARD hamlyn_status hamlyn_splitc_allocate_everywhere(size_t bytes, hamlyn_global* made);
// Gives it back, together.
HAMLYN_NODISCARD hamlyn_status hamlyn_splitc_deallocate_everywhere(hamlyn_global mine);
// Points to the same place in another rank's heap.
hamlyn_global hamlyn_splitc_at(hamlyn_global place, uint32_t rank);
// Points so many bytes further in the same heap.
hamlyn_global hamlyn_splitc_moved(hamlyn_global place, int64_t bytes);
// Rank in whose heap it leads.
uint32_t hamlyn_splitc_owner(hamlyn_global place);
// Memory that loads and stores reach from here, or NULL.
void* hamlyn_splitc_local(hamlyn_global place, size_t bytes);

// Reads a char, and waits for it.
HAMLYN_NODISCARD hamlyn_status hamlyn_splitc_read_char(hamlyn_global from, char* into);
// Reads a short, and waits for it.
HAMLYN_NODISCARD hamlyn_status hamlyn_splitc_read_short(hamlyn_global from, short* into);
// Reads an int, and waits for it.
HAMLYN_NODISCARD hamlyn_status hamlyn_splitc_read_int(hamlyn_global from, int* into);
// Reads a long, and waits for it.
HAMLYN_NODISCARD hamlyn_status hamlyn_splitc_read_long(hamlyn_global from, long* into);
// Reads a float, and waits for it.
HAMLYN_NODISCARD hamlyn_status hamlyn_splitc_read_float(hamlyn_global from, float* into);
// Reads a double, and waits for it.
HAMLYN_NODISCARD hamlyn_status hamlyn_splitc_read_double(hamlyn_global from, double* into);
// Writes a char, and waits until it is done.
HAMLYN_NODISCARD hamlyn_status hamlyn_splitc_write_char(hamlyn_global to, char value);
// Writes a short, and waits until it is done.
HAMLYN_NODISCARD hamlyn_status hamlyn_splitc_write_short(hamlyn_global to, short value);
// Writes an int, and waits until it is done.
HAMLYN_NODISCARD hamlyn_status hamlyn_splitc_write_int(hamlyn_global to, int value);
// Writes a long, and waits until it is done.
HAMLYN_NODISCARD hamlyn_status hamlyn_splitc_write_long(hamlyn_global to, long value);
// Writes a float, and waits until it is done.
HAMLYN_NODISCARD hamlyn_status hamlyn_splitc_write_float(hamlyn_global to, float value);
// Writes a double, and waits until it is done.
HAMLYN_NODISCARD hamlyn_status hamlyn_splitc_write_double(hamlyn_global to, double value);
// Begins to read a char: over after hamlyn_splitc_sync, and in use until then.
HAMLYN_NODISCARD hamlyn_status hamlyn_splitc_get_char(hamlyn_global from, char* into);
// Begins to read a short: over after hamlyn_splitc_sync, and in use until then.
HAMLYN_NODISCARD hamlyn_status hamlyn_splitc_get_short(hamlyn_global from, short* into);
// Begins to read an int: over after hamlyn_splitc_sync, and in use until then.
HAMLYN_NODISCARD hamlyn_status hamlyn_splitc_get_int(hamlyn_global from, int* into);
// Begins to read a long: over after hamlyn_splitc_sync, and in use until then.
HAMLYN_NODISCARD hamlyn_status hamlyn_splitc_get_long(hamlyn_global from, long* into);
// Begins to read a float: over after hamlyn_splitc_sync, and in use until then.
HAMLYN_NODISCARD hamlyn_status hamlyn_splitc_get_float(hamlyn_global from, float* into);
// Begins to read a double: over after hamlyn_splitc_sync, and in use until then.
HAMLYN_NODISCARD hamlyn_status hamlyn_splitc_get_double(hamlyn_global from, double* into);
// Begins to write a char: over after hamlyn_splitc_sync.
HAMLYN_NODISCARD hamlyn_status hamlyn_splitc_put_char(hamlyn_global to, char value);
// Begins to write a short: over after hamlyn_splitc_sync.
HAMLYN_NODISCARD hamlyn_status hamlyn_splitc_put_short(hamlyn_global to, short value);
// Begins to write an int: over after hamlyn_splitc_sync.
HAMLYN_NODISCARD hamlyn_status hamlyn_splitc_put_int(hamlyn_global to, int value);
// Begins to write a long: over after hamlyn_splitc_sync.
HAMLYN_NODISCARD hamlyn_status hamlyn_splitc_put_long(hamlyn_global to, long value);
// Begins to write a float: over after hamlyn_splitc_sync.
HAMLYN_NODISCARD hamlyn_status hamlyn_splitc_put_float(hamlyn_global to, float value);
// Begins to write a double: over after hamlyn_splitc_sync.
HAMLYN_NODISCARD hamlyn_status hamlyn_splitc_put_double(hamlyn_global to, double value);
// Stores a char: its target waits for it.
HAMLYN_NODISCARD hamlyn_status hamlyn_splitc_store_char(hamlyn_global to, char value);
// Stores a short: its target waits for it.
HAMLYN_NODISCARD hamlyn_status hamlyn_splitc_store_short(hamlyn_global to, short value);
// Stores an int: its target waits for it.
HAMLYN_NODISCARD hamlyn_status hamlyn_splitc_store_int(hamlyn_global to, int value);
// Stores a long: its target waits for it.
HAMLYN_NODISCARD hamlyn_status hamlyn_splitc_store_long(hamlyn_global to, long value);
// Stores a float: its target waits for it.
HAMLYN_NODISCARD hamlyn_status hamlyn_splitc_store_float(hamlyn_global to, float value);
// Stores a double: its target waits for it.
HAMLYN_NODISCARD hamlyn_status hamlyn_splitc_store_double(hamlyn_global to, double value);
// Reads so many bytes, and waits for them.
HAMLYN_NODISCARD hamlyn_status hamlyn_splitc_read_bytes(hamlyn_global from, void* into, size_t bytes);
// Writes so many bytes, and waits until it is done.
HAMLYN_NODISCARD hamlyn_status hamlyn_splitc_write_bytes(hamlyn_global to, const void* from, size_t bytes);
// Begins to read so many bytes: over after hamlyn_splitc_sync, and in use until then.
HAMLYN_NODISCARD hamlyn_status hamlyn_splitc_get_bytes(hamlyn_global from, void* into, size_t bytes);
// Begins to write so many bytes, which are in use until hamlyn_splitc_sync.
HAMLYN_NODISCARD hamlyn_status hamlyn_splitc_put_bytes(hamlyn_global to, const void* from, size_t bytes);
// Stores so many bytes, which are free when it returns.
HAMLYN_NODISCARD hamlyn_status hamlyn_splitc_store_bytes(hamlyn_global to, const void* from, size_t bytes);
// Stores, and adds 1 behind it to a word of 8 bytes of the same rank.
HAMLYN_NODISCARD hamlyn_status hamlyn_splitc_store_counted(hamlyn_global to, const void* from, size_t bytes,
                                                           hamlyn_global counter);

// Waits until all gets and puts are over.
HAMLYN_NODISCARD hamlyn_status hamlyn_splitc_sync(void);
// Waits until so many bytes more have been stored here.
HAMLYN_NODISCARD hamlyn_status hamlyn_splitc_store_sync(size_t bytes);
// Waits until all stores of all ranks have landed: all ranks do so together.
HAMLYN_NODISCARD hamlyn_status hamlyn_splitc_all_store_sync(void);
// Waits until a counter in this rank's heap is at least so much.
HAMLYN_NODISCARD hamlyn_status hamlyn_splitc_wait_for(const uint64_t* mine, uint64_t at_least);

// Adds to, swaps, or compares and swaps an aligned word of 4 or 8 bytes, and tells what stood there before.
HAMLYN_NODISCARD hamlyn_status hamlyn_splitc_fetch(hamlyn_global word, const hamlyn_fetch_request* request,
                                                   uint64_t* before);

// Waits until all ranks are here.
HAMLYN_NODISCARD hamlyn_status hamlyn_splitc_barrier(void);
// Gives all ranks what `root` has.
HAMLYN_NODISCARD hamlyn_status hamlyn_splitc_broadcast(void* data, size_t bytes, uint32_t root);
// Gives each rank's value, one behind the other, to all.
HAMLYN_NODISCARD hamlyn_status hamlyn_splitc_gather(const void* mine, size_t bytes, void* all);
// Sums up what all have, in the order of ranks.
HAMLYN_NODISCARD hamlyn_status hamlyn_splitc_sum_long(long mine, long* sum);
// Sums up likewise.
HAMLYN_NODISCARD hamlyn_status hamlyn_splitc_sum_double(double mine, double* sum);

#ifdef __cplusplus
}
#endif
