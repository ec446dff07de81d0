#pragma once
// Copies of few bytes without a call: memcpy of an unknown size costs more than a short message's whole
// deposit.
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#if defined(__x86_64__)
#include <emmintrin.h>
#endif

#include "base/byte_order.h"
#include "base/namespaces.h"

namespace hamlyn::internal_::base {

// Copies `bytes` (0 to 16) exactly.
inline void copy_up_to_16(std::byte* to, const std::byte* from, std::size_t bytes) noexcept {
  if (bytes >= 8) {
    std::uint64_t head, tail;
    std::memcpy(&head, from, 8);
    std::memcpy(&tail, from + bytes - 8, 8);
    std::memcpy(to, &head, 8);
    std::memcpy(to + bytes - 8, &tail, 8);
    return;
  }
  if (bytes >= 4) {
    std::uint32_t head, tail;
    std::memcpy(&head, from, 4);
    std::memcpy(&tail, from + bytes - 4, 4);
    std::memcpy(to, &head, 4);
    std::memcpy(to + bytes - 4, &tail, 4);
    return;
  }
  for (std::size_t i = 0; i < bytes; ++i) to[i] = from[i];
}

// Copies to memory that another processor has read since it was written last. A string instruction asks for
// such lines without their old bytes and for many at a time, stores one by one wait for each: twice as fast
// from 1 KiB on (docs/performance.md). The elements of the instruction are words: an aligned word of `from`
// is copied as it was at one moment.
inline void copy_over_read_lines(void* to, const void* from, std::size_t bytes) noexcept {
#if defined(__x86_64__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  if (bytes >= 1024) {
    std::size_t words = bytes / sizeof(std::uint64_t);
    bytes %= sizeof(std::uint64_t);
    asm volatile("rep movsq" : "+D"(to), "+S"(from), "+c"(words) : : "memory");
    // By itself: sharing the copy below made that of short data a quarter slower
    // (docs/notebook/measurements.md).
    for (std::size_t i = 0; i != bytes; ++i)
      static_cast<std::byte*>(to)[i] = static_cast<const std::byte*>(from)[i];
    return;
  }
#endif
  std::memcpy(to, from, bytes);
}

struct TwoWords {
  std::uint64_t first, second;
};

// `bytes` (0 to 16) of memory in two registers, with zeros behind them.
inline TwoWords load_up_to_16(const std::byte* from, std::size_t bytes) noexcept {
  std::uint64_t first = 0, second = 0;
  if (bytes >= 8) {
    std::memcpy(&first, from, 8);
    if (bytes > 8) {
      std::memcpy(&second, from + bytes - 8, 8);
      second >>= 8 * (16 - bytes);
    }
  } else if (bytes >= 4) {
    std::uint32_t head, tail;
    std::memcpy(&head, from, 4);
    std::memcpy(&tail, from + bytes - 4, 4);
    first = head | std::uint64_t{tail} << 8 * (bytes - 4);
  } else if (bytes != 0) {
    first = std::to_integer<std::uint64_t>(from[0]) |
            std::to_integer<std::uint64_t>(from[bytes / 2]) << 8 * (bytes / 2) |
            std::to_integer<std::uint64_t>(from[bytes - 1]) << 8 * (bytes - 1);
  }
  return {first, second};
}

// Copies `Words` words of 8 bytes one by one. What has just been stored word by word is forwarded to such
// loads; a wide load would have to wait until the stores have left the store buffer.
template <std::size_t Words>
inline void copy_words(void* to, const void* from) noexcept {
  const auto* source = static_cast<const std::uint64_t*>(from);
#pragma GCC unroll 16
  for (std::size_t i = 0; i < Words; ++i) {
    const std::uint64_t word =
        std::atomic_ref<std::uint64_t>(const_cast<std::uint64_t&>(source[i])).load(std::memory_order_relaxed);
    std::memcpy(static_cast<std::byte*>(to) + i * sizeof word, &word, sizeof word);
  }
}

// Copies what can be copied fast in words of 8 bytes, and moves on behind them. The elements of a string
// instruction are words: if one side is aligned, none is torn there.
inline void copy_many_words(std::byte*& to, const std::byte*& from, std::size_t& bytes) noexcept {
#if defined(__x86_64__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  if (bytes >= 512) {
    std::size_t words = bytes / sizeof(std::uint64_t);
    bytes %= sizeof(std::uint64_t);
    asm volatile("rep movsq" : "+D"(to), "+S"(from), "+c"(words) : : "memory");
  }
#else
  static_cast<void>(to), static_cast<void>(from), static_cast<void>(bytes);
#endif
}

// Copies memory that other threads may write at the same time: an aligned word of 8 bytes is copied as it was
// at one moment.
inline void copy_from_shared(std::byte* to, const std::byte* from, std::size_t bytes) noexcept {
  const auto copy = [&]<class Unit>(Unit) {
    auto& source = *reinterpret_cast<Unit*>(const_cast<std::byte*>(from));
    const Unit unit = std::atomic_ref<Unit>(source).load(std::memory_order_relaxed);
    std::memcpy(to, &unit, sizeof unit);
    to += sizeof unit;
    from += sizeof unit;
    bytes -= sizeof unit;
  };
  while (bytes != 0 && reinterpret_cast<std::uintptr_t>(from) % sizeof(std::uint64_t) != 0) {
    if (bytes >= 4 && reinterpret_cast<std::uintptr_t>(from) % sizeof(std::uint32_t) == 0) {
      copy(std::uint32_t{});
    } else {
      copy(std::uint8_t{});
    }
  }
  copy_many_words(to, from, bytes);
  while (bytes >= sizeof(std::uint64_t)) copy(std::uint64_t{});
  if (bytes >= sizeof(std::uint32_t)) copy(std::uint32_t{});
  while (bytes != 0) copy(std::uint8_t{});
}

// One word of such a place, aligned, in little-endian order.
inline std::uint64_t load_little_shared(const std::byte* from) noexcept {
  auto& place = *reinterpret_cast<std::uint64_t*>(const_cast<std::byte*>(from));
  const std::uint64_t word = std::atomic_ref<std::uint64_t>(place).load(std::memory_order_relaxed);
  return kLittleEndian ? word : turned(word);
}

// One word to such a place, aligned, in little-endian order.
inline void store_little_shared(std::byte* to, std::uint64_t word) noexcept {
  std::byte bytes[sizeof word];
  store_little(bytes, word);
  std::memcpy(&word, bytes, sizeof word);
  std::atomic_ref<std::uint64_t>(*reinterpret_cast<std::uint64_t*>(to))
      .store(word, std::memory_order_relaxed);
}

// Copies to memory that other threads may read or write at the same time: an aligned word of 4 or 8 bytes
// there changes at one moment.
inline void copy_to_shared(std::byte* to, const std::byte* from, std::size_t bytes) noexcept {
  const auto copy = [&]<class Unit>(Unit unit) {
    std::memcpy(&unit, from, sizeof unit);
    std::atomic_ref<Unit>(*reinterpret_cast<Unit*>(to)).store(unit, std::memory_order_relaxed);
    to += sizeof unit;
    from += sizeof unit;
    bytes -= sizeof unit;
  };
  while (bytes != 0 && reinterpret_cast<std::uintptr_t>(to) % sizeof(std::uint64_t) != 0) {
    if (bytes >= 4 && reinterpret_cast<std::uintptr_t>(to) % sizeof(std::uint32_t) == 0) {
      copy(std::uint32_t{});
    } else {
      copy(std::uint8_t{});
    }
  }
  copy_many_words(to, from, bytes);
#if defined(__x86_64__) && !defined(__SANITIZE_THREAD__)
  // Halves of an aligned store of 16 bytes are never torn on these processors, and it is twice as fast as
  // two.
  if (bytes >= 64) {
    if (reinterpret_cast<std::uintptr_t>(to) % 16 != 0) copy(std::uint64_t{});
    for (; bytes >= 64; bytes -= 64, to += 64, from += 64) {
      for (std::size_t i = 0; i != 64; i += 16) {
        const __m128i unit = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + i));
        _mm_store_si128(reinterpret_cast<__m128i*>(to + i), unit);
      }
    }
  }
#endif
  while (bytes >= sizeof(std::uint64_t)) copy(std::uint64_t{});
  if (bytes >= sizeof(std::uint32_t)) copy(std::uint32_t{});
  while (bytes != 0) copy(std::uint8_t{});
}

}  // namespace hamlyn::internal_::base
