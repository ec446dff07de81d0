/* Open MPI: a window of messages, each filled by its sender and read whole by its receiver, in GB/s (10^9
 * bytes). peer_mpi_touched CORE0 CORE1 BYTES MESSAGES WINDOW */
#include "peer_timing.h"

#include <mpi.h>

#include "tool/perf/touch.h"

struct window {
  int slots;
  size_t bytes;
  char* memory;
  MPI_Request* requests;
};

static char* place(const struct window* w, int slot) { return w->memory + (size_t)slot * w->bytes; }

static void send_all(struct window* w, long messages) {
  for (int slot = 0; slot < w->slots; ++slot) w->requests[slot] = MPI_REQUEST_NULL;
  for (long i = 0; i < messages; ++i) {
    const int slot = (int)(i % w->slots);
    MPI_Wait(&w->requests[slot], MPI_STATUS_IGNORE);
    hamlyn_fill(place(w, slot), w->bytes, (uint64_t)i);
    MPI_Isend(place(w, slot), (int)w->bytes, MPI_BYTE, 1, 0, MPI_COMM_WORLD, &w->requests[slot]);
  }
  MPI_Waitall(w->slots, w->requests, MPI_STATUSES_IGNORE);
}

/* Returns the seconds that all messages but the first `warm_up` took. */
static double receive_all(struct window* w, long messages, long warm_up) {
  double start = 0;
  for (int slot = 0; slot < w->slots; ++slot) {
    MPI_Irecv(place(w, slot), (int)w->bytes, MPI_BYTE, 0, 0, MPI_COMM_WORLD, &w->requests[slot]);
  }
  for (long i = 0; i < messages; ++i) {
    const int slot = (int)(i % w->slots);
    if (i == warm_up) start = seconds_now();
    MPI_Wait(&w->requests[slot], MPI_STATUS_IGNORE);
    if (hamlyn_read_all(place(w, slot), w->bytes) != hamlyn_filled_sum(w->bytes, (uint64_t)i)) {
      fprintf(stderr, "message %ld is not the one that was sent\n", i);
      MPI_Abort(MPI_COMM_WORLD, 1);
    }
    if (i + w->slots < messages) {
      MPI_Irecv(place(w, slot), (int)w->bytes, MPI_BYTE, 0, 0, MPI_COMM_WORLD, &w->requests[slot]);
    }
  }
  return seconds_now() - start;
}

int main(int argc, char** argv) {
  int rank = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (argc != 6) return 2;
  pin_to(argv[1 + rank]);
  const long timed = atol(argv[4]);
  struct window w = {atoi(argv[5]), (size_t)atol(argv[3]), NULL, NULL};
  w.memory = aligned_alloc(4096, (size_t)w.slots * w.bytes);
  memset(w.memory, 0, (size_t)w.slots * w.bytes);
  w.requests = calloc((size_t)w.slots, sizeof *w.requests);
  const long warm_up = 4L * w.slots;
  if (rank == 0) {
    send_all(&w, warm_up + timed);
  } else {
    const double seconds = receive_all(&w, warm_up + timed, warm_up);
    print_result((double)timed * (double)w.bytes / seconds * 1e-9);
  }
  free(w.requests);
  free(w.memory);
  MPI_Finalize();
  return 0;
}
