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

/* Two machine words at a time: a plain loop is not vectorised at the level that the release build uses. */
typedef uint64_t hamlyn_vector __attribute__((vector_size(16), aligned(16), may_alias));

/* Fills `bytes` (a multiple of 64) at `place` (aligned to 16) with a value that `sequence` gives. */
static inline void hamlyn_fill(void* place, size_t bytes, uint64_t sequence) {
  memset(place, (int)((sequence * 37 + 11) & 0xff), bytes);
}

/* Reads all of it: the sum of its 64-bit words. */
static inline uint64_t hamlyn_read_all(const void* place, size_t bytes) {
  hamlyn_vector a = {0, 0}, b = {0, 0}, c = {0, 0}, d = {0, 0};
  const hamlyn_vector* from = (const hamlyn_vector*)place;
  for (size_t i = 0; i < bytes / 16; i += 4) {
    a += from[i];
    b += from[i + 1];
    c += from[i + 2];
    d += from[i + 3];
  }
  a += b + c + d;
  return a[0] + a[1];
}

/* What hamlyn_read_all must find in a message that hamlyn_fill has filled. */
static inline uint64_t hamlyn_filled_sum(size_t bytes, uint64_t sequence) {
  return ((sequence * 37 + 11) & 0xff) * UINT64_C(0x0101010101010101) * (uint64_t)(bytes / 8);
}

#ifdef __cplusplus
#pragma GCC diagnostic pop
#endif

#endif
