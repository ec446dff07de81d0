/* OSHMEM: half a ping-pong of putting a word into the other's memory and waiting for it there, in ns.
 * peer_oshmem_put CORE0 CORE1 */
#include "peer_timing.h"

#include <shmem.h>
#include <unistd.h>

enum { kWarmUp = 5000, kExchanges = 50000 };

int main(int argc, char** argv) {
  shmem_init();
  const int rank = shmem_my_pe();
  if (argc != 3) return 2;
  pin_to(argv[1 + rank]);
  long* word = shmem_malloc(64);
  *word = 0;
  uint64_t* moments = calloc(kExchanges + 1, sizeof *moments);
  double start = 0;
  shmem_barrier_all();
  for (long i = 1; i <= kWarmUp + kExchanges; ++i) {
    if (rank == 0) {
      shmem_long_p(word, i, 1);
      shmem_long_wait_until(word, SHMEM_CMP_EQ, i);
      if (i == kWarmUp) start = seconds_now();
      if (i >= kWarmUp) moments[i - kWarmUp] = hamlyn_ticks();
    } else {
      shmem_long_wait_until(word, SHMEM_CMP_EQ, i);
      shmem_long_p(word, i, 0);
    }
  }
  if (rank == 0) print_result(median_half_ns(moments, kExchanges, seconds_now() - start));
  shmem_barrier_all();
  /* Debian 12's library crashes in shmem_finalize, whatever the program; whoever started us stops the
   * launcher. */
  _exit(0);
}
