#pragma once
// Operations on aligned words of 4 and 8 bytes where they are, atomic against each other from all ranks.
//
// Threads: that of the Program. Errors: as `*p`; invalid_argument: the word is not aligned.
#include <concepts>
#include <cstdint>

#include "hamlyn/splitc/global_ptr.h"
#include "hamlyn/values/remote.h"

namespace hamlyn::internal_::splitc {

// Returns what stood there before.
std::uint64_t fetch(std::uint64_t word, const Fetch& fetch);
void update(std::uint64_t word, const Fetch& fetch);

}  // namespace hamlyn::internal_::splitc

namespace hamlyn::splitc {

// Integers of 4 or 8 bytes.
template <class T>
concept Word = std::integral<T> &&(sizeof(T) == 4 || sizeof(T) == 8);

// Adds, and returns what stood there before.
template <Word T>
T fetch_add(global_ptr<T> word, std::type_identity_t<T> value) {
  return static_cast<T>(internal_::splitc::fetch(
      word.word(), {.op = FetchOp::add, .bytes = sizeof(T), .operand = static_cast<std::uint64_t>(value)}));
}
// Puts another number there, and returns what stood there before.
template <Word T>
T exchange(global_ptr<T> word, std::type_identity_t<T> value) {
  return static_cast<T>(internal_::splitc::fetch(
      word.word(), {.op = FetchOp::swap, .bytes = sizeof(T), .operand = static_cast<std::uint64_t>(value)}));
}
// Puts `desired` there if `expected` stands there; otherwise says false, and `expected` is what does.
template <Word T>
bool compare_exchange(global_ptr<T> word, T& expected, std::type_identity_t<T> desired) {
  const Fetch swap{.op = FetchOp::compare_and_swap,
                   .bytes = sizeof(T),
                   .operand = static_cast<std::uint64_t>(desired),
                   .compare = static_cast<std::uint64_t>(expected)};
  const T before = static_cast<T>(internal_::splitc::fetch(word.word(), swap));
  const bool done = before == expected;
  expected = before;
  return done;
}
// Adds, without an answer: over after `sync`.
template <Word T>
void add(global_ptr<T> word, std::type_identity_t<T> value) {
  internal_::splitc::update(
      word.word(), {.op = FetchOp::add, .bytes = sizeof(T), .operand = static_cast<std::uint64_t>(value)});
}

}  // namespace hamlyn::splitc
