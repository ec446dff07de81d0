#pragma once
// Fences and pauses, written out because compilers differ: g++ 12 makes `lock or` of a seq_cst fence, clang++
// 14 makes mfence, whose wait for the store buffer slowed a stream of messages eightfold in the design's
// trials.
#include <atomic>
#include <cstdint>

#if defined(__x86_64__)
#include <x86intrin.h>
#else
#include <chrono>

#include "base/namespaces.h"
#endif

namespace hamlyn::internal_::base {

// A full fence: every earlier store is visible before any later load is done.
inline void full_fence() noexcept {
#if defined(__SANITIZE_THREAD__)
  std::atomic_signal_fence(
      std::memory_order_seq_cst);  // TSan knows no fences; it sees the atomics themselves
  __asm__ volatile("lock orl $0, -8(%%rsp)" ::: "memory", "cc");
#elif defined(__x86_64__)
  // On the own stack: no line that anybody else reads. Not at its top, where a saved register may stand: it
  // would be loaded again only behind the fence (docs/performance.md). To or nothing harms no red zone.
  __asm__ volatile("lock orl $0, -8(%%rsp)" ::: "memory", "cc");
#else
  std::atomic_thread_fence(std::memory_order_seq_cst);
#endif
}

// The compiler may not move or repeat memory accesses across this.
inline void compiler_barrier() noexcept { __asm__ volatile("" ::: "memory"); }

// Every earlier load is done before any later one. (On x86-64 only the compiler could do them otherwise.)
inline void load_fence() noexcept {
#if defined(__x86_64__)
  compiler_barrier();
#else
  std::atomic_thread_fence(std::memory_order_acquire);
#endif
}

// The object is as it is in private memory now: the compiler may not read its source a second time.
template <class T>
inline void forget_source(T& copy) noexcept {
  __asm__ volatile("" : "+m"(copy));
}

// Rests the core for an instant while it waits for another one's store.
inline void pause() noexcept {
#if defined(__x86_64__)
  _mm_pause();
#else
  compiler_barrier();
#endif
}

// Asks for a line to be written soon. (The built-in asks for reading unless the whole program is for newer
// processors.)
inline void prefetch_for_writing(const void* line) noexcept {
#if defined(__x86_64__)
  __asm__ volatile("prefetchw %0" : : "m"(*static_cast<const char*>(line)));
#else
  __builtin_prefetch(line, 1, 3);
#endif
}

// The time-stamp counter: cycles of a constant clock. Other processors get nanoseconds.
inline std::uint64_t cycles() noexcept {
#if defined(__x86_64__)
  return __rdtsc();
#else
  return static_cast<std::uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
#endif
}

}  // namespace hamlyn::internal_::base
