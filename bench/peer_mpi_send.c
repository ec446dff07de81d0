/* Open MPI: half a ping-pong of MPI_Send and MPI_Recv, in ns.  peer_mpi_send CORE0 CORE1 BYTES */
#include "peer_timing.h"

#include <mpi.h>

enum { kWarmUp = 2000, kExchanges = 40000 };

static void send_to(int rank, void* buffer, int bytes) {
  MPI_Send(buffer, bytes, MPI_BYTE, rank, 0, MPI_COMM_WORLD);
}
static void receive_from(int rank, void* buffer, int bytes) {
  MPI_Recv(buffer, bytes, MPI_BYTE, rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

int main(int argc, char** argv) {
  int rank = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (argc != 4) return 2;
  pin_to(argv[1 + rank]);
  const int bytes = atoi(argv[3]);
  char* buffer = calloc(1, (size_t)bytes);
  uint64_t* moments = calloc(kExchanges + 1, sizeof *moments);
  double start = 0;
  for (int i = 1; i <= kWarmUp + kExchanges; ++i) {
    if (rank == 0) {
      send_to(1, buffer, bytes);
      receive_from(1, buffer, bytes);
      if (i == kWarmUp) start = seconds_now();
      if (i >= kWarmUp) moments[i - kWarmUp] = hamlyn_ticks();
    } else {
      receive_from(0, buffer, bytes);
      send_to(0, buffer, bytes);
    }
  }
  if (rank == 0) print_result(median_half_ns(moments, kExchanges, seconds_now() - start));
  free(moments);
  free(buffer);
  MPI_Finalize();
  return 0;
}
