#pragma once
// The memory policy: how the small pieces that two parties share (ring, watch and doorbell, run lock) touch
// memory. Production uses these atomics; the tests put an explorer of store buffers and a hostile peer in
// their place (design: each atomic names its partner at the place of use).
#include <atomic>
#include <cstddef>
#include <cstring>

#include "base/copy.h"
#include "base/fence.h"
#include "base/namespaces.h"

namespace hamlyn::internal_::base {

struct RealMemory {
  template <class T>
  static T load_acquire(const T& word) noexcept {
    return std::atomic_ref<T>(const_cast<T&>(word)).load(std::memory_order_acquire);
  }
  template <class T>
  static T load_relaxed(const T& word) noexcept {
    return std::atomic_ref<T>(const_cast<T&>(word)).load(std::memory_order_relaxed);
  }
  template <class T>
  static void store_release(T& word, T value) noexcept {
    std::atomic_ref<T>(word).store(value, std::memory_order_release);
  }
  template <class T>
  static void store_relaxed(T& word, T value) noexcept {
    std::atomic_ref<T>(word).store(value, std::memory_order_relaxed);
  }
  static void fence() noexcept { full_fence(); }
  static void load_fence() noexcept { base::load_fence(); }

  // Bytes to and from memory that a peer reads or writes at the same time; ordered by the words above.
  static void copy_from_peer(void* to, const void* from, std::size_t bytes) noexcept {
    std::memcpy(to, from, bytes);
  }
  // Other threads of this process may write to `from`: its aligned words are copied whole.
  static void copy_to_peer(void* to, const void* from, std::size_t bytes) noexcept {
#if defined(__SANITIZE_THREAD__)
    copy_from_shared(static_cast<std::byte*>(to), static_cast<const std::byte*>(from), bytes);
#else
    copy_over_read_lines(to, from, bytes);
#endif
  }
};

}  // namespace hamlyn::internal_::base
