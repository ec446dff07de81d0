#pragma once
// Jobs that `hamlyn run` has started (docs/run.md), in C. The rules of all functions and handles stand at the
// top of hamlyn/c.h.
#include "hamlyn/c.h"

#ifdef __cplusplus
extern "C" {
#endif

// A process's part of a job, as hamlyn::Job. Any thread; one at a time in a meeting, one in
// hamlyn_job_ended.
typedef struct hamlyn_job hamlyn_job;

// As hamlyn::JobOptions. NULL: all defaults.
typedef struct hamlyn_job_options {
  size_t size;      // of this struct
  int64_t timeout;  // nanoseconds to be let in; 0: 60 s
  uint32_t go_on;   // 1: when another rank fails this one is told, and not ended
} hamlyn_job_options;

// Joins the job that the environment names, or makes a job of one. invalid_argument: also of the environment;
// not_permitted: the job does not let it in; peer_died: the job has ended; timed_out: so it has, or it has
// not answered in time; cancelled, out_of_memory, forked.
HAMLYN_NODISCARD hamlyn_status hamlyn_job_make(hamlyn_interface* interface, const hamlyn_job_options* options,
                                               hamlyn_job** made);
HAMLYN_NODISCARD hamlyn_status hamlyn_job_free(hamlyn_job* job);

// Which rank of how many this is, from 0.
HAMLYN_NODISCARD hamlyn_status hamlyn_job_place(const hamlyn_job* job, uint32_t* rank, uint32_t* size);
// Which rank of how many on this host this is.
HAMLYN_NODISCARD hamlyn_status hamlyn_job_place_here(const hamlyn_job* job, uint32_t* rank, uint32_t* size);
// The job's name, as long as the handle is there; "" if there is none. Never NULL.
const char* hamlyn_job_name(const hamlyn_job* job);
// Waits until every rank is here. As hamlyn::Job::barrier.
HAMLYN_NODISCARD hamlyn_status hamlyn_job_barrier(hamlyn_job* job, int64_t timeout);
// Gives `length` bytes to all, and takes as many of each rank into `all`, which has room for one after the
// other. Zeros are of one that has ended, if all go on without it. As hamlyn_job_barrier; too_long: more than
// 8000.
HAMLYN_NODISCARD hamlyn_status hamlyn_job_all_gather(hamlyn_job* job, const void* mine, size_t length,
                                                     void* all, int64_t timeout);
// Says why the last meeting was refused, in words. Good until the next one. Never NULL.
const char* hamlyn_job_why(const hamlyn_job* job);
// Takes note of a rank that has ended, each once, with its status as a shell has it. As hamlyn::Job::ended.
HAMLYN_NODISCARD hamlyn_status hamlyn_job_ended(hamlyn_job* job, uint32_t* rank, uint32_t* status,
                                                int64_t timeout);

#ifdef __cplusplus
}
#endif
