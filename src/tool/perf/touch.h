/* What "touched" means: the sender fills every byte of a message, the receiver reads every byte of it. One
 * definition for the machine's limit, for Hamlyn and (plain C as well) for our programs of peers. */
#ifndef HAMLYN_TOOL_PERF_TOUCH_H
#define HAMLYN_TOOL_PERF_TOUCH_H
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#ifdef __cplusplus /* C has no other casts */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wold-style-cast"
#endif

/* Several words at a time: a plain loop is not vectorised at the level of the release build. */
typedef uint64_t hamlyn_vector __attribute__((vector_size(16), aligned(16), may_alias));
typedef uint64_t hamlyn_wide_vector __attribute__((vector_size(32), aligned(16), may_alias));

/* Fills `bytes` (a multiple of 128) at `place` (aligned to 16) with a value that `sequence` gives. */
static inline void hamlyn_fill(void* place, size_t bytes, uint64_t sequence) {
  memset(place, (int)((sequence * 37 + 11) & 0xff), bytes);
}

/* Sums the words at `place` with four vectors of `type`, whose words are left in `sum`. */
#define HAMLYN_SUM_VECTORS(type, place, bytes, sum)                     \
  type a = {0}, b = {0}, c = {0}, d = {0};                              \
  const type* from = (const type*)(place);                              \
  for (size_t i = 0; i < (bytes) / sizeof(type); i += 4) {              \
    a += from[i], b += from[i + 1], c += from[i + 2], d += from[i + 3]; \
  }                                                                     \
  a += b + c + d;                                                       \
  for (size_t i = 0; i < sizeof(type) / 8; ++i) sum += a[i]

#if defined(__x86_64__)
/* 64 KiB that lie in the caches: 400 ns, against 600 with vectors of 16 bytes. */
__attribute__((target("avx2"))) static inline uint64_t hamlyn_read_all_wide(const void* place, size_t bytes) {
  uint64_t sum = 0;
  HAMLYN_SUM_VECTORS(hamlyn_wide_vector, place, bytes, sum);
  return sum;
}
#endif

/* Reads all of it, `bytes` a multiple of 128: the sum of its 64-bit words. */
static inline uint64_t hamlyn_read_all(const void* place, size_t bytes) {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2")) return hamlyn_read_all_wide(place, bytes);
#endif
  uint64_t sum = 0;
  HAMLYN_SUM_VECTORS(hamlyn_vector, place, bytes, sum);
  return sum;
}

/* What hamlyn_read_all must find in a message that hamlyn_fill has filled. */
static inline uint64_t hamlyn_filled_sum(size_t bytes, uint64_t sequence) {
  return ((sequence * 37 + 11) & 0xff) * UINT64_C(0x0101010101010101) * (uint64_t)(bytes / 8);
}

#ifdef __cplusplus
#pragma GCC diagnostic pop
#endif

#endif
