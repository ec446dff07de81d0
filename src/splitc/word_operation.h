#pragma once
// Operations on words of a heap, where they are (hamlyn/splitc/word.h).
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "base/namespaces.h"
#include "hamlyn/values/remote.h"

namespace hamlyn::internal_::splitc {

// Whether it is one of those that word.h has.
constexpr bool is_operation(const Fetch& fetch) noexcept {
  return (fetch.op == FetchOp::add || fetch.op == FetchOp::swap || fetch.op == FetchOp::compare_and_swap) &&
         (fetch.bytes == 4 || fetch.bytes == 8);
}

// Does one of them. Returns what stood there before.
template <class Word>
std::uint64_t apply(std::byte* at, const Fetch& fetch) noexcept {
  // Its partners are the same operations of all ranks, here and by the owner's interface.
  const std::atomic_ref<Word> word(*reinterpret_cast<Word*>(at));
  const auto operand = static_cast<Word>(fetch.operand);
  if (fetch.op == FetchOp::add) return word.fetch_add(operand);
  if (fetch.op == FetchOp::swap) return word.exchange(operand);
  auto before = static_cast<Word>(fetch.compare);
  word.compare_exchange_strong(before, operand);
  return before;
}
inline std::uint64_t apply(std::byte* at, const Fetch& fetch) noexcept {
  return fetch.bytes == 8 ? apply<std::uint64_t>(at, fetch) : apply<std::uint32_t>(at, fetch);
}

}  // namespace hamlyn::internal_::splitc
