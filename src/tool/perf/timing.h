/* The processor's clock and the rest between two looks at a line that is about to change. Plain C as well, so
 * that our programs for peers (bench/) are timed by the very same instructions. */
#ifndef HAMLYN_TOOL_PERF_TIMING_H
#define HAMLYN_TOOL_PERF_TIMING_H
#include <stdint.h>
#include <time.h>
#if defined(__x86_64__)
#include <x86intrin.h>
#endif

#ifdef __cplusplus /* C has no other casts */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wold-style-cast"
#endif

/* Ticks now, read after every load before it has its value. */
static inline uint64_t hamlyn_ticks(void) {
#if defined(__x86_64__)
  _mm_lfence();
  return __rdtsc();
#else
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  const uint64_t seconds = (uint64_t)now.tv_sec;
  return seconds * 1000000000u + (uint64_t)now.tv_nsec;
#endif
}

static inline void hamlyn_rest(int pauses) {
  for (int i = 0; i < pauses; ++i) {
#if defined(__x86_64__)
    _mm_pause();
#else
    __asm__ volatile("" ::: "memory");
#endif
  }
}

#ifdef __cplusplus
#pragma GCC diagnostic pop
#endif

#endif
