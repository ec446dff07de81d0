/* A rank of a job, in C, for tests. */
#include <hamlyn/c/job.h>
#include <stdio.h>
#include <string.h>

#define PATIENCE 10000000000ll

static int fail(const char* what, hamlyn_status status) {
  fprintf(stderr, "%s: %s: %s\n", what, hamlyn_status_name(status), hamlyn_last_error());
  return 1;
}

static int refuses(hamlyn_interface* interface, hamlyn_job* job) {
  hamlyn_job* other = NULL;
  hamlyn_job_options options = {sizeof options, 0, 2};
  uint32_t number = 0;
  if (hamlyn_job_make(NULL, NULL, &other) != HAMLYN_INVALID_ARGUMENT) return 0;
  if (hamlyn_job_make(interface, &options, &other) != HAMLYN_INVALID_ARGUMENT) return 0;
  if (hamlyn_job_barrier(NULL, 0) != HAMLYN_INVALID_ARGUMENT) return 0;
  if (hamlyn_job_all_gather(job, NULL, 4, &number, 0) != HAMLYN_INVALID_ARGUMENT) return 0;
  if (hamlyn_job_all_gather(job, "", 8001, &number, 0) != HAMLYN_TOO_LONG) return 0;
  if (hamlyn_job_ended(job, &number, NULL, 0) != HAMLYN_INVALID_ARGUMENT) return 0;
  if (hamlyn_job_ended(job, &number, &number, 0) != HAMLYN_TIMED_OUT) return 0;
  if (hamlyn_job_place(job, &number, NULL) != HAMLYN_INVALID_ARGUMENT) return 0;
  if (hamlyn_job_place_here(job, NULL, &number) != HAMLYN_INVALID_ARGUMENT) return 0;
  return strcmp(hamlyn_job_name(NULL), "") == 0 && strcmp(hamlyn_job_why(NULL), "") == 0;
}

int main(void) {
  hamlyn_interface* interface = NULL;
  hamlyn_job* job = NULL;
  uint32_t rank = 9, size = 0, here = 9, size_here = 0, i = 0, all[64];
  hamlyn_status status = hamlyn_interface_make(NULL, &interface);
  if (status != HAMLYN_OK) return fail("interface", status);
  status = hamlyn_job_make(interface, NULL, &job);
  if (status != HAMLYN_OK) return fail("job", status);
  if (!refuses(interface, job)) return 2;
  if (hamlyn_job_place(job, &rank, &size) != HAMLYN_OK || size > 64) return 3;
  if (hamlyn_job_place_here(job, &here, &size_here) != HAMLYN_OK || here != rank || size_here != size)
    return 7;
  if (strcmp(hamlyn_job_name(job), "of_c") != 0) return 8;
  status = hamlyn_job_all_gather(job, &rank, sizeof rank, all, PATIENCE);
  if (status != HAMLYN_OK) return fail("all_gather", status);
  for (i = 0; i != size; ++i)
    if (all[i] != i) return 4;
  status = hamlyn_job_barrier(job, PATIENCE);
  if (status != HAMLYN_OK) return fail("barrier", status);
  printf("rank %u of %u\n", (unsigned)rank, (unsigned)size);
  if (hamlyn_job_free(job) != HAMLYN_OK) return 5;
  return hamlyn_interface_free(interface) == HAMLYN_OK ? 0 : 6;
}
