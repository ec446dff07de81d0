/* What our programs for peers share: pinning, and the median of half round trips, timed like Hamlyn's own. */
#ifndef HAMLYN_BENCH_PEER_TIMING_H
#define HAMLYN_BENCH_PEER_TIMING_H
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "tool/perf/timing.h"

static void pin_to(const char* processor) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET((size_t)atoi(processor), &set);
  if (sched_setaffinity(0, sizeof set, &set) != 0) {
    perror("sched_setaffinity");
    exit(1);
  }
}

static double seconds_now(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

/* The line that `hamlyn-bench` waits for. */
static inline void print_result(double value) {
  printf("result %.6g\n", value);
  fflush(stdout);
}

static int compare_ticks(const void* a, const void* b) {
  const uint64_t x = *(const uint64_t*)a, y = *(const uint64_t*)b;
  return (x > y) - (x < y);
}

/* `moments` are the ends of count + 1 round trips, `seconds` the time from the first to the last. */
static inline double median_half_ns(uint64_t* moments, size_t count, double seconds) {
  const double ns_per_tick = seconds * 1e9 / (double)(moments[count] - moments[0]);
  for (size_t i = 0; i < count; ++i) moments[i] = moments[i + 1] - moments[i];
  qsort(moments, count, sizeof *moments, compare_ticks);
  const uint64_t middle = moments[count / 2];
  size_t low = 0, high = 0;
  while (moments[low] < middle) ++low;
  for (high = low; high < count && moments[high] == middle; ++high) {
  }
  double ticks = (double)middle;
  if (low > 0 && high < count &&
      (high - low) * 100 >= count) { /* as in src/tool/perf/statistics.cc: steps of a clock */
    const double from = (double)(middle + moments[low - 1]) / 2, to = (double)(middle + moments[high]) / 2;
    ticks = from + (to - from) * ((double)count / 2 - (double)low) / (double)(high - low);
  }
  return ticks * ns_per_tick / 2;
}

#endif
