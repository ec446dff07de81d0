#pragma once
// Words of a control block or a heap, which other processes write.
#include <atomic>
#include <cstdint>

#include "base/namespaces.h"

namespace hamlyn::internal_::splitc {

// Pairs with `set` at another rank, or with its put: who sees the word sees what was written before.
inline std::uint64_t word_at(const std::byte* at) noexcept {
  auto* const place = reinterpret_cast<std::uint64_t*>(const_cast<std::byte*>(at));
  const std::atomic_ref<std::uint64_t> word(*place);
  return word.load(std::memory_order_acquire);  // pairs with `set`
}
inline void set(std::byte* at, std::uint64_t value) noexcept {
  const std::atomic_ref<std::uint64_t> word(*reinterpret_cast<std::uint64_t*>(at));
  word.store(value, std::memory_order_release);  // pairs with `word_at`
}

}  // namespace hamlyn::internal_::splitc
